"""The ruled lines of a PDF page, and the tables that they frame."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise, product
from typing import NamedTuple

from adaptive_rag.ingest.columns import apart, find_columns, with_rule
from adaptive_rag.ingest.layout import Line, columns_near, levels, make_row
from adaptive_rag.ingest.table_headers import holds_figures, is_name
from adaptive_rag.text.tables import EMPTY_CELL

# In points: rules this close to each other meet or are one, since a page may draw the border of each cell.
_NEAR = 4.0
# In type sizes: the most from the top of a name to the ruled line below it, or to its next line.
_BELOW = 2.0
# A page with more rules than this holds a drawing.
_MOST_RULES = 1000
# The least share of a table's cells with text. The boxes of a diagram have less.
_FILLED = 0.5
# One row alone is a table, and not two boxes, if it has this many different cells, none longer than this many
# characters.
_FEWEST_BESIDE, _LONGEST_CELL = 3, 80
_WORD, _LETTERS = re.compile(r"[^\W\d_]{3}"), re.compile(r"[^\W\d_]{2}")
# The rows and the columns that a cell covers.
_Reach = tuple[range, range]


class Rule(NamedTuple):
    """A straight line: its position across its direction, and its start and end along it, in points."""

    at: float
    start: float
    end: float


@dataclass(frozen=True)
class Rules:
    """The ruled lines of a page; a line drawn in several pieces counts as one."""

    level: tuple[Rule, ...] = ()
    upright: tuple[Rule, ...] = ()

    @classmethod
    def among(cls, boxes: Iterable[tuple[float, float, float, float]]) -> Rules:
        """Return the boxes (x0, y0, x1, y1) that are ruled lines; none if there are too many."""
        level, upright = [], []
        for x0, y0, x1, y1 in boxes:
            if y1 - y0 < _NEAR <= x1 - x0:
                level.append(Rule((y0 + y1) / 2, x0, x1))
            elif x1 - x0 < _NEAR <= y1 - y0:
                upright.append(Rule((x0 + x1) / 2, y0, y1))
        rules = cls(tuple(_joined(level)), tuple(_joined(upright)))
        return rules if len(rules.level) + len(rules.upright) <= _MOST_RULES else cls()

    def across(self, line: Line) -> list[float]:
        """Return the positions at which upright rules cross a line of text, from left to right."""
        middle = (line.y0 + line.y1) / 2
        return sorted(
            rule.at
            for rule in self.upright
            if line.x0 + 1 < rule.at < line.x1 - 1 and rule.start < middle < rule.end
        )

    def mark_reaches(self, lines: Iterable[Line]) -> None:
        """Record for each name, of one line or more, the extent of the ruled line drawn right below it."""
        rows = levels(lines)
        feet = [max(line.y1 for line in row) for row in rows]
        for rule in self.level:
            foot = rule.at
            for row in reversed(rows[: bisect_right(feet, rule.at + _NEAR / 2)]):
                over = [line for line in row if line.x0 < rule.end and rule.start < line.x1]
                inside = len(over) == 1 and rule.start - _NEAR < over[0].x0 and over[0].x1 < rule.end + _NEAR
                if not inside or over[0].reach or not 0 < foot - over[0].y0 < _BELOW * over[0].size:
                    break
                over[0].reach = rule.start, rule.end
                foot = over[0].y0

    def mirrored(self, width: float) -> Rules:
        """Return the rules mirrored on a page of this width."""
        return Rules(
            tuple(Rule(rule.at, width - rule.end, width - rule.start) for rule in self.level),
            tuple(Rule(width - rule.at, rule.start, rule.end) for rule in self.upright),
        )

    def frames(self) -> Iterator[Rules]:
        """Yield each group of rules that meet."""
        groups: list[tuple[set[int], list[Rule]]] = []
        for upright in self.upright:
            met = {index for index, level in enumerate(self.level) if _meet(level, upright)}
            beside, apart = [upright], []
            for crossed, uprights in groups:
                if crossed & met:
                    met |= crossed
                    beside += uprights
                else:
                    apart.append((crossed, uprights))
            groups = [*apart, (met, beside)]
        for crossed, uprights in groups:
            if crossed:
                yield Rules(tuple(self.level[index] for index in sorted(crossed)), tuple(uprights))


def read_framed(lines: list[Line], rules: Rules) -> list[Line]:
    """Replace the lines inside tables with ruled lines by the rows of these tables."""
    for frame in rules.frames():
        lines = _read_frame(lines, frame)
    return lines


def _joined(rules: Sequence[Rule]) -> Iterator[Rule]:
    """Join rules that continue each other."""
    last: Rule | None = None
    for rule in sorted(rules, key=lambda rule: (round(rule.at), rule.start)):
        if last and abs(rule.at - last.at) < 1 and rule.start - last.end < _NEAR:
            last = Rule(last.at, last.start, max(last.end, rule.end))
            continue
        if last:
            yield last
        last = rule
    if last:
        yield last


def _meet(level: Rule, upright: Rule) -> bool:
    return (
        level.start - _NEAR < upright.at < level.end + _NEAR
        and upright.start - _NEAR < level.at < upright.end + _NEAR
    )


def _read_frame(lines: list[Line], frame: Rules) -> list[Line]:
    xs, ys = _borders(frame.upright, frame.level), _borders(frame.level, frame.upright)
    inside: dict[int, Line] = {}
    by_reach: dict[_Reach, list[Line]] = {}
    for index, line in enumerate(lines):
        x, y = (line.x0 + line.x1) / 2, (line.y0 + line.y1) / 2
        if line.columns or not (xs[0] < x < xs[-1] and ys[0] < y < ys[-1]):
            continue
        inside[index] = line
        reach = _reach(ys, y, frame.level, x), _reach(xs, x, frame.upright, y)
        by_reach.setdefault(reach, []).append(line)
    columns = _columns(by_reach, xs)
    cells: dict[tuple[int, int], list[Line]] = {}
    for place, line in _places(by_reach, xs, ys, columns):
        cells.setdefault(place, []).append(line)
    rows, kept = (sorted({cell[axis] for cell in cells}) for axis in (0, 1))
    if len(kept) < 2 or len(inside) < _FILLED * len(rows) * len(kept):
        return lines  # it is a drawing
    starts = [start for strip in columns for start, _ in strip]
    places = tuple(starts[column] for column in kept)
    # A cell may reach lower than the cells beside it; then a strip may hold only the rest of that cell.
    rows = rows[:1] + [row for above, row in pairwise(rows) if _differ(cells, above, row, kept)]
    strips = [[cells.get((at, column), []) for column in kept] for at in rows]
    made = _with_titles([(row, _is_one(strip)) for strip in strips for row in _rows_of(strip, places)])
    if not _is_table([row.pieces for row in made if row.columns]):
        return lines
    at = next((at for at, row in enumerate(made) if row.columns), 0)
    if _is_header(made[at:]):
        made = [*made[:at], *with_rule(made[at:])]
    first = min(inside)
    after = [line for index, line in enumerate(lines) if index > first and index not in inside]
    return [*lines[:first], *made, *after]


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether rows are a table, not a drawing with unnamed numbers, nor texts side by side."""
    if len(rows) == 1 and (len({*rows[0]}) < _FEWEST_BESIDE or max(map(len, rows[0])) > _LONGEST_CELL):
        return False
    words = [[bool(_WORD.search(cell)) for cell in row] for row in rows]
    named = any(2 * sum(strip) > len(strip) for strip in (*words, *zip(*words, strict=True)))
    empty = sum(row.count(EMPTY_CELL) for row in rows)
    return (named and sum(map(sum, words)) > 1) or (
        10 * empty <= sum(map(len, rows)) and min(len(rows), len(rows[0])) > 2
    )


