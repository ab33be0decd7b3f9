"""Headers of PDF tables: column names from the lines above the figures, and headers repeated on each page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from adaptive_rag.ingest.lines import Extent, Line, cell_extent, find_nearest_columns
from adaptive_rag.text.tables import EMPTY_CELL, names_columns

MAX_LINES = 10
"""The most lines of a header."""
# The most rows at the top of a page that may repeat the first rows of a table from the page before.
_MAX_REPEATED_ROWS = 4
# In type sizes: the most that names are off their columns on average, also on a line that has no name for the
# first column; and the costs of a spanning name at the left of its columns, and of a column without a name.
_MAX_MISALIGNMENT, _MAX_MISALIGNMENT_UNLABELLED, _LEFT_ALIGNED_COST, _UNNAMED_COST = 0.7, 0.45, 0.5, 0.7
_MAX_BOLD_ROWS = 2
_WORD = re.compile(r"[^\W\d_]{3}")
_MISSING_VALUE = re.compile(r"(?:[$£€¥] ?)?[-–—.*…]+|n\.?/?a\.?|x|nil", re.IGNORECASE)
# "2004", "2004-05", "2004/2005 (1)", "FY 2004", "1996*"
_YEAR = re.compile(
    r"(?:fy ?)?(?:1[6-9]|20)\d\d(?: ?[-–/] ?(?:\d\d){1,2})?[*†‡]*(?: ?\(\w{1,2}\))?[a-z]?", re.IGNORECASE
)
_COLUMN_NUMBER = re.compile(r"[(\[]?(\d{1,2})[)\]]?")
# The lines of each cell of a row, by column.
_Row = Mapping[int, Sequence[Line]]


def count_header_lines(rows: Sequence[_Row]) -> int:
    """Return the number of lines above the first line of figures; 0 if no line names columns.

    A bold header ends above the first line with a figure that is not bold.
    """
    header_lines = 0
    for index, row in enumerate(rows[: MAX_LINES + 1]):
        texts = [_join_text(lines) for column, lines in row.items() if column]
        ends_bold = header_lines and _is_bold(rows[index - 1]) and not _is_bold(row)
        if is_row_of_figures(texts) or (ends_bold and not all(map(is_column_name, texts))):
            return header_lines
        if texts:
            header_lines = index + 1
    return 0


def _is_bold(row: _Row) -> bool:
    return all(line.bold for lines in row.values() for line in lines)


def is_row_of_figures(texts: Sequence[str]) -> bool:
    """Return whether a row contains figures, and not names or the numbers of columns."""
    numbers = [int(match[1]) for match in map(_COLUMN_NUMBER.fullmatch, texts) if match]
    if len(texts) > 2 and numbers and numbers == list(range(numbers[0], numbers[0] + len(texts))):
        return False  # the columns are numbered
    return 2 * sum(map(is_column_name, texts)) < len(texts)


def is_column_name(text: str) -> bool:
    """Return whether a text may name a column: it is a word or a year, and no figure or "n/a"."""
    if _MISSING_VALUE.fullmatch(text):
        return False
    figure = re.search(r"\d", text) and not _WORD.search(text) and not text[0].isalpha()
    return not figure or _YEAR.fullmatch(text) is not None


def read_header_lines(
    rows: Sequence[Sequence[Sequence[Line]]], columns: Sequence[Extent]
) -> list[list[list[Line]]]:
    """Return the lines of each column's name from the header's cells, in two rows if a name spans columns."""
    upper: list[list[Line]] = [[] for _ in columns]
    lower: list[list[Line]] = [[] for _ in columns]
    for index, cells in enumerate(rows):
        below = [cell for row in rows[index + 1 :] for cell in row]
        spans = _find_name_spans(cells, columns, rows[index + 1] if index + 1 < len(rows) else ())
        for cell, span in zip(cells, spans, strict=True):
            is_spanning = len(span) > 1 and any(
                _overlaps_columns(lower_cell, columns, span) for lower_cell in below
            )
            for column in span:
                (upper if is_spanning else lower)[column].extend(cell)
    if not any(upper):
        return [lower]
    return [
        [upper_name or name for upper_name, name in zip(upper, lower, strict=True)],
        [name or upper_name for upper_name, name in zip(upper, lower, strict=True)],
    ]


def _overlaps_columns(cell: Sequence[Line], columns: Sequence[Extent], span: range) -> bool:
    start, end = cell_extent(cell)
    return columns[span[0]][0] < end and start < columns[span[-1]][1]


def _find_name_spans(
    cells: Sequence[Sequence[Line]], columns: Sequence[Extent], below: Sequence[Sequence[Line]]
) -> list[range]:
    """Return the columns that each name of a line is above; `below` has the cells of the next line.

    A name is often narrower than the columns that it spans: "Sales" over "2022" and "2023" overlaps neither,
    and "Sales" over three years overlaps only the one in the middle. Such names are recognized by the other
    names of the line: all of them together span every column.
    """
    names = [cell_extent(cell) for cell in cells]
    size = max(line.size for cell in cells for line in cell)
    overlapped = [_columns_under(name, columns) for name in names]
    underlined = [_columns_under_line(cell, columns) for cell in cells]
    if any(underlined):
        return [span or overlap for span, overlap in zip(underlined, overlapped, strict=True)]
    cost, spans = _assign_spans(names, columns, size)
    are_aligned = all(
        len(overlap) == 1 and _misalignment(name, columns[overlap[0]], size) < _MAX_MISALIGNMENT * size
        for name, overlap in zip(names, overlapped, strict=True)
    )
    named_columns = {column for span in spans for column in span} | {0}
    # If the name of the first column is on a lower line, others may be, too: the fit must be better.
    max_misalignment = _MAX_MISALIGNMENT if overlapped[0][0] == 0 else _MAX_MISALIGNMENT_UNLABELLED
    is_wrapped = any(_join_text(cell)[:1].islower() for cell in below)
    is_close = cost < max_misalignment * size * len(names)
    is_plausible = len(named_columns) == len(columns) and is_close and not is_wrapped
    return spans if spans and (is_plausible or not are_aligned) else overlapped


def _assign_spans(
    names: Sequence[Extent], columns: Sequence[Extent], size: float
) -> tuple[float, list[range]]:
    """Assign columns to names from left to right; return the lowest cost, and the columns of each name.

    The cost is how far the names are off the middle or the left of their columns, in points, plus a cost for
    each column without a name.
    """
    # By number of columns and number of names, both from the left: the best assignment of these.
    best: dict[tuple[int, int], tuple[float, list[range]]] = {(0, 0): (0.0, [])}
    for end in range(1, len(columns) + 1):
        for name_count in range(min(end, len(names)) + 1):
            options = []
            if (end - 1, name_count) in best:
                cost, spans = best[end - 1, name_count]
                options.append((cost + (_UNNAMED_COST * size if end > 1 else 0.0), spans))
            for start in range(end if name_count else 0):
                if (start, name_count - 1) in best:
                    cost, spans = best[start, name_count - 1]
                    group = columns[start][0], columns[end - 1][1]
                    misalignment = _misalignment(
                        names[name_count - 1], group, size, is_spanning=end - start > 1
                    )
                    options.append((cost + misalignment, [*spans, range(start, end)]))
            best[end, name_count] = min(options, key=lambda option: option[0])
    return best.get((len(columns), len(names)), (0.0, []))


def _misalignment(name: Extent, column: Extent, size: float, *, is_spanning: bool = False) -> float:
    """Return how far a name is off the middle or the left of several columns, or outside of one column."""
    left, right = name[0] - column[0], column[1] - name[1]
    if is_spanning:
        return min(abs(left - right) / 2, abs(left) + _LEFT_ALIGNED_COST * size)
    return 0.0 if left * right >= 0 else min(abs(left), abs(right))


def _columns_under(name: Extent, columns: Sequence[Extent]) -> range:
    """Return the columns that a name overlaps, or the nearest one."""
    overlapped = find_nearest_columns(name, columns)
    return range(overlapped[0], overlapped[-1] + 1)


def _columns_under_line(cell: Sequence[Line], columns: Sequence[Extent]) -> range | None:
    """Return the columns below the ruled line under a name, if there are several without the first one."""
    start, end = cell[0].underline or (0.0, 0.0)
    covered = [index for index, column in enumerate(columns) if start < (column[0] + column[1]) / 2 < end]
    return range(covered[0], covered[-1] + 1) if len(cell) == 1 and len(covered) > 1 and covered[0] else None


def _join_text(lines: Sequence[Line]) -> str:
    return " ".join(line.text for line in lines).strip()


def has_bold_header(rows: Sequence[Line]) -> bool:
    """Return whether the first row is bold, or the first two are, and the row below them is not."""
    bold_rows = sum(1 for _ in takewhile(lambda row: row.bold, rows[: _MAX_BOLD_ROWS + 1]))
    return 0 < bold_rows <= min(_MAX_BOLD_ROWS, len(rows) - 1) and EMPTY_CELL not in rows[0].pieces[1:]


def add_header_rule(rows: list[Line]) -> list[Line]:
    """Add a rule below a header, unless its words show that it is one."""
    if names_columns([tuple(row.pieces) for row in rows]):
        return rows
    return [rows[0], replace(rows[0], pieces=["---" for _ in rows[0].pieces]), *rows[1:]]


def drop_repeated_headers(pages: Iterable[tuple[int, list[Line]]]) -> Iterator[tuple[int, list[Line]]]:
    """Remove the header that a table repeats on each page on which it continues."""
    first_rows: list[list[str]] = []  # of the current table, without header rules
    previous: Line | None = None
    for number, lines in pages:
        if previous and lines and lines[0].continues_table(previous) and [lines[0].pieces] == first_rows[:1]:
            top_rows = [line for line in lines[: _MAX_REPEATED_ROWS + 1] if not _is_header_rule(line)]
            pairs = zip((row.pieces for row in top_rows), first_rows, strict=False)
            repeated = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            lines = [*top_rows[repeated:], *lines[_MAX_REPEATED_ROWS + 1 :]]
        for line in lines:
            if not (previous and line.continues_table(previous)):
                first_rows = []
            if len(first_rows) < _MAX_REPEATED_ROWS and not _is_header_rule(line):
                first_rows.append(line.pieces)
            previous = line
        yield number, lines


def _is_header_rule(line: Line) -> bool:
    return set(line.pieces) == {"---"}
