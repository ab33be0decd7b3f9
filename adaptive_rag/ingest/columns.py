"""Used while a PDF is read: lines that stand in columns, without ruled lines, to the rows of a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, pairwise
from statistics import median

from adaptive_rag.ingest.layout import LEADER, Line, make_row, merge, side_by_side
from adaptive_rag.text.tables import EMPTY_CELL

# In type sizes: a wider gap parts two cells, a higher one two tables.
_GAP, _APART = 1.2, 2.0
_FEWEST_ROWS = 3
_HEADER_ROWS = 2
# Lines that the cells of a row may take before a page goes on with its next cell.
_TALLEST = 8
# In characters: a table has a column that is narrower than any of a page of prose in columns.
_NARROW = 30
_WORD = re.compile(r"[^\W\d_]{3}")
_MARK = re.compile(r"\W|\(?[\w.]{1,6}[.)]")
# The lines of each cell of a row, and the cells of a row by their columns.
_Cells = list[list[Line]]
_Row = dict[int, list[Line]]


def read_columns(lines: Iterable[Line]) -> list[Line]:
    """Return lines with the rows of tables in the place of the lines that they stand in.

    What else stands side by side becomes one line.
    """
    found: list[Line] = []
    run: list[list[Line]] = []
    for framed, part in groupby(lines, key=lambda line: bool(line.columns)):
        if framed:
            found += part
            continue
        for group in _in_rows(part):
            if run and not _goes_on(run[-1], group):
                found += _read_run(run)
                run = []
            run.append(group)
        found += _read_run(run)
        run = []
    joined: list[Line] = []
    for is_row, these in groupby(found, key=lambda line: bool(line.columns)):
        lines_there = list(these)
        joined += lines_there if is_row else map(merge, side_by_side(lines_there))
    return joined


def without_repeated_headers(pages: Iterable[tuple[int, list[Line]]]) -> Iterator[tuple[int, list[Line]]]:
    """Leave out the header that a table repeats on each page that it goes on to."""
    header: Line | None = None
    before: Line | None = None
    for number, lines in pages:
        if before and header and lines and lines[0].continues(before) and lines[0].pieces == header.pieces:
            lines = lines[1:]
        for line in lines:
            if not (before and line.continues(before)):
                header = line
            before = line
        yield number, lines


def _in_rows(lines: Iterable[Line]) -> list[list[Line]]:
    """Group the lines of a row, also where a page writes all lines of a cell before the next cell."""
    groups: list[list[Line]] = []
    for line in lines:
        row: list[Line] = []
        taken = 0
        for back in range(1, min(_TALLEST, len(groups)) + 1):
            row = [*groups[-back], *row]
            if any(one.x1 - 1 > line.x0 for one in groups[-back]):
                break
            if row[0].is_left_of(line):
                taken = back
                break
        groups[len(groups) - taken :] = [[*row, line] if taken else [line]]
    return groups


def _apart(group: Sequence[Line]) -> _Cells:
    """Part the lines of a row where a wide gap stands between them."""
    cells: list[list[int]] = []
    right = 0.0
    for index in sorted(range(len(group)), key=lambda index: group[index].x0):
        line = group[index]
        if cells and line.x0 - right <= _GAP * line.size:
            cells[-1].append(index)
            right = max(right, line.x1)
        else:
            cells.append([index])
            right = line.x1
    return [[group[index] for index in sorted(cell)] for cell in cells]


def _goes_on(before: Sequence[Line], group: Sequence[Line]) -> bool:
    """Tell whether a line may go on from the one before in a table."""
    last, line = before[0], group[0]
    near = last.y0 < line.y0 < max(one.y1 for one in before) + _APART * line.size
    if not near or abs(line.size - last.size) > 0.1 * line.size:
        return False
    # a text by itself may be the rest of a cell, and then does not reach into the next column
    return len(group) > 1 or not any(line.x0 < cell[0].x0 < line.x1 for cell in _apart(before)[1:])


def _read_run(run: Sequence[list[Line]]) -> list[Line]:
    """Return the rows of a table, or the lines as they stand where they are none."""
    cells = [_apart(group) for group in run]
    several = [index for index, row in enumerate(cells) if len(row) > 1]
    if len(several) < _FEWEST_ROWS:
        return list(chain.from_iterable(run))
    first, last = several[0], several[-1] + 1
    columns = _columns(cells)
    for at in range(first, last) if columns else ():
        if len(cells[at]) == 1 and len(_placed(cells[at], columns)) > 1:  # prose between two tables
            return [*_read_run(run[:at]), *run[at], *_read_run(run[at + 1 :])]
    rows = _read_table(cells[first:last], columns)
    if not rows:
        return list(chain.from_iterable(run))
    return [*chain.from_iterable(run[:first]), *rows, *chain.from_iterable(run[last:])]


def _columns(rows: Sequence[_Cells]) -> list[tuple[float, float]]:
    """Return the columns that the cells stand in; [] where they stand in none.

    Most rows have as many cells as there are columns, or the few do that name the group of those below.
    """
    counts = Counter(len(cells) for cells in rows if len(cells) > 1)
    usual = max(counts, key=lambda count: (counts[count], count))
    for many in sorted((count for count in counts if count > usual and counts[count] > 1), reverse=True):
        columns = _columns_of(rows, many)
        body = (cell for cells in rows[_HEADER_ROWS:] for cell in cells)
        if columns and all(len(_under(cell, columns)) < 2 for cell in body):
            return columns
    return _columns_of(rows, usual)


def _columns_of(rows: Sequence[_Cells], count: int) -> list[tuple[float, float]]:
    """Return the columns of the rows with so many cells; [] where they do not stand in as many."""
    columns = _overlapping(_extent(cell) for cells in rows if len(cells) == count for cell in cells)
    return columns if len(columns) == count else []


def _read_table(run: Sequence[_Cells], columns: Sequence[tuple[float, float]]) -> list[Line]:
    """Return the rows of a table, or [] where the lines are none."""
    if not columns:
        return []
    places = tuple(start for start, _ in columns)
    rows = _fold([_placed(cells, columns) for cells in run])
    made = [make_row([row.get(at, []) for at in range(len(columns))], places) for row in rows]
    if len(made) < _FEWEST_ROWS or not _is_table([row.pieces for row in made]):
        return []
    return _with_groups(_with_wide_names(made))


def _with_wide_names(rows: Sequence[Line]) -> list[Line]:
    """Say a name above several columns above each: "Sales" over "2022" and "2023"; and the others twice.

    As all readers of a table expect a header of two rows.
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
    """Say a name that stands once for several rows in each of them.

    "North shore | Sluice | 96" above "– | Footbridge | 28" names a group, and the second column names the
    rows; "Total" may be missing before a sum.
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
    """Tell a table from prose in columns, numbered clauses, formulas and a table of contents."""
    columns = list(zip(*rows, strict=True))
    named = sum(bool(_WORD.search(cell)) for cell in rows[0]) > len(columns) / 2
    labelled = sum(bool(_WORD.search(cell)) for cell in columns[0]) > len(rows) / 2
    numbered = sum(bool(_MARK.fullmatch(cell)) for cell in columns[0]) > len(rows) / 2
    led = any(LEADER.search(cell) for row in rows for cell in row)
    widths = [median(map(len, column)) for column in columns]
    if len(columns) == 2:
        # "1.  The tenant ..." is a clause; "A System of Analysis.  With" is a line set wide
        amounts = sum(bool(re.search(r"\d", cell)) for cell in columns[1]) > len(rows) / 2
        numbered = numbered or (widths[0] > _NARROW and not amounts)
    else:
        numbered = False
    return (named or labelled) and min(widths) <= _NARROW and not led and not numbered


def _extent(cell: Sequence[Line]) -> tuple[float, float]:
    return min(line.x0 for line in cell), max(line.x1 for line in cell)


def _overlapping(extents: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the stretches that extents cover together, from left to right."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(extents):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _placed(cells: _Cells, columns: Sequence[tuple[float, float]]) -> _Row:
    """Put each cell into the columns that it stands under, or into the nearest."""
    row: _Row = {}
    for cell in cells:
        start, end = _extent(cell)
        nearest = min(range(len(columns)), key=lambda at: max(columns[at][0] - end, start - columns[at][1]))
        for at in _under(cell, columns) or [nearest]:
            row.setdefault(at, []).extend(cell)
    return row


def _under(cell: Sequence[Line], columns: Sequence[tuple[float, float]]) -> list[int]:
    """Return the columns that a cell stands under."""
    start, end = _extent(cell)
    return [at for at, (x0, x1) in enumerate(columns) if x0 < end and start < x1]


def _fold(rows: Sequence[_Row]) -> list[_Row]:
    """Join a line that holds no more than the rest of some cells with the row above it."""
    heights = [min(line.y0 for cell in row.values() for line in cell) for row in rows]
    steps = [below - above for above, below in pairwise(heights)]
    pitch = median([step for step, row in zip(steps, rows[1:], strict=True) if 0 in row] or steps)
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