def _is_header(rows: Sequence[Line]) -> bool:
    """Tell whether the first row, or the first two if they begin alike, name the columns of figures below."""
    below = next((at for at, row in enumerate(rows) if holds_figures(row.pieces[1:])), 0)
    named = all(is_name(cell) or cell == EMPTY_CELL for row in rows[:below] for cell in row.pieces)
    return named and (below == 1 or (below == 2 and rows[0].pieces[0] == rows[1].pieces[0]))


def _is_one(cells: Sequence[Sequence[Line]]) -> bool:
    """Tell whether a row is one cell that covers all columns."""
    return bool(cells[0]) and all(cell == cells[0] for cell in cells)


def _columns(
    by_reach: Mapping[_Reach, Sequence[Line]], xs: Sequence[float]
) -> list[list[tuple[float, float]]]:
    """Return the columns of each upright strip: several if wide gaps, not borders, separate them."""
    columns = [[(start, end)] for start, end in pairwise(xs)]
    by_strip: dict[int, list[list[Line]]] = {}
    for (_, reach), lines in sorted(by_reach.items(), key=lambda item: item[0][0][0]):
        if len(reach) == 1:
            by_strip.setdefault(reach[0], []).extend(levels(lines))
    for strip, texts in by_strip.items():
        gaps = sum(map(_has_gap, texts))
        if gaps > 1 and 2 * gaps >= len(texts):
            columns[strip] = find_columns([apart(level) for level in texts]) or columns[strip]
    return columns


