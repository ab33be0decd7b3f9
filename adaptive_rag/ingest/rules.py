"""Used while a PDF is read: the ruled lines of a page, and the tables that they frame."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import NamedTuple

from adaptive_rag.ingest.columns import with_rule
from adaptive_rag.ingest.layout import FIGURE, Line, levels, make_row, merge
from adaptive_rag.ingest.table_headers import holds_figures, is_name
from adaptive_rag.text.tables import EMPTY_CELL

# In points: rules so near to each other meet or are one, since a page may draw each cell's border by itself.
_NEAR = 4.0
# A page with more rules than these holds a drawing.
_MOST_RULES = 1000
# The share of a table's cells that hold something. The boxes of a diagram fill fewer.
_FILLED = 0.5
# One row by itself is a table of so many different cells, none longer in characters, not two boxes.
_FEWEST_BESIDE, _LONGEST_CELL = 3, 80
_WORD = re.compile(r"[^\W\d_]{3}")
# The rows and the columns that a cell covers.
_Reach = tuple[range, range]


class Rule(NamedTuple):
    """A straight line: where it stands across its direction, and from where to where it goes, in points."""

    at: float
    start: float
    end: float


@dataclass(frozen=True)
class Rules:
    """The ruled lines of a page, each as one however many pieces it is drawn in."""

    level: tuple[Rule, ...] = ()
    upright: tuple[Rule, ...] = ()

    @classmethod
    def among(cls, boxes: Iterable[tuple[float, float, float, float]]) -> Rules:
        """Return those of the boxes (x0, y0, x1, y1) that are ruled lines; none where there are too many."""
        level, upright = [], []
        for x0, y0, x1, y1 in boxes:
            if y1 - y0 < _NEAR <= x1 - x0:
                level.append(Rule((y0 + y1) / 2, x0, x1))
            elif x1 - x0 < _NEAR <= y1 - y0:
                upright.append(Rule((x0 + x1) / 2, y0, y1))
        rules = cls(tuple(_joined(level)), tuple(_joined(upright)))
        return rules if len(rules.level) + len(rules.upright) <= _MOST_RULES else cls()

    def across(self, line: Line) -> list[float]:
        """Return where upright rules cut through a line of text, from left to right."""
        middle = (line.y0 + line.y1) / 2
        return sorted(
            rule.at
            for rule in self.upright
            if line.x0 + 1 < rule.at < line.x1 - 1 and rule.start < middle < rule.end
        )

    def mirrored(self, width: float) -> Rules:
        """Return the rules as a mirror beside a page of this width shows them."""
        return Rules(
            tuple(Rule(rule.at, width - rule.end, width - rule.start) for rule in self.level),
            tuple(Rule(width - rule.at, rule.start, rule.end) for rule in self.upright),
        )

    def frames(self) -> Iterator[Rules]:
        """Yield the rules that meet, together."""
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
    """Put the rows of the tables that have ruled lines in the place of the lines that stand in them."""
    for frame in rules.frames():
        lines = _read_frame(lines, frame)
    return lines


def _joined(rules: Sequence[Rule]) -> Iterator[Rule]:
    """Make one rule of those that go on from each other."""
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
    found: dict[_Reach, list[Line]] = {}
    for index, line in enumerate(lines):
        x, y = (line.x0 + line.x1) / 2, (line.y0 + line.y1) / 2
        if not line.columns and xs[0] < x < xs[-1] and ys[0] < y < ys[-1]:
            inside[index] = line
            reach = _reach(ys, y, frame.level, x), _reach(xs, x, frame.upright, y)
            found.setdefault(reach, []).append(line)
    cells = {place: held for (rows, columns), held in found.items() for place in product(rows, columns)}
    rows, kept = (sorted({place[axis] for place in cells}) for axis in (0, 1))
    is_drawing = len(kept) < 2 or len(inside) < _FILLED * len(rows) * len(kept)
    if is_drawing or any(map(_holds_several, found.values())):
        return lines
    # one cell may reach lower than those beside it, and a strip hold no more than its rest
    rows = rows[:1] + [row for above, row in pairwise(rows) if _differ(cells, above, row, kept)]
    strips = [[cells.get((at, column), []) for column in kept] for at in rows]
    places = tuple(xs[column] for column in kept)
    made = _with_titles([(make_row(strip, places), _is_one(strip)) for strip in strips])
    if not _is_table([row.pieces for row in made if row.columns]):
        return lines
    at = next((at for at, row in enumerate(made) if row.columns), 0)
    if _is_header(made[at:]):
        made = [*made[:at], *with_rule(made[at:])]
    first = min(inside)
    after = [line for index, line in enumerate(lines) if index > first and index not in inside]
    return [*lines[:first], *made, *after]


def _holds_several(cell: Sequence[Line]) -> bool:
    """Tell a stretch of several rows of figures, without borders, from a cell that is wrapped."""
    heights = levels(cell)
    return len(heights) > 1 and all(FIGURE.fullmatch(merge(level).text) for level in heights)


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Tell a table from a drawing, whose numbers have no names, and from texts side by side."""
    if len(rows) == 1 and (len({*rows[0]}) < _FEWEST_BESIDE or max(map(len, rows[0])) > _LONGEST_CELL):
        return False
    words = [[bool(_WORD.search(cell)) for cell in row] for row in rows]
    named = any(2 * sum(strip) > len(strip) for strip in (*words, *zip(*words, strict=True)))
    empty = sum(row.count(EMPTY_CELL) for row in rows)
    return (named and sum(map(sum, words)) > 1) or (
        10 * empty <= sum(map(len, rows)) and min(len(rows), len(rows[0])) > 2
    )


def _is_header(rows: Sequence[Line]) -> bool:
    """Tell whether a row, or two that begin alike, names the columns of figures below."""
    below = next((at for at, row in enumerate(rows) if holds_figures(row.pieces[1:])), 0)
    named = all(is_name(cell) or cell == EMPTY_CELL for row in rows[:below] for cell in row.pieces)
    return named and (below == 1 or (below == 2 and rows[0].pieces[0] == rows[1].pieces[0]))


def _is_one(cells: Sequence[Sequence[Line]]) -> bool:
    """Tell a cell that covers all columns."""
    return bool(cells[0]) and all(cell == cells[0] for cell in cells)


def _with_titles(rows: Sequence[tuple[Line, bool]]) -> list[Line]:
    """Write a cell that covers all columns once: a line above or below the others, or a row between them."""
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
    """Tell whether a row holds anything that the one above does not go on with."""
    return any((row, at) in cells and cells[row, at] != cells.get((above, at)) for at in columns)


def _borders(rules: Sequence[Rule], others: Sequence[Rule]) -> list[float]:
    """Return where strips begin and end; the others' ends stand for an edge that is not drawn."""
    places = [rule.at for rule in rules]
    places += [min(rule.start for rule in others), max(rule.end for rule in others)]
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > _NEAR:
            found.append(place)
    return found


def _reach(borders: list[float], place: float, rules: Sequence[Rule], across: float) -> range:
    """Return the strips of the cell around a place, which goes on up to a border that is drawn there."""

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
