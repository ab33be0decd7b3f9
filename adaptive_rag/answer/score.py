"""Judges the sentences of the passages: how likely each one answers, and which side it takes.

The reader does this. Without it, or in a language that it does not know, only the similarity of a sentence
to the question is known, which does not tell whether the sentence answers it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from adaptive_rag.answer.passages import chunks_of, ranks_of
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.state import Candidate
from adaptive_rag.text.reading import Reader, passage_of
from adaptive_rag.text.vectors import Scores, cosines

# Maximum number of characters that are read, from the first chunks in the ranking: eight full chunks, which
# take about .1 s on two cores (`python -m benchmarks.warm_question`).
MOST_READ = 8_000


# The tone at which a sentence praises or blames clearly.
CLEAR_TONE = 0.1


class SideWeights(NamedTuple):
    """What makes the probability of a side of the reader's and the tone; fitted by training/sides.py."""

    reader: float = 0.74
    """The factor of the logarithm of the reader's probabilities."""
    tone: float = 0.25
    """What a clear tone adds to for and takes from against, or the reverse."""
    favour: float = -0.08
    """What is added to for."""
    neither: float = -0.20
    """What is added to neither."""


FITTED = SideWeights()


@dataclass(frozen=True)
class ScoredSentences:
    """The sentences of the passages with their scores."""

    sentences: Sequence[AnswerSentence]
    scores: Scores
    """(sentences,): the probability that each sentence is the one that answers, 0-1; without a reader, the
    cosine."""
    relevance: Scores
    """(sentences,): the probability that its chunk answers, taken alone; 0-1."""
    answered: float | None
    """The probability that one of them answers; None without a reader."""

    @property
    def best(self) -> float:
        """Return the highest score; 0 without sentences."""
        return float(self.scores.max()) if len(self.scores) else 0.0


def judge(
    question: str,
    vector: Vectors,
    documents: Sequence[Candidate],
    sentences: Sequence[AnswerSentence],
    reader: Reader | None,
) -> ScoredSentences:
    """Judge the sentences of passages for a question.

    Args:
        question: the question for the reader, including the question it refers to.
        vector: the unit vector of the question.
        documents: the passages, joined or not.
        sentences: the sentences of the passages, in order.
        reader: the reader; None to use only the similarity.
    """
    scores, relevance = (np.zeros(len(sentences)) for _ in range(2))
    if reader is None:
        if sentences:
            scores = np.maximum(cosines(np.stack([s.vector for s in sentences]), vector[None])[:, 0], 0.0)
        return ScoredSentences(sentences, scores, relevance, None)
    chunks = chunks_to_read(documents)
    reading = reader.read(question, [passage_of(chunk) for _, chunk in chunks])
    for (document, chunk), read in zip(chunks, reading.passages, strict=True):
        places = _places(sentences, document, chunk, read.spans)
        for place, score in zip(places, read.scores, strict=True):
            if place is not None:
                # Several pieces may belong to one sentence: one that two chunks share, or the items of a
                # list.
                scores[place] += score
                relevance[place] = max(relevance[place], read.answers)
    return ScoredSentences(sentences, np.minimum(scores, 1.0), relevance, reading.answered)


def read_sides(
    proposal: str, documents: Sequence[Candidate], sentences: Sequence[AnswerSentence], reader: Reader
) -> Scores:
    """Return how likely each sentence is against a proposal, for it, or neither; shape (sentences, 3).

    A sentence that is not read counts as neither.
    """
    sides = np.tile(np.array([0.0, 0.0, 1.0]), (len(sentences), 1))
    chunks = chunks_to_read(documents)
    said = reader.side(proposal, [passage_of(chunk) for _, chunk in chunks])
    for (document, chunk), told in zip(chunks, said, strict=True):
        places = _places(sentences, document, chunk, [span for span, _ in told])
        for place, side in zip(places, (side for _, side in told), strict=True):
            # where a piece has several sentences, the one that takes a side most clearly counts
            if place is not None and side.neither < sides[place, 2]:
                sides[place] = side
    return sides


def blend_sides(read: Scores, leans: Scores, weights: SideWeights = FITTED) -> Scores:
    """Return the probability of each side by the reader and the tone together; shape (sentences, 3).

    Args:
        read: what the reader says of each sentence: against, for, neither; shape (sentences, 3).
        leans: the tone of each sentence towards the matter, shape (sentences,).
        weights: how much each counts.
    """
    tone = weights.tone * np.tanh(leans / CLEAR_TONE)
    added = np.stack([-tone, tone + weights.favour, np.full_like(tone, weights.neither)], axis=1)
    logits = weights.reader * np.log(np.maximum(read, 1e-6)) + added
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def chunks_to_read(documents: Sequence[Candidate]) -> list[tuple[int, Candidate]]:
    """Return the chunks to read, best first, each with the index of its passage."""
    ranked = list[tuple[int, int, Candidate]]()
    for number, (document, rank) in enumerate(zip(documents, ranks_of(documents), strict=True)):
        ranks = [part["rank"] for part in document.get("parts", [])] or [rank]
        ranked += [(rank, number, chunk) for rank, chunk in zip(ranks, chunks_of(document), strict=True)]
    ranked.sort(key=lambda each: each[0])
    lengths = accumulate(len(chunk["text"]) for _, _, chunk in ranked)
    fitting = sum(length <= MOST_READ for length in lengths)
    return [(number, chunk) for _, number, chunk in ranked[: max(1, fitting)]]


def _places(
    sentences: Sequence[AnswerSentence],
    document: int,
    chunk: Candidate,
    spans: Sequence[tuple[int, int]],
) -> Iterator[int | None]:
    """Yield, for each span of a chunk, the index of the sentence that it belongs to, or None.

    A heading, and a question above its answer, belong to the sentence that follows.
    """
    first = bisect_right(sentences, document - 1, key=lambda s: s.document)
    last = bisect_right(sentences, document, key=lambda s: s.document)
    ends = [s.end for s in sentences[first:last]]
    for start, end in spans:
        at = first + bisect_right(ends, chunk["start"] + start)
        while at < last and sentences[at].start < chunk["start"] + end:
            if sentences[at].quality > 0 or sentences[at].leads:
                break
            at += 1
        inside = at < last and sentences[at].start < chunk["end"]
        yield at if inside else None
