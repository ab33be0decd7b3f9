"""reStructuredText tables as rows, "Hinge | 4.20", each on the line where it begins."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adaptive_rag.text.tables import write_row, write_rule

_GRID = re.compile(r" *\+(?:[-=]+\+)+ *")
_SIMPLE = re.compile(r" *=+(?: +=+)+ *")
_BORDER = re.compile(r" *[=-]+(?: +[=-]+)* *")
_ITEM = re.compile(r" *(?P<row>\* +)?- ?(?P<text>.*)")
_Rows = list[tuple[int, list[str]]]  # for each row: the line where it begins, and its cells


def read_tables(lines: list[str]) -> list[str]:
    """Replace the grid tables and simple tables in a text by their rows."""
    shown: list[str] = []
    at = 0
    while at < len(lines):
        end = at + 1
        if _GRID.fullmatch(lines[at]):
            while end < len(lines) and lines[end].lstrip()[:1] in ("+", "|"):
                end += 1
            shown += _read_grid(lines[at:end])
        elif _SIMPLE.fullmatch(lines[at]) and (border := _end_of_simple(lines, at)) > at + 2:
            end = border
            shown += _read_simple(lines[at:end])
        else:
            shown.append(lines[at])
        at = end
    return shown


def read_list_table(lines: Sequence[str], headers: int) -> list[str]:
    """Return the rows of a list table, "* - Hinge" with "- 4.20" below."""
    rows: _Rows = []
    for at, line in enumerate(lines):
        item = _ITEM.fullmatch(line)
        if item and item["row"]:
            rows.append((at, [item["text"].strip()]))
        elif rows and item:
            rows[-1][1].append(item["text"].strip())
        elif rows and line.strip():
            rows[-1][1][-1] = f"{rows[-1][1][-1]} {line.strip()}".strip()
    return _as_lines(rows, len(lines), headers)


def _read_grid(lines: list[str]) -> list[str]:
    """Read a table with lines around its cells; a cell may cover several lines or several columns."""
    rows: _Rows = []
    headers, is_open = 0, False
    for at, line in enumerate(lines):
        if line.lstrip().startswith("+"):
            headers = len(rows) if "=" in line and not headers else headers
            is_open = False
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)[|+](?![|+-])", line.strip().strip("|"))]
        is_open = is_open and len(cells) == len(rows[-1][1])
        _add_cells(rows, at, cells, to_last=is_open)
        is_open = True
    return _as_lines(rows, len(lines), headers)


def _end_of_simple(lines: list[str], at: int) -> int:
    """Return the index after the last border of a simple table, which is above a blank line or the end."""
    for end in range(at + 1, len(lines)):
        below = lines[end + 1].strip() if end + 1 < len(lines) else ""
        if _SIMPLE.fullmatch(lines[end]) and not below:
            return end + 1
        if not lines[end].strip() and not below:
            break
    return at + 1


def _read_simple(lines: list[str]) -> list[str]:
    """Read a table between borders of "="; a row whose first cell is blank continues the row above."""
    columns = [match.start() for match in re.finditer("=+", lines[0])]
    rows: _Rows = []
    headers = 0
    for at, line in enumerate(lines):
        if _BORDER.fullmatch(line) or not line.strip():
            headers = len(rows) if "=" in line and not headers else headers
            continue
        cells = [line[start:end].strip() for start, end in zip(columns, [*columns[1:], None], strict=True)]
        _add_cells(rows, at, cells, to_last=bool(rows) and not cells[0])
    return _as_lines(rows, len(lines), headers)


def _add_cells(rows: _Rows, at: int, cells: list[str], *, to_last: bool) -> None:
    if to_last:
        line, above = rows.pop()
        at, cells = line, [f"{one} {more}".strip() for one, more in zip(above, cells, strict=True)]
    rows.append((at, cells))


def _as_lines(rows: _Rows, count: int, headers: int) -> list[str]:
    """Write each row on the line where it begins, and a rule below the header if that line is free."""
    shown = [""] * count
    for at, cells in rows:
        shown[at] = write_row(cells) if len(cells) > 1 else "".join(cells)
    if 0 < headers < len(rows) and not shown[rows[headers - 1][0] + 1]:
        shown[rows[headers - 1][0] + 1] = write_rule(len(rows[0][1]))
    return shown
