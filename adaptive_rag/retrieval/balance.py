"""Draws opinion chunks so that every viewpoint is heard."""

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
            chosen.append(_drawn_for(label, strongest))
    ids = {candidate["id"] for candidate in chosen}
    return [*chosen, *(c for c in candidates if c["id"] not in ids)][:k]


def draw_in_turn(candidates: Sequence[Candidate], labels: Sequence[str], k: int) -> list[Candidate]:
    """Return the first k candidates in order, the viewpoints taking them in turn until each has one.

    For general stances, which find much the same chunks in much the same order: to prefer one of these
    over a better chunk would cost relevance and gain no view. A viewpoint that is left without a chunk
    gets the first one beyond the k that its search found, in the last place.
    """
    waiting = list(labels)
    drawn: list[Candidate] = []
    for candidate in candidates[:k]:
        label = next((label for label in candidate["labels"] if label in waiting), None)
        if label is None:
            drawn.append(candidate)
        else:
            waiting.remove(label)
            drawn.append(_drawn_for(label, candidate))
    for place, label in enumerate(waiting, start=1):
        further = next((c for c in candidates[k:] if label in c["labels"] and c not in drawn), None)
        if further is not None and len(drawn) - place > 0:
            drawn[-place] = _drawn_for(label, further)
    return drawn


def _drawn_for(label: str, candidate: Candidate) -> Candidate:
    others = [other for other in candidate["labels"] if other != label]
    return {**candidate, "labels": [label, *others]}
