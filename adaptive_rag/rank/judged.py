"""Joins what a model judged early, on the question's own hits, with what the search found later."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adaptive_rag.state import Candidate

# A model's score beside the local one, as a cross-encoder's counts beside retrieval's: whole numbers tie
# often, and small models judge badly.
JUDGED_WEIGHT = 0.6
# Candidates that a model has given at least this much of 10 stay, even if the later search missed them.
WORTH_KEEPING = 5.0
# Scores of both kinds that are needed to translate one scale into the other.
COMMON = 3


def add_missed(candidates: Sequence[Candidate], judged: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, and those judged well that are not among them."""
    present = {candidate["id"] for candidate in candidates}
    missed = [c for c in judged if c["id"] not in present and c["scores"]["judged"] >= WORTH_KEEPING]
    return [*candidates, *missed]


def join_scores(
    candidates: Sequence[Candidate], local: Sequence[float], judged: Sequence[Candidate]
) -> list[float]:
    """Return JUDGED_WEIGHT * the model's score + the rest of the local one, 0 to 10.

    Where the model gave none, the local score is brought to its scale by the straight line that fits the
    candidates which have both; it may not rise above what the model gave its best.

    Args:
        candidates: in any order.
        local: their scores without a model, 0 to 10.
        judged: candidates with `scores["judged"]`, 0 to 10.
    """
    known = {candidate["id"]: candidate["scores"]["judged"] for candidate in judged}
    both = [(score, known[c["id"]]) for c, score in zip(candidates, local, strict=True) if c["id"] in known]
    guess = _translation(both)
    scores = [known.get(c["id"], guess(score)) for c, score in zip(candidates, local, strict=True)]
    return [JUDGED_WEIGHT * a + (1 - JUDGED_WEIGHT) * b for a, b in zip(scores, local, strict=True)]


class _Line:
    def __init__(self, slope: float, start: float, most: float) -> None:
        self._slope, self._start, self._most = slope, start, most

    def __call__(self, score: float) -> float:
        return float(min(max(self._start + self._slope * score, 0.0), self._most))


def _translation(both: Sequence[tuple[float, float]]) -> _Line:
    if not both:
        return _Line(1.0, 0.0, 10.0)
    x, y = np.array(both).T
    if len(both) < COMMON or np.ptp(x) < 1e-6:
        return _Line(0.0, float(y.mean()), float(y.max()))
    slope, start = np.polyfit(x, y, 1)
    # Where the model disagrees with the local order, the local score says nothing about its own.
    if slope <= 0:
        slope, start = 0.0, float(y.mean())
    return _Line(float(slope), float(start), float(y.max()))
