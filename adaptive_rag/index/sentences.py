"""Sentence vectors as they are stored: one byte a dimension, and the span of each sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.index.source import Sentences
from adaptive_rag.models.onnx import Vectors, load_minilm
from adaptive_rag.state import Chunk


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


def unpack_sentences(
    spans: Sequence[bytes | None], vectors: Sequence[bytes | None], dimension: int
) -> list[Sentences]:
    """Return the stored sentences of each chunk; none where the index keeps none."""
    pairs = [np.frombuffer(stored or b"", dtype=np.int64).reshape(-1, 2) for stored in spans]
    # all at once: a chunk alone has too few sentences to be worth several calls of numpy
    whole = unpack_vectors(b"".join(stored or b"" for stored in vectors), dimension)
    ends = np.cumsum([len(stored or b"") // dimension for stored in vectors])
    return [Sentences(places, rows) for places, rows in zip(pairs, np.split(whole, ends[:-1]), strict=True)]


def embed_sentences(chunks: Sequence[Chunk]) -> list[Sentences]:
    """Return the sentences of chunks whose index keeps none."""
    from adaptive_rag.text.sentences import sentence_spans

    spans = [sentence_spans(chunk["text"]) for chunk in chunks]
    texts = [chunk["text"][a:b] for chunk, pairs in zip(chunks, spans, strict=True) for a, b in pairs]
    vectors = np.split(load_minilm().encode(texts), np.cumsum([len(pairs) for pairs in spans])[:-1])
    places = [np.array(pairs, dtype=np.int64).reshape(-1, 2) for pairs in spans]
    return [
        Sentences(pairs + chunk["start"], rows)
        for chunk, pairs, rows in zip(chunks, places, vectors[: len(chunks)], strict=True)
    ]
