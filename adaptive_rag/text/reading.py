"""The reader interface: which sentences answer, whether passages support a claim, which side they take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple, Protocol, runtime_checkable

from adaptive_rag.state import Chunk
from adaptive_rag.text.vectors import Scores

Span = tuple[int, int]


class Passage(NamedTuple):
    """The input of a reader: a chunk's text, and the title and section of its document."""

    text: str
    title: str = ""
    section: str = ""


def passage_of(candidate: Chunk) -> Passage:
    """Return a chunk as input for a reader; a missing title is replaced by the file name."""
    title = candidate["metadata"].get("title") or PurePath(candidate["source"]).name
    return Passage(candidate["text"], str(title), candidate["section"] or "")


def heading_of(passage: Passage) -> str:
    """Return what is read before a passage's text: its title and section."""
    return " > ".join(filter(None, (passage.title, passage.section)))


class PassageReading(NamedTuple):
    """What a reader finds in one passage for a question."""

    spans: list[Span]
    """The spans of its sentences, in characters of its text."""
    scores: Scores
    """For each sentence, the probability that it is the answer among the sentences of all passages, 0-1."""
    answers: float
    """The probability that the passage would answer if it were the only one, 0-1."""
    relevance: float
    """The relevance in comparison with the other passages: any number, of which only the order matters."""


class Reading(NamedTuple):
    """What a reader finds in several passages together for a question."""

    passages: list[PassageReading]
    answered: float
    """The probability that one of them answers, 0-1; calibrated on documents outside the training data."""


class Support(NamedTuple):
    """Probabilities that passages support a claim, contradict it, or do not address it; they add up to 1."""

    supported: float
    contradicted: float
    untold: float


class Side(NamedTuple):
    """Probabilities that a sentence is against a proposal, for it, or neither; they add up to 1."""

    against: float
    favour: float
    neither: float


@runtime_checkable
class Reader(Protocol):
    """A model that reads passages."""

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Return which sentences answer a question, whether any does, and how relevant each passage is."""

    def check(self, claims: Sequence[str], passages: Sequence[Passage]) -> list[Support]:
        """Return, for each claim, whether the passages support it."""

    def side(self, proposal: str, passages: Sequence[Passage]) -> list[list[tuple[Span, Side]]]:
        """Return, for each passage, its sentences and the side that each takes on a proposal."""
