"""PDF page layout: from the lines of a page to running heads, paragraphs and headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from statistics import median

from adaptive_rag.ingest.cleaning import Vocabulary, clean
from adaptive_rag.ingest.page_edges import NUMBER_OF_PAGE
from adaptive_rag.text.tables import EMPTY_CELL

# How a line follows the line before it.
WRAPPED, NEW_LINE, NEW_PARAGRAPH = 0, 1, 2

_BULLET = re.compile(r"[-*•▪◦‣·–—●■]\s")
_NUMBER = re.compile(r"\(?(?:\d{1,3}|[a-z])[.)]\s")
_CLOSED = re.compile(r"[.!?:;…][\"'”’»)\]]*\s*$")
# The fragments that a formula's fractions and exponents are extracted as.
_CRUMB = re.compile(r"(?!.*[^\W\d_]{3}).{1,12}")
_EDGE_LINES = 3
_HEAD_CHARS = 120
# Longer numbers, such as that of an invoice, tell two heads apart.
_NUMERAL = re.compile(r"(?<!\d)\d{1,3}(?!\d)|(?<!\w)[ivxlcdm]+(?!\w)")
LEADER = re.compile(r"(?:\. ?){5}")
_LED = re.compile(r"\s*(?:…|(?:\s?\.){2,})\s*$")
# In type sizes: a wider gap separates two cells. With one figure beside it, or two, a narrower gap does.
_GAPS = (1.2, 0.6, 0.4)
FIGURE = re.compile(r"[(\[]?(?:[$£€¥] )?[-–−+$£€¥.<≤≥]*\d[\d.,%)\]*†‡⁰¹²³⁴-⁹–-]*(?: ?[%)]{1,2})?")
# "$" before a figure or a dash, and "%" or ")" after a figure.
_SIGN, _AFTER_FIGURE = re.compile(r"[$£€¥]"), re.compile(r"\)?%|\)")
_AMOUNT = re.compile(rf"{FIGURE.pattern}|\(?[-–—−]+\)?")
# A position at a page's edge: top or foot, height, type size.
_Slot = tuple[str, int, int]
# Where a column, or what stands in it, begins and ends.
Extent = tuple[float, float]


@dataclass(slots=True)
class Line:
    """A line of a page: its pieces of text, its bounding box and its type."""

    pieces: list[str]
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    bold: bool
    text: str = field(init=False)
    stops: list[float] = field(default_factory=list)
    """The x positions at which texts at the same height begin after a wide gap."""
    columns: tuple[float, ...] = ()
    """The x positions at which the table's columns begin, if the line is a row; then each piece is a cell."""
    confidence: float | None = None
    """The confidence of the reading, from 0 to 1, if the line was read from a picture."""
    reach: tuple[float, float] | None = None
    """The extent of a ruled line right below it, if no other text at its height is above that ruled line."""

    def __post_init__(self) -> None:
        self.text = " ".join(piece.strip() for piece in self.pieces).strip()

    def is_left_of(self, other: Line) -> bool:
        """Tell whether another line continues this one at the same height, further right."""
        return other.x0 > self.x1 - 1 and self.is_beside(other)

    def is_beside(self, other: Line) -> bool:
        """Tell whether another line is at the same height."""
        shared = min(self.y1, other.y1) - max(self.y0, other.y0)
        least = max(0.1, min(self.y1 - self.y0, other.y1 - other.y0))
        return shared / least > 0.5

    def continues(self, other: Line) -> bool:
        """Tell whether this line and another are rows of the same table."""
        return (
            bool(self.columns)
            and len(self.columns) == len(other.columns)
            and all(abs(one - two) < 4 for one, two in zip(self.columns, other.columns, strict=True))
        )

    def extend(self, other: Line) -> None:
        """Append a line that stands at the same height, further right."""
        self.pieces += other.pieces
        if other.x0 - self.x1 > 1.2 * self.size:
            self.stops.append(other.x0)
        self.x1, self.y0, self.y1 = other.x1, min(self.y0, other.y0), max(self.y1, other.y1)
        if len(other.text) > len(self.text):
            self.size = other.size
        self.bold = self.bold and other.bold
        self.confidence = _least_sure((self, other))
        self.text = f"{self.text} {other.text}"


