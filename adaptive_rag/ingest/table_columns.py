"""The columns of a PDF table: the cells of its rows, and the columns that the cells form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

from adaptive_rag.ingest.lines import (
    Extent,
    Line,
    cell_extent,
    find_nearest_columns,
    find_overlapped_columns,
    min_cell_gap,
)

HEADER_ROWS = 2
"""The first rows of a table, whose names may span several columns."""
# The lines of each cell of a row; and the same by column.
Cells = list[list[Line]]
Row = dict[int, list[Line]]


def split_cells(group: Sequence[Line]) -> Cells:
    """Split the lines of a row into cells at wide gaps; the lines of a cell keep their order."""
    cells: list[list[int]] = []
    previous, right = group[0], 0.0
    for index in sorted(range(len(group)), key=lambda index: group[index].x0):
        line = group[index]
        if cells and line.x0 - right <= min_cell_gap(previous.text, line.text) * line.size:
            cells[-1].append(index)
            right = max(right, line.x1)
        else:
            cells.append([index])
            right = line.x1
        previous = line
    return [[group[index] for index in sorted(cell)] for cell in cells]


def split_at_columns(cells: Cells, columns: Sequence[Extent]) -> Cells:
    """Split the cells of which each line is in one column, even without a wide gap between the lines."""
    parts: Cells = []
    for cell in cells:
        overlapped = [find_overlapped_columns((line.x0, line.x1), columns) for line in cell]
        if any(len(line_columns) != 1 for line_columns in overlapped):
            parts.append(cell)
            continue
        by_column: Row = {}
        for [column], line in zip(overlapped, cell, strict=True):
            by_column.setdefault(column, []).append(line)
        parts += (by_column[column] for column in sorted(by_column))
    return parts


def assign_to_columns(cells: Cells, columns: Sequence[Extent]) -> Row:
    """Put each cell into the columns that it overlaps, or into the nearest one."""
    row: Row = {}
    for cell in cells:
        for column in find_nearest_columns(cell_extent(cell), columns):
            row.setdefault(column, []).extend(cell)
    return row


def find_columns(rows: Sequence[Cells]) -> list[Extent]:
    """Return the horizontal extent of each column; [] if the cells form no columns.

    Most rows have one cell per column. In some tables only a few rows do: those that also name a group of
    rows.
    """
    counts = Counter(len(cells) for cells in rows if len(cells) > 1)
    usual_count = max(counts, key=lambda count: (counts[count], count))
    for count in sorted(
        (count for count in counts if count > usual_count and counts[count] > 1), reverse=True
    ):
        columns = _columns_of_rows(rows, count)
        # In a row of two cells, the name of a sum may be below several columns.
        body = chain.from_iterable(cells[1:] if len(cells) == 2 else cells for cells in rows[HEADER_ROWS:])
        if columns and all(len(find_overlapped_columns(cell_extent(cell), columns)) < 2 for cell in body):
            return columns
    # Each row may fill only one of two columns, such as "Paid in" and "Paid out"; the header names both.
    columns = _merge_overlapping(
        cell_extent(cell) for cells in rows if len(cells) == usual_count for cell in cells
    )
    if len(columns) > usual_count and any(_are_one_per_column(cells, columns) for cells in rows):
        return columns
    return _columns_of_rows(rows, usual_count)


def _are_one_per_column(cells: Cells, columns: Sequence[Extent]) -> bool:
    overlapped = [find_overlapped_columns(cell_extent(cell), columns) for cell in cells]
    return overlapped == [[column] for column in range(len(columns))]


def _columns_of_rows(rows: Sequence[Cells], count: int) -> list[Extent]:
    """Return the columns of the rows with `count` cells; [] if these do not form `count` columns."""
    extents = [[cell_extent(cell) for cell in cells] for cells in rows if len(cells) == count]
    columns = _merge_overlapping(chain.from_iterable(extents))
    if len(columns) > count:  # a short name may be beside the figures below it, not above them
        columns = [
            (min(start for start, _ in column), max(end for _, end in column))
            for column in zip(*extents, strict=True)
        ]
        if any(left[1] > right[0] for left, right in pairwise(columns)):
            return []
    return columns if len(columns) == count else []


def _merge_overlapping(extents: Iterable[Extent]) -> list[Extent]:
    """Merge extents that overlap, from left to right."""
    merged: list[Extent] = []
    for start, end in sorted(extents):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
