"""Quotes with their markers, for overviews and for answers over a whole table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from adaptive_rag.answer.links import keep_own_links
from adaptive_rag.answer.passages import cite_span, text_at
from adaptive_rag.state import Candidate, Piece
from adaptive_rag.text.markdown import without_open_emphasis
from adaptive_rag.text.markers import respell_markers
from adaptive_rag.text.phrases import CitedText


class Quote(NamedTuple):
    """A text in an answer, and the span of a passage that it is from."""

    text: str
    passage: Candidate
    start: int
    end: int
    before: Sequence[Piece] = ()  # what is written before the text, such as a heading or a dash


@dataclass(frozen=True)
class WholeAnswer(CitedText):
    """An answer made of a whole table or document."""

    passages: list[Candidate]  # [n] is the nth of them
    basis: str  # for the trace: the document, or how the answer was computed


def readable(text: str) -> str:
    """Return a document's text on one line, without images, tags and what looks like a marker of ours."""
    return respell_markers(keep_own_links(without_open_emphasis(" ".join(text.split())), None)[0])


def write_quotes(
    quotes: Sequence[Quote], passages: Sequence[Candidate]
) -> tuple[list[list[Piece]], list[Candidate]]:
    """Return the quotes on one line each with the marks of their citations, and the passages.

    A quote from a text that is in none of the passages adds its own passage.
    """
    all_passages, lines = list(passages), list[list[Piece]]()
    for quote in quotes:
        same = (i for i, passage in enumerate(all_passages) if passage["id"] == quote.passage["id"])
        containing = (i for i, passage in enumerate(all_passages) if _contains(passage, quote))
        index = next(same, next(containing, len(all_passages)))
        if index == len(all_passages):
            all_passages.append(quote.passage)
        citation = cite_span(all_passages[index], index + 1, quote.start, quote.end)
        lines.append([*quote.before, f"{readable(quote.text)} ", citation])
    return lines, all_passages


def _contains(passage: Candidate, quote: Quote) -> bool:
    if passage["source"] != quote.passage["source"]:
        return False
    # The text is compared too, since passages from an app's own retriever may all start at 0.
    texts = {text_at(each, quote.start, quote.end) for each in (passage, quote.passage)}
    return passage["start"] <= quote.start and quote.end <= passage["end"] and len(texts) == 1