def side_by_side(lines: Sequence[Line]) -> list[list[Line]]:
    """Group lines that stand side by side: wide gaps and table cells split a line into several."""
    groups: list[list[Line]] = []
    before: Line | None = None
    for line in lines:
        if before and before.is_left_of(line):
            groups[-1].append(line)
            before = merge(groups[-1])
        else:
            groups.append([line])
            before = line
    return groups


def is_sign(text: str) -> bool:
    """Tell whether a text is a currency sign."""
    return _SIGN.fullmatch(text) is not None


def _is_one_figure(left: str, right: str) -> bool:
    """Tell whether two adjacent texts are one figure: "$" and "1,250", or "34.1" and "%"."""
    if is_sign(left):
        return _AMOUNT.fullmatch(right) is not None
    return bool(_AMOUNT.fullmatch(left) and _AFTER_FIGURE.fullmatch(right))


def parts_cells(left: str, right: str, gap: float) -> bool:
    """Tell whether a gap, in type sizes, separates two cells; a currency sign or leader dots need no gap."""
    if _is_one_figure(left, right):
        return False
    begins = is_sign(right) and (_AMOUNT.fullmatch(left) or _AFTER_FIGURE.fullmatch(left))
    led = _LED.search(left) and (is_sign(right) or _AMOUNT.fullmatch(right))
    return bool(begins or led) or gap > least_gap(left, right)


def with_whole_figures(lines: Iterable[Line]) -> list[Line]:
    """Join a currency sign at the left of a column to its figure, and "%" at the right."""
    joined: list[Line] = []
    for line in lines:
        before = joined[-1] if joined else None
        if before and before.is_left_of(line) and _is_one_figure(before.text, line.text):
            # The column is aligned on the figures, since some of them have no sign.
            place = line if is_sign(before.text) else before
            joined[-1] = replace(place, pieces=[f"{before.text} {line.text}"])
        else:
            joined.append(line)
    return joined


def levels(
    lines: Iterable[Line],
    at_height_of: Callable[[Sequence[Line], Line], bool] = lambda level, line: level[0].is_beside(line),
) -> list[list[Line]]:
    """Group lines at the same height, each group from left to right, the groups from top to bottom."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.y0 + line.y1):
        if rows and at_height_of(rows[-1], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(level, key=lambda line: line.x0) for level in rows]


def merge(group: Sequence[Line]) -> Line:
    """Merge lines that stand side by side into one line."""
    merged = replace(group[0], pieces=list(group[0].pieces), stops=list(group[0].stops))
    for line in group[1:]:
        merged.extend(line)
    return merged


def extent(cell: Sequence[Line]) -> Extent:
    """Return where the lines of a cell begin and end."""
    return min(line.x0 for line in cell), max(line.x1 for line in cell)


def columns_at(place: Extent, columns: Sequence[Extent]) -> list[int]:
    """Return the columns that an extent overlaps."""
    start, end = place
    return [at for at, (x0, x1) in enumerate(columns) if x0 < end and start < x1]


def columns_near(place: Extent, columns: Sequence[Extent]) -> list[int]:
    """Return the columns that an extent overlaps, or the nearest one."""
    start, end = place
    nearest = min(range(len(columns)), key=lambda at: max(columns[at][0] - end, start - columns[at][1]))
    return columns_at(place, columns) or [nearest]


def around(boxes: Iterable[Sequence[float]]) -> tuple[float, float, float, float]:
    """Return the box around boxes."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def least_gap(left: str, right: str) -> float:
    """Return the least gap between two cells, in type sizes: figures stand closer together than words."""
    return _GAPS[sum(bool(FIGURE.fullmatch(text) or is_sign(text)) for text in (left, right))]


def make_row(cells: Sequence[Sequence[Line]], columns: tuple[float, ...]) -> Line:
    """Make a table row from the lines of its cells; some cells may be empty, but not all."""
    lines = [line for cell in cells for line in cell]
    return Line(
        [_text_of(cell) or EMPTY_CELL for cell in cells],
        min(line.x0 for line in lines),
        min(line.y0 for line in lines),
        max(line.x1 for line in lines),
        max(line.y1 for line in lines),
        max(lines, key=lambda line: len(line.text)).size,
        bold=all(line.bold for line in lines),
        columns=columns,
        confidence=_least_sure(lines),
    )


def _text_of(cell: Sequence[Line]) -> str:
    """Return the text of a cell, line by line, without leader dots."""
    return "\n".join(_LED.sub("", merge(group).text) for group in side_by_side(cell))


