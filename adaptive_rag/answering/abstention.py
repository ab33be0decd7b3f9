"""The check before an answer without a model: whether the documents hold one at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from adaptive_rag.answering.quotable import collect
from adaptive_rag.answering.request import AnswerRequest, cosines
from adaptive_rag.answering.terms import coverage, terms, weighted_terms
from adaptive_rag.state import QueryType

WEIGHTS: Mapping[str, float] = MappingProxyType({"bias": -6.0, "meaning": 6.0, "words": 3.0, "together": 3.0})
# Views and personal questions rarely use the documents' own words; they need less.
THRESHOLD: Mapping[QueryType, float] = MappingProxyType(
    {"factual": 0.5, "analytical": 0.4, "opinion": 0.25, "contextual": 0.25}
)


@dataclass(frozen=True)
class Evidence:
    """Whether the documents hold an answer, how sure that is, and why."""

    score: float  # 0 to 1
    sufficient: bool
    reason: str
    features: dict[str, float]


def judge_evidence(request: AnswerRequest) -> Evidence:
    """Judge whether the documents hold an answer to the question."""
    found = features(request)
    if not found:
        return Evidence(0.0, False, "nothing readable was found", {})
    logit = WEIGHTS["bias"] + sum(WEIGHTS[name] * value for name, value in found.items() if name in WEIGHTS)
    score = float(1 / (1 + np.exp(-logit)))
    sufficient = score >= THRESHOLD[request.query_type]
    return Evidence(score, sufficient, _reason(found, sufficient), found)


def features(request: AnswerRequest) -> dict[str, float]:
    """Measure the evidence; empty where there is none."""
    sentences = [s for s in collect(request) if s.quality > 0]
    if not sentences:
        return {}
    weights = weighted_terms(request.question)
    held = [set(terms(document["text"])) for document in request.documents]
    similarity = cosines(np.stack([s.vector for s in sentences]), request.question_vector)
    return {
        "meaning": float(similarity.max()),
        "words": max(coverage(weights, present) for present in held),
        "together": max(coverage(weights, set(terms(s.text))) for s in sentences),
    }


def format_abstention(question: str, queries: Sequence[str], sources: Sequence[str]) -> str:
    """Say that the documents do not hold the answer, what was searched for, and where."""
    asked = [query for query in dict.fromkeys(" ".join(q.split()) for q in queries) if query != question]
    named = list(dict.fromkeys(sources))
    where = f" in {', '.join(named[:5])}" if named else ""
    more = f" and {len(named) - 5} more" if len(named) > 5 else ""
    lines = [f"The documents do not hold an answer to this question. I searched for “{question}”"]
    if asked:
        lines[0] += " and for " + ", ".join(f"“{query}”" for query in asked[:5])
    lines[0] += f"{where}{more}."
    return lines[0]


def _reason(found: Mapping[str, float], sufficient: bool) -> str:
    verdict = "the documents speak to the question" if sufficient else "the evidence is too weak"
    return f"{verdict}: closest sentence {found['meaning']:.2f}, question words found {found['words']:.0%}"
