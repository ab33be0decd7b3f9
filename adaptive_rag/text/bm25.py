"""BM25 as LanceDB and our PostgreSQL index compute it (Robertson and Zaragoza, 2009)."""

from __future__ import annotations

import math

K1, B = 1.2, 0.75


def idf(chunks: int, holding: int) -> float:
    """Return the idf of a word that `holding` of all chunks contain; rarer words weigh more."""
    return math.log1p((chunks - holding + 0.5) / (holding + 0.5))
