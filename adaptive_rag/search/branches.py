"""Folds the branches of a fan-out into one list of candidates, each chunk once."""

from __future__ import annotations

from collections.abc import Sequence

from adaptive_rag.search.fusion import RRF_K, with_scores
from adaptive_rag.state import Candidate, Hit

BRANCH_WEIGHT = 0.5


def gather(hits: Sequence[Hit]) -> list[Candidate]:
    """Return the candidates of all branches, best first, each chunk once.

    The first branch asks the question itself: its fused score counts whole, the mean of the other
    branches' (0 where one did not find the chunk) counts BRANCH_WEIGHT. Keeping the best score of any
    branch instead lets a sub-question that went astray fill the ranks.
    """
    ordered = sorted(hits, key=lambda hit: hit["order"])
    if not ordered:
        return []
    first: dict[str, Candidate] = {}
    fused: dict[str, float] = {}
    labels: dict[str, dict[str, None]] = {}
    for number, hit in enumerate(ordered):
        share = 1.0 if number == 0 else BRANCH_WEIGHT / (len(ordered) - 1)
        for candidate in hit["candidates"]:
            id_ = candidate["id"]
            first.setdefault(id_, candidate)
            fused[id_] = fused.get(id_, 0.0) + share * candidate["scores"]["fused"]
            labels.setdefault(id_, {}).update(dict.fromkeys(candidate["labels"]))
    return [
        {**with_scores(first[id_], fused=fused[id_]), "labels": list(labels[id_])}
        for id_ in sorted(first, key=lambda id_: -fused[id_])
    ]


def fuse_rankings(rankings: Sequence[Sequence[Candidate]], weights: Sequence[float]) -> list[Candidate]:
    """Join rankings by weighted reciprocal rank; a chunk's scores are those of its first ranking."""
    fused: dict[str, Candidate] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, candidate in enumerate(ranking, start=1):
            seen = fused.get(candidate["id"], candidate)
            score = seen["scores"].get("hedged", 0.0) if candidate["id"] in fused else 0.0
            fused[candidate["id"]] = with_scores(seen, hedged=score + weight / (RRF_K + rank))
    return sorted(fused.values(), key=lambda candidate: -candidate["scores"]["hedged"])
