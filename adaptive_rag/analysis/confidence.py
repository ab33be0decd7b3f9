"""Part of the query analysis: one number between 0.2 and 0.9 from several factors, each of them shown."""

from __future__ import annotations

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.analysis.features import Question
from adaptive_rag.analysis.router import Floats

LOWEST, HIGHEST = 0.2, 0.9

# The calibrated probability leads; the other factors say how good a query the question makes.
_WEIGHTS = {
    "type probability": 0.50,
    "margin": 0.15,
    "specificity": 0.15,
    "references": 0.10,
    "domain": 0.10,
}


def combine(
    question: Question, spread: Floats, entities: list[str], relevance: float | None, doubt: float
) -> tuple[float, dict[str, float]]:
    """Weigh the factors, each between 0 and 1, into a confidence; one without a value is left out."""
    first, second = sorted((float(p) for p in spread), reverse=True)[:2]
    topics = {word for word in question.words if word not in lx.SHAPE_WORDS}
    unresolved = bool(question.references.dangling or question.references.openers)
    settled = question.has_history or bool(question.user_context.strip())
    factors = {
        # A quarter is what four types get by chance.
        "type probability": max((first - 0.25) / 0.75, 0.0),
        "margin": first - second,
        "specificity": min((len(topics) + len(entities)) / 5, 1.0),
        "references": (0.7 if settled else 0.0) if unresolved else 1.0,
    }
    if relevance is not None:
        factors["domain"] = relevance
    weight = sum(_WEIGHTS[name] for name in factors)
    mean = sum(_WEIGHTS[name] * value for name, value in factors.items()) / weight
    mean *= 1 - doubt
    confidence = LOWEST + (HIGHEST - LOWEST) * mean
    if doubt:
        factors["readable"] = 1 - doubt
    return round(confidence, 4), {name: round(value, 4) for name, value in factors.items()}
