"""What an answer is made of: the question, its passages and the style of its strategy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from adaptive_rag.answer.contributions import Contributions
from adaptive_rag.answer.ranking import Ranking
from adaptive_rag.answer.rows import say_row
from adaptive_rag.answer.sentences import AnswerSentence, collect_sentences
from adaptive_rag.deadline import in_time
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.optional import attempt
from adaptive_rag.rank.stances import Side
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate


@dataclass(frozen=True)
class Block:
    """Sentences that are shown together."""

    sentences: list[AnswerSentence]  # as they are shown; an empty block is left out
    heading: str = ""
    numbered: bool = False  # whether each sentence stands on a line of its own with its number
    listed: bool = False  # whether each thought stands on a line of its own with a dash
    opening: str = ""  # what is said above the heading in our own words


@dataclass(frozen=True)
class Aspect:
    """A sub-question or viewpoint that passages were found for, or a part of a question that asks several."""

    label: str  # as it stands in the passages' `labels`; a part's text
    vector: Vectors  # (dimension,)


@dataclass(frozen=True, kw_only=True)
class AnswerStyle:
    """How the answer of one strategy is made."""

    # chooses the sentences and arranges them in blocks; the request has the style, the ranking all sentences
    arrange: Callable[[AnswerRequest, Ranking], list[Block]]
    # the likelihood of an answer below which it abstains, 0 to 1; where a chat model answers, it decides
    evidence: float
    # sentences beside that of a fact, or of an aspect or the asker's situation, at most; what they refer back
    # to comes on top
    sentences: int = 3
    # words of the answer's paragraphs together, at most; the first sentence of each is shown however long
    words: int = 150
    # share of the best sentence's score that a further sentence must reach
    nearness: float
    # what the words of the question that a text names, all of them, add to its cosine as evidence
    wording: float = 0.6
    # whether two questions in one are answered one by one
    splits: bool = False
    # whether it is evidence enough that somebody named speaks of the matter, or somebody takes a side on it
    heeds_speakers: bool = False
    # what the chat model is told, with "{sentences}" filled; "" takes the prompt file generate-NAME.md
    instruction: str = ""


@dataclass(frozen=True)
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
    aspects: Sequence[Aspect] = ()
    parts: Sequence[Aspect] = ()  # the questions that the question asks, where it asks several
    user_context: str = ""
    context_vector: Vectors | None = None  # (dimension,), of the question with the user_context, where given
    said: Sequence[str] = ()  # the answers before a follow-up, oldest first
    asked_before: str = ""  # the question before a follow-up
    missing: Side | None = None  # the side that no passage takes, where that is sure; the answer says so

    def __post_init__(self) -> None:
        if len(self.documents) != len(self.sentences):
            raise ValueError(
                f"Got {len(self.documents)} documents and the sentences of {len(self.sentences)}; "
                "expected one Sentences for each document."
            )

    @cached_property
    def answer_sentences(self) -> list[AnswerSentence]:
        """Return the sentences of the documents that may be quoted, each once; of rows what is asked for."""
        return [
            self._with_row_said(sentence) if sentence.cells else sentence
            for sentence in in_time(collect_sentences(self.documents, self.sentences))
        ]

    def _with_row_said(self, row: AnswerSentence) -> AnswerSentence:
        said = attempt("rows", partial(say_row, row.cells, self.question), row.text)
        return replace(row, text=said)

    @cached_property
    def contributions(self) -> list[Contributions]:
        """Return whose words each document holds."""
        return [
            attempt("speakers", partial(Contributions, document), None)
            or Contributions({**document, "text": ""})
            for document in self.documents
        ]
