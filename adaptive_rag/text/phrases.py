"""The phrases that the program itself writes: a code with values, and English words for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, get_args

from adaptive_rag.state import AnswerPart, Citation, Decision, DecisionKind, Phrase, Piece
from adaptive_rag.text.languages import fill, load_words
from adaptive_rag.text.markdown import sub_in_prose
from adaptive_rag.text.markers import (
    MARKER,
    find_markers,
    iter_markers,
    number_of,
    respell_markers,
    write_marker,
)
from adaptive_rag.text.places import format_place
from adaptive_rag.text.words import terms

# How an abstention can begin.
Refusal = Literal["refused", "no_match", "nothing_on"]


def say(code: str, **values: Any) -> Phrase:
    """Return the phrase for a code.

    A value is a text, a number, a phrase, a place as `{"source": ..., "place": ...}`, or a list of these.
    """
    return Phrase(code=code, values=values, text=fill(english()[code], values, _format_value))


def say_heading(code: str) -> Phrase:
    """Return the heading for a code."""
    return {**say(code), "heading": True}


def say_refusal(code: Refusal, **values: Any) -> Phrase:
    """Return the phrase with which an abstention begins."""
    return say(code, **values)


def is_refusal(text: str) -> bool:
    """Return whether a text is an abstention; one of several lines answers other parts of its question."""
    beginnings = tuple(english()[code].partition("{")[0] for code in get_args(Refusal))
    return text.startswith(beginnings) and "\n" not in text.strip()


def english() -> Mapping[str, str]:
    """Return the English words for every code."""
    return load_words("en").phrases


def _format_value(value: Any, form: str) -> str:
    """Return a value as text; `form` is a number's format, or what stands between the items of a list."""
    if isinstance(value, Mapping):
        return value["text"] if "code" in value else _format_place(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [_format_value(item, "") for item in value]
        if form:
            return f"{form} ".join(items)
        return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))
    return format(value, form)


def _format_place(value: Mapping[str, Any]) -> str:
    name = PurePath(value["source"]).name or value["source"]
    return respell_markers(", ".join(filter(None, (name, format_place(value["place"])))))


def decide(what: DecisionKind, chosen: Any, *reasons: Phrase) -> Decision:
    """Return a decision for the trace, with its reasons."""
    return Decision(what=what, chosen=chosen, why=join_reasons(reasons), reasons=list(reasons))


def join_reasons(reasons: Iterable[Phrase]) -> str:
    """Return the words of several reasons as one text."""
    return "; ".join(reason["text"] for reason in reasons)


@dataclass(frozen=True)
class CitedText:
    """A text that is made of plain text, phrases and citations."""

    pieces: list[Piece]

    @property
    def text(self) -> str:
        """The text with its markers."""
        return text_of(self.pieces)

    @property
    def citations(self) -> list[Citation]:
        """The citations, in the order of their markers."""
        return citations_of(self.pieces)


def text_of(pieces: Iterable[Piece]) -> str:
    """Return the pieces of an answer as one text."""
    return "".join(map(_text, pieces))


def _text(piece: Piece) -> str:
    if isinstance(piece, str):
        return piece
    if "code" not in piece:
        return write_marker(piece["marker"])
    return f"**{piece['text']}**" if piece.get("heading") else piece["text"]


def citations_of(pieces: Iterable[Piece]) -> list[Citation]:
    """Return the citations of an answer, in the order of their markers."""
    return [piece for piece in pieces if not isinstance(piece, str) and "code" not in piece]


def join_pieces(texts: Iterable[Sequence[Piece]], separator: str) -> list[Piece]:
    """Join the pieces of several texts, with a separator between the texts."""
    pieces = list[Piece]()
    for text in texts:
        pieces += [separator, *text] if pieces else text
    return pieces


def link_markers(text: str, citations: Sequence[Citation]) -> list[Piece]:
    """Split a text at its markers, and replace each marker by its citation; unknown markers stay as text.

    If several citations have the same marker, it stands for the one whose quote shares most words with the
    text before it.
    """
    pieces, last, preceding = list[Piece](), 0, set[str]()
    for marker in iter_markers(text):
        candidates = [citation for citation in citations if citation["marker"] == number_of(marker[0])]
        if not candidates:
            continue
        before, last = text[last : marker.start()], marker.end()
        preceding = set(terms(before)) or preceding  # both markers of "[1][2]" follow the same words
        best = max(candidates, key=lambda citation: len(preceding & set(terms(citation["quote"]))))
        pieces += [before, best]
    return [*pieces, text[last:]]


def number_markers(text: str, citations: Sequence[Citation]) -> tuple[str, list[Citation]]:
    """Number the markers of an answer from 1 in the order of the text, and sort its citations by them.

    In the output of the graph, a marker is the number of a passage in `documents`.
    """
    cited = [citation["marker"] for citation in citations]
    used = [marker for marker in find_markers(text) if marker in cited]
    numbers = {marker: number for number, marker in enumerate(dict.fromkeys(used + cited), 1)}
    numbered: list[Citation] = [{**each, "marker": numbers[each["marker"]]} for each in citations]

    def write_number(match: re.Match[str]) -> str:
        return write_marker(numbers.get(number := number_of(match[0]), number))

    return sub_in_prose(MARKER, write_number, text), sorted(numbered, key=lambda each: each["marker"])


def parts_of(pieces: Iterable[Piece], citations: Sequence[Citation]) -> list[AnswerPart]:
    """Return the pieces of an answer in the form of the output; adjacent texts become one part."""
    parts = list[AnswerPart]()
    for piece in pieces:
        part = AnswerPart(text=_text(piece))
        if isinstance(piece, str):
            if parts and parts[-1].keys() == {"text"}:
                part["text"] = parts.pop()["text"] + piece
        elif "code" in piece:
            part |= {"code": piece["code"], "values": piece["values"]}
            if piece.get("heading"):
                part["heading"] = True
        else:
            part["citation"] = citations.index(piece)
        if part["text"]:
            parts.append(part)
    return parts
