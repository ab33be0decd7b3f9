"""Explains the type of a question: what counted for each type."""

import string
from dataclasses import dataclass

import numpy as np

from adaptive_rag.analysis.parse import parse_question
from adaptive_rag.analysis.router import Floats, load_learned, load_router
from adaptive_rag.state import ROUTED_TYPES, RoutedType

# Maximum number of reasons that are reported, and the minimum weight of a reason.
MAX_REASONS, MIN_WEIGHT = 6, 0.02
# Words that are looked at, from the first.
MAX_WORDS = 60


@dataclass(frozen=True)
class Reason:
    """A part of a question and its weight for a type, compared with the other types."""

    what: str
    weight: float


def explain_contributions(question: str, *, user_context: str = "") -> dict[RoutedType, list[Reason]]:
    """Return, for each type, the parts of a question that counted most for it.

    The weight of a part is by how much the score of the type falls without it (Li, Monroe and Jurafsky 2016,
    "Understanding Neural Networks through Representation Erasure").
    """
    weights = _weights(question, user_context)
    return {
        query_type: _strongest({what: row[i] for what, row in weights.items()})
        for i, query_type in enumerate(ROUTED_TYPES)
    }


def _strongest(weights: dict[str, np.float32]) -> list[Reason]:
    ranked = sorted(weights.items(), key=lambda item: -item[1])[:MAX_REASONS]
    return [Reason(what, round(float(weight), 4)) for what, weight in ranked if weight > MIN_WEIGHT]


def _weights(question: str, user_context: str) -> dict[str, Floats]:
    """Return what each part of a question adds to the four scores, minus their mean."""
    router, words = load_router(), parse_question(question).full_text.split()
    scores = router.score(" ".join(words), user_context)
    without = dict[str, Floats]()
    for index, word in enumerate(words[:MAX_WORDS]):
        if bare := word.strip(string.punctuation).lower():
            others = " ".join([*words[:index], *words[index + 1 :]])
            without[f'"{bare}"'] = router.score(others, user_context).total
    if user_context.strip():
        without["what you say about yourself"] = router.score(" ".join(words)).total
    added = {what: scores.total - total for what, total in without.items()}
    if learned := load_learned():
        added["what was learned from use"] = learned.score(scores.vector)
    return {what: row - row.mean() for what, row in added.items()}
