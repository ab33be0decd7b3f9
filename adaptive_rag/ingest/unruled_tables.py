"""PDF tables without ruled lines: lines of text that are aligned in columns become rows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, pairwise, takewhile
from statistics import median

from adaptive_rag.ingest.lines import (
    FIGURE,
    LEADER_DOTS,
    Extent,
    Line,
    cell_extent,
    find_overlapped_columns,
    group_by_height,
    group_side_by_side,
    make_row,
    merge_lines,
)
from adaptive_rag.ingest.table_columns import (
    HEADER_ROWS,
    Cells,
    Row,
    assign_to_columns,
    find_columns,
    split_at_columns,
    split_cells,
)
from adaptive_rag.ingest.table_headers import (
    MAX_LINES,
    add_header_rule,
    count_header_lines,
    has_bold_header,
    is_column_name,
    is_row_of_figures,
    read_header_lines,
)
from adaptive_rag.text.tables import EMPTY_CELL

# In type sizes: the largest vertical gap between two rows, if one of them is a single text, or if none is.
_MAX_LINE_GAP, _MAX_ROW_GAP = 2.0, 3.0
_MIN_ROWS = 3
# The largest share of a table's width for a line between two rows that names the group of rows below it.
_MAX_GROUP_NAME_WIDTH = 0.6
# For a table without names: the fewest rows, and the least share of cells with text. A formula or a chart has
# less.
_MIN_UNNAMED_ROWS, _MIN_FILLED = 5, 0.6
# A line is much nearer to the row below it if the distance is this share of that to the row above.
_MAX_NEARER = 0.6
# The most lines of a cell if the page writes all lines of a cell before the next cell.
_MAX_CELL_LINES = 8
# How many lines to look back for text at the same height.
_MAX_LOOK_BACK = 60
# The most lines above a table that may belong to it: its header, or rows above a line that separates them.
_MAX_LINES_ABOVE = 60
# In characters: a table has at least one column that is this narrow; prose in columns has none.
_NARROW_COLUMN = 30
_WORD, _DIGIT = re.compile(r"[^\W\d_]{3}"), re.compile(r"\d")
_ITEM_NUMBER = re.compile(r"\W|\(?[\w.]{1,6}[.)]")
_CLAUSE_NUMBER = re.compile(rf"{_ITEM_NUMBER.pattern}|\d{{1,2}}(?:\.\d{{1,2}})+")


def read_unruled_tables(lines: Iterable[Line]) -> list[Line]:
    """Return a page's lines, with table rows in place of the lines that form a table.

    Other lines keep the page's order, and those that follow each other side by side are merged into one line.
    """
    lines = list(lines)
    positions = {id(line): position for position, line in enumerate(lines)}
    unused = {id(line): line for line in lines if not line.columns}
    page_lines: list[Line] = []
    for is_row, part in groupby(lines, key=lambda line: bool(line.columns)):
        if is_row:
            page_lines += part
            continue
        rows: list[list[Line]] = []
        for row in _group_rows(part):
            if rows and not _continues_rows(rows[-1], row):
                page_lines += _read_rows(rows, unused)
                rows = []
            rows.append(row)
        page_lines += _read_rows(rows, unused)
    # A table's header may have been taken from lines that were already in `page_lines`.
    page_lines = [line for line in page_lines if line.columns or id(line) in unused]
    merged: list[Line] = []
    for is_row, part in groupby(page_lines, key=lambda line: bool(line.columns)):
        part_lines = list(part)
        if not is_row:
            in_page_order = sorted(part_lines, key=lambda line: positions[id(line)])
            part_lines = list(map(merge_lines, group_side_by_side(in_page_order)))
        merged += part_lines
    return merged


def _group_rows(lines: Iterable[Line]) -> list[list[Line]]:
    """Group the lines of each row, also if the page writes all lines of a cell before the next cell."""
    bands: list[list[Line]] = []
    for line in lines:
        if bands and _belongs_to_row(line, bands[-1]):
            bands[-1].append(line)
        else:
            bands.append([line])
    return _merge_two_line_cells(list(chain.from_iterable(map(group_by_height, bands))))


def _merge_two_line_cells(rows: Sequence[list[Line]]) -> list[list[Line]]:
    """Put the two lines of a cell into the row whose other cells are centred between them."""
    merged: dict[int, list[Line]] = {}
    used: set[int] = set()
    for index, row in enumerate(rows):
        neighbours = range(max(0, index - 2), min(len(rows), index + 3)) if len(row) > 1 else ()
        beside = [i for i in neighbours if i not in used and _is_beside(rows[i], row)]
        if len(beside) == 2:
            upper, lower = sorted((rows[i][0] for i in beside), key=lambda line: line.y0)
            if upper.y0 < row[0].y0 < lower.y0:
                merged[index] = [upper, lower, *row]
                used.update(beside)
    return [merged.get(index, row) for index, row in enumerate(rows) if index not in used]


def _is_beside(row: Sequence[Line], cells: Sequence[Line]) -> bool:
    """Return whether a row is a single line, beside other cells and not only touching their height."""
    line, cell = row[0], cells[0]
    overlap = min(line.y1, cell.y1) - max(line.y0, cell.y0)
    is_apart = all(line.x1 <= other.x0 or other.x1 <= line.x0 for other in cells)
    return len(row) == 1 and overlap > 0.25 * (line.y1 - line.y0) and is_apart


def _belongs_to_row(line: Line, band: Sequence[Line]) -> bool:
    """Return whether a line begins or continues the next cell of a row; the cells may differ in height."""
    last, recent = band[-1], band[-_MAX_LOOK_BACK:]
    if last.is_left_of(line) or last.y0 < line.y0:
        is_near = line.y0 < last.y1 + _MAX_LINE_GAP * line.size
        return is_near and all(other.x1 - 1 <= line.x0 for other in recent if other.is_level_with(line))
    is_too_tall = last.y1 - line.y0 > _MAX_CELL_LINES * (line.y1 - line.y0)
    return not is_too_tall and all(other.x1 - 1 <= line.x0 for other in recent if other.y1 > line.y0)


def _continues_rows(previous: Sequence[Line], row: Sequence[Line]) -> bool:
    """Return whether a row may continue the table of the row before it."""
    previous_line, line = previous[0], row[0]
    has_single_line = min(len(previous), len(row)) == 1
    max_gap = _MAX_LINE_GAP if has_single_line else _MAX_ROW_GAP
    is_near = previous_line.y0 < line.y0 < max(other.y1 for other in previous) + max_gap * line.size
    single, others = (line, previous) if len(row) == 1 else (previous_line, row)
    # Small print below a cell, but not the first one, belongs to it.
    is_small_print = single.x0 > others[0].x1 and single.size < min(other.size for other in others)
    differs = has_single_line and not is_small_print and abs(line.size - previous_line.size) > 0.1 * line.size
    if not is_near or differs:
        return False
    if len(row) > 1:
        return not _begins_table(row, previous)
    # A single text may be a short name, or the rest of a cell, which does not extend into the next column.
    start, end = cell_extent(previous)
    is_short = line.x1 - line.x0 < _MAX_GROUP_NAME_WIDTH * (end - start)
    return is_short or not any(line.x0 < cell[0].x0 < line.x1 for cell in split_cells(previous)[1:])


def _begins_table(row: Sequence[Line], previous: Iterable[Line]) -> bool:
    """Return whether a row has bold column names, unlike the row above it, which belongs to other columns."""
    are_bold_names = all(line.bold and is_column_name(line.text) for line in row)
    return are_bold_names and not any(line.bold for line in previous)


def _read_rows(rows: Sequence[list[Line]], unused: dict[int, Line]) -> list[Line]:
    """Return neighbouring rows with table rows in place of those that form a table.

    Lines that become part of a table are removed from `unused`, which contains the unused lines of the page.
    """
    rows = [row for row in ([line for line in row if id(line) in unused] for row in rows) if row]
    cells = [split_cells(row) for row in rows]
    multiple = [index for index, row in enumerate(cells) if len(row) > 1]
    columns = find_columns(cells) if len(multiple) >= _MIN_ROWS else []
    if not columns:
        return list(chain.from_iterable(rows))
    cells = [split_at_columns(row, columns) for row in cells]
    first, end = _find_first_row(cells, columns), multiple[-1] + 1
    while end < len(rows) and _ends_cell(rows[end][0], rows[end - 1], columns):
        end += 1
    while first and _is_centred_above_columns(cells[first - 1], columns):
        first -= 1
    header = _count_header(cells[first:end], columns)
    for index in range(first + header, end):
        if _is_prose(cells, index, columns):
            return [*_read_rows(rows[:index], unused), *rows[index], *_read_rows(rows[index + 1 :], unused)]
    if _are_fields(cells[first : first + header], columns):
        table, header = cells[first:end], 0
    else:
        table, header = _add_header_above(cells[first:end], header, columns, unused)
    table_rows = _read_table(table, columns, header)
    if not table_rows:
        return list(chain.from_iterable(rows))
    for line in (line for row in table for cell in row for line in cell):
        unused.pop(id(line), None)
    return [*_read_rows(rows[:first], unused), *table_rows, *chain.from_iterable(rows[end:])]


def _find_first_row(rows: Sequence[Cells], columns: Sequence[Extent]) -> int:
    """Return the index of a table's first row; above may be another one, with figures between its columns."""
    full = next((index for index, cells in enumerate(rows) if len(cells) == len(columns)), 0)
    for index in reversed(range(full)):
        extents = map(cell_extent, rows[index])
        is_between = any(not find_overlapped_columns(extent, columns) for extent in extents)
        if is_between and len(rows[index]) > 1 and not _name_columns(rows[index], columns):
            return index + 1
    return next(index for index, cells in enumerate(rows) if len(cells) > 1)


