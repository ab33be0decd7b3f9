"""What a reader says of passages: which sentences answer, whether a claim holds, which side is taken."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple, Protocol, runtime_checkable

from adaptive_rag.state import Chunk
from adaptive_rag.text.vectors import Scores

Span = tuple[int, int]


class Passage(NamedTuple):
    """What is read: the text of a chunk, and what stands above it in its document."""

    text: str
    title: str = ""
    section: str = ""


def passage_of(candidate: Chunk) -> Passage:
    """Return a chunk as it is read; the file's name stands for a title that the document lacks."""
    title = candidate["metadata"].get("title") or PurePath(candidate["source"]).name
    return Passage(candidate["text"], str(title), candidate["section"] or "")


class PassageReading(NamedTuple):
    """What a passage says to a question."""

    spans: list[Span]
    """Its sentences, in characters of its text."""
    scores: Scores
    """Of each sentence, how likely it is the one that answers, among those of all passages; 0-1."""
    answers: float
    """How likely it is that the passage answers, were it the only one; 0-1."""
    relevance: float
    """How relevant it is beside the other passages; any number, of which the order counts."""


class Reading(NamedTuple):
    """What passages, taken together, say to a question."""

    passages: list[PassageReading]
    answered: float
    """How likely it is that one of them answers, 0-1; calibrated on documents it was not trained on."""


class Support(NamedTuple):
    """How likely passages support a claim, contradict it, or do not tell; the three add up to 1."""

    supported: float
    contradicted: float
    untold: float


class Side(NamedTuple):
    """How likely a sentence is for a proposal, against it, or neither; the three add up to 1."""

    against: float
    favour: float
    neither: float


@runtime_checkable
class Reader(Protocol):
    """Reads passages."""

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Return which sentences answer, whether one does, and how relevant each passage is."""

    def check(self, claims: Sequence[str], passages: Sequence[Passage]) -> list[Support]:
        """Return of each claim what the passages say of it."""

    def side(self, proposal: str, passages: Sequence[Passage]) -> list[list[tuple[Span, Side]]]:
        """Return of each passage its sentences, and the side that each takes toward a proposal."""
