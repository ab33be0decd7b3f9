"""Right-to-left lines of a PDF: Hebrew and Arabic letters, sorted by position, to text in reading order.

A page says where each letter is, not which one is read first. The Unicode bidirectional algorithm (UAX #9)
derives the order of display from the order of the text. Here it is applied in reverse, line by line: text
that is written from right to left is reversed, and figures and Latin words in it are left as they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_LETTER = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
# In type sizes: a wider gap separates two words, or two cells.
_WORD_GAP, _CELL_GAP = 0.2, 1.2
# In type sizes: letters of one word are closer, so a ruled line between them is part of a drawing.
_CLOSE = 0.1
# In points: letters at this distance or less touch.
_TOUCHING = 0.05
# Signs that end a line: a line with one of them on its right was set from left to right.
_STOPS = ".!?:;,…"
# On a Hebrew page, a line with this many times as many Latin letters as Hebrew ones is a quotation.
_FOREIGN = 3
# The letters of Arabic's only mandatory ligature.
_LAM, _ALEFS = "\u0644", "\u0627\u0622\u0623\u0625\u0671"
_OPENING, _CLOSING = "([{«‹", ")]}»›"
_SWAPPED = str.maketrans(_OPENING + _CLOSING, _CLOSING + _OPENING)
# By class of UAX #9: letters of both directions, figures, signs in and beside figures; else "_".
_CLASSES = {"L": "L", "R": "R", "AL": "R", "EN": "0", "AN": "0", "ES": "s", "CS": "s", "ET": "t"}
# Beside Arabic letters the sign of "45%" is displayed on the left.
_PERCENT = re.compile(r"^([%\u066a])(\d.*)$")
# Hebrew and Arabic attach a prefix to a Latin word, but nothing to its end: a blank belongs there, which the
# line has on the other side of the word.
_JOINED_TO_LATIN = re.compile(rf"(?<=[A-Za-z])(?={_LETTER.pattern})")
_LEFT_TO_RIGHT = re.compile(r"L(?:[^R]*[L0])?|t*0(?:s?0)*t*")
_RIGHT_TO_LEFT = re.compile(r"R(?:[^L]*R)?")


class Letter(NamedTuple):
    """A letter on a page: its horizontal extent and its type size."""

    text: str
    x0: float
    x1: float
    size: float


@dataclass
class _Shape:
    """A letter with its marks, or the letters of a ligature, in reading order."""

    text: str
    x0: float
    x1: float
    size: float

    @property
    def middle(self) -> float:
        return (self.x0 + self.x1) / 2


class Stretch(NamedTuple):
    """A part of a line that is not cut, in reading order."""

    text: str
    x0: float
    x1: float


def runs_from_right(text: str) -> bool:
    """Tell whether a text has letters that are written from right to left."""
    return _LETTER.search(text) is not None


def mostly_from_right(texts: Iterable[str]) -> bool:
    """Tell whether most letters of a page are written from right to left."""
    whole = "".join(texts)
    return 2 * len(_LETTER.findall(whole)) > sum(map(str.isalpha, whole))


def read_parts(
    letters: Iterable[Letter], borders: Sequence[float] = (), *, from_right: bool = True
) -> list[Stretch]:
    """Return the parts of a line, from right to left, cut at wide gaps and at the borders of a table.

    `from_right` says whether most of the page is read from right to left.
    """
    shapes = _shapes(letters)
    parts: list[list[_Shape]] = []
    for shape in shapes:
        before = parts[-1][-1] if parts else None
        cut = before is not None and _is_cut(before, shape, borders)
        if before is None or cut or shape.x0 - before.x1 > _CELL_GAP * shape.size:
            parts.append([])
        elif shape.x0 - before.x1 > _WORD_GAP * shape.size and _are_apart(before, shape):
            parts[-1].append(_Shape(" ", before.x1, shape.x0, shape.size))
        parts[-1].append(shape)
    stretches = (Stretch(_in_order(part, from_right), part[0].x0, part[-1].x1) for part in reversed(parts))
    return [part for part in stretches if part.text]


def _are_apart(left: _Shape, right: _Shape) -> bool:
    """Tell whether a gap separates two words; one beside a letter without width or before a stop does not."""
    stop = left.text in _STOPS and runs_from_right(right.text)
    return not stop and " " not in (left.text, right.text) and min(_width(left), _width(right)) > 0


def _is_cut(left: _Shape, right: _Shape, borders: Sequence[float]) -> bool:
    """Tell whether a ruled line separates two cells; a ruled line through a word does not."""
    of_one_word = right.x0 - left.x1 < _CLOSE * right.size and _class(left.text) == _class(right.text) == "R"
    return not of_one_word and any(left.middle < border < right.middle for border in borders)


def _class(text: str) -> str:
    return _CLASSES.get(unicodedata.bidirectional(text[0]), "_")


def _width(shape: _Shape) -> float:
    return shape.x1 - shape.x0


def _shapes(letters: Iterable[Letter]) -> list[_Shape]:
    """Return the shapes of a line from left to right, each letter with its marks."""
    shapes: list[_Shape] = []
    marks: list[tuple[Letter, _Shape | None]] = []
    narrow: list[tuple[int, Letter]] = []
    for letter in letters:
        if meant := _mark(letter.text):
            marks.append((letter._replace(text=meant), shapes[-1] if shapes else None))
        elif letter.x1 - letter.x0 < 0.01 and not letter.text.isspace():
            narrow.append((len(shapes), letter))
        else:
            text = " " if letter.text.isspace() else letter.text
            shapes.append(_Shape(text, letter.x0, letter.x1, letter.size))
    alone = _join_ligatures(shapes, narrow)
    shapes += alone
    bases = [shape for shape in shapes if shape.text[0].isalpha()]
    for mark, before in marks:
        x = (mark.x0 + mark.x1) / 2
        near = min(
            bases,
            key=lambda base: (max(_distance(base, x), _TOUCHING), base is not before, abs(base.x0 - x)),
            default=None,
        )
        if near:
            near.text += mark.text
    return sorted(shapes, key=lambda shape: shape.middle)


def _join_ligatures(shapes: Sequence[_Shape], narrow: Iterable[tuple[int, Letter]]) -> list[_Shape]:
    """Add letters without a width to the first letters of their ligatures; return those that touch no letter.

    They are at an edge of the first letter, which is the one on the right if nothing else decides. A program
    that reverses a line puts them before it, the last one first. Each comes with the number of shapes before
    it.
    """
    alone: list[_Shape] = []
    joined: dict[int, tuple[list[str], list[str]]] = {}
    lams = {i for i, each in enumerate(shapes) if _plain(each.text) == _LAM}
    touched = [
        (at, letter, [i for i, each in enumerate(shapes) if _touches(each, letter.x0)])
        for at, letter in narrow
    ]
    # An alef that touches fewer lams comes first, so that one between two lams gets the lam that is left.
    for at, letter, beside in sorted(touched, key=lambda touch: len(lams.intersection(touch[2]))):
        if not beside:
            alone.append(_Shape(*letter))
            continue
        alef = _plain(letter.text) in _ALEFS
        first = min(
            beside,
            key=lambda i: (
                alef and (i not in lams or i in joined),
                abs(shapes[i].x1 - letter.x0),
            ),
        )
        earlier, later = joined.setdefault(first, ([], []))
        (earlier if at <= first else later).append(letter.text)
    for i, (earlier, later) in joined.items():
        shapes[i].text += "".join([*reversed(earlier), *later])
    return alone


def _mark(text: str) -> str:
    """Return the marks of a letter that is a mark, which may be a form with a blank: "\ufe76"; else ""."""
    plain = _plain(text).lstrip() if text[:1] > "\ufb1d" else text
    return plain if unicodedata.combining(plain[:1]) else ""


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _touches(shape: _Shape, x: float) -> bool:
    return shape.text != " " and _distance(shape, x) < _TOUCHING


def _distance(shape: _Shape, x: float) -> float:
    """Return the distance from a position to a letter; 0 within it."""
    return max(shape.x0 - x, x - shape.x1, 0.0)


def _in_order(shapes: Sequence[_Shape], from_right: bool) -> str:
    """Return shapes that are sorted from left to right as text in reading order.

    If the line itself was set from left to right, only the right-to-left runs in it are reversed, each in its
    place.
    """
    texts = [shape.text for shape in shapes]
    while texts and texts[0] == " ":
        del texts[0]
    while texts and texts[-1] == " ":
        del texts[-1]
    classes = "".join(map(_class, texts))
    if "R" not in classes:
        return "".join(texts)
    ends = texts[0] in _STOPS, texts[-1] in _STOPS
    latin = classes.count("L") > (_FOREIGN if from_right else 1) * classes.count("R")
    if ends[1] if ends[0] != ends[1] else latin:
        read, at = "", 0
        for run in _RIGHT_TO_LEFT.finditer(classes):
            read += "".join(texts[at : run.start()]) + _turned(texts[run.start() : run.end()], run[0])
            at = run.end()
        read += "".join(texts[at:])
    else:
        read = _turned(texts, classes)
    return re.sub(r" {2,}", " ", _JOINED_TO_LATIN.sub(" ", read))


def _turned(texts: Sequence[str], classes: str) -> str:
    """Return right-to-left text in reading order; left-to-right runs in it are left as they are."""
    pieces, at = [], 0
    for run in _LEFT_TO_RIGHT.finditer(classes):
        pieces += [*texts[at : run.start()], _PERCENT.sub(r"\2\1", "".join(texts[run.start() : run.end()]))]
        at = run.end()
    pieces += texts[at:]
    pieces.reverse()
    brackets = [piece for piece in pieces if piece in _OPENING + _CLOSING and piece]
    # Some programs store a bracket as it is displayed, which is the opposite of the one that is meant.
    if brackets and brackets[0] in _CLOSING and any(each in _OPENING for each in brackets):
        pieces = [piece.translate(_SWAPPED) if len(piece) == 1 else piece for piece in pieces]
    return "".join(pieces)
