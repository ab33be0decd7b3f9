"""What the program says itself: a code with its values, and the English words for it from en.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from adaptive_rag.state import AnswerPart, Citation, Decision, Phrase, Piece
from adaptive_rag.text.markers import iter_markers, number_of, respell_markers, write_marker
from adaptive_rag.text.places import format_place
from adaptive_rag.text.words import terms

_PLURAL = re.compile(r"\{(\w+)\|([^|}]*)\|([^|}]*)\}")
_VALUE = re.compile(r"\{(\w+)(?::([^}]*))?\}")


def say(code: str, **values: Any) -> Phrase:
    """Return the phrase for a code.

    A value is a text, a number, a phrase, a place as `{"source": ..., "place": ...}`, or a list of these.
    """
    words = _PLURAL.sub(lambda found: found[2 if values[found[1]] == 1 else 3], english()[code])
    text = _VALUE.sub(lambda found: _write(values[found[1]], found[2] or ""), words)
    return Phrase(code=code, values=values, text=text)


def say_heading(code: str) -> Phrase:
    """Return the heading for a code."""
    return {**say(code), "heading": True}


@cache
def english() -> Mapping[str, str]:
    """Return the words of every code."""
    return dict(_flat(tomllib.loads(files(__package__).joinpath("en.toml").read_text(encoding="utf-8"))))


def _flat(table: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in table.items():
        yield from _flat(value) if isinstance(value, Mapping) else [(name, value)]


def _write(value: Any, form: str) -> str:
    if isinstance(value, Mapping):
        return value["text"] if "code" in value else _write_place(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [_write(item, "") for item in value]
        if form:
            return f"{form} ".join(items)
        return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))
    return format(value, form)


def _write_place(value: Mapping[str, Any]) -> str:
    name = PurePath(value["source"]).name or value["source"]
    return respell_markers(", ".join(filter(None, (name, format_place(value["place"])))))


def decide(what: str, chosen: Any, *reasons: Phrase) -> Decision:
    """Return a decision for the trace, with its reasons."""
    return Decision(what=what, chosen=chosen, why=in_order(reasons), reasons=list(reasons))


def in_order(reasons: Iterable[Phrase]) -> str:
    """Return the words of several reasons."""
    return "; ".join(reason["text"] for reason in reasons)


@dataclass(frozen=True)
class Written:
    """A text with phrases of ours and the marks of its citations."""

    pieces: list[Piece]

    @property
    def text(self) -> str:
        """The text with its markers."""
        return text_of(self.pieces)

    @property
    def citations(self) -> list[Citation]:
        """The citations, in the order of the marks."""
        return citations_of(self.pieces)


def text_of(pieces: Iterable[Piece]) -> str:
    """Return the text of the pieces of an answer."""
    return "".join(map(_text, pieces))


def _text(piece: Piece) -> str:
    if isinstance(piece, str):
        return piece
    if "code" not in piece:
        return write_marker(piece["marker"])
    return f"**{piece['text']}**" if piece.get("heading") else piece["text"]


def citations_of(pieces: Iterable[Piece]) -> list[Citation]:
    """Return the citations of an answer, in the order of its marks."""
    return [piece for piece in pieces if not isinstance(piece, str) and "code" not in piece]


def joined(rows: Iterable[Sequence[Piece]], between: str) -> list[Piece]:
    """Return the pieces of several texts, with a text between them."""
    pieces = list[Piece]()
    for row in rows:
        pieces += [between, *row] if pieces else row
    return pieces


def marked(text: str, citations: Sequence[Citation]) -> list[Piece]:
    """Return a text that has markers as pieces: each known marker becomes the mark of its citation.

    Where several sentences of a passage are cited, a marker stands for the one that shares most words with
    what it follows.
    """
    pieces, last, said = list[Piece](), 0, set[str]()
    for marker in iter_markers(text):
        own = [each for each in citations if each["marker"] == number_of(marker[0])]
        if not own:
            continue
        before, last = text[last : marker.start()], marker.end()
        said = set(terms(before)) or said  # both markers of "[1][2]" follow the same words
        pieces += [before, max(own, key=lambda each: len(said & set(terms(each["quote"]))))]
    return [*pieces, text[last:]]


def parts_of(pieces: Iterable[Piece], citations: Sequence[Citation]) -> list[AnswerPart]:
    """Return the pieces of an answer as the output has them; adjacent texts become one part."""
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
