"""The lines of a PDF page: their boxes, their order, and the gaps that separate table cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from adaptive_rag.text.tables import EMPTY_CELL

LEADER_DOTS = re.compile(r"(?:\. ?){5}")
_TRAILING_LEADER = re.compile(r"\s*(?:…|(?:\s?\.){2,})\s*$")
# In type sizes: a wider gap separates two cells, of which none, one or both are figures.
_CELL_GAPS = (1.2, 0.6, 0.4)
FIGURE = re.compile(r"[(\[]?(?:[$£€¥] )?[-–−+$£€¥.<≤≥]*\d[\d.,%)\]*†‡⁰¹²³⁴-⁹–-]*(?: ?[%)]{1,2})?")
# "$" before a figure or a dash, and "%" or ")" after a figure.
_CURRENCY_SIGN, _AFTER_FIGURE = re.compile(r"[$£€¥]"), re.compile(r"\)?%|\)")
_AMOUNT = re.compile(rf"{FIGURE.pattern}|\(?[-–—−]+\)?")
# The left and right end of a column or of a text, in points.
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
    """The x positions at which merged texts begin after a wide gap."""
    columns: tuple[float, ...] = ()
    """The x positions at which the table's columns begin, if the line is a row; then each piece is a cell."""
    confidence: float | None = None
    """The confidence of the reading, from 0 to 1, if the line was read from a picture."""
    underline: Extent | None = None
    """The extent of a ruled line right below this line, if it is below no other text of the same height."""

    def __post_init__(self) -> None:
        self.text = " ".join(piece.strip() for piece in self.pieces).strip()

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The bounding box: x0, y0, x1, y1."""
        return self.x0, self.y0, self.x1, self.y1

    @property
    def middle(self) -> float:
        """The y position halfway between top and bottom."""
        return (self.y0 + self.y1) / 2

    def is_left_of(self, other: Line) -> bool:
        """Return whether another line is at the same height, further right."""
        return other.x0 > self.x1 - 1 and self.is_level_with(other)

    def is_level_with(self, other: Line) -> bool:
        """Return whether another line is at the same height."""
        overlap = min(self.y1, other.y1) - max(self.y0, other.y0)
        min_height = max(0.1, min(self.y1 - self.y0, other.y1 - other.y0))
        return overlap / min_height > 0.5

    def continues_table(self, other: Line) -> bool:
        """Return whether this line and another are rows of the same table."""
        return (
            bool(self.columns)
            and len(self.columns) == len(other.columns)
            and all(abs(x - other_x) < 4 for x, other_x in zip(self.columns, other.columns, strict=True))
        )

    def extend(self, other: Line) -> None:
        """Append a line that is at the same height, further right; a large initial is part of its word."""
        is_initial = len(self.text) == 1 and self.text.isupper() and self.size > 1.5 * other.size
        before = self.pieces.pop().strip() if is_initial and other.text[:1].islower() else ""
        gap = "" if before else " "
        first, *rest = other.pieces
        self.pieces += [f"{before}{first}", *rest]
        if other.x0 - self.x1 > 1.2 * self.size:
            self.stops.append(other.x0)
        self.x1, self.y0, self.y1 = other.x1, min(self.y0, other.y0), max(self.y1, other.y1)
        if len(other.text) > len(self.text):
            self.size = other.size
        self.bold = self.bold and other.bold
        self.confidence = _min_confidence((self, other))
        self.text = f"{self.text}{gap}{other.text}"


def group_side_by_side(lines: Sequence[Line]) -> list[list[Line]]:
    """Group consecutive lines that are side by side: wide gaps and table cells split a line into several."""
    groups: list[list[Line]] = []
    merged: Line | None = None  # the last group
    for line in lines:
        if merged and merged.is_left_of(line):
            groups[-1].append(line)
            merged.extend(line)
        else:
            groups.append([line])
            merged = merge_lines([line])
    return groups


def is_currency_sign(text: str) -> bool:
    """Return whether a text is a currency sign."""
    return _CURRENCY_SIGN.fullmatch(text) is not None


def _is_one_figure(left: str, right: str) -> bool:
    """Return whether two adjacent texts are one figure: "$" and "1,250", or "34.1" and "%"."""
    if is_currency_sign(left):
        return _AMOUNT.fullmatch(right) is not None
    return bool(_AMOUNT.fullmatch(left) and _AFTER_FIGURE.fullmatch(right))


def separates_cells(left: str, right: str, gap: float) -> bool:
    """Return whether a gap, in type sizes, separates two cells.

    A currency sign begins a cell without a gap, as in "1,250 $ 980", and leader dots end one.
    """
    if _is_one_figure(left, right):
        return False
    starts_with_sign = is_currency_sign(right) and (_AMOUNT.fullmatch(left) or _AFTER_FIGURE.fullmatch(left))
    has_leader = _TRAILING_LEADER.search(left) and (is_currency_sign(right) or _AMOUNT.fullmatch(right))
    return bool(starts_with_sign or has_leader) or gap > min_cell_gap(left, right)


def join_signs_to_figures(lines: Iterable[Line]) -> list[Line]:
    """Join a currency sign at the left of a column to its figure, and "%" at the right."""
    joined: list[Line] = []
    for line in lines:
        previous = joined[-1] if joined else None
        if previous and previous.is_left_of(line) and _is_one_figure(previous.text, line.text):
            # The figure sets the position, since others in the column have no sign.
            aligned = line if is_currency_sign(previous.text) else previous
            joined[-1] = replace(aligned, pieces=[f"{previous.text} {line.text}"])
        else:
            joined.append(line)
    return joined


def group_by_height(
    lines: Iterable[Line],
    is_level: Callable[[Sequence[Line], Line], bool] = lambda level, line: level[0].is_level_with(line),
) -> list[list[Line]]:
    """Group lines at the same height, each group from left to right, the groups from top to bottom."""
    levels: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.y0 + line.y1):
        if levels and is_level(levels[-1], line):
            levels[-1].append(line)
        else:
            levels.append([line])
    return [sorted(level, key=lambda line: line.x0) for level in levels]


def merge_lines(group: Sequence[Line]) -> Line:
    """Merge lines that are side by side into one line."""
    merged = replace(group[0], pieces=list(group[0].pieces), stops=list(group[0].stops))
    for line in group[1:]:
        merged.extend(line)
    return merged


def cell_extent(cell: Sequence[Line]) -> Extent:
    """Return the left and right end of a cell."""
    return min(line.x0 for line in cell), max(line.x1 for line in cell)


def find_overlapped_columns(extent: Extent, columns: Sequence[Extent]) -> list[int]:
    """Return the columns that an extent overlaps."""
    start, end = extent
    return [index for index, (x0, x1) in enumerate(columns) if x0 < end and start < x1]


def find_nearest_columns(extent: Extent, columns: Sequence[Extent]) -> list[int]:
    """Return the columns that an extent overlaps, or the nearest one."""
    start, end = extent
    nearest = min(
        range(len(columns)), key=lambda index: max(columns[index][0] - end, start - columns[index][1])
    )
    return find_overlapped_columns(extent, columns) or [nearest]


def bounding_box(boxes: Iterable[Sequence[float]]) -> tuple[float, float, float, float]:
    """Return the smallest box (x0, y0, x1, y1) that contains all boxes."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def contains_centre(box: Sequence[float], inner: Sequence[float]) -> bool:
    """Return whether a box (x0, y0, x1, y1, ...) contains the centre of another one."""
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])


def min_cell_gap(left: str, right: str) -> float:
    """Return the least gap between two cells, in type sizes; figures are closer together than words."""
    return _CELL_GAPS[sum(bool(FIGURE.fullmatch(text) or is_currency_sign(text)) for text in (left, right))]


def make_row(cells: Sequence[Sequence[Line]], columns: tuple[float, ...]) -> Line:
    """Make a table row from the lines of its cells; some cells may be empty, but not all."""
    lines = [line for cell in cells for line in cell]
    return Line(
        [_cell_text(cell) or EMPTY_CELL for cell in cells],
        *bounding_box(line.box for line in lines),
        max(lines, key=lambda line: len(line.text)).size,
        bold=all(line.bold for line in lines),
        columns=columns,
        confidence=_min_confidence(lines),
    )


def _cell_text(cell: Sequence[Line]) -> str:
    """Return the text of a cell, line by line, without leader dots."""
    return "\n".join(_TRAILING_LEADER.sub("", merge_lines(group).text) for group in group_side_by_side(cell))


def _min_confidence(lines: Sequence[Line]) -> float | None:
    return min((line.confidence for line in lines if line.confidence is not None), default=None)
