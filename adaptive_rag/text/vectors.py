"""Compares small sets of unit vectors: sentences with a query, candidates with each other."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# Rows of unit length.
Vectors: TypeAlias = NDArray[np.float32]
# One score a row: a chunk, a sentence.
Scores: TypeAlias = NDArray[np.float64]


def cosines(vectors: Vectors, others: Vectors) -> Vectors:
    """Return the cosine of each vector with each of the others, shape (len(vectors), len(others)).

    On one thread: a threaded product of a few hundred vectors takes longer to gather its threads than to
    multiply, and while branches run side by side each of them would gather all.
    """
    return np.asarray(np.einsum("ij,kj->ik", vectors, others), dtype=np.float32)