def _ends_cell(line: Line, above: Sequence[Line], columns: Sequence[Extent]) -> bool:
    """Return whether a line below the last row is the rest of a cell in it, but not of its first one."""
    is_close = line.y0 - max(other.y1 for other in above) < 0.5 * line.size
    overlapped = find_overlapped_columns((line.x0, line.x1), columns)
    return is_close and len(overlapped) == 1 and overlapped[0] > 0 and not FIGURE.fullmatch(line.text)


def _count_header(rows: Sequence[Cells], columns: Sequence[Extent]) -> int:
    return count_header_lines([assign_to_columns(cells, columns) for cells in rows[: MAX_LINES + 1]])


def _are_fields(header: Sequence[Cells], columns: Sequence[Extent]) -> bool:
    """Return whether lines above figures are rows of a form: "Customer | Ada Moor", "Contract | Gold"."""
    is_wrapped = any(cell[0].text[:1].islower() for cells in header[1:] for cell in cells)
    return (
        len(columns) == 2 and len(header) > 1 and not is_wrapped and all(len(cells) == 2 for cells in header)
    )


def _add_header_above(
    table: list[Cells], header: int, columns: Sequence[Extent], unused: Mapping[int, Line]
) -> tuple[list[Cells], int]:
    """Return a table with the header lines above it, and their number; it already begins with `header`."""
    above = _find_lines_above(table, columns, unused)
    if header:  # only the lines right above it that name several columns belong to it
        above = list(takewhile(lambda cells: _name_columns(cells, columns), reversed(above)))[::-1]
        first_row = list(chain.from_iterable(table[0]))
        if not above or _begins_table(first_row, chain.from_iterable(above[-1])):
            return table, header
    extended_header = _count_header([*above, *table], columns)
    return ([*above, *table], extended_header) if extended_header else (table, header)