def _places(
    by_reach: Mapping[_Reach, Sequence[Line]],
    xs: Sequence[float],
    ys: Sequence[float],
    columns: Sequence[Sequence[tuple[float, float]]],
) -> Iterator[tuple[tuple[int, int], Line]]:
    """Yield each line with each row and column that its cell covers.

    Where no border is drawn between cells, each line is only in the strips that it overlaps: figures one
    below the other are not a cell over several rows, and texts side by side are not a cell over several
    columns.
    """
    stacked = {rows for (rows, _), lines in by_reach.items() if len(rows) > 1 and _figures(lines) > 1}
    numbers = [
        range(end - len(strip), end)
        for strip, end in zip(columns, accumulate(map(len, columns)), strict=True)
    ]
    for (rows, reach), lines in by_reach.items():
        beside = len(reach) > 1 and any(map(_has_gap, levels(lines)))
        for line in lines:
            edge = 0.3 * (line.y1 - line.y0)
            own = _strips(ys, rows, line.y0 + edge, line.y1 - edge) if rows in stacked else rows
            strips = _strips(xs, reach, line.x0 + 1, line.x1 - 1) if beside else reach
            at = list(chain.from_iterable(numbers[strip] for strip in strips))
            if (
                len(strips) == 1
                and len(at) > 1
                and not (len(levels(lines)) == 1 == len(lines) and is_name(line.text))
            ):
                at = [at[0] + column for column in columns_near((line.x0, line.x1), columns[strips[0]])]
            for place in product(own, at):
                yield place, line


def _strips(borders: Sequence[float], reach: range, start: float, end: float) -> range:
    """Return the strips of a cell between two positions."""
    first, last = bisect_right(borders, start) - 1, bisect_right(borders, end) - 1
    return range(max(reach[0], min(first, reach[-1])), min(max(last, reach[0]), reach[-1]) + 1)


def _figures(lines: Iterable[Line]) -> int:
    """Return how many of a cell's lines have no word: "12" above "30"."""
    return sum(not any(_LETTERS.search(line.text) for line in level) for level in levels(lines))


def _has_gap(level: Sequence[Line]) -> bool:
    """Tell whether there is a wide gap between the lines at one height."""
    return len(apart(level)) > 1


def _rows_of(cells: Sequence[list[Line]], places: tuple[float, ...]) -> list[Line]:
    """Return the rows between two borders: one, or one for each figure where figures are stacked."""
    heights = _row_heights(cells)
    rows: list[list[list[Line]]] = [[[] for _ in cells] for _ in heights or [0]]
    for column, cell in enumerate(cells):
        for line in cell:
            middle = (line.y0 + line.y1) / 2
            rows[max(0, bisect_right(heights, middle + 0.3 * line.size) - 1)][column].append(line)
    return [make_row(row, places) for row in rows if any(row)]


def _row_heights(cells: Sequence[Sequence[Line]]) -> list[float]:
    """Return the heights of rows with no border between them: those of stacked figures with others beside."""
    heights_of = [levels(cell) for cell in cells]
    high = [cell for cell in heights_of if len(cell) > 1]
    stacks = [cell for cell in high if _figures(chain.from_iterable(cell)) == len(cell)]
    if 2 * len(stacks) < len(high):
        return []
    heights: list[float] = []
    for height in sorted({_middle(level) for cell in stacks for level in cell}):
        beside = sum(any(abs(height - _middle(level)) < _NEAR for level in cell) for cell in heights_of)
        if beside > 1 and (not heights or height - heights[-1] > _NEAR):
            heights.append(height)
    return heights if len(heights) > 1 else []


def _middle(level: Sequence[Line]) -> float:
    return (level[0].y0 + level[0].y1) / 2


def _with_titles(rows: Sequence[tuple[Line, bool]]) -> list[Line]:
    """Write a cell that covers all columns once: as a line around the table, or as a row inside it."""
    inner = [at for at, (_, is_one) in enumerate(rows) if not is_one]
    made = []
    for at, (row, is_one) in enumerate(rows):
        if not is_one or not inner:
            made.append(row)
        elif inner[0] < at < inner[-1]:
            made.append(replace(row, pieces=[row.pieces[0], *(EMPTY_CELL for _ in row.pieces[1:])]))
        else:
            made.append(replace(row, pieces=row.pieces[:1], columns=()))
    return made


def _differ(
    cells: Mapping[tuple[int, int], Sequence[Line]], above: int, row: int, columns: Sequence[int]
) -> bool:
    """Tell whether a row holds more than the continuation of cells in the row above."""
    return any((row, at) in cells and cells[row, at] != cells.get((above, at)) for at in columns)


def _borders(rules: Sequence[Rule], others: Sequence[Rule]) -> list[float]:
    """Return the borders of strips; the ends of the other rules replace an outer edge that is not drawn."""
    places = [rule.at for rule in rules]
    places += [min(rule.start for rule in others), max(rule.end for rule in others)]
    borders: list[float] = []
    for place in sorted(places):
        if not borders or place - borders[-1] > _NEAR:
            borders.append(place)
    return borders


def _reach(borders: list[float], place: float, rules: Sequence[Rule], across: float) -> range:
    """Return the strips of the cell at a position; the cell ends at the nearest borders drawn there."""

    def drawn(border: float) -> bool:
        return any(
            abs(rule.at - border) <= _NEAR and rule.start - 1 < across < rule.end + 1 for rule in rules
        )

    first = last = bisect_right(borders, place) - 1
    while first > 0 and not drawn(borders[first]):
        first -= 1
    while last < len(borders) - 2 and not drawn(borders[last + 1]):
        last += 1
    return range(first, last + 1)
