"""PDF tables without ruled lines: lines of text that stand in columns become the rows of a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, pairwise, takewhile
from statistics import median

from adaptive_rag.ingest.layout import (
    FIGURE,
    LEADER,
    Extent,
    Line,
    columns_at,
    columns_near,
    extent,
    least_gap,
    levels,
    make_row,
    merge,
    side_by_side,
)
from adaptive_rag.ingest.table_headers import MOST_LINES, count_header_lines, lines_of_names
from adaptive_rag.text.tables import EMPTY_CELL, names_columns

# In type sizes: a larger vertical gap separates two tables, or two rows.
_APART, _ROWS_APART = 2.0, 3.0
_FEWEST_ROWS = 3
# The largest share of a table's width for a line between two rows that names the rows below it.
_SHORT = 0.6
# For rows without names: the fewest rows, and the least share of cells with text. Below these, it may be a
# formula or a chart.
_FEWEST_FIGURES, _FILLED = 5, 0.6
_HEADER_ROWS = 2
# The most rows at the top of a page that may repeat the first rows of its table.
_HEADER_LINES = 4
# The most lines in a cell where a page writes all lines of a cell before the next cell.
_TALLEST = 8
# How many lines to look back for text at the same height.
_WIDEST = 60
# The most lines above a table that may belong to it: a header, or rows that another line separates from it.
_FARTHEST = 60
# In characters: a table has at least one column narrower than this; prose set in columns has none.
_NARROW = 30
_WORD = re.compile(r"[^\W\d_]{3}")
_MARK = re.compile(r"\W|\(?[\w.]{1,6}[.)]")
# The lines of each cell in a row; and the cells of a row by column.
_Cells = list[list[Line]]
_Row = dict[int, list[Line]]


def read_columns(lines: Iterable[Line]) -> list[Line]:
    """Return a page's lines, with table rows in place of the lines that form a table.

    Other lines that stand side by side are merged into one line.
    """
    placed: list[Line] = []
    run: list[list[Line]] = []
    lines = list(lines)
    spare = {id(line): line for line in lines if not line.columns}
    for framed, part in groupby(lines, key=lambda line: bool(line.columns)):
        if framed:
            placed += part
            continue
        for group in _in_rows(part):
            if run and not _goes_on(run[-1], group):
                placed += _read_run(run, spare)
                run = []
            run.append(group)
        placed += _read_run(run, spare)
        run = []
    placed = [line for line in placed if line.columns or id(line) in spare]
    joined: list[Line] = []
    for is_row, these in groupby(placed, key=lambda line: bool(line.columns)):
        lines_there = list(these)
        joined += lines_there if is_row else map(merge, side_by_side(lines_there))
    return joined


def without_repeated_headers(pages: Iterable[tuple[int, list[Line]]]) -> Iterator[tuple[int, list[Line]]]:
    """Remove the header that a table repeats on each page it continues on."""
    first: list[list[str]] = []  # the first rows of the current table, without rules
    before: Line | None = None
    for number, lines in pages:
        if before and lines and lines[0].continues(before) and lines[0].pieces == first[0]:
            rows = [line for line in lines[: _HEADER_LINES + 1] if not _is_rule(line)]
            pairs = zip((row.pieces for row in rows), first, strict=False)
            repeated = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            lines = [*rows[repeated:], *lines[_HEADER_LINES + 1 :]]
        for line in lines:
            if not (before and line.continues(before)):
                first = []
            if len(first) < _HEADER_LINES and not _is_rule(line):
                first.append(line.pieces)
            before = line
        yield number, lines


def _is_rule(line: Line) -> bool:
    return set(line.pieces) == {"---"}


def _in_rows(lines: Iterable[Line]) -> list[list[Line]]:
    """Group the lines of each row, also where a page writes all lines of a cell before the next cell."""
    bands: list[list[Line]] = []
    for line in lines:
        if bands and _stands_beside(line, bands[-1]):
            bands[-1].append(line)
        else:
            bands.append([line])
    return _with_names_around(list(chain.from_iterable(map(levels, bands))))


def _with_names_around(rows: Sequence[list[Line]]) -> list[list[Line]]:
    """Put the two lines of a name into the row of figures that is centred between them."""
    named: dict[int, list[Line]] = {}
    taken: set[int] = set()
    for at, row in enumerate(rows):
        if len(row) < 2 or not all(FIGURE.fullmatch(line.text) for line in row):
            continue
        near = range(max(0, at - 2), min(len(rows), at + 3))
        beside = [each for each in near if each not in taken and _is_set_around(rows[each], row)]
        if len(beside) == 2:
            upper, lower = sorted((rows[each][0] for each in beside), key=lambda line: line.y0)
            if upper.y0 < row[0].y0 < lower.y0:
                named[at] = [upper, lower, *row]
                taken.update(beside)
    return [named.get(at, row) for at, row in enumerate(rows) if at not in taken]


def _is_set_around(row: Sequence[Line], figures: Sequence[Line]) -> bool:
    """Tell whether a row is a single line, left of the figures and overlapping them in height."""
    line, first = row[0], figures[0]
    return len(row) == 1 and line.x1 <= first.x0 and line.y0 < first.y1 and line.y1 > first.y0


def _stands_beside(line: Line, band: Sequence[Line]) -> bool:
    """Tell whether a line begins or continues the next cell of a row; cells may be aligned at the bottom."""
    last = band[-1]
    if last.is_left_of(line) or last.y0 < line.y0:
        near = line.y0 < last.y1 + _APART * line.size
        return near and not any(one.x1 - 1 > line.x0 for one in band[-_WIDEST:] if one.is_beside(line))
    beside = [one for one in band[-_WIDEST:] if one.y1 > line.y0]
    tall = last.y1 - line.y0 > _TALLEST * (line.y1 - line.y0)
    return not tall and all(one.x1 - 1 <= line.x0 for one in beside)


def apart(group: Sequence[Line]) -> _Cells:
    """Split the lines of a row into cells at wide gaps."""
    cells: list[list[int]] = []
    before, right = group[0], 0.0
    for index in sorted(range(len(group)), key=lambda index: group[index].x0):
        line = group[index]
        if cells and line.x0 - right <= least_gap(before.text, line.text) * line.size:
            cells[-1].append(index)
            right = max(right, line.x1)
        else:
            cells.append([index])
            right = line.x1
        before = line
    return [[group[index] for index in sorted(cell)] for cell in cells]


def _goes_on(before: Sequence[Line], group: Sequence[Line]) -> bool:
    """Tell whether a row may continue the table of the row before it."""
    last, line = before[0], group[0]
    alone = min(len(before), len(group)) == 1
    apart_by = _APART if alone else _ROWS_APART
    near = last.y0 < line.y0 < max(one.y1 for one in before) + apart_by * line.size
    if not near or (alone and abs(line.size - last.size) > 0.1 * line.size):
        return False
    # A single text may be a short name, or the rest of a cell; that does not reach into the next column.
    start, end = extent(before)
    short = line.x1 - line.x0 < _SHORT * (end - start)
    return len(group) > 1 or short or not any(line.x0 < cell[0].x0 < line.x1 for cell in apart(before)[1:])


def _read_run(run: Sequence[list[Line]], spare: dict[int, Line]) -> list[Line]:
    """Return a run of rows as a table, or its lines unchanged where they do not form one.

    Lines that become part of a table are removed from `spare`, which holds the unused lines of the page.
    """
    run = [group for group in ([line for line in group if id(line) in spare] for group in run) if group]
    cells = [apart(group) for group in run]
    several = [index for index, row in enumerate(cells) if len(row) > 1]
    columns = find_columns(cells) if len(several) >= _FEWEST_ROWS else []
    if not columns:
        return list(chain.from_iterable(run))
    first, last = several[0], several[-1] + 1
    cells = [_at_columns(row, columns) for row in cells]
    while first and _stands_above(cells[first - 1], columns):
        first -= 1
    table = cells[first:last]
    header = _count_header(table, columns)
    for at in range(first + header, last):
        if _is_prose(cells, at, columns):
            return [*_read_run(run[:at], spare), *run[at], *_read_run(run[at + 1 :], spare)]
    above = _lines_above(table, columns, spare)
    if header:  # keep only the lines right above that name several columns
        above = list(takewhile(lambda cells: _names_several(cells, columns), reversed(above)))[::-1]
    if above or not header:
        whole = [*above, *table]
        lines_of_header = _count_header(whole, columns)
        table, header = (whole, lines_of_header) if lines_of_header else (table, header)
    rows = _read_table(table, columns, header)
    if not rows:
        return list(chain.from_iterable(run))
    for line in (line for row in table for cell in row for line in cell):
        spare.pop(id(line), None)
    return [*chain.from_iterable(run[:first]), *rows, *chain.from_iterable(run[last:])]


def _count_header(rows: Sequence[_Cells], columns: Sequence[Extent]) -> int:
    return count_header_lines([_placed(cells, columns) for cells in rows[: MOST_LINES + 1]])


def _lines_above(
    table: Sequence[_Cells], columns: Sequence[Extent], spare: Mapping[int, Line]
) -> list[_Cells]:
    """Return the lines right above a table's rows, wherever they come in the page's order."""
    inside = {id(line) for row in table for cell in row for line in cell}
    left, right = columns[0][0], columns[-1][1]
    top = min(line.y0 for cell in table[0] for line in cell)
    size = table[0][0][0].size
    near = [
        line
        for line in spare.values()
        if id(line) not in inside
        and left - size < (line.x0 + line.x1) / 2 < right + size
        and top - _FARTHEST * 2 * size < line.y0
        and line.y1 < top + size / 2
    ]
    above: list[_Cells] = []
    for level in reversed(levels(near)):
        cells = _at_columns(apart(level), columns)
        far = top - max(line.y1 for line in level) > _APART * size
        alone = len(cells) == 1 and not _stands_above(cells, columns)
        if far or (alone and len(columns_at(extent(cells[0]), columns)) > 1) or len(above) == _FARTHEST:
            break
        above.insert(0, cells)
        top = min(line.y0 for line in level)
    return above


def _at_columns(cells: _Cells, columns: Sequence[Extent]) -> _Cells:
    """Split the cells whose lines stand in one column each, even without a wide gap between them."""
    parted: _Cells = []
    for cell in cells:
        places = [columns_at((line.x0, line.x1), columns) for line in cell]
        if len(cell) > 1 and all(len(at) == 1 for at in places) and len({at[0] for at in places}) > 1:
            both = sorted(zip(places, cell, strict=True), key=lambda each: each[0])
            parted += [[line for _, line in group] for _, group in groupby(both, key=lambda each: each[0])]
        else:
            parted.append(cell)
    return parted


def _names_several(cells: _Cells, columns: Sequence[Extent]) -> bool:
    """Tell whether a line holds names over several columns, rather than a title."""
    return len(cells) > 1 or _stands_above(cells, columns)


def _is_prose(rows: Sequence[_Cells], at: int, columns: Sequence[Extent]) -> bool:
    """Tell whether a line is prose between two tables; a short line between two rows is a group name."""
    if len(rows[at]) > 1 or len(columns_at(extent(rows[at][0]), columns)) < 2:
        return False
    start, end = extent(rows[at][0])
    between = at + 1 < len(rows) and len(rows[at - 1]) > 1 and len(rows[at + 1]) > 1
    return not between or end - start > _SHORT * (columns[-1][1] - columns[0][0])


def _stands_above(cells: _Cells, columns: Sequence[Extent]) -> bool:
    """Tell whether a text is centred above all columns but the first, rather than above the whole table."""
    start, end = extent(cells[0])
    middle, first, last = start + end, columns[0], columns[-1]
    beside = start > first[1] and len(columns) > 2
    return beside and abs(middle - columns[1][0] - last[1]) < abs(middle - first[0] - last[1])


def find_columns(rows: Sequence[_Cells]) -> list[Extent]:
    """Return the horizontal extent of each column; [] where the cells form no columns.

    Most rows have one cell per column, or only a few rows do: those that also name the group of the rows
    below.
    """
    counts = Counter(len(cells) for cells in rows if len(cells) > 1)
    usual = max(counts, key=lambda count: (counts[count], count))
    for many in sorted((count for count in counts if count > usual and counts[count] > 1), reverse=True):
        columns = _columns_of(rows, many)
        body = (cell for cells in rows[_HEADER_ROWS:] for cell in cells)
        if columns and all(len(columns_at(extent(cell), columns)) < 2 for cell in body):
            return columns
    return _columns_of(rows, usual)


def _columns_of(rows: Sequence[_Cells], count: int) -> list[Extent]:
    """Return the columns of the rows with `count` cells; [] where these do not form `count` columns."""
    extents = [[extent(cell) for cell in cells] for cells in rows if len(cells) == count]
    columns = _overlapping(chain.from_iterable(extents))
    if len(columns) > count:  # a short name may stand beside the figures below it, not above them
        columns = [_around(column) for column in zip(*extents, strict=True)]
        if any(left[1] > right[0] for left, right in pairwise(columns)):
            return []
    return columns if len(columns) == count else []


def _read_table(run: Sequence[_Cells], columns: Sequence[Extent], header: int) -> list[Line]:
    """Return the rows of a table with `header` lines of names; [] where it is not a table."""
    if not columns:
        return []
    places = tuple(start for start, _ in columns)
    body = _fold([_placed_row(cells, columns) for cells in run[header:]])
    names = lines_of_names(run[:header], columns) if header else []
    rows = [*names, *([row.get(at, []) for at in range(len(columns))] for row in body)]
    made = [make_row(cells, places) for cells in rows]
    # In a table of contents, dots lead to the page numbers; in a table of figures there are more columns.
    led = len(columns) == 2 and any(LEADER.search(line.text) for row in run for cell in row for line in cell)
    if len(made) < _FEWEST_ROWS or led or not _is_table([row.pieces for row in made]):
        return []
    return _with_groups(with_rule(made) if header else _with_wide_names(made))


def with_rule(rows: list[Line]) -> list[Line]:
    """Add a rule below a header that is not recognizable as one by its words."""
    if names_columns([tuple(row.pieces) for row in rows]):
        return rows
    return [rows[0], replace(rows[0], pieces=["---" for _ in rows[0].pieces]), *rows[1:]]


def _with_wide_names(rows: Sequence[Line]) -> list[Line]:
    """Repeat a name that spans several columns above each of them, and any other name in both rows.

    "Sales" goes over both "2022" and "2023". All readers of tables expect a header of two rows in this form.
    """
    above, below = (list(row.pieces) for row in rows[:_HEADER_ROWS])
    apart = [cell != EMPTY_CELL for cell in below]
    if apart[0] or all(cell != EMPTY_CELL for cell in above):
        return list(rows)
    for at, name in enumerate(above):
        if name == EMPTY_CELL:
            if not (apart[at] and apart[at - 1]):
                return list(rows)
            above[at] = above[at - 1]
        elif not apart[at]:
            below[at] = name
    return [replace(rows[0], pieces=above), replace(rows[1], pieces=below), *rows[_HEADER_ROWS:]]


def _with_groups(rows: Sequence[Line]) -> list[Line]:
    """Repeat a name that stands once for a group of rows in each of them.

    In "North shore | Sluice | 96" above "– | Footbridge | 28" the first column names a group, and the second
    column names the rows. An empty first cell alone does not show a group: "Total" may be missing before a
    sum.
    """
    first = next(at for at, row in enumerate(rows) if row.pieces[0] != EMPTY_CELL)
    groups = {row.pieces[0] for row in rows} - {EMPTY_CELL}
    unnamed = [row for row in rows[first:] if row.pieces[0] == EMPTY_CELL]
    names = [row.pieces[1] for row in unnamed]
    whole = all(EMPTY_CELL not in row.pieces[1:] and _WORD.search(row.pieces[1]) for row in unnamed)
    if len(rows[0].pieces) < 3 or len(groups) < 3 or len(unnamed) < 2 or not whole or len({*names}) == 1:
        return list(rows)
    named, above = list(rows[:first]), ""
    for row in rows[first:]:
        above = above if row.pieces[0] == EMPTY_CELL else row.pieces[0]
        named.append(replace(row, pieces=[above, *row.pieces[1:]]))
    return named


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether rows are a table, rather than prose in columns, numbered clauses or formulas."""
    columns = list(zip(*rows, strict=True))
    named = sum(bool(_WORD.search(cell)) for cell in rows[0]) > len(columns) / 2
    labelled = sum(bool(_WORD.search(cell)) for cell in columns[0]) > len(rows) / 2
    numbered = sum(bool(_MARK.fullmatch(cell)) for cell in columns[0]) > len(rows) / 2
    widths = [median(map(len, column)) for column in columns]
    if len(columns) == 2:
        # "1.  The tenant ..." is a clause; "A System of Analysis.  With" is a line with a wide blank.
        amounts = sum(bool(re.search(r"\d", cell)) for cell in columns[1]) > len(rows) / 2
        numbered = numbered or (widths[0] > _NARROW and not amounts)
    else:
        numbered = False
    filled = sum(cell != EMPTY_CELL for row in rows for cell in row)
    full = len(columns) > 2 and len(rows) >= _FEWEST_FIGURES and filled > _FILLED * len(rows) * len(columns)
    return (named or labelled or full) and min(widths) <= _NARROW and not numbered


