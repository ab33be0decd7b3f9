"""Opinion questions: which viewpoints a candidate speaks for, and a set that holds each of them."""

from __future__ import annotations

from collections.abc import Sequence

from adaptive_rag.state import Candidate, Hit, Query


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


# Among how many of the first candidates a side's strongest is looked for, for each that is kept. Further down
# stands what speaks for a viewpoint in general, and not to the question.
NEAR = 2


def viewpoints_by_side(queries: Sequence[Query]) -> list[list[str]]:
    """Return the viewpoints of each side; each by itself where its side is not known."""
    sides: dict[str, list[str]] = {}
    for query in queries:
        if "label" in query:
            side = query.get("side", "other")
            sides.setdefault(query["label"] if side == "other" else side, []).append(query["label"])
    return list(sides.values())


def draw_named(candidates: Sequence[Candidate], sides: Sequence[Sequence[str]], k: int) -> list[Candidate]:
    """Return k candidates: first the one that speaks most for each side, then the rest in order.

    For viewpoints that were named for this question, and so find chunks of their own.

    Args:
        candidates: with their viewpoints as labels, the strongest first; best first.
        sides: the viewpoints of each side, as `viewpoints_by_side` returns them.
        k: how many are kept.
    """
    chosen: list[Candidate] = []
    for labels in sides:
        taken = {candidate["id"] for candidate in chosen}
        spoken = [
            (candidate["labels"].index(label), label, candidate)
            for candidate in candidates[: NEAR * k]
            for label in labels
            if candidate["id"] not in taken and label in candidate["labels"]
        ]
        if spoken:
            _, label, strongest = min(spoken, key=lambda found: found[0])
            others = [other for other in strongest["labels"] if other != label]
            chosen.append({**strongest, "labels": [label, *others]})
    ids = {candidate["id"] for candidate in chosen}
    return [*chosen, *(c for c in candidates if c["id"] not in ids)][:k]
