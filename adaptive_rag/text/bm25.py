"""BM25 as LanceDB and our index in PostgreSQL count it (Robertson and Zaragoza, 2009)."""

from __future__ import annotations

import math

K1, B = 1.2, 0.75


def idf(chunks: int, holding: int) -> float:
    """Return the weight of a word that so many of all chunks hold: the rarer, the more."""
    return math.log1p((chunks - holding + 0.5) / (holding + 0.5))
