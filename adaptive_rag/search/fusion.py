"""Joins the dense and the sparse score of every candidate into one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.context import Fusion
from adaptive_rag.state import Candidate
from adaptive_rag.text.vectors import min_max

__all__ = ["fuse", "min_max", "reciprocal_rank", "with_scores"]

RRF_K = 60  # Cormack, Clarke and Buettcher (SIGIR 2009)


def reciprocal_rank(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (60 + rank) for each score, the best having rank 1."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return np.asarray(1 / (RRF_K + ranks))


def fuse(candidates: Sequence[Candidate], *, method: Fusion, alpha: float) -> list[Candidate]:
    """Return the candidates with `scores["fused"]`, best first."""
    dense = np.array([candidate["scores"]["dense"] for candidate in candidates])
    sparse = np.array([candidate["scores"]["sparse"] for candidate in candidates])
    if method == "dense":
        fused = dense
    elif method == "sparse":
        fused = sparse
    elif method == "reciprocal-rank":
        fused = reciprocal_rank(dense) + reciprocal_rank(sparse)
    else:
        fused = alpha * min_max(dense) + (1 - alpha) * min_max(sparse)
    order = np.argsort(-fused, kind="stable")
    return [with_scores(candidates[i], fused=float(fused[i])) for i in order]


def with_scores(candidate: Candidate, **scores: float) -> Candidate:
    """Return a copy of a candidate that carries further scores."""
    return {**candidate, "scores": {**candidate["scores"], **scores}}
