"""PDF tables with ruled lines: the lines of text inside them become rows.

Neighbouring borders enclose strips: rows of the grid, and columns of it. A cell spans one strip or several in
each direction; where no borders separate them, a strip may contain several rows or columns of text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain, pairwise, product

from adaptive_rag.ingest.lines import Extent, Line, find_nearest_columns, group_by_height, make_row
from adaptive_rag.ingest.ruled_lines import MAX_GAP, RuledLine, RuledLines
from adaptive_rag.ingest.table_columns import find_columns, split_cells
from adaptive_rag.ingest.table_headers import (
    add_header_rule,
    has_bold_header,
    is_column_name,
    is_row_of_figures,
)
from adaptive_rag.text.tables import EMPTY_CELL

# The least share of a table's cells with text. The boxes of a diagram have less.
_MIN_FILLED = 0.5
# A single row is a table, and not two boxes, if it has this many different cells, none longer than this many
# characters.
_MIN_ROW_CELLS, _MAX_CELL_LENGTH = 3, 80
_WORD, _LETTERS = re.compile(r"[^\W\d_]{3}"), re.compile(r"[^\W\d_]{2}")
# The strips that a cell covers: of the rows and of the columns.
_CellSpan = tuple[range, range]
# The lines of each cell, by row and column.
_Cells = dict[tuple[int, int], list[Line]]


def read_ruled_tables(lines: list[Line], rules: RuledLines) -> list[Line]:
    """Replace the lines inside tables with ruled lines by the rows of these tables."""
    for frame in rules.find_frames():
        lines = _read_frame(lines, frame)
    return lines


def _read_frame(lines: list[Line], frame: RuledLines) -> list[Line]:
    """Replace the lines inside a frame by table rows; return them unchanged if it is not a table."""
    x_borders = _find_borders(frame.vertical, frame.horizontal)
    y_borders = _find_borders(frame.horizontal, frame.vertical)
    inside: set[int] = set()  # indexes of lines
    lines_by_span: dict[_CellSpan, list[Line]] = {}
    for index, line in enumerate(lines):
        x, y = (line.x0 + line.x1) / 2, line.middle
        if line.columns or not (x_borders[0] < x < x_borders[-1] and y_borders[0] < y < y_borders[-1]):
            continue
        inside.add(index)
        span = _find_span(y_borders, y, frame.horizontal, x), _find_span(x_borders, x, frame.vertical, y)
        lines_by_span.setdefault(span, []).append(line)
    strip_columns = _find_columns_of_strips(lines_by_span, x_borders)
    cells: _Cells = {}
    for position, line in _assign_lines(lines_by_span, x_borders, y_borders, strip_columns):
        cells.setdefault(position, []).append(line)
    row_numbers, column_numbers = (sorted({position[axis] for position in cells}) for axis in (0, 1))
    if len(column_numbers) < 2 or len(inside) < _MIN_FILLED * len(row_numbers) * len(column_numbers):
        return lines  # it is a drawing
    starts = [start for columns in strip_columns for start, _ in columns]
    rows = _make_rows(cells, row_numbers, column_numbers, tuple(starts[column] for column in column_numbers))
    if not _is_table([row.pieces for row in rows if row.columns]):
        return lines
    first_row = next((index for index, row in enumerate(rows) if row.columns), 0)
    if _has_header(rows[first_row:]):
        rows[first_row:] = add_header_rule(rows[first_row:])
    first = min(inside)
    after = [line for index, line in enumerate(lines) if index > first and index not in inside]
    return [*lines[:first], *rows, *after]


def _make_rows(
    cells: _Cells, row_numbers: Sequence[int], columns: Sequence[int], starts: tuple[float, ...]
) -> list[Line]:
    """Return the rows of a table; `starts` has the x position at which each column begins."""
    # If a cell is taller than those beside it, the row below them may contain only the rest of that cell.
    kept = [
        number for above, number in pairwise(row_numbers) if _has_new_cells(cells, above, number, columns)
    ]
    strips = ([cells.get((number, column), []) for column in columns] for number in (row_numbers[0], *kept))
    return _write_spanning_cells_once(
        [(row, _is_single_cell(strip)) for strip in strips for row in _split_into_rows(strip, starts)]
    )


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows are a table, and not a drawing with numbers in it, or texts side by side."""
    if len(rows) == 1 and (len({*rows[0]}) < _MIN_ROW_CELLS or max(map(len, rows[0])) > _MAX_CELL_LENGTH):
        return False
    words = [[bool(_WORD.search(cell)) for cell in row] for row in rows]
    has_names = any(2 * sum(group) > len(group) for group in (*words, *zip(*words, strict=True)))
    if has_names and sum(map(sum, words)) > 1:
        return True
    empty = sum(row.count(EMPTY_CELL) for row in rows)
    return 10 * empty <= sum(map(len, rows)) and min(len(rows), len(rows[0])) > 2


