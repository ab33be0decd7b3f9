"""Weighs the views of question-answer pairs in the vector score, between search and fusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adaptive_rag.search.fusion import with_scores
from adaptive_rag.state import Candidate, Intent


@dataclass(frozen=True)
class ViewWeights:
    """Weights of the views of a pair: question and answer as one text, the question, and the answer."""

    pair: float
    question: float = 0.0
    answer: float = 0.0


PAIR_ALONE = ViewWeights(pair=1.0)
WITH_QUESTION = ViewWeights(pair=0.6, question=0.3)
WITH_ANSWER = ViewWeights(pair=0.6, answer=0.4)

# A question about a fact resembles the question of a pair; one about a problem resembles the answer. A
# comparison concerns two pairs, and resembles neither side of one.
WEIGHTS_BY_INTENT: dict[Intent, ViewWeights] = {
    "factual": WITH_QUESTION,
    "conceptual": WITH_QUESTION,
    "technical": WITH_ANSWER,
    "procedural": WITH_ANSWER,
    "troubleshooting": WITH_ANSWER,
    "comparison": PAIR_ALONE,
}


def weigh_views(candidates: Sequence[Candidate], weights: ViewWeights) -> list[Candidate]:
    """Return the candidates, with the weighted mean of the views as the dense score of each pair.

    A mean of cosines stays comparable with the cosine of a chunk that is not a pair. The cosine with the
    pair as one text is kept as `scores["dense_pair"]`. Chunks without scores of views are not changed.
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
