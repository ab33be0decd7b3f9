"""The inputs of an answer: the question, its passages and the style of its strategy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.answer.contributions import Contributions
from adaptive_rag.answer.score import ScoredSentences, blend_sides, judge, read_sides
from adaptive_rag.answer.sentences import AnswerSentence, collect_sentences
from adaptive_rag.answer.speakers import bare_name, message_speaker
from adaptive_rag.deadline import in_time
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.optional import attempt
from adaptive_rag.rank.agreement import agreements, centred
from adaptive_rag.rank.stances import Side
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Phrase
from adaptive_rag.text.reading import Reader
from adaptive_rag.text.vectors import Scores

# What is quoted of a place that answers: the sentence, from it to the end of its paragraph, or the paragraph.
Extent = Literal["sentence", "onward", "paragraph"]
# The columns of `AnswerRequest.sides`.
AGAINST, FOR, NEITHER = range(3)
# The probability from which a sentence takes a side (training/sides.py).
SURE = 0.6
# Minimum number of speakers in a debate.
SEVERAL = 2


@dataclass(frozen=True)
class Block:
    """Sentences that are shown together."""

    sentences: list[AnswerSentence]  # in the order shown; an empty block is left out
    heading: Phrase | str = ""
    numbered: bool = False  # whether each sentence is on a separate line with its number
    listed: bool = False  # whether each place is on a separate line with a dash
    apart: bool = False  # whether each place is a paragraph of its own
    opening: Phrase | None = None  # above the heading


@dataclass(frozen=True, kw_only=True)
class AnswerStyle:
    """The settings for the answers of one strategy."""

    # arranges the judged sentences in blocks; the request has the style
    arrange: Callable[[AnswerRequest, ScoredSentences], list[Block]]
    # maximum number of sentences that a chat model is asked for
    sentences: int = 3
    # maximum number of places that are quoted
    quotes: int = 4
    # what is quoted of each
    extent: Extent = "onward"
    # share of the total probability to answer that the quoted sentences must reach
    mass: float = 0.75
    # maximum number of words of the answer; the first sentence is shown whatever its length
    words: int = 70
    # whether several questions in one are answered separately
    splits: bool = False
    # whether it shows which view is whose, where the passages contain views
    views: bool = False
    # instructions for the chat model, in which "{sentences}" is filled in; "" for the file generate-NAME.md
    instruction: str = ""


@dataclass(frozen=True, kw_only=True)
class AnswerRequest:
    """Everything that is needed for an answer.

    Markers count documents: [n] is `documents[n - 1]`, so that the answer, its prompt and the documents of
    the output agree.
    """

    question: str
    style: AnswerStyle
    documents: Sequence[Candidate]  # passages in rank order
    sentences: Sequence[Sentences]  # one for each document; spans have the offsets of the document's own span
    question_vector: Vectors  # (dimension,)
    reader: Reader | None = None  # None where no reader may be used; then the nearest sentences are shown
    asked_before: str = ""  # the question that a follow-up refers to
    situation: str = ""  # what the user says about themselves
    parts: Sequence[str] = ()  # the separate questions, where the question asks several
    missing: Side | None = None  # the side that surely no passage takes; the answer says so

    def __post_init__(self) -> None:
        if len(self.documents) != len(self.sentences):
            raise ValueError(
                f"Got {len(self.documents)} documents and the sentences of {len(self.sentences)}; "
                "expected one Sentences for each document."
            )

    @property
    def read_as(self) -> str:
        """Return the question for the reader, with the question it refers to and the user's situation."""
        told = f" ({' '.join(self.situation.split())})" if self.situation.strip() else ""
        return f"{self._without_situation}{told}"

    @property
    def _without_situation(self) -> str:
        return f"{self.asked_before} {self.question}".strip()

    @cached_property
    def answer_sentences(self) -> list[AnswerSentence]:
        """Return the sentences of the documents that may be quoted, without duplicates."""
        return list(in_time(collect_sentences(self.documents, self.sentences)))

    @cached_property
    def judged(self) -> ScoredSentences:
        """Return the sentences as judged by the reader; where it fails, by their nearness alone."""
        return self._judge(self.read_as)

    @cached_property
    def answered(self) -> float | None:
        """Return the probability that one of the sentences answers; None without a reader.

        A situation tells which sentence answers, but makes the reader too sure: what it shares with the
        passages is no answer. So the question is read with it and alone, and both count the same, as the
        mean of their log-odds (`python -m benchmarks.answers`, contextual_sharc).
        """
        read = [self.judged.answered]
        if self.situation.strip():
            read.append(self._judge(self._without_situation).answered)
        if None in read or len(read) == 1:
            return read[0]
        kept = np.clip(np.array(read, dtype=float), 1e-4, 1 - 1e-4)
        return float(1 / (1 + np.exp(-np.log(kept / (1 - kept)).mean())))

    def _judge(self, question: str) -> ScoredSentences:
        ask = partial(judge, question, self.question_vector, self.documents, self.answer_sentences)
        return attempt("reader", partial(ask, self.reader), None) or ask(None)

    @cached_property
    def sides(self) -> Scores:
        """Return how likely each sentence is against the proposal, for it, or neither; shape (sentences, 3).

        Without a reader, all sentences are neither.
        """
        none = np.tile(np.array([0.0, 0.0, 1.0]), (len(self.answer_sentences), 1))
        return attempt("sides", self._read_sides, none) if self.reader else none

    def _read_sides(self) -> Scores:
        assert self.reader is not None
        read = read_sides(self.question, self.documents, self.answer_sentences, self.reader)
        return blend_sides(read, self.leans)

    @cached_property
    def taken(self) -> NDArray[np.intp]:
        """Return the side that each sentence surely takes, as a column of `sides`; else neither."""
        sure = self.sides[:, :NEITHER].max(axis=1, initial=0.0) >= SURE
        return np.where(sure, self.sides[:, :NEITHER].argmax(axis=1), NEITHER)

    @cached_property
    def leans(self) -> Scores:
        """Return the tone of each sentence towards the matter: above 0 for praise, below 0 for blame."""
        held = centred(agreements(self.question, self.documents, self.sentences))
        return np.array([held[s.document][s.position] for s in self.answer_sentences])

    @cached_property
    def speakers(self) -> list[str | None]:
        """Return who says each sentence according to the text; None where the text does not tell."""
        return [
            message_speaker(sentence.text)
            if sentence.alone
            else self.contributions[sentence.document].speaker_at(sentence.start, sentence.text)
            for sentence in self.answer_sentences
        ]

    @cached_property
    def is_debate(self) -> bool:
        """Return whether several people speak in the passages."""
        return len({bare_name(name) for name in self.speakers if name}) >= SEVERAL

    @cached_property
    def contributions(self) -> list[Contributions]:
        """Return the speakers and authors of each document."""
        return [
            attempt("speakers", partial(Contributions, document), None)
            or Contributions({**document, "text": ""})
            for document in self.documents
        ]
