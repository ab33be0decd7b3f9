"""The reading order of OCR lines, which are found in any order.

Nagy and Seth, "Hierarchical representation of optically scanned documents" (ICPR 1984), cut a page at its
white areas. Here lines that span the columns divide the page into bands, so that a title or the caption of a
wide figure is read between the text above it and the text below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import mean, median

from adaptive_rag.ingest.columns import read_columns
from adaptive_rag.ingest.layout import Line, levels

_FEWEST_LINES = 3
# In characters: a column of prose is wider. A table column is narrower, and a table is read row by row.
_NARROW = 20
_GUTTER = 0.6  # of the type size


def in_reading_order(lines: Sequence[Line]) -> list[Line]:
    """Return upright lines column by column, with table rows in place of their cells."""
    rows = levels(lines, _at_height_of)
    of_tables = [line for row in _of_tables(rows) for line in row]
    for line in of_tables:  # the height of "12" alone says little
        line.size = median(cell.size for cell in of_tables)
    cells = set(map(id, of_tables))
    gutter = _find_gutter([line for line in lines if id(line) not in cells])
    if gutter is None:
        return read_columns(line for row in rows for line in row)
    ordered: list[Line] = []
    by_height = sorted(lines, key=lambda line: line.y0)
    for across, band in groupby(by_height, lambda line: id(line) in cells or line.x0 < gutter < line.x1):
        beside = list(band)
        if across:
            ordered += read_columns(line for row in levels(beside, _at_height_of) for line in row)
        else:
            ordered += in_reading_order([line for line in beside if line.x0 < gutter])
            ordered += in_reading_order([line for line in beside if line.x0 >= gutter])
    return ordered


def _of_tables(rows: Sequence[Sequence[Line]]) -> Iterator[Sequence[Line]]:
    """Yield the rows of tables, not of prose in columns: several rows of short texts, one below the other."""
    for short, run in groupby(
        rows, lambda row: len(row) > 1 and mean(len(line.text) for line in row) < _NARROW
    ):
        together = list(run)
        if short and len(together) >= _FEWEST_LINES:
            yield from together


def _find_gutter(lines: Sequence[Line]) -> float | None:
    """Return the x position between columns of prose that the fewest lines cross; None without columns."""
    best: tuple[int, float] | None = None
    for edge in {line.x1 for line in lines}:
        left = [line for line in lines if line.x1 <= edge]
        right = [line for line in lines if line.x0 > edge]
        if min(len(left), len(right)) < _FEWEST_LINES:
            continue
        across = len(lines) - len(left) - len(right)
        room = min(line.x0 for line in right) - edge
        clear = room > _GUTTER * median(line.size for line in lines)
        if clear and (best is None or across < best[0]) and _are_columns(left, right):
            best = across, edge + room / 2
    return best[1] if best else None


def _are_columns(left: Sequence[Line], right: Sequence[Line]) -> bool:
    beside = sum(any(one.y0 < (other.y0 + other.y1) / 2 < one.y1 for one in left) for other in right)
    prose = all(median(len(line.text) for line in side) >= _NARROW for side in (left, right))
    return prose and beside >= _FEWEST_LINES


def _at_height_of(row: Sequence[Line], line: Line) -> bool:
    """Tell whether a line is at the height of a row, and not just so close that their boxes overlap."""
    middle = (line.y0 + line.y1) / 2
    return any(
        one.y0 < middle < one.y1
        and abs(one.y0 + one.y1 - line.y0 - line.y1) < min(one.y1 - one.y0, line.y1 - line.y0)
        for one in row
    )
