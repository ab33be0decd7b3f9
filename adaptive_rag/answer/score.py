"""Scores the sentences of the passages: how likely each one answers, and which side it takes.

The reader gives the probabilities. Without it, or in a language that it was not trained on, the score is the
cosine of a sentence with the question, which does not show whether the sentence answers it.
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
from adaptive_rag.text.letters import header_spans
from adaptive_rag.text.reading import Passage, Reader, passage_of
from adaptive_rag.text.vectors import Scores, cosines

# Maximum number of characters that the reader gets, from the best chunks: eight full chunks, which take about
# .1 s on two cores (`python -m benchmarks.warm_question`).
MAX_CHARACTERS = 8_000
# The tone from which a sentence clearly praises or blames.
CLEAR_TONE = 0.1


class SideWeights(NamedTuple):
    """Weights that combine the reader's probabilities of the sides with the tone; see training/sides.py."""

    reader: float = 0.48
    """The factor of the logarithm of the reader's probabilities."""
    tone: float = 0.46
    """What a clear tone adds to one side and takes from the other."""
    favour: float = 0.09
    """What is added to for."""
    neither: float = -0.50
    """What is added to neither."""


FITTED = SideWeights()


@dataclass(frozen=True)
class ScoredSentences:
    """The sentences of the passages with their scores."""

    sentences: Sequence[AnswerSentence]
    scores: Scores
    """(sentences,): the probability that a sentence is the one that answers; without a reader, its cosine."""
    relevance: Scores
    """(sentences,): the probability that the sentence's chunk answers, taken alone."""
    answered: float | None
    """The probability that one of the sentences answers; None without a reader."""
    missing: str = ""
    """What the question names and the documents do not, where the best sentence is about something else."""


def score_sentences(
    question: str,
    question_vector: Vectors,
    documents: Sequence[Candidate],
    sentences: Sequence[AnswerSentence],
    reader: Reader | None,
) -> ScoredSentences:
    """Score the sentences of passages for a question, by their cosines with its unit vector without a reader.

    The question includes the one that it refers to. The sentences are in the order of the passages, which may
    be joined.
    """
    scores, relevance = np.zeros(len(sentences)), np.zeros(len(sentences))
    if reader is None:
        if sentences:
            vectors = np.stack([sentence.vector for sentence in sentences])
            scores = np.maximum(cosines(vectors, question_vector[None])[:, 0], 0.0)
        return ScoredSentences(sentences, scores, relevance, None)
    chunks = chunks_to_read(documents)
    reading, in_headers = reader.read(question, [passage_of(chunk) for _, chunk in chunks]), 0.0
    for (document, chunk), result in zip(chunks, reading.passages, strict=True):
        headers = header_spans(chunk["text"])
        indices = _sentence_indices(sentences, document, chunk, result.spans, headers)
        for (start, _), index, score in zip(result.spans, indices, result.scores, strict=True):
            if index is None and _is_within(headers, start):
                in_headers += float(score)
            elif index is not None:
                # Several spans may belong to one sentence: where two chunks share it, or to a list.
                scores[index] += score
                relevance[index] = max(relevance[index], result.answers)
    answered = max(0.0, reading.answered - in_headers)  # the headers of a mail are not quoted
    return ScoredSentences(sentences, np.minimum(scores, 1.0), relevance, answered)


def score_lines(question: str, reader: Reader, lines: Sequence[str]) -> list[float]:
    """Return the reader's probability that each of some lines answers, if they are all there is to read."""
    ends = list(accumulate(len(line) + 1 for line in lines))
    [reading] = reader.read(question, [Passage("\n".join(lines))]).passages
    scores = [0.0] * len(lines)
    for (start, _), score in zip(reading.spans, reading.scores, strict=True):
        scores[bisect_right(ends, start)] += float(score)
    return scores


