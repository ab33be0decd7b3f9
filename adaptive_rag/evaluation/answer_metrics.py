"""Scores an answer against its reference, its documents and its citations.

For a question that the documents answer, each part lies between 0 and 1:

- semantic_similarity: cosine of answer and reference under the embedded model, negative values as 0.
- token_f1: overlap of the words of answer and reference (Rajpurkar et al., EMNLP 2016).
- rouge_l: F-measure of their longest common subsequence of words (Lin, 2004).
- context_relevance: mean cosine of the question and each document that was read.
- citation_correctness: share of citations whose quote stands in a document that was read and is close in
  meaning to the answer's sentence that carries the marker; no value for an answer without citations.

quality = 0.4 semantic_similarity + 0.2 token_f1 + 0.2 context_relevance + 0.2 citation_correctness,
an answer without citations counting 0 for the last. To abstain scores 0 where there is an answer, and 1
where there is none; to answer where there is none scores 0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from adaptive_rag.evaluation.datasets import Question
from adaptive_rag.evaluation.metrics import Scores
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.state import Candidate, Citation

ANSWER_METRICS = (
    "quality",
    "semantic_similarity",
    "token_f1",
    "rouge_l",
    "context_relevance",
    "citation_correctness",
)
ABSTENTION = ("abstention_precision", "abstention_recall")
WEIGHTS = {
    "semantic_similarity": 0.4,
    "token_f1": 0.2,
    "context_relevance": 0.2,
    "citation_correctness": 0.2,
}
# A cited sentence supports a claim from this cosine on; below it they share a topic at most.
SUPPORT = 0.5

Embed = Callable[[Sequence[str]], Vectors]

_MARKER = re.compile(r"\s*\[\d+(?:\s*,\s*\d+)*\]")
_SENTENCE_END = re.compile(r"(?<=[.!?])(?:\s*\[\d+\])*\s+|\n+")
_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True)
class Answer:
    """What an arm answered, and from what."""

    text: str
    citations: Sequence[Citation]
    abstained: bool
    documents: Sequence[Candidate]


def score_answer(question: Question, answer: Answer, embed: Embed) -> Scores:
    """Score one answer; without a reference only what needs none is scored."""
    if question.has_answer is False:
        return {"quality": float(answer.abstained)}
    scores: Scores = {}
    if answer.documents:
        vectors = embed([question.text, *(document["text"] for document in answer.documents)])
        scores["context_relevance"] = float(np.clip(vectors[1:] @ vectors[0], 0, 1).mean())
    if not answer.abstained and answer.citations:
        scores["citation_correctness"] = citation_correctness(answer, embed)
    if question.reference is None:
        return scores
    text = _MARKER.sub("", answer.text).strip()
    first, second = embed([text, question.reference])
    scores["semantic_similarity"] = float(np.clip(first @ second, 0, 1))
    scores["token_f1"] = token_f1(text, question.reference)
    scores["rouge_l"] = rouge_l(text, question.reference)
    quality = sum(weight * scores.get(name, 0.0) for name, weight in WEIGHTS.items())
    scores["quality"] = 0.0 if answer.abstained else quality
    return scores


def score_abstention(abstained: Sequence[bool], has_answer: Sequence[bool]) -> Scores:
    """Return precision and recall of abstaining over questions known to have an answer or none.

    A figure whose denominator is empty (nobody abstained; every question has an answer) is left out.
    """
    pairs = list(zip(abstained, has_answer, strict=True))
    right = sum(silent and not answerable for silent, answerable in pairs)
    scores: Scores = {}
    if any(abstained):
        scores["abstention_precision"] = right / sum(abstained)
    if not all(has_answer):
        scores["abstention_recall"] = right / sum(not answerable for answerable in has_answer)
    return scores


def token_f1(answer: str, reference: str) -> float:
    """Return the F1 of the words that two texts share, articles and punctuation aside."""
    first, second = _words(answer), _words(reference)
    shared = sum((Counter(first) & Counter(second)).values())
    return _f1(shared, len(first), len(second))


def rouge_l(answer: str, reference: str) -> float:
    """Return the F-measure of the longest common subsequence of words."""
    first, second = _words(answer), _words(reference)
    lengths = [0] * (len(second) + 1)
    for word in first:
        diagonal = 0
        for j, other in enumerate(second, 1):
            diagonal, lengths[j] = (
                lengths[j],
                diagonal + 1 if word == other else max(lengths[j], lengths[j - 1]),
            )
    return _f1(lengths[-1], len(first), len(second))


def citation_correctness(answer: Answer, embed: Embed) -> float:
    """Return the share of citations that quote what was read and support what they are set to."""
    texts = [_squeeze(document["text"]) for document in answer.documents]
    claims = _claims(answer.text)
    correct = 0
    for citation in answer.citations:
        quote = _squeeze(citation["quote"])
        claim = claims.get(citation["marker"])
        if not quote or claim is None or not any(quote in text for text in texts):
            continue
        if quote in _squeeze(claim) or _squeeze(claim) in quote:
            correct += 1
            continue
        first, second = embed([claim, citation["quote"]])
        correct += float(first @ second) >= SUPPORT
    return correct / len(answer.citations)


def _claims(answer: str) -> dict[int, str]:
    """Return, for each marker, the sentences that carry it."""
    claims: dict[int, list[str]] = {}
    # The marker may stand before or after the full stop; glue it to the sentence it follows.
    glued = re.sub(r"([.!?])((?:\s*\[\d+\])+)", r"\2\1", answer)
    for sentence in _SENTENCE_END.split(glued):
        for marker in re.findall(r"\[(\d+)\]", sentence):
            claims.setdefault(int(marker), []).append(_MARKER.sub("", sentence))
    return {marker: " ".join(sentences) for marker, sentences in claims.items()}


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[^\W_]+", text.lower()) if word not in _ARTICLES]


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _f1(shared: int, first: int, second: int) -> float:
    return 2 * shared / (first + second) if shared else 0.0
