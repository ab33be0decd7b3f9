"""The reading order of the lines that OCR returns in any order.

Nagy and Seth, "Hierarchical representation of optically scanned documents" (ICPR 1984), cut a page at its
white areas. Here lines that span the columns divide the page into bands, so that a title or the caption of a
wide figure is read between the text above it and the text below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import mean, median

from adaptive_rag.ingest.lines import Line, group_by_height
from adaptive_rag.ingest.unruled_tables import read_unruled_tables

_MIN_LINES = 3
# In characters: a column of prose is wider. A table column is narrower, and a table is read row by row.
_MIN_PROSE_WIDTH = 20
_MIN_GUTTER = 0.6  # of the type size


def sort_by_reading_order(lines: Sequence[Line]) -> list[Line]:
    """Return level lines column by column, with table rows in place of their cells."""
    rows = group_by_height(lines, _is_in_row)
    table_lines = [line for row in _find_table_rows(rows) for line in row]
    if table_lines:  # the height of a single figure, such as "12", is not its type size
        size = median(line.size for line in table_lines)
        for line in table_lines:
            line.size = size
    table_ids = set(map(id, table_lines))
    gutter = _find_gutter([line for line in lines if id(line) not in table_ids])
    if gutter is None:
        return read_unruled_tables(line for row in rows for line in row)
    ordered: list[Line] = []
    by_height = sorted(lines, key=lambda line: line.y0)
    for spans_columns, band in groupby(
        by_height, lambda line: id(line) in table_ids or line.x0 < gutter < line.x1
    ):
        band_lines = list(band)
        if spans_columns:
            rows = group_by_height(band_lines, _is_in_row)
            ordered += read_unruled_tables(line for row in rows for line in row)
        else:
            ordered += sort_by_reading_order([line for line in band_lines if line.x0 < gutter])
            ordered += sort_by_reading_order([line for line in band_lines if line.x0 >= gutter])
    return ordered


def _find_table_rows(rows: Sequence[Sequence[Line]]) -> Iterator[Sequence[Line]]:
    """Yield the rows of tables, not of prose in columns: several rows of short texts, one below the other."""
    for is_tabular, group in groupby(
        rows, lambda row: len(row) > 1 and mean(len(line.text) for line in row) < _MIN_PROSE_WIDTH
    ):
        group_rows = list(group)
        if is_tabular and len(group_rows) >= _MIN_LINES:
            yield from group_rows


def _find_gutter(lines: Sequence[Line]) -> float | None:
    """Return the x position between columns of prose that the fewest lines cross; None without columns."""
    best: tuple[int, float] | None = None
    for edge in {line.x1 for line in lines}:
        left = [line for line in lines if line.x1 <= edge]
        right = [line for line in lines if line.x0 > edge]
        if min(len(left), len(right)) < _MIN_LINES:
            continue
        crossing = len(lines) - len(left) - len(right)
        gap = min(line.x0 for line in right) - edge
        is_clear = gap > _MIN_GUTTER * median(line.size for line in lines)
        if is_clear and (best is None or crossing < best[0]) and _are_columns(left, right):
            best = crossing, edge + gap / 2
    return best[1] if best else None


def _are_columns(left: Sequence[Line], right: Sequence[Line]) -> bool:
    """Return whether both sides are prose, and several of their lines are at the same height."""
    level_lines = sum(any(line.y0 < other.middle < line.y1 for line in left) for other in right)
    are_prose = all(median(len(line.text) for line in side) >= _MIN_PROSE_WIDTH for side in (left, right))
    return are_prose and level_lines >= _MIN_LINES


def _is_in_row(row: Sequence[Line], line: Line) -> bool:
    """Return whether a line is at the height of a row, and not only so close that their boxes overlap."""
    return any(
        other.y0 < line.middle < other.y1
        and abs(other.y0 + other.y1 - line.y0 - line.y1) < min(other.y1 - other.y0, line.y1 - line.y0)
        for other in row
    )