def _is_within(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    return any(start <= offset < end for start, end in spans)


def read_sides(
    proposal: str, documents: Sequence[Candidate], sentences: Sequence[AnswerSentence], reader: Reader
) -> Scores:
    """Return the reader's probability that each sentence is against a proposal, for it, or neither.

    The shape is (sentences, 3). A sentence that is not read counts as neither.
    """
    sides = np.tile(np.array([0.0, 0.0, 1.0]), (len(sentences), 1))
    chunks = chunks_to_read(documents)
    results = reader.side(proposal, [passage_of(chunk) for _, chunk in chunks])
    for (document, chunk), sided_spans in zip(chunks, results, strict=True):
        spans, headers = [span for span, _ in sided_spans], header_spans(chunk["text"])
        indices = _sentence_indices(sentences, document, chunk, spans, headers)
        for index, (_, side) in zip(indices, sided_spans, strict=True):
            # Of several spans of a sentence, the one that takes a side most clearly counts.
            if index is not None and side.neither < sides[index, 2]:
                sides[index] = side
    return sides


def blend_sides(probabilities: Scores, tones: Scores, weights: SideWeights = FITTED) -> Scores:
    """Return the probability of each side by the result of `read_sides` and the tones; shape (sentences, 3).

    `tones` has the tone of each sentence towards the proposal, shape (sentences,).
    """
    tone = weights.tone * np.tanh(tones / CLEAR_TONE)
    added = np.stack([-tone, tone + weights.favour, np.full_like(tone, weights.neither)], axis=1)
    logits = weights.reader * np.log(np.maximum(probabilities, 1e-6)) + added
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


def chunks_to_read(documents: Sequence[Candidate]) -> list[tuple[int, Candidate]]:
    """Return the chunks for the reader, best first, each with the index of its passage."""
    ranked = list[tuple[int, int, Candidate]]()
    for index, (document, best_rank) in enumerate(zip(documents, ranks_of(documents), strict=True)):
        ranks = [part["rank"] for part in document.get("parts", [])] or [best_rank]
        ranked += [(rank, index, chunk) for rank, chunk in zip(ranks, chunks_of(document), strict=True)]
    ranked.sort(key=lambda entry: entry[0])
    lengths = accumulate(len(chunk["text"]) for _, _, chunk in ranked)
    fitting = sum(length <= MAX_CHARACTERS for length in lengths)
    return [(index, chunk) for _, index, chunk in ranked[: max(1, fitting)]]


def _sentence_indices(
    sentences: Sequence[AnswerSentence],
    document: int,
    chunk: Candidate,
    spans: Sequence[tuple[int, int]],
    headers: Sequence[tuple[int, int]],
) -> Iterator[int | None]:
    """Yield, for each span of a chunk, the index of the sentence that it belongs to, or None.

    A heading, and a question above its answer, belong to the sentence that follows, but not to a table's row.
    A fragment belongs to no sentence of the next section, and the headers of a mail not to its text.
    """
    first = bisect_right(sentences, document - 1, key=lambda sentence: sentence.document)
    last = bisect_right(sentences, document, key=lambda sentence: sentence.document)
    ends = [sentence.end for sentence in sentences[first:last]]
    for start, end in spans:
        index = first + bisect_right(ends, chunk["start"] + start)
        is_heading = chunk["text"].startswith("#", start)
        # "## 2.3.0" above "### Added" belongs to what was added.
        while index < last and (
            sentences[index].start < chunk["start"] + end or sentences[index].text.startswith("#")
        ):
            if sentences[index].quality > 0 or sentences[index].is_lead_in:
                break
            if sentences[index].text.startswith("#") and not is_heading:
                index = last
                break
            index += 1
        if index == last or sentences[index].start >= chunk["end"]:
            yield None
        else:
            is_below = sentences[index].start >= chunk["start"] + end
            belongs_to_none = sentences[index].cells or _is_within(headers, start)
            yield None if is_below and belongs_to_none else index