def _has_header(rows: Sequence[Line]) -> bool:
    """Return whether the first row is bold, or it names columns of figures.

    Two rows do if their first cells are the same.

    Two columns without a bold header may be a form, "Name | Ada" above "Born | 1815": it needs no header.
    """
    if has_bold_header(rows) or len(rows[0].pieces) == 2:
        return has_bold_header(rows)
    header_rows = next((index for index, row in enumerate(rows) if is_row_of_figures(row.pieces[1:])), 0)
    are_names = all(
        is_column_name(cell) or cell == EMPTY_CELL for row in rows[:header_rows] for cell in row.pieces
    )
    return are_names and (header_rows == 1 or (header_rows == 2 and rows[0].pieces[0] == rows[1].pieces[0]))


def _is_single_cell(cells: Sequence[Sequence[Line]]) -> bool:
    """Return whether one cell covers all columns of a row."""
    return bool(cells[0]) and all(cell == cells[0] for cell in cells)


def _find_columns_of_strips(
    lines_by_span: Mapping[_CellSpan, Sequence[Line]], x_borders: Sequence[float]
) -> list[list[Extent]]:
    """Return the columns in each strip: several if wide gaps, and not borders, separate them."""
    columns = [[extent] for extent in pairwise(x_borders)]
    rows_by_strip: dict[int, list[list[Line]]] = {}
    for (_, strips), lines in sorted(lines_by_span.items(), key=lambda item: item[0][0][0]):
        if len(strips) == 1:
            rows_by_strip.setdefault(strips[0], []).extend(group_by_height(lines))
    for strip, rows in rows_by_strip.items():
        gaps = sum(map(_has_gap, rows))
        if gaps > 1 and 2 * gaps >= len(rows):
            columns[strip] = find_columns([split_cells(row) for row in rows]) or columns[strip]
    return columns


def _assign_lines(
    lines_by_span: Mapping[_CellSpan, Sequence[Line]],
    x_borders: Sequence[float],
    y_borders: Sequence[float],
    strip_columns: Sequence[Sequence[Extent]],
) -> Iterator[tuple[tuple[int, int], Line]]:
    """Yield each line with each row and column that its cell covers.

    Several figures below each other without a border between them are not one cell that covers several rows,
    and texts side by side are not one cell that covers several columns. Each of these lines is only in the
    strips that it overlaps.
    """
    ends = accumulate(map(len, strip_columns))
    numbers = [range(end - len(columns), end) for columns, end in zip(strip_columns, ends, strict=True)]
    # The rows that contain figures below each other in one of their cells.
    stacked = {
        rows for (rows, _), lines in lines_by_span.items() if len(rows) > 1 and _count_figures(lines) > 1
    }
    for (rows, strips), lines in lines_by_span.items():
        is_split = len(strips) > 1 and any(map(_has_gap, group_by_height(lines)))
        for line in lines:
            line_rows, line_strips = rows, strips
            if rows in stacked:
                margin = 0.3 * (line.y1 - line.y0)
                line_rows = _find_overlapped(y_borders, rows, line.y0 + margin, line.y1 - margin)
            if is_split:
                line_strips = _find_overlapped(x_borders, strips, line.x0 + 1, line.x1 - 1)
            columns = list(chain.from_iterable(numbers[strip] for strip in line_strips))
            is_spanning_name = len(lines) == 1 and is_column_name(line.text)
            if len(line_strips) == 1 and len(columns) > 1 and not is_spanning_name:
                nearest = find_nearest_columns((line.x0, line.x1), strip_columns[line_strips[0]])
                columns = [columns[0] + column for column in nearest]
            for position in product(line_rows, columns):
                yield position, line


