"""Right-to-left lines of a PDF: Hebrew and Arabic letters, sorted by position, to text in reading order.

A page says where each letter is, not which one is read first. The Unicode bidirectional algorithm (UAX #9)
derives the order of display from the order of the text. Here it is applied in reverse, line by line: text
that is written from right to left is reversed, and figures and Latin words in it are left as they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

_RTL_LETTER = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
# In type sizes: a wider gap separates two words, or two cells.
_WORD_GAP, _CELL_GAP = 0.2, 1.2
# In type sizes: letters with a smaller gap are of one word, so a ruled line between them separates no cells.
_MAX_LETTER_GAP = 0.1
# In points: letters at this distance or less touch.
_MAX_TOUCHING_GAP = 0.05
# Signs that end a sentence: a line with one of them on its right was set from left to right.
_SENTENCE_ENDS = ".!?:;,…"
# On a Hebrew page, a line with more than this many Latin letters for each Hebrew one is a quotation.
_QUOTATION_RATIO = 3
# The letters of Arabic's only mandatory ligature.
_LAM, _ALEFS = "\u0644", "\u0627\u0622\u0623\u0625\u0671"
_OPENING, _CLOSING = "([{«‹", ")]}»›"
_SWAP_BRACKETS = str.maketrans(_OPENING + _CLOSING, _CLOSING + _OPENING)
# A code for each class of UAX #9: "L" and "R" for letters, "0" for digits, "s" and "t" for signs inside and
# beside figures. All other classes are "_".
_CLASSES = {"L": "L", "R": "R", "AL": "R", "EN": "0", "AN": "0", "ES": "s", "CS": "s", "ET": "t"}
# Beside Arabic letters the sign of "45%" is displayed on the left.
_LEADING_PERCENT = re.compile(r"^([%\u066a])(\d.*)$")
# Hebrew and Arabic attach a prefix to a Latin word, but nothing to its end: a blank is missing there, and the
# line has it on the other side of the word.
_MISSING_BLANK = re.compile(rf"(?<=[A-Za-z])(?={_RTL_LETTER.pattern})")
_LEFT_TO_RIGHT = re.compile(r"L(?:[^R]*[L0])?|t*0(?:s?0)*t*")
_RIGHT_TO_LEFT = re.compile(r"R(?:[^L]*R)?")


@dataclass(slots=True)
class Letter:
    """A letter on a page with its marks, or the letters of a ligature in reading order."""

    text: str
    x0: float
    x1: float
    size: float

    @property
    def middle(self) -> float:
        """The x position halfway between its edges."""
        return (self.x0 + self.x1) / 2

    @property
    def width(self) -> float:
        """The distance between its edges."""
        return self.x1 - self.x0


class LinePart(NamedTuple):
    """A part of a line, such as a table cell: its text in reading order, and its extent."""

    text: str
    x0: float
    x1: float


def has_rtl_letters(text: str) -> bool:
    """Return whether a text has letters that are written from right to left."""
    return _RTL_LETTER.search(text) is not None


def is_mostly_rtl(texts: Iterable[str]) -> bool:
    """Return whether most letters of a page are written from right to left."""
    text = "".join(texts)
    return 2 * len(_RTL_LETTER.findall(text)) > sum(map(str.isalpha, text))


def read_parts(
    letters: Iterable[Letter], borders: Sequence[float] = (), *, is_rtl_page: bool = True
) -> list[LinePart]:
    """Return the parts of a line, from right to left, split at wide gaps and at the borders of a table.

    The letters may be in any order; `borders` are the x positions of vertical borders.
    """
    groups: list[list[Letter]] = []
    for shape in _make_shapes(letters):
        previous = groups[-1][-1] if groups else None
        if previous is None or _separates_cells(previous, shape, borders):
            groups.append([])
        elif shape.x0 - previous.x1 > _WORD_GAP * shape.size and _are_separate_words(previous, shape):
            groups[-1].append(Letter(" ", previous.x1, shape.x0, shape.size))
        groups[-1].append(shape)
    parts = (
        LinePart(_to_reading_order(group, is_rtl_page), group[0].x0, group[-1].x1)
        for group in reversed(groups)
    )
    return [part for part in parts if part.text]


def _are_separate_words(left: Letter, right: Letter) -> bool:
    """Return whether a gap separates two words, and not a word and its stop or a shape without width."""
    before_stop = left.text in _SENTENCE_ENDS and has_rtl_letters(right.text)
    return not before_stop and " " not in (left.text, right.text) and min(left.width, right.width) > 0


def _separates_cells(left: Letter, right: Letter, borders: Sequence[float]) -> bool:
    """Return whether a wide gap or a border separates two cells; a ruled line through a word does not."""
    gap = right.x0 - left.x1
    if gap > _CELL_GAP * right.size:
        return True
    are_rtl = _bidi_class(left.text) == _bidi_class(right.text) == "R"
    in_one_word = are_rtl and gap < _MAX_LETTER_GAP * right.size
    return not in_one_word and any(left.middle < border < right.middle for border in borders)


def _bidi_class(text: str) -> str:
    """Return the code of the first character in `_CLASSES`."""
    return _CLASSES.get(unicodedata.bidirectional(text[0]), "_")


def _make_shapes(letters: Iterable[Letter]) -> list[Letter]:
    """Return the shapes of a line from left to right: its letters, each with its marks."""
    shapes: list[Letter] = []
    marks: list[tuple[Letter, Letter | None]] = []
    zero_width: list[tuple[int, Letter]] = []
    for letter in letters:
        if mark_text := _find_marks(letter.text):
            marks.append((replace(letter, text=mark_text), shapes[-1] if shapes else None))
        elif letter.x1 - letter.x0 < 0.01 and not letter.text.isspace():
            zero_width.append((len(shapes), letter))
        else:
            shapes.append(replace(letter, text=" " if letter.text.isspace() else letter.text))
    shapes += _join_ligatures(shapes, zero_width)
    _attach_marks(shapes, marks)
    return sorted(shapes, key=lambda shape: shape.middle)


def _attach_marks(shapes: Iterable[Letter], marks: Iterable[tuple[Letter, Letter | None]]) -> None:
    """Add each mark to the nearest letter; if several touch it, to the one before it in the file."""
    bases = [shape for shape in shapes if shape.text[0].isalpha()]
    if not bases:
        return
    for mark, previous in marks:
        x = (mark.x0 + mark.x1) / 2
        nearest = min(
            bases,
            key=lambda base: (
                max(_distance(base, x), _MAX_TOUCHING_GAP),
                base is not previous,
                abs(base.x0 - x),
            ),
        )
        nearest.text += mark.text


def _join_ligatures(shapes: Sequence[Letter], zero_width: Iterable[tuple[int, Letter]]) -> list[Letter]:
    """Add letters without a width to the first letters of their ligatures; return the rest.

    A page has one shape for a ligature such as lam-alef: that of its first letter. The others have no width
    and are at an edge of the shape. Between two letters, the first letter is the one on the left, unless only
    the other one is a lam. A program that reverses a line puts the others before the first letter, the last
    one first. `shapes` are in the order of the file, and each letter without a width has the number of shapes
    before it there.
    """
    unattached: list[Letter] = []
    additions: dict[int, tuple[list[str], list[str]]] = {}
    lams = {i for i, shape in enumerate(shapes) if _normalize(shape.text) == _LAM}
    candidates = [
        (position, letter, [i for i, shape in enumerate(shapes) if _touches(shape, letter.x0)])
        for position, letter in zero_width
    ]
    # An alef that touches fewer lams comes first, so that one between two lams gets the lam that is left.
    for position, letter, touched in sorted(candidates, key=lambda each: len(lams.intersection(each[2]))):
        if not touched:
            unattached.append(replace(letter))
            continue
        is_alef = _normalize(letter.text) in _ALEFS
        first = min(
            touched,
            key=lambda i: (is_alef and (i not in lams or i in additions), abs(shapes[i].x1 - letter.x0)),
        )
        before, after = additions.setdefault(first, ([], []))
        (before if position <= first else after).append(letter.text)
    for i, (before, after) in additions.items():
        shapes[i].text += "".join([*reversed(before), *after])
    return unattached


def _find_marks(text: str) -> str:
    """Return the combining marks that a text consists of, also if it is a form with a blank; else ""."""
    plain = _normalize(text).lstrip() if text[:1] > "\ufb1d" else text
    return plain if unicodedata.combining(plain[:1]) else ""


def _normalize(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _touches(shape: Letter, x: float) -> bool:
    return shape.text != " " and _distance(shape, x) < _MAX_TOUCHING_GAP


def _distance(shape: Letter, x: float) -> float:
    """Return the distance from a position to a letter; 0 within it."""
    return max(shape.x0 - x, x - shape.x1, 0.0)


def _to_reading_order(shapes: Sequence[Letter], is_rtl_page: bool) -> str:
    """Return the text, in reading order, of shapes that are sorted from left to right.

    If the line itself was set from left to right, only the right-to-left runs in it are reversed, each in its
    place.
    """
    texts = [shape.text for shape in shapes]
    while texts and texts[0] == " ":
        del texts[0]
    while texts and texts[-1] == " ":
        del texts[-1]
    classes = "".join(map(_bidi_class, texts))
    if "R" not in classes:
        return "".join(texts)
    if not _is_ltr_line(texts, classes, is_rtl_page):
        text = _reverse(texts, classes)
    else:
        text, end = "", 0
        for run in _RIGHT_TO_LEFT.finditer(classes):
            text += "".join(texts[end : run.start()]) + _reverse(texts[run.start() : run.end()], run[0])
            end = run.end()
        text += "".join(texts[end:])
    return re.sub(r" {2,}", " ", _MISSING_BLANK.sub(" ", text))


def _is_ltr_line(texts: Sequence[str], classes: str, is_rtl_page: bool) -> bool:
    """Return whether a line was set from left to right: it has a stop on its right, or is mostly Latin."""
    stop_on_left, stop_on_right = (text in _SENTENCE_ENDS for text in (texts[0], texts[-1]))
    if stop_on_left != stop_on_right:
        return stop_on_right
    return classes.count("L") > (_QUOTATION_RATIO if is_rtl_page else 1) * classes.count("R")


def _reverse(texts: Sequence[str], classes: str) -> str:
    """Return right-to-left text in reading order; left-to-right runs in it are not reversed."""
    pieces, end = [], 0
    for run in _LEFT_TO_RIGHT.finditer(classes):
        ltr_text = "".join(texts[run.start() : run.end()])
        pieces += [*texts[end : run.start()], _LEADING_PERCENT.sub(r"\2\1", ltr_text)]
        end = run.end()
    pieces += texts[end:]
    pieces.reverse()
    brackets = [piece for piece in pieces if piece in _OPENING + _CLOSING and piece]
    # Some programs store a bracket as it is displayed, which is the opposite of the one that is meant.
    if brackets and brackets[0] in _CLOSING and any(bracket in _OPENING for bracket in brackets):
        pieces = [piece.translate(_SWAP_BRACKETS) if len(piece) == 1 else piece for piece in pieces]
    return "".join(pieces)
