"""BM25 as LanceDB and our PostgreSQL index compute it (Robertson and Zaragoza, 2009)."""

from __future__ import annotations

import math

# Saturation of repeated words, and normalization by the length of a chunk.
K1, B = 1.2, 0.75


def idf(chunks: int, containing: int) -> float:
    """Return the inverse document frequency of a word that `containing` of `chunks` chunks contain."""
    return math.log1p((chunks - containing + 0.5) / (containing + 0.5))