def _least_sure(lines: Sequence[Line]) -> float | None:
    return min((line.confidence for line in lines if line.confidence is not None), default=None)


class Survey:
    """The results of a first pass over all pages: words, type sizes, and lines that recur at page edges."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self._sizes: Counter[float] = Counter()
        self._bold: Counter[bool] = Counter()
        self._edges: Counter[tuple[str, str]] = Counter()
        self._slots: dict[_Slot, list[set[str]]] = {}
        self._pages = 0
        self.lines = 0

    def add(self, lines: Sequence[Line]) -> None:
        """Add the lines of one page."""
        self._pages += 1
        self.lines += len(lines)
        self.vocabulary.learn(line.text for line in lines)
        for line in lines:
            self._sizes[round(line.size, 1)] += len(line.text)
            self._bold[line.bold] += len(line.text)
        for slot, line in _edge_lines(lines):
            # A running head may hold the book's title on one side and the chapter's title on the other.
            keys = {
                "#" if NUMBER_OF_PAGE.fullmatch(piece) else _NUMERAL.sub("#", clean(piece).strip().casefold())
                for piece in line.pieces
            }
            self._edges.update((slot[0], key) for key in keys)
            self._slots.setdefault(slot, []).append(keys)

    @property
    def body_size(self) -> float:
        """The type size of most characters."""
        return max(self._sizes, key=self._sizes.__getitem__, default=0.0)

    @property
    def body_bold(self) -> bool:
        """Whether most characters are bold."""
        return self._bold[True] > self._bold[False]

    def body(self, lines: Sequence[Line], kept_edge: str | None = None) -> list[Line]:
        """Return a page's lines without its running heads and feet; at `kept_edge` only page numbers go.

        A position at the page's edge (height and type size) belongs to running heads if most of the lines
        there recur on other pages, apart from numbers. Then every line in that position is dropped, so that
        the head of a short chapter is dropped like the others.
        """
        dropped = {
            id(line)
            for slot, line in _edge_lines(lines, alone=True)
            if slot in self._heads and (slot[0] != kept_edge or NUMBER_OF_PAGE.fullmatch(line.text))
        }
        kept = [line for line in lines if id(line) not in dropped]
        return kept if kept or len(lines) <= _EDGE_LINES else list(lines)

    @cached_property
    def _heads(self) -> set[_Slot]:
        often = min(3, max(2, self._pages))
        heads = set()
        for slot, lines in self._slots.items():
            recurring = sum(any(self._edges[slot[0], key] >= often for key in keys) for keys in lines)
            if len(lines) >= often and recurring >= 0.6 * len(lines):
                heads.add(slot)
        self._slots.clear()
        return heads


def _edge_lines(lines: Sequence[Line], *, alone: bool = False) -> Iterator[tuple[_Slot, Line]]:
    """Yield the lines at the top and foot of a page that are set apart from the body, with their position.

    Only lines that a gap or a smaller type separates from the body can be running heads. A page on which
    every line could be one yields nothing, unless `alone` says that the running heads are known and that the
    page may hold nothing else.
    """
    ordered = sorted(lines, key=lambda line: line.y0)
    if not ordered:
        return
    pitch = min(_pitch(ordered), 1.6 * median(line.size for line in ordered))
    edges = []
    for edge, inward in (("top", ordered), ("foot", ordered[::-1])):
        for count, line in enumerate(inward[:_EDGE_LINES], start=1):
            # The first row of a long table is not a running head, though "4.20" recurs on other pages.
            in_table = sum(other.continues(line) for other in ordered) > _EDGE_LINES
            if len(line.text) > _HEAD_CHARS or in_table:
                break
            neighbour = inward[count] if count < len(inward) else None
            if neighbour is None or abs(neighbour.y0 - line.y0) > 1.35 * pitch:
                edges += [((edge, round(one.y0 / 3), round(one.size)), one) for one in inward[:count]]
                break
    if alone or len({id(line) for _, line in edges}) < len(ordered):
        yield from edges


class Flow:
    """Decides how each line of a page follows the line before it; created anew for each page."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self._pitch = _pitch(lines)
        self._columns: dict[tuple[float, float], tuple[float, float]] = {}
        self._rows: set[int] = set()
        for index, (a, b) in enumerate(pairwise(lines)):
            if any(abs(left - right) < 2 for left in a.stops for right in b.stops):
                self._rows |= {index, index + 1}

    def column(self, line: Line) -> tuple[float, float]:
        """Return the left and right edge of the text column that `line` is in."""
        place = line.x0, line.size
        if place not in self._columns:
            reach = 4 * line.size
            # On a damaged page the type size may be 0; then no line is near.
            near = (other for other in self.lines if abs(other.x0 - line.x0) < reach)
            # A title in larger type or a table may span several columns.
            beside = [line, *(other for other in near if not other.columns and not unlike(other, line))]
            self._columns[place] = min(other.x0 for other in beside), max(other.x1 for other in beside)
        return self._columns[place]

    def relation(self, index: int) -> int:
        """Return how `lines[index]` follows the line before it on this page."""
        before, line = self.lines[index - 1], self.lines[index]
        step = line.y0 - before.y0
        if line.columns or before.columns:
            return NEW_LINE if line.continues(before) else NEW_PARAGRAPH
        if index in self._rows:
            return NEW_LINE if index - 1 in self._rows else NEW_PARAGRAPH
        if index - 1 in self._rows:  # the rest of a cell, or text after the table
            return NEW_LINE if line.x0 - before.x0 > line.size else NEW_PARAGRAPH
        if abs(step) < 0.95 * self._pitch and (_CRUMB.fullmatch(before.text) or _CRUMB.fullmatch(line.text)):
            return WRAPPED
        if unlike(before, line):
            return NEW_PARAGRAPH
        if step < -0.5 * line.size:  # the line begins the next column
            return self.relation_across(self, line)
        if step > 1.45 * max(self._pitch, 1.05 * line.size):
            return NEW_PARAGRAPH
        if self._begins_item(before, line) or LEADER.search(before.text):
            return NEW_LINE
        if self._indented(index):
            return NEW_PARAGRAPH
        if self.ends_early(before, line):
            return NEW_PARAGRAPH if step > 1.15 * self._pitch else NEW_LINE
        return WRAPPED

    def relation_across(self, following: Flow, line: Line) -> int:
        """Return how the first line of the next page (or column) follows the last line of this one."""
        last = self.lines[-1] if following is not self else self.lines[self.lines.index(line) - 1]
        if line.continues(last):
            return NEW_LINE
        if line.columns or last.columns or unlike(last, line) or self._begins_item(last, line):
            return NEW_PARAGRAPH
        if line.text[:1].islower():
            return WRAPPED
        if _CLOSED.search(last.text) and line.x0 - following.column(line)[0] > 0.7 * line.size:
            return NEW_PARAGRAPH
        return NEW_PARAGRAPH if self.ends_early(last, line) else WRAPPED

    def ends_early(self, before: Line, line: Line) -> bool:
        """Tell whether a line was ended on purpose: the next word would have fitted on it."""
        word = line.text.split(maxsplit=1)[0]
        room = self.column(before)[1] - before.x1
        needed = (len(word) + 1) * (before.x1 - before.x0) / max(1, len(before.text))
        return room > 1.15 * needed + 0.5 * before.size

    def _begins_item(self, before: Line, line: Line) -> bool:
        """Tell a list item from a wrapped line that begins with a number: "there were | 13. The sea"."""
        if _BULLET.match(line.text):
            return True
        closed = _CLOSED.search(before.text) or _NUMBER.match(before.text) or self.ends_early(before, line)
        return bool(closed and _NUMBER.match(line.text))

    def _indented(self, index: int) -> bool:
        """Tell the first line of an indented paragraph from the rest of a hanging one."""
        before, line = self.lines[index - 1], self.lines[index]
        shift, least = line.x0 - before.x0, 0.7 * line.size
        if shift > 4 * line.size:
            return False
        after = self.lines[index + 1] if index + 1 < len(self.lines) else None
        if shift > least:
            if _BULLET.match(before.text) or _NUMBER.match(before.text):
                return False
            return after is None or after.y0 < line.y0 or after.x0 < line.x0 - least
        if shift < -least and index > 1:
            return abs(self.lines[index - 2].x0 - before.x0) < 1
        return False


def _pitch(lines: Sequence[Line]) -> float:
    """Return the usual distance from one line to the next."""
    return median([b.y0 - a.y0 for a, b in pairwise(lines) if b.y0 - a.y0 > 1] or [0.0])


def unlike(a: Line, b: Line) -> bool:
    """Tell whether two lines differ in type size or weight."""
    return a.bold != b.bold or abs(a.size - b.size) > 0.1 * max(a.size, b.size)