def _find_overlapped(borders: Sequence[float], span: range, start: float, end: float) -> range:
    """Return the strips of a cell that overlap the extent from `start` to `end`; at least one."""
    first, last = bisect_right(borders, start) - 1, bisect_right(borders, end) - 1
    return range(max(span[0], min(first, span[-1])), min(max(last, span[0]), span[-1]) + 1)


def _count_figures(lines: Iterable[Line]) -> int:
    """Return the number of figures below each other in a cell, such as "12" above "30"."""
    return sum(not any(_LETTERS.search(line.text) for line in level) for level in group_by_height(lines))


def _has_gap(level: Sequence[Line]) -> bool:
    return len(split_cells(level)) > 1


def _split_into_rows(cells: Sequence[list[Line]], starts: tuple[float, ...]) -> list[Line]:
    """Return the rows between two borders: one, or several if figures are below each other."""
    heights = _row_heights(cells)
    rows: list[list[list[Line]]] = [[[] for _ in cells] for _ in heights or [0]]
    for column, cell in enumerate(cells):
        for line in cell:
            rows[max(0, bisect_right(heights, line.middle + 0.3 * line.size) - 1)][column].append(line)
    return [make_row(row, starts) for row in rows if any(row)]


def _row_heights(cells: Sequence[Sequence[Line]]) -> list[float]:
    """Return the heights of rows without a border between them; [] if there is only one row.

    There are several if cells with figures below each other have them at the same heights.
    """
    cell_levels = [group_by_height(cell) for cell in cells]
    tall = [cell for cell in cell_levels if len(cell) > 1]
    stacked = [cell for cell in tall if _count_figures(chain.from_iterable(cell)) == len(cell)]
    if 2 * len(stacked) < len(tall):
        return []
    heights: list[float] = []
    for height in sorted({level[0].middle for cell in stacked for level in cell}):
        matching = sum(any(abs(height - level[0].middle) < MAX_GAP for level in cell) for cell in cell_levels)
        if matching > 1 and (not heights or height - heights[-1] > MAX_GAP):
            heights.append(height)
    return heights if len(heights) > 1 else []


def _write_spanning_cells_once(rows: Sequence[tuple[Line, bool]]) -> list[Line]:
    """Write a cell that covers all columns once: as a text above or below the table, or as a row inside it.

    `rows` says for each row whether it is such a cell.
    """
    divided = [index for index, (_, is_single) in enumerate(rows) if not is_single]
    table_rows = []
    for index, (row, is_single) in enumerate(rows):
        if not is_single or not divided:
            table_rows.append(row)
        elif divided[0] < index < divided[-1]:
            table_rows.append(replace(row, pieces=[row.pieces[0], *(EMPTY_CELL for _ in row.pieces[1:])]))
        else:
            table_rows.append(replace(row, pieces=row.pieces[:1], columns=()))
    return table_rows


def _has_new_cells(cells: _Cells, above: int, row: int, columns: Sequence[int]) -> bool:
    """Return whether a row has other cells than those that continue from the row above."""
    return any(
        (row, column) in cells and cells[row, column] != cells.get((above, column)) for column in columns
    )


def _find_borders(rules: Sequence[RuledLine], crossing: Sequence[RuledLine]) -> list[float]:
    """Return the borders of strips; an outer border that is not drawn is where the crossing lines end."""
    positions = [rule.position for rule in rules]
    positions += [min(rule.start for rule in crossing), max(rule.end for rule in crossing)]
    borders: list[float] = []
    for position in sorted(positions):
        if not borders or position - borders[-1] > MAX_GAP:
            borders.append(position)
    return borders


def _find_span(
    borders: list[float], position: float, rules: Sequence[RuledLine], other_position: float
) -> range:
    """Return the strips of the cell at a position; it ends at the nearest borders that are drawn there.

    `rules` are the borders in one direction, and `other_position` is the position in the other direction.
    """

    def is_drawn(border: float) -> bool:
        return any(
            abs(rule.position - border) <= MAX_GAP and rule.start - 1 < other_position < rule.end + 1
            for rule in rules
        )

    first = last = bisect_right(borders, position) - 1
    while first > 0 and not is_drawn(borders[first]):
        first -= 1
    while last < len(borders) - 2 and not is_drawn(borders[last + 1]):
        last += 1
    return range(first, last + 1)
