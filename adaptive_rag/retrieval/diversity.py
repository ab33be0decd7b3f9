"""Selects a set that is relevant and covers much: maximal marginal relevance."""

from __future__ import annotations

import numpy as np

from adaptive_rag.models.onnx import Vectors
from adaptive_rag.retrieval.fusion import min_max


def maximal_marginal_relevance(
    vectors: Vectors, relevance: list[float], k: int, *, weight: float = 0.7
) -> list[int]:
    """Return the indices of k items, each the best by weight * relevance - (1 - weight) * redundancy.

    Carbonell and Goldstein, "The use of MMR", SIGIR 1998.
    """
    scaled = min_max(np.array(relevance))
    redundancy = np.zeros(len(scaled))
    chosen: list[int] = []
    while len(chosen) < min(k, len(scaled)):
        value = weight * scaled - (1 - weight) * redundancy
        value[chosen] = -np.inf
        best = int(value.argmax())
        chosen.append(best)
        redundancy = np.maximum(redundancy, vectors @ vectors[best])
    return chosen
