"""Sentence vectors as they are stored: one byte a dimension, and the span of each sentence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.index.source import Sentences
from adaptive_rag.models.onnx import Vectors


def pack_vectors(vectors: Vectors) -> bytes:
    """Store unit vectors as int8, each scaled by its own largest part.

    The scale is not kept: a unit vector is known from its direction. The cosine between a vector and
    its stored form is above 0.999.
    """
    peaks = np.abs(vectors).max(axis=1, keepdims=True, initial=1e-12)
    scaled: NDArray[np.int8] = np.rint(vectors * (127.0 / peaks)).astype(np.int8)
    return scaled.tobytes()


def unpack_vectors(stored: bytes, dimension: int) -> Vectors:
    """Return what `pack_vectors` stored, as float32 unit vectors."""
    whole = np.frombuffer(stored, dtype=np.int8).reshape(-1, dimension).astype(np.float32)
    norms = np.linalg.norm(whole, axis=1, keepdims=True)
    return np.asarray(whole / np.maximum(norms, 1e-12), dtype=np.float32)


def pack_spans(spans: list[tuple[int, int]]) -> bytes:
    """Store spans as pairs of 64-bit integers."""
    return np.asarray(spans, dtype=np.int64).reshape(-1, 2).tobytes()


def unpack_sentences(spans: bytes | None, vectors: bytes | None, dimension: int) -> Sentences:
    """Return the stored sentences of one chunk; none where the index keeps none."""
    pairs: NDArray[np.int64] = np.frombuffer(spans or b"", dtype=np.int64).reshape(-1, 2)
    return Sentences(pairs, unpack_vectors(vectors or b"", dimension))
