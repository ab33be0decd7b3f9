"""Weighs the views of question-answer pairs in the vector score, between search and fusion."""

from __future__ import annotations

from typing import NamedTuple

from adaptive_rag.search.fusion import with_scores
from adaptive_rag.state import Candidate, Intent


class ViewWeights(NamedTuple):
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
VIEWS = ("dense", "dense_question", "dense_answer")


def weigh_views(candidate: Candidate, weights: ViewWeights) -> Candidate:
    """Return a candidate with the weighted mean of the views as its dense score, if it is a pair.

    A mean of cosines stays comparable with the cosine of a chunk that is not a pair. The cosine with the
    pair as one text is kept as `scores["dense_pair"]`.
    """
    scores = candidate["scores"]
    if not scores.keys() >= set(VIEWS):
        return candidate
    mean = sum(weight * scores[view] for view, weight in zip(VIEWS, weights, strict=True)) / sum(weights)
    return with_scores(candidate, dense=mean, dense_pair=scores["dense"])
