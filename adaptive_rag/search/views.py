"""Compares a query with three views of a question-answer pair, between search and fusing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adaptive_rag.search.fusion import with_scores
from adaptive_rag.state import Candidate, Intent


@dataclass(frozen=True)
class ViewWeights:
    """How much each view of a pair counts: question and answer in one text, and either alone."""

    pair: float
    question: float
    answer: float


PAIR, NEARER, FARTHER = 0.6, 0.4, 0.3
LIKE_A_QUESTION = ViewWeights(PAIR, NEARER, FARTHER)
LIKE_AN_ANSWER = ViewWeights(PAIR, FARTHER, NEARER)
EVEN = ViewWeights(PAIR, (NEARER + FARTHER) / 2, (NEARER + FARTHER) / 2)

# Who looks something up asks as the pair's question does; who has a fault tells what the answer deals with.
WEIGHTS_BY_INTENT: dict[Intent, ViewWeights] = {
    "factual": LIKE_A_QUESTION,
    "conceptual": LIKE_A_QUESTION,
    "technical": EVEN,
    "procedural": EVEN,
    "comparison": EVEN,
    "troubleshooting": LIKE_AN_ANSWER,
}


def weigh_views(candidates: Sequence[Candidate], weights: ViewWeights) -> list[Candidate]:
    """Return the candidates, the dense score of each pair being the weighted mean of its three views.

    A mean of cosines stays comparable with the cosine of a chunk that is no pair. The cosine with the pair
    as one text is kept as `scores["dense_pair"]`; chunks without the views' scores stay as they are.
    """
    return [_weighed(candidate, weights) for candidate in candidates]


def _weighed(candidate: Candidate, weights: ViewWeights) -> Candidate:
    scores = candidate["scores"]
    if "dense_question" not in scores or "dense_answer" not in scores:
        return candidate
    views = (
        weights.pair * scores["dense"],
        weights.question * scores["dense_question"],
        weights.answer * scores["dense_answer"],
    )
    mean = sum(views) / (weights.pair + weights.question + weights.answer)
    return with_scores(candidate, dense=mean, dense_pair=scores["dense"])