def _find_lines_above(
    table: Sequence[Cells], columns: Sequence[Extent], unused: Mapping[int, Line]
) -> list[Cells]:
    """Return the lines right above a table, from top to bottom, wherever the page's order has them."""
    inside = {id(line) for row in table for cell in row for line in cell}
    left, right = columns[0][0], columns[-1][1]
    top = min(line.y0 for cell in table[0] for line in cell)
    size = table[0][0][0].size
    candidates = [
        line
        for line in unused.values()
        if id(line) not in inside
        and left - size < (line.x0 + line.x1) / 2 < right + size
        and top - _MAX_LINES_ABOVE * 2 * size < line.y0
        and line.y1 < top + size / 2
    ]
    above: list[Cells] = []
    for level in reversed(group_by_height(candidates)):
        cells = split_at_columns(split_cells(level), columns)
        is_far = top - max(line.y1 for line in level) > _MAX_LINE_GAP * size
        is_title = (
            len(cells) == 1
            and not _is_centred_above_columns(cells, columns)
            and len(find_overlapped_columns(cell_extent(cells[0]), columns)) > 1
        )
        if is_far or is_title or len(above) == _MAX_LINES_ABOVE:
            break
        above.insert(0, cells)
        top = min(line.y0 for line in level)
    return above


def _name_columns(cells: Cells, columns: Sequence[Extent]) -> bool:
    """Return whether a line names columns: it is no row of figures, and no title of the whole table."""
    if len(cells) == 1:
        return _is_centred_above_columns(cells, columns)
    return not is_row_of_figures([" ".join(line.text for line in cell) for cell in cells[1:]])