def _around(extents: Iterable[Extent]) -> Extent:
    starts, ends = zip(*extents, strict=True)
    return min(starts), max(ends)


def _overlapping(extents: Iterable[Extent]) -> list[Extent]:
    """Merge extents that overlap, from left to right."""
    merged: list[Extent] = []
    for start, end in sorted(extents):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _placed(cells: _Cells, columns: Sequence[Extent]) -> _Row:
    """Put each cell into the columns that it overlaps, or into the nearest one."""
    row: _Row = {}
    for cell in cells:
        for at in columns_near(extent(cell), columns):
            row.setdefault(at, []).extend(cell)
    return row


def _placed_row(cells: _Cells, columns: Sequence[Extent]) -> _Row:
    """Put each cell into its columns, and a single line that spans several columns into the first one."""
    row = _placed(cells, columns)
    return {0: cells[0]} if len(cells) == 1 and len(row) > 1 else row


def _fold(rows: Sequence[_Row]) -> list[_Row]:
    """Join a line that only continues cells of the row above it with that row."""
    heights = [min(line.y0 for cell in row.values() for line in cell) for row in rows]
    steps = [below - above for above, below in pairwise(heights)]
    pitch = median([step for step, row in zip(steps, rows[1:], strict=True) if 0 in row] or steps or [0.0])
    folded = [rows[0]]
    for step, row in zip(steps, rows[1:], strict=True):
        first = row.get(0)
        alone = len(row) == 1 and (first is None or first[0].text[:1].islower())
        if alone or (step < 0.9 * pitch and (first is None or len(row) == 1)):
            for at, cell in row.items():
                folded[-1].setdefault(at, []).extend(cell)
        else:
            folded.append(row)
    return folded
