"""The check before an answer without a model: whether the documents hold one, and what is said where not.

The rule is a logistic of three measures with rounded weights. They were fitted on 266 questions of SQuAD
and CLAP NQ whose gold passage was found, the same questions with that passage or its whole article taken
away, and 160 questions put to documents on another subject. At the threshold for factual questions it
answers 90 % of SQuAD's where the passage is there, 41 % where a neighbour of the passage is left, 4 % where
the article is gone, and none of the off-topic ones. The other thresholds, and what a yes-or-no question
needs more, were set by hand while looking at the sample questions and at val.json: they are no measurement.
Each style holds its own threshold.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from types import MappingProxyType

import numpy as np

from adaptive_rag.answer.passages import chunks_of
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.styles import AnswerRequest
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.query.history import REFUSAL
from adaptive_rag.text.vectors import cosines
from adaptive_rag.text.words import coverage, terms, weighted_terms

BIAS = -7.25
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "meaning": 9.0,  # cosine of the closest sentence
        "sentence": 3.0,  # share of what is asked about that one sentence names
        "passage": 1.5,  # share of it that one chunk names
    }
)
# A question of fewer content words ("And what about me?") is judged together with the asker's context.
FEW_TERMS = 2
SHOWN_QUERIES, SHOWN_SOURCES = 4, 4

_YES_OR_NO = re.compile(r"(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Evidence:
    """How likely the documents hold an answer, and whether that is enough."""

    score: float  # 0 to 1
    sufficient: bool  # whether the score reaches the style's threshold
    reason: str
    measures: dict[str, float] = field(default_factory=dict)


def judge_evidence(request: AnswerRequest) -> Evidence:
    """Judge whether the documents hold an answer to the question."""
    sentences = [sentence for sentence in request.answer_sentences if sentence.quality > 0]
    if not sentences:
        return Evidence(0.0, False, "no readable sentence was found")
    measures = measure(request, sentences, request.question, request.question_vector)
    if request.context_vector is not None and len(weighted_terms(request.question)) < FEW_TERMS:
        theirs = measure(request, sentences, request.user_context, request.context_vector)
        measures = max(measures, theirs, key=likelihood)
    score, threshold = likelihood(measures), request.style.evidence
    if _YES_OR_NO.match(request.question.strip()):
        threshold += request.style.yes_or_no
    return Evidence(score, score >= threshold, _reason(measures, score, threshold), measures)


def likelihood(measures: Mapping[str, float]) -> float:
    """Return how likely the documents hold an answer, 0 to 1."""
    return 1 / (1 + math.exp(-BIAS - sum(WEIGHTS[name] * value for name, value in measures.items())))


def measure(
    request: AnswerRequest, sentences: Sequence[AnswerSentence], asked: str, vector: Vectors
) -> dict[str, float]:
    """Measure how close the sentences come to what is asked, by meaning and by words, each 0 to 1.

    A word counts less the more sentences have it, like an inverse document frequency. In a book on AI the
    word "AI" is no evidence; a word that no sentence has weighs most.
    """
    frequency = Counter(term for sentence in sentences for term in set(sentence.terms))
    rarest = math.log(2 * (len(sentences) + 1))
    weights = {
        term: weight * math.log((len(sentences) + 1) / (frequency[term] + 0.5)) / rarest
        for term, weight in weighted_terms(asked).items()
    }
    similarity = cosines(np.stack([sentence.vector for sentence in sentences]), vector[None])
    return {
        "meaning": float(similarity.max()),
        "sentence": max(coverage(weights, set(sentence.terms)) for sentence in sentences),
        "passage": max(
            coverage(weights, set(terms(chunk["text"])))
            for document in request.documents
            for chunk in chunks_of(document)
        ),
    }


def format_abstention(question: str, queries: Sequence[str], sources: Sequence[str]) -> str:
    """Say that the documents do not hold the answer, what was searched for, and where.

    Args:
        question: as the caller asked it.
        queries: the texts that were sent to the index.
        sources: where the nearest passages stand, the nearest first.
    """
    question = " ".join(question.split())
    queries = [query for query in dict.fromkeys(" ".join(q.split()) for q in queries) if query]
    lines = [REFUSAL]
    lines.append(
        "I searched for " + _listed([f"“{query}”" for query in queries or [question]], SHOWN_QUERIES) + "."
    )
    if sources:
        nearest = _listed(
            list(dict.fromkeys(PurePath(source).name or source for source in sources)), SHOWN_SOURCES
        )
        lines.append(f"The nearest passages, in {nearest}, are about something else.")
    return " ".join(lines)


def _listed(items: Sequence[str], limit: int) -> str:
    shown = [*items[:limit], f"{len(items) - limit} more"] if len(items) > limit else list(items)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _reason(measures: Mapping[str, float], score: float, threshold: float) -> str:
    meaning, sentence, passage = (measures[name] for name in WEIGHTS)
    return (
        f"evidence {score:.2f}, needed {threshold:.2f}: the closest sentence has a cosine of {meaning:.2f}; "
        f"of what is asked about the best sentence names {sentence:.0%}, the best passage {passage:.0%}"
    )
