"""Quotes with their markers: what an overview, and an answer over a whole table, are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from adaptive_rag.answer.links import keep_own_links
from adaptive_rag.answer.passages import cite_span, text_at
from adaptive_rag.state import Candidate, Piece
from adaptive_rag.text.markers import respell_markers
from adaptive_rag.text.phrases import CitedText


class Quote(NamedTuple):
    """A text in an answer, and the span of a passage that it is from."""

    text: str
    passage: Candidate
    start: int
    end: int
    before: Sequence[Piece] = ()  # above or before the text, such as a dash


@dataclass(frozen=True)
class WholeAnswer(CitedText):
    """An answer made of a whole table or document."""

    passages: list[Candidate]  # [n] is the nth of them
    what: str  # for the trace: the document, or how the answer was computed


def readable(text: str) -> str:
    """Return a document's text on one line, without images, tags and what looks like a marker of ours."""
    return respell_markers(keep_own_links(" ".join(text.split()), None)[0])


def write_quotes(
    quotes: Sequence[Quote], passages: Sequence[Candidate]
) -> tuple[list[list[Piece]], list[Candidate]]:
    """Return the quotes on one line each with the marks of their citations, and the passages.

    A quote from a text that is in none of the passages adds its own passage.
    """
    read, lines = list(passages), list[list[Piece]]()
    for quote in quotes:
        own = (at for at, passage in enumerate(read) if passage["id"] == quote.passage["id"])
        holding = (at for at, passage in enumerate(read) if _holds(passage, quote))
        at = next(own, next(holding, len(read)))
        if at == len(read):
            read.append(quote.passage)
        mark = cite_span(read[at], at + 1, quote.start, quote.end)
        lines.append([*quote.before, f"{readable(quote.text)} ", mark])
    return lines, read


def _holds(passage: Candidate, quote: Quote) -> bool:
    same = passage["source"] == quote.passage["source"]
    inside = same and passage["start"] <= quote.start and quote.end <= passage["end"]
    # Passages from an app's own retriever may all start at 0.
    texts = (text_at(each, quote.start, quote.end) for each in (passage, quote.passage))
    return inside and len({*texts}) == 1
