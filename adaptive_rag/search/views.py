"""Compares a query with two views of a question-answer pair, between search and fusing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adaptive_rag.search.fusion import with_scores
from adaptive_rag.state import Candidate, Intent


@dataclass(frozen=True)
class ViewWeights:
    """How much each view of a pair counts: question and answer in one text, and either alone."""

    pair: float
    question: float = 0.0
    answer: float = 0.0


PAIR_ALONE = ViewWeights(pair=1.0)
WITH_QUESTION = ViewWeights(pair=0.6, question=0.3)
WITH_ANSWER = ViewWeights(pair=0.6, answer=0.4)

# Who looks something up asks as the pair's question does; who wants something solved tells what the answer
# deals with. A comparison is about two pairs, and like neither side of one.
WEIGHTS_BY_INTENT: dict[Intent, ViewWeights] = {
    "factual": WITH_QUESTION,
    "conceptual": WITH_QUESTION,
    "technical": WITH_ANSWER,
    "procedural": WITH_ANSWER,
    "troubleshooting": WITH_ANSWER,
    "comparison": PAIR_ALONE,
}


def weigh_views(candidates: Sequence[Candidate], weights: ViewWeights) -> list[Candidate]:
    """Return the candidates, the dense score of each pair being the weighted mean of its views.

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
