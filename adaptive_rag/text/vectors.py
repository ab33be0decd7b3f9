"""Vectors and scores: their types, the cosines of small sets of vectors, and the scaling of scores."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.source import Vectors

__all__ = ["Scores", "Vectors", "cosines", "min_max", "softmax"]

FloatT = TypeVar("FloatT", np.float32, np.float64)

# One score for each row, such as a chunk or a sentence.
Scores: TypeAlias = NDArray[np.float64]

# Prevents a division by zero where all scores are equal.
EPSILON = 1e-8


def cosines(vectors: Vectors, others: Vectors) -> Vectors:
    """Return the cosine of each vector with each of the others, shape (len(vectors), len(others)).

    This runs on one thread. For a few hundred vectors, synchronizing threads takes longer than multiplying,
    and parallel branches of a question would each start as many threads as there are cores.
    """
    return np.asarray(np.einsum("ij,kj->ik", vectors, others), dtype=np.float32)


def min_max(scores: Scores) -> Scores:
    """Scale scores to 0-1; equal scores become 0."""
    if scores.size == 0:
        return scores
    low = scores.min()
    return np.asarray((scores - low) / (scores.max() - low + EPSILON))


def softmax(scores: NDArray[FloatT]) -> NDArray[FloatT]:
    """Turn scores into probabilities, along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