def _is_prose(rows: Sequence[Cells], index: int, columns: Sequence[Extent]) -> bool:
    """Return whether a line is prose between two tables, and not a short group name between two rows."""
    if len(rows[index]) > 1 or len(find_overlapped_columns(cell_extent(rows[index][0]), columns)) < 2:
        return False
    start, end = cell_extent(rows[index][0])
    is_between_rows = index + 1 < len(rows) and len(rows[index - 1]) > 1 and len(rows[index + 1]) > 1
    return not is_between_rows or end - start > _MAX_GROUP_NAME_WIDTH * (columns[-1][1] - columns[0][0])


def _is_centred_above_columns(cells: Cells, columns: Sequence[Extent]) -> bool:
    """Return whether a text is centred above all columns but the first, rather than above the whole table."""
    start, end = cell_extent(cells[0])
    if len(columns) < 3 or start <= columns[0][1]:
        return False
    middle = (start + end) / 2
    table_middle = (columns[0][0] + columns[-1][1]) / 2
    middle_of_others = (columns[1][0] + columns[-1][1]) / 2
    return abs(middle - middle_of_others) < abs(middle - table_middle)


def _read_table(rows: Sequence[Cells], columns: Sequence[Extent], header: int) -> list[Line]:
    """Return the rows of a table with `header` lines of names; [] if it is not a table."""
    starts = tuple(start for start, _ in columns)
    body = _join_wrapped_rows([_assign_row(cells, columns) for cells in rows[header:]])
    names = read_header_lines(rows[:header], columns) if header else []
    filled = [*names, *([row.get(column, []) for column in range(len(columns))] for row in body)]
    table_rows = [make_row(cells, starts) for cells in filled]
    # In a table of contents, dots lead to the page numbers. A table of figures may have dots, but has more
    # columns.
    lines = (line for row in rows for cell in row for line in cell)
    is_contents = len(columns) == 2 and any(LEADER_DOTS.search(line.text) for line in lines)
    if len(table_rows) < _MIN_ROWS or is_contents or not _is_table([row.pieces for row in table_rows]):
        return []
    if (header and len(columns) > 2) or has_bold_header(table_rows):
        return _repeat_group_names(add_header_rule(table_rows))
    return _repeat_group_names(_repeat_spanning_names(table_rows))


def _repeat_spanning_names(rows: Sequence[Line]) -> list[Line]:
    """Repeat a name in the first of two header rows above each column that it spans.

    "Sales" is written above both "2022" and "2023", and a name that spans one column in both rows. Readers of
    tables expect a header of two rows in this form.
    """
    upper, lower = (list(row.pieces) for row in rows[:HEADER_ROWS])
    has_own_name = [cell != EMPTY_CELL for cell in lower]
    if has_own_name[0] or all(cell != EMPTY_CELL for cell in upper):
        return list(rows)
    for column, name in enumerate(upper):
        if name == EMPTY_CELL:
            if not (has_own_name[column] and has_own_name[column - 1]):
                return list(rows)
            upper[column] = upper[column - 1]
        elif not has_own_name[column]:
            lower[column] = name
    return [replace(rows[0], pieces=upper), replace(rows[1], pieces=lower), *rows[HEADER_ROWS:]]


