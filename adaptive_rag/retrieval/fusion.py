"""Joins the dense and the sparse score of every candidate into one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.context import Fusion
from adaptive_rag.state import Candidate

EPSILON = 1e-9
RRF_K = 60  # Cormack, Clarke and Buettcher (SIGIR 2009)


def min_max(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale scores to 0-1; equal scores become 0."""
    if scores.size == 0:
        return scores
    low = scores.min()
    return np.asarray((scores - low) / (scores.max() - low + EPSILON))


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


def merge(lists: Sequence[Sequence[Candidate]], weights: Sequence[float], score: str) -> list[Candidate]:
    """Join the candidates of several queries: one each, its score the weighted sum over the queries."""
    merged: dict[str, Candidate] = {}
    for candidates, weight in zip(lists, weights, strict=True):
        for candidate in candidates:
            value = weight * candidate["scores"][score]
            seen = merged.get(candidate["id"])
            if seen is None:
                merged[candidate["id"]] = with_scores(candidate, **{score: value})
            else:
                labels = list(dict.fromkeys([*seen["labels"], *candidate["labels"]]))
                joined = with_scores(seen, **{score: seen["scores"][score] + value})
                merged[candidate["id"]] = {**joined, "labels": labels}
    return sorted(merged.values(), key=lambda candidate: -candidate["scores"][score])
