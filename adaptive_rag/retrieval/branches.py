"""Folds the branches of a fan-out into one list of candidates, each chunk once."""

from __future__ import annotations

from collections.abc import Sequence

from adaptive_rag.retrieval.fusion import RRF_K, with_scores
from adaptive_rag.state import Candidate, Hit


def gather(hits: Sequence[Hit]) -> list[Candidate]:
    """Return the candidates of all branches, best first; one found by several keeps its best score."""
    best: dict[str, Candidate] = {}
    for hit in sorted(hits, key=lambda hit: hit["order"]):
        for candidate in hit["candidates"]:
            seen = best.get(candidate["id"])
            if seen is None:
                best[candidate["id"]] = candidate
                continue
            better = max(seen, candidate, key=lambda c: c["scores"]["fused"])
            best[candidate["id"]] = {
                **better,
                "labels": list(dict.fromkeys([*seen["labels"], *candidate["labels"]])),
            }
    return sorted(best.values(), key=lambda candidate: -candidate["scores"]["fused"])


def fuse_rankings(rankings: Sequence[Sequence[Candidate]], weights: Sequence[float]) -> list[Candidate]:
    """Join rankings by weighted reciprocal rank; a chunk's scores are those of its first ranking."""
    fused: dict[str, Candidate] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, candidate in enumerate(ranking, start=1):
            seen = fused.get(candidate["id"], candidate)
            score = seen["scores"].get("hedged", 0.0) if candidate["id"] in fused else 0.0
            fused[candidate["id"]] = with_scores(seen, hedged=score + weight / (RRF_K + rank))
    return sorted(fused.values(), key=lambda candidate: -candidate["scores"]["hedged"])
