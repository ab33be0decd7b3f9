"""reStructuredText tables as rows, "Hinge | 4.20", each on the line where it begins."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from adaptive_rag.text.tables import write_row, write_rule

_GRID = re.compile(r" *\+(?:[-=]+\+)+ *")
# A bar, or the corner of a line that ends beside a cell; the "+" in "+49 30" is text.
_SEPARATOR = re.compile(r"(?<!\\)(?:\||(?<=[-=])\+)(?![|+-])")
_SIMPLE = re.compile(r" *=+(?: +=+)+ *")
_BORDER = re.compile(r" *[=-]+(?: +[=-]+)* *")
_ITEM = re.compile(r" *(?P<row>\* +)?- ?(?P<text>.*)")
_Rows = list[tuple[int, list[str]]]  # for each row: the line where it begins, and its cells


def read_tables(lines: list[str]) -> list[str]:
    """Replace the grid tables and simple tables in a text by their rows."""
    result: list[str] = []
    simple_ends = _find_simple_ends(lines)
    index = 0
    while index < len(lines):
        end = index + 1
        if _GRID.fullmatch(lines[index]):
            while end < len(lines) and lines[end].lstrip()[:1] in ("+", "|"):
                end += 1
            result += _read_grid(lines[index:end])
        elif _SIMPLE.fullmatch(lines[index]) and simple_ends[end] > index + 2:
            end = simple_ends[end]
            result += _read_simple(lines[index:end])
        else:
            result.append(lines[index])
        index = end
    return result


def read_list_table(lines: Sequence[str], headers: int) -> list[str]:
    """Return the rows of a list table, "* - Hinge" with "- 4.20" below."""
    rows: _Rows = []
    for line_number, line in enumerate(lines):
        item = _ITEM.fullmatch(line)
        if item and item["row"]:
            rows.append((line_number, [item["text"].strip()]))
        elif rows and item:
            rows[-1][1].append(item["text"].strip())
        elif rows and line.strip():
            rows[-1][1][-1] = f"{rows[-1][1][-1]} {line.strip()}".strip()
    return _write_rows(rows, len(lines), headers)


def read_csv_table(lines: Sequence[str], header: str, headers: int) -> list[str]:
    """Return the rows of a CSV table, below the column names in `header`, for which two lines are free."""
    reader = csv.reader((f"{line.strip()}\n" for line in lines), skipinitialspace=True)
    rows: _Rows = []
    line_number = 0
    try:
        for cells in reader:
            if cells:
                rows.append((line_number, [" ".join(cell.split()) for cell in cells]))
            line_number = reader.line_num
        names = next(csv.reader([header], skipinitialspace=True), [])
    except csv.Error:
        return list(lines)
    if rows and names and rows[0][0] > 1:
        rows.insert(0, (rows[0][0] - 2, names))
    return _write_rows(rows, len(lines), headers or bool(names))


def _read_grid(lines: list[str]) -> list[str]:
    """Read a table with lines around its cells; a cell may cover several lines or several columns."""
    rows: _Rows = []
    headers, is_open = 0, False
    for line_number, line in enumerate(lines):
        if line.lstrip().startswith("+"):
            headers = len(rows) if "=" in line and not headers else headers
            is_open = False
            continue
        cells = [cell.strip() for cell in _SEPARATOR.split(line.strip().strip("|"))]
        is_open = is_open and len(cells) == len(rows[-1][1])
        _add_cells(rows, line_number, cells, to_last=is_open)
        is_open = True
    return _write_rows(rows, len(lines), headers)


def _find_simple_ends(lines: list[str]) -> list[int]:
    """Return, for each line and the end, the index after the border that ends a simple table around it, or 0.

    That border is above a blank line or the end, and there are no two blank lines before it.
    """
    ends = [0]
    is_above_blank = True
    for index in reversed(range(len(lines))):
        is_blank = not lines[index].strip()
        is_end = is_above_blank and _SIMPLE.fullmatch(lines[index])
        ends.append(index + 1 if is_end else 0 if is_above_blank and is_blank else ends[-1])
        is_above_blank = is_blank
    return ends[::-1]


def _read_simple(lines: list[str]) -> list[str]:
    """Read a table between borders of "="; a row whose first cell is blank continues the row above."""
    column_starts = [match.start() for match in re.finditer("=+", lines[0])]
    rows: _Rows = []
    headers = 0
    for line_number, line in enumerate(lines):
        if _BORDER.fullmatch(line) or not line.strip():
            headers = len(rows) if "=" in line and not headers else headers
            continue
        cells = [
            line[start:end].strip()
            for start, end in zip(column_starts, [*column_starts[1:], None], strict=True)
        ]
        _add_cells(rows, line_number, cells, to_last=bool(rows) and not cells[0])
    return _write_rows(rows, len(lines), headers)


def _add_cells(rows: _Rows, line_number: int, cells: list[str], *, to_last: bool) -> None:
    """Add a row of cells, or append the text of each cell to the last row."""
    if to_last:
        line_number, last_cells = rows.pop()
        cells = [f"{text} {more}".strip() for text, more in zip(last_cells, cells, strict=True)]
    rows.append((line_number, cells))


def _write_rows(rows: _Rows, count: int, headers: int) -> list[str]:
    """Write each row on the line where it begins, and a rule below the header if that line is free."""
    lines = [""] * count
    for line_number, cells in rows:
        lines[line_number] = write_row(cells) if len(cells) > 1 else "".join(cells)
    if 0 < headers < len(rows):
        rule_line = rows[headers - 1][0] + 1
        if not lines[rule_line]:
            lines[rule_line] = write_rule(len(rows[0][1]))
    return lines