def _repeat_group_names(rows: Sequence[Line]) -> list[Line]:
    """Repeat the name of a group of rows, which is written in the first of them only, in each row.

    In "North shore | Sluice | 96" above "– | Footbridge | 28" the first column names a group, and the second
    column names the rows. An empty first cell alone does not show a group: it may be a sum without "Total".
    """
    start = next(index for index, row in enumerate(rows) if row.pieces[0] != EMPTY_CELL)
    groups = {row.pieces[0] for row in rows} - {EMPTY_CELL}
    unnamed = [row for row in rows[start:] if row.pieces[0] == EMPTY_CELL]
    names = [row.pieces[1] for row in unnamed]
    are_complete = all(EMPTY_CELL not in row.pieces[1:] and _WORD.search(row.pieces[1]) for row in unnamed)
    is_small = len(rows[0].pieces) < 3 or len(groups) < 3 or len(unnamed) < 2
    if is_small or not are_complete or len({*names}) == 1:
        return list(rows)
    named, group = list(rows[:start]), ""
    for row in rows[start:]:
        group = group if row.pieces[0] == EMPTY_CELL else row.pieces[0]
        named.append(replace(row, pieces=[group, *row.pieces[1:]]))
    return named


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows are a table, rather than prose in columns, numbered clauses or formulas."""
    columns = list(zip(*rows, strict=True))
    widths = [median(map(len, column)) for column in columns]
    if min(widths) > _NARROW_COLUMN:
        return False
    if len(columns) == 2:
        # "1.  The tenant ...", "1.1  The tenant ..."
        item_number = _CLAUSE_NUMBER if widths[1] > _NARROW_COLUMN else _ITEM_NUMBER
        are_clauses = _most(item_number.fullmatch, [row[0] for row in rows if row[1] != EMPTY_CELL])
        # "A System of Analysis.  With" is a line with a wide blank.
        are_split_lines = widths[0] > _NARROW_COLUMN and not _most(_DIGIT.search, columns[1])
        if are_clauses or are_split_lines:
            return False
    filled = sum(cell != EMPTY_CELL for row in rows for cell in row)
    is_full = len(rows) >= _MIN_UNNAMED_ROWS and filled > _MIN_FILLED * len(rows) * len(columns)
    has_names, has_labels = _most(_WORD.search, rows[0]), _most(_WORD.search, columns[0])
    return has_names or has_labels or (len(columns) > 2 and is_full)


def _most(match: Callable[[str], object], cells: Sequence[str]) -> bool:
    return 2 * sum(match(cell) is not None for cell in cells) > len(cells)


def _assign_row(cells: Cells, columns: Sequence[Extent]) -> Row:
    """Put each cell into its columns, but a single line that spans several columns into the first one."""
    row = assign_to_columns(cells, columns)
    return {0: cells[0]} if len(cells) == 1 and len(row) > 1 else row


def _join_wrapped_rows(rows: Sequence[Row]) -> list[Row]:
    """Join each line that only continues cells of the row above it, or begins those below it, with that row.

    A line begins a cell of the row below if it is much nearer to it: other cells may be centred beside it.
    """
    heights = [min(line.y0 for cell in row.values() for line in cell) for row in rows]
    steps = [below - above for above, below in pairwise(heights)]
    pitch = median([step for step, row in zip(steps, rows[1:], strict=True) if 0 in row] or steps or [0.0])
    joined = [rows[0]]
    begun: Row = {}
    for step, next_step, row in zip(steps, [*steps, math.inf][1:], rows[1:], strict=True):
        label = row.get(0)
        is_lone_remainder = len(row) == 1 and (label is None or label[0].text[:1].islower())
        has_new_figure = any(
            FIGURE.fullmatch(row[column][0].text) and FIGURE.fullmatch(joined[-1][column][-1].text)
            for column in row.keys() & joined[-1].keys()
        )
        is_close_remainder = step < 0.9 * pitch and (label is None or len(row) == 1) and not has_new_figure
        if begun:
            joined.append(
                {column: begun.get(column, []) + row.get(column, []) for column in {**begun, **row}}
            )
            begun = {}
        elif is_lone_remainder and label is None and next_step < _MAX_NEARER * step:
            begun = row
        elif is_lone_remainder or is_close_remainder:
            for column, cell in row.items():
                joined[-1].setdefault(column, []).extend(cell)
        else:
            joined.append(row)
    return joined
