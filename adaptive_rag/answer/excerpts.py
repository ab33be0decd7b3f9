"""Joins the sentences of several passages that are nearest to a claim, for the reader to see together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adaptive_rag.source import Vectors
from adaptive_rag.text.reading import Passage

# Length of an excerpt in characters, about that of the passages that the reader was trained on; sentences are
# added until SHARE of it is reached.
LENGTH, SHARE = 800, 0.85


class CutPassage(NamedTuple):
    """A passage in sentences."""

    heading: str
    sentences: Sequence[str]
    vectors: Vectors  # one unit vector per sentence; those of no sentences have no dimension


def excerpt(vector: Vectors, passages: Sequence[CutPassage]) -> Passage:
    """Return the sentences nearest to a claim, each with the one before it, in the order of the passages.

    `vector` is the unit vector of the claim.
    """
    ranked = sorted(
        (
            (cosine, number, index)
            for number, passage in enumerate(passages)
            if passage.sentences
            for index, cosine in enumerate((passage.vectors @ vector).tolist())
        ),
        reverse=True,
    )
    chosen, length = set[tuple[int, int]](), 0
    for _, number, index in ranked:
        for place in ((number, index), (number, index - 1)):
            if place[1] < 0 or place in chosen:
                continue
            added = len(passages[number].sentences[place[1]])
            if not chosen or length + added <= LENGTH:
                chosen.add(place)
                length += added
        if length > SHARE * LENGTH:
            break
    lines = list[str]()
    for number, passage in enumerate(passages):
        text = " ".join(passage.sentences[index] for other, index in sorted(chosen) if other == number)
        if text:
            lines.append(f"{passage.heading}: {text}" if passage.heading else text)
    return Passage("\n".join(lines))
