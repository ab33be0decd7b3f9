"""The ruled lines of a PDF page: the borders of tables, and lines below column names."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from adaptive_rag.ingest.lines import Line, group_by_height

MAX_GAP = 4.0
"""In points: lines this close to each other meet or are one; a page may draw the border of each cell."""
# In type sizes: the most from the top of a name to the ruled line below it, or to its next line of text.
_MAX_UNDERLINE_DISTANCE = 2.0
# A page with more ruled lines contains a drawing.
_MAX_LINES = 1000


class RuledLine(NamedTuple):
    """A straight line, in points: y and the two ends in x if it is horizontal, else x and the ends in y."""

    position: float
    start: float
    end: float


@dataclass(frozen=True)
class RuledLines:
    """The ruled lines of a page or of one table; a line drawn in several pieces counts as one."""

    horizontal: tuple[RuledLine, ...] = ()
    vertical: tuple[RuledLine, ...] = ()

    @classmethod
    def from_boxes(cls, boxes: Iterable[tuple[float, float, float, float]]) -> RuledLines:
        """Return the boxes (x0, y0, x1, y1) that are ruled lines; none if there are too many."""
        horizontal, vertical = [], []
        for x0, y0, x1, y1 in boxes:
            if y1 - y0 < MAX_GAP <= x1 - x0:
                horizontal.append(RuledLine((y0 + y1) / 2, x0, x1))
            elif x1 - x0 < MAX_GAP <= y1 - y0:
                vertical.append(RuledLine((x0 + x1) / 2, y0, y1))
        rules = cls(tuple(_join(horizontal)), tuple(_join(vertical)))
        return rules if len(rules.horizontal) + len(rules.vertical) <= _MAX_LINES else cls()

    def find_crossings(self, line: Line) -> list[float]:
        """Return the x positions at which vertical lines cross a line of text, from left to right."""
        return sorted(
            rule.position
            for rule in self.vertical
            if line.x0 + 1 < rule.position < line.x1 - 1 and rule.start < line.middle < rule.end
        )

    def mark_underlines(self, lines: Iterable[Line]) -> None:
        """Set the `underline` of each line of a name that a ruled line is right below."""
        rows = group_by_height(lines)
        bottoms = [max(line.y1 for line in row) for row in rows]
        for rule in self.horizontal:
            next_top = rule.position
            for row in reversed(rows[: bisect_right(bottoms, rule.position + MAX_GAP / 2)]):
                name = _find_only_line_above(row, rule)
                if name is None or name.underline:
                    break
                if not 0 < next_top - name.y0 < _MAX_UNDERLINE_DISTANCE * name.size:
                    break
                name.underline = rule.start, rule.end
                next_top = name.y0

    def mirror(self, page_width: float) -> RuledLines:
        """Return the lines mirrored, as a page that is read from right to left is."""
        return RuledLines(
            tuple(
                RuledLine(rule.position, page_width - rule.end, page_width - rule.start)
                for rule in self.horizontal
            ),
            tuple(RuledLine(page_width - rule.position, rule.start, rule.end) for rule in self.vertical),
        )

    def find_frames(self) -> Iterator[RuledLines]:
        """Yield each group of lines that meet, directly or through other lines."""
        # For each group: the indexes of its horizontal lines, and its vertical lines.
        groups: list[tuple[set[int], list[RuledLine]]] = []
        for rule in self.vertical:
            crossed = {index for index, other in enumerate(self.horizontal) if _meet(other, rule)}
            joined, separate = [rule], []
            for group_crossed, group_vertical in groups:
                if group_crossed & crossed:
                    crossed |= group_crossed
                    joined += group_vertical
                else:
                    separate.append((group_crossed, group_vertical))
            groups = [*separate, (crossed, joined)]
        for crossed, vertical in groups:
            if crossed:
                yield RuledLines(tuple(self.horizontal[index] for index in sorted(crossed)), tuple(vertical))


def _find_only_line_above(row: Sequence[Line], rule: RuledLine) -> Line | None:
    """Return the only line of a row that a horizontal line is below, if it is not wider than that line."""
    above = [line for line in row if line.x0 < rule.end and rule.start < line.x1]
    if len(above) == 1 and rule.start - MAX_GAP < above[0].x0 and above[0].x1 < rule.end + MAX_GAP:
        return above[0]
    return None


def _join(rules: Sequence[RuledLine]) -> list[RuledLine]:
    """Join lines that continue each other."""
    joined: list[RuledLine] = []
    for rule in sorted(rules, key=lambda rule: (round(rule.position), rule.start)):
        last = joined[-1] if joined else None
        if last and abs(rule.position - last.position) < 1 and rule.start - last.end < MAX_GAP:
            joined[-1] = last._replace(end=max(last.end, rule.end))
        else:
            joined.append(rule)
    return joined


def _meet(horizontal: RuledLine, vertical: RuledLine) -> bool:
    return (
        horizontal.start - MAX_GAP < vertical.position < horizontal.end + MAX_GAP
        and vertical.start - MAX_GAP < horizontal.position < vertical.end + MAX_GAP
    )
