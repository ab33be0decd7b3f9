"""Draws opinion chunks so that every named viewpoint is heard."""

from __future__ import annotations

from collections.abc import Sequence

from adaptive_rag.state import Candidate


def balanced_draw(candidates: Sequence[Candidate], labels: Sequence[str], k: int) -> list[int]:
    """Return the indices of k candidates: first the best of every label, then the rest in order.

    It serves viewpoints that a chat model named. General stance probes tell no stances apart in
    embedding space; without a model `diversity.cover` draws the better set.
    """
    chosen: list[int] = []
    for label in labels:
        best = next((i for i, c in enumerate(candidates) if label in c["labels"] and i not in chosen), None)
        if best is not None:
            chosen.append(best)
    rest = [i for i in range(len(candidates)) if i not in chosen]
    return [*chosen, *rest][:k]
