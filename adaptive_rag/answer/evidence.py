"""The check before an answer without a model: whether the documents hold one, and what is said where not.

The rule is a logistic of five measures with rounded weights, one for all strategies. It was fitted on 50
questions each of SQuAD, CLAP NQ, ShARC and Perspectrum with their documents, the same questions without the
passages that answer them, and the same put to another set's documents; those 50 are among the figures of
docs/answer-quality.md. A strategy's threshold lies near where 5 % of these questions that have an answer
score lower, for opinions a little below it; up to CLOSEST above it the answer says that it gives the closest
passages.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from types import MappingProxyType

import numpy as np

from adaptive_rag.answer.links import keep_own_links
from adaptive_rag.answer.passages import chunks_of
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.styles import AnswerRequest
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.query.history import REFUSAL
from adaptive_rag.text.markers import respell_markers
from adaptive_rag.text.vectors import cosines
from adaptive_rag.text.words import coverage, terms, weighted_terms

BIAS = -6.6
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "meaning": 6.0,  # cosine of the closest sentence
        "sentence": 1.0,  # share of what is asked about that one sentence names
        "passage": 3.0,  # share of it that one chunk names
        "nearness": 2.0,  # cosine of the closest passage with the query
        "ahead": 2.0,  # how much closer it is than the second one
    }
)
# A passage that stands further ahead of the second one says no more; of a single one nothing is known.
FAR_AHEAD = 0.3
# Up to so much above the threshold the answer says that it gives the closest passages.
CLOSEST = 0.08
# Characters of the nearest sentence that a refusal quotes.
LONGEST_QUOTE = 240
# A question of fewer content words ("And what about me?") is judged together with the asker's context.
FEW_TERMS = 2
SHOWN_QUERIES, SHOWN_SOURCES = 4, 4


@dataclass(frozen=True)
class Evidence:
    """How likely the documents hold an answer, and whether that is enough."""

    score: float  # 0 to 1
    sufficient: bool  # whether the score reaches the style's threshold
    reason: str
    closest: bool = False  # whether it does so barely: the answer says that it gives the closest passages
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
    return Evidence(
        score,
        sufficient=score >= threshold,
        reason=_reason(measures, score, threshold),
        closest=threshold <= score < threshold + CLOSEST,
        measures=measures,
    )


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
    closest = float(similarity.max())
    # Where a source gives no cosines, its closest sentence stands for its closest passage.
    nearness = sorted((d["scores"].get("dense", closest) for d in request.documents), reverse=True)
    return {
        "meaning": closest,
        "sentence": max(coverage(weights, set(sentence.terms)) for sentence in sentences),
        "passage": max(
            coverage(weights, set(terms(chunk["text"])))
            for document in request.documents
            for chunk in chunks_of(document)
        ),
        "nearness": nearness[0],
        "ahead": min(FAR_AHEAD, nearness[0] - nearness[1]) if len(nearness) > 1 else 0.0,
    }


def nearest_quote(request: AnswerRequest) -> tuple[str, str] | None:
    """Return the sentence nearest to the question and its source; None where nothing readable was found."""
    sentences = [sentence for sentence in request.answer_sentences if sentence.quality > 0]
    if not sentences:
        return None
    similarity = cosines(np.stack([s.vector for s in sentences]), request.question_vector[None])[:, 0]
    nearest = sentences[int(np.argmax(similarity))]
    quoted = textwrap.shorten(keep_own_links(nearest.text, None)[0], LONGEST_QUOTE, placeholder=" …")
    return quoted, request.documents[nearest.document]["source"]


def format_abstention(
    question: str, queries: Sequence[str], sources: Sequence[str], nearest: tuple[str, str] | None = None
) -> str:
    """Say that the documents do not hold the answer, what was searched for, and what came nearest.

    Args:
        question: as the caller asked it.
        queries: the texts that were sent to the index.
        sources: where the nearest passages stand, the nearest first.
        nearest: a sentence that came near, and its source.
    """
    question = " ".join(question.split())
    queries = [query for query in dict.fromkeys(" ".join(q.split()) for q in queries) if query]
    lines = [REFUSAL]
    lines.append(
        "I searched for " + _listed([f"“{query}”" for query in queries or [question]], SHOWN_QUERIES) + "."
    )
    names = list(dict.fromkeys(map(_name, sources)))
    if nearest is not None:
        quote, source = nearest
        lines.append(f"The nearest passage, in {_name(source)}, says: “{respell_markers(quote)}”")
        names = [name for name in names if name != _name(source)]
    if names:
        which = "Others that were read" if nearest is not None else "The nearest passages"
        lines.append(f"{which} stand in {_listed(names, SHOWN_SOURCES)}.")
    return " ".join(lines)


def _name(source: str) -> str:
    return PurePath(source).name or source


def _listed(items: Sequence[str], limit: int) -> str:
    shown = [*items[:limit], f"{len(items) - limit} more"] if len(items) > limit else list(items)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _reason(measures: Mapping[str, float], score: float, threshold: float) -> str:
    meaning, sentence, passage, nearness, ahead = (measures[name] for name in WEIGHTS)
    return (
        f"evidence {score:.2f}, needed {threshold:.2f}: the closest sentence has a cosine of {meaning:.2f}, "
        f"the closest passage one of {nearness:.2f}, {ahead:.2f} above the next; of what is asked about the "
        f"best sentence names {sentence:.0%}, the best passage {passage:.0%}"
    )
