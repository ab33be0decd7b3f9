"""What an answer is made of: the question, its passages and the style of its strategy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from adaptive_rag.answer.contributions import Contributions
from adaptive_rag.answer.score import ScoredSentences, judge, read_sides
from adaptive_rag.answer.sentences import AnswerSentence, collect_sentences
from adaptive_rag.answer.speakers import bare_name, message_speaker
from adaptive_rag.deadline import in_time
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.optional import attempt
from adaptive_rag.rank.agreement import agreements, centred
from adaptive_rag.rank.stances import Side
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.reading import Reader
from adaptive_rag.text.vectors import Scores

# The columns of `AnswerRequest.sides`.
AGAINST, FOR, NEITHER = range(3)
# How clearly a sentence must praise or blame for its tone to count, and how sure the reader must be where it
# does not; measured once on Perspectrum (docs/answer-quality.md).
LEANS, SURE = 0.1, 0.65
# So many speakers make a debate.
SEVERAL = 2


@dataclass(frozen=True)
class Block:
    """Sentences that are shown together."""

    sentences: list[AnswerSentence]  # as they are shown; an empty block is left out
    heading: str = ""
    numbered: bool = False  # whether each sentence stands on a line of its own with its number
    listed: bool = False  # whether each thought stands on a line of its own with a dash
    opening: str = ""  # what is said above the heading in our own words


@dataclass(frozen=True, kw_only=True)
class AnswerStyle:
    """How the answer of one strategy is made."""

    # arranges sentences in blocks; the request has the style, what is judged all sentences
    arrange: Callable[[AnswerRequest, ScoredSentences], list[Block]]
    # sentences that a chat model is asked for, at most
    sentences: int = 3
    # sentences that are quoted, at most; what they need to be understood comes on top
    quotes: int = 4
    # share of the chance to answer that the quoted sentences hold together: a sure answer is one sentence
    mass: float = 0.75
    # words of the answer, at most; the first sentence is shown however long
    words: int = 70
    # whether two questions in one are answered one by one
    splits: bool = False
    # whether it quotes whose view is what, where views were read
    views: bool = False
    # what the chat model is told, with "{sentences}" filled; "" takes the prompt file generate-NAME.md
    instruction: str = ""


@dataclass(frozen=True, kw_only=True)
class AnswerRequest:
    """All that an answer is made of.

    Markers count documents: [n] is `documents[n - 1]`. So the answer, its prompt and the documents of the
    output agree.
    """

    question: str
    style: AnswerStyle
    documents: Sequence[Candidate]  # passages in rank order
    sentences: Sequence[Sentences]  # one for each document; spans count as the document's own do
    question_vector: Vectors  # (dimension,)
    reader: Reader | None = None  # None where nothing may read: then the nearest sentences are shown
    asked_before: str = ""  # the question that a follow-up leans on
    situation: str = ""  # what the asker says of themselves
    parts: Sequence[str] = ()  # the questions that the question asks, where it asks several
    missing: Side | None = None  # the side that no passage takes, where that is sure; the answer says so

    def __post_init__(self) -> None:
        if len(self.documents) != len(self.sentences):
            raise ValueError(
                f"Got {len(self.documents)} documents and the sentences of {len(self.sentences)}; "
                "expected one Sentences for each document."
            )

    @property
    def read_as(self) -> str:
        """Return the question as it is read: after the one that it leans on, before the asker's situation."""
        told = f" ({' '.join(self.situation.split())})" if self.situation.strip() else ""
        return f"{self.asked_before} {self.question}".strip() + told

    @cached_property
    def answer_sentences(self) -> list[AnswerSentence]:
        """Return the sentences of the documents that may be quoted, each once."""
        return list(in_time(collect_sentences(self.documents, self.sentences)))

    @cached_property
    def judged(self) -> ScoredSentences:
        """Return what the reader says of them; their nearness alone where it fails."""
        ask = partial(judge, self.read_as, self.question_vector, self.documents, self.answer_sentences)
        return attempt("reader", partial(ask, self.reader), None) or ask(None)

    @cached_property
    def sides(self) -> Scores:
        """Return how likely each sentence is against what is asked about, for it, or neither.

        Shape (sentences, 3); nothing is for or against where nothing reads.
        """
        none = np.tile(np.array([0.0, 0.0, 1.0]), (len(self.answer_sentences), 1))
        return attempt("sides", self._read_sides, none) if self.reader else none

    def _read_sides(self) -> Scores:
        assert self.reader is not None
        sides = read_sides(self.question, self.documents, self.answer_sentences, self.reader)
        leans = self.leans
        favours, clear = sides[:, FOR] > sides[:, AGAINST], np.abs(leans) >= LEANS
        if self.is_debate:
            # Most of what is said in a debate takes a side, and its tone tells which better than the reader.
            favours = np.where(clear, leans > 0, favours)
        # Elsewhere a side is taken where both agree, or where the reader is sure and the tone tells nothing.
        agreed = favours == (leans > 0)
        taken = np.where(clear, agreed, sides[:, :NEITHER].max(axis=1) >= SURE)
        sides[favours], sides[~favours] = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)
        sides[~taken] = 0.0, 0.0, 1.0
        return sides

    @cached_property
    def leans(self) -> Scores:
        """Return how clearly each sentence praises what is asked about, or blames it: above or below 0."""
        held = centred(agreements(self.question, self.documents, self.sentences))
        return np.array([held[s.document][s.position] for s in self.answer_sentences])

    @cached_property
    def speakers(self) -> list[str | None]:
        """Return who says each sentence, as the text marks it; None where nothing does."""
        return [
            message_speaker(sentence.text)
            if sentence.alone
            else self.contributions[sentence.document].speaker_at(sentence.start, sentence.text)
            for sentence in self.answer_sentences
        ]

    @property
    def is_debate(self) -> bool:
        """Tell whether several people speak in what was read."""
        return len({bare_name(name) for name in self.speakers if name}) >= SEVERAL

    @cached_property
    def contributions(self) -> list[Contributions]:
        """Return whose words each document holds."""
        return [
            attempt("speakers", partial(Contributions, document), None)
            or Contributions({**document, "text": ""})
            for document in self.documents
        ]
