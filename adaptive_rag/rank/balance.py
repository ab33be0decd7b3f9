"""Opinion questions: which viewpoints a candidate speaks for, and a set that holds each of them."""

from __future__ import annotations

from collections.abc import Sequence

from adaptive_rag.state import Candidate, Hit


def attribute(candidates: Sequence[Candidate], hits: Sequence[Hit]) -> list[Candidate]:
    """Return the candidates, each with the viewpoints whose search found it, the strongest first.

    The searches of all viewpoints find much the same chunks; what tells them apart is how high each
    places a chunk.
    """
    ranks = {
        hit["label"]: {candidate["id"]: rank for rank, candidate in enumerate(hit["candidates"])}
        for hit in hits
        if hit["label"] is not None
    }

    def viewpoints(id_: str) -> list[str]:
        found = [(rank[id_], label) for label, rank in ranks.items() if id_ in rank]
        return [label for _, label in sorted(found, key=lambda pair: pair[0])]

    return [{**candidate, "labels": viewpoints(candidate["id"])} for candidate in candidates]


def draw_named(candidates: Sequence[Candidate], labels: Sequence[str], k: int) -> list[Candidate]:
    """Return k candidates: first the one that speaks most for each viewpoint, then the rest in order.

    For viewpoints that were named for this question, and so find chunks of their own.
    """
    chosen: list[Candidate] = []
    for label in labels:
        free = [c for c in candidates if c not in chosen and label in c["labels"]]
        strongest = min(free, key=lambda c: c["labels"].index(label), default=None)
        if strongest is not None:
            others = [other for other in strongest["labels"] if other != label]
            chosen.append({**strongest, "labels": [label, *others]})
    ids = {candidate["id"] for candidate in chosen}
    return [*chosen, *(c for c in candidates if c["id"] not in ids)][:k]
