"""Used while a PDF is read: the ruled lines of a page, and the tables that they frame."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from adaptive_rag.ingest.layout import Line, make_row

# In points: rules so near to each other meet or are one, since a page may draw each cell's border by itself.
_NEAR = 4.0
# A page with more rules than these holds a drawing.
_MOST_RULES = 1000
# The share of a table's cells that hold something. The boxes of a diagram fill fewer.
_FILLED = 0.5
# In characters: longer texts side by side in one frame are no row of a table.
_LONGEST_CELL = 80
_WORD = re.compile(r"[^\W\d_]{3}")


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
            for levels, uprights in groups:
                if levels & met:
                    met |= levels
                    beside += uprights
                else:
                    apart.append((levels, uprights))
            groups = [*apart, (met, beside)]
        for levels, uprights in groups:
            if levels:
                yield Rules(tuple(self.level[index] for index in sorted(levels)), tuple(uprights))


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
    inside: dict[int, str] = {}
    cells: dict[tuple[int, int], list[Line]] = {}
    for index, line in enumerate(lines):
        x, y = (line.x0 + line.x1) / 2, (line.y0 + line.y1) / 2
        if line.columns or not (xs[0] < x < xs[-1] and ys[0] < y < ys[-1]):
            continue
        inside[index] = line.text
        for row in _reach(ys, y, frame.level, x):
            for column in _reach(xs, x, frame.upright, y):
                cells.setdefault((row, column), []).append(line)
    rows, columns = (sorted({cell[axis] for cell in cells}) for axis in (0, 1))
    named = sum(bool(_WORD.search(text)) for text in inside.values())
    if len(columns) < 2 or named < 2 or len(inside) < _FILLED * len(rows) * len(columns):
        return lines  # a drawing
    places = tuple(xs[column] for column in columns)
    # one cell may reach lower than those beside it, and a strip hold no more than its rest
    rows = rows[:1] + [row for above, row in pairwise(rows) if _differ(cells, above, row, columns)]
    made = [make_row([cells.get((row, column), []) for column in columns], places) for row in rows]
    if len(made) == 1 and max(map(len, made[0].pieces)) > _LONGEST_CELL:
        return lines
    if len(made) > 1 and len(set(made[0].pieces)) == 1:
        made[0] = make_row([cells[rows[0], columns[0]]], ())  # a title over the whole table
    first = min(inside)
    after = [line for index, line in enumerate(lines) if index > first and index not in inside]
    return [*lines[:first], *made, *after]


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
