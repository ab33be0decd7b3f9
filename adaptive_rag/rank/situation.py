"""Keeps places for what bears on the asker's situation, where the question alone would fill them all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.rank.features import best_sentence
from adaptive_rag.search.fusion import min_max, with_scores
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import Candidate

# One place in so many goes to the situation.
PLACES_PER_SEAT = 4
# A situation on the question's topic brings its text nearer to some passage, or takes it no further away
# than a longer text always is.
OFF_TOPIC = 0.1


def is_off_topic(source: ChunkSource, situated: str, bare: str) -> bool:
    """Tell whether a situation takes the question away from all that the source holds.

    Args:
        source: is searched for the best passage of each text.
        situated: the question joined with the situation.
        bare: the same without it.
    """
    with_it, without = (
        max((candidate["scores"]["dense"] for candidate in found), default=0.0)
        for found in source.search([situated, bare], limit=1)
    )
    return with_it < without - OFF_TOPIC


def seat_situation(
    source: ChunkSource, situation: str, candidates: Sequence[Candidate], k: int
) -> list[Candidate]:
    """Return the candidates with the last of the first k places given to what the situation calls for.

    A short situation ("I am a nurse") hardly moves the vector of the question that it is joined to, and
    an irrelevant one must not displace the best passages: so it decides the last places alone, by
    relevance and the best sentence's similarity to the situation, both min-max scaled.

    Args:
        source: holds the sentences.
        situation: what the asker says of themselves.
        candidates: ranked, best first, with `scores["relevance"]`.
        k: how many will be kept.
    """
    seats = k // PLACES_PER_SEAT
    if not seats or len(candidates) <= k - seats:
        return list(candidates)
    sentences = source.sentences([candidate["id"] for candidate in candidates])
    # Headings count here: "If you farm" says for whom a passage is written.
    near = best_sentence(load_minilm().encode([situation])[0], [found.vectors for found in sentences])
    relevance = min_max(np.array([candidate["scores"]["relevance"] for candidate in candidates]))
    ranked = [with_scores(c, situation=float(value)) for c, value in zip(candidates, near, strict=True)]
    kept, rest = ranked[: k - seats], list(range(k - seats, len(ranked)))
    worth = relevance + min_max(near)
    rest.sort(key=lambda i: -worth[i])
    seated = sorted(rest[:seats])
    return [*kept, *(ranked[i] for i in seated), *(ranked[i] for i in sorted(rest[seats:]))]
