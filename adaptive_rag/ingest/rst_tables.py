"""The tables of reStructuredText as rows, "Hinge | 4.20", each on the line where it begins."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from adaptive_rag.ingest.marks import Kept
from adaptive_rag.text.tables import EMPTY_CELL

_GRID = re.compile(r" *\+(?:[-=]+\+)+ *")
_SIMPLE = re.compile(r" *=+(?: +=+)+ *")
_ITEM = re.compile(r" *\* +- ?(.*)")
_CELL = re.compile(r" *- ?(.*)")


def read_tables(lines: list[str], kept: Kept) -> list[str]:
    """Return lines with grid and simple tables as rows."""
    shown: list[str] = []
    at = 0
    while at < len(lines):
        if _GRID.fullmatch(lines[at]):
            end = at + 1
            while end < len(lines) and lines[end].lstrip()[:1] in ("+", "|"):
                end += 1
            shown += _read_grid(lines[at:end], kept)
        elif _SIMPLE.fullmatch(lines[at]):
            end = _end_of_simple(lines, at)
            shown += _read_simple(lines[at:end], kept) if end > at + 2 else lines[at:end]
        else:
            end = at + 1
            shown.append(lines[at])
        at = end
    return shown


def read_list_table(lines: Sequence[str], headers: int) -> list[str]:
    """Return the rows of a list of lists, "* - Hinge" with "- 4.20" below."""
    rows: list[tuple[int, list[str]]] = []
    for at, line in enumerate(lines):
        if item := _ITEM.fullmatch(line):
            rows.append((at, [item[1].strip()]))
        elif rows and (cell := _CELL.fullmatch(line)) and line.strip():
            rows[-1][1].append(cell[1].strip())
        elif rows and line.strip():
            rows[-1][1][-1] = f"{rows[-1][1][-1]} {line.strip()}".strip()
    return _as_lines(rows, len(lines), headers)


def read_csv_table(lines: Sequence[str], header: str, headers: int) -> list[str]:
    """Return the rows of a table in CSV; a header among its options is put above them, where a line is
    free.
    """
    rows = [(at, _fields(line)) for at, line in enumerate(lines) if line.strip()]
    if header and rows and rows[0][0] > 0:
        rows.insert(0, (0, _fields(header)))
        headers = 1
    return _as_lines(rows, len(lines), headers)


def _fields(line: str) -> list[str]:
    try:
        [fields] = csv.reader([line.strip()], skipinitialspace=True)
    except (csv.Error, ValueError):  # a quote that goes on over lines, or a field beyond csv's limit
        return [line.strip()]
    return [" ".join(field.split()) for field in fields]


def _read_grid(lines: list[str], kept: Kept) -> list[str]:
    """Read a table with lines around its cells; a cell may go over several lines, or over several columns."""
    rows: list[tuple[int, list[str]]] = []
    headers, is_open = 0, False
    for at, line in enumerate(lines):
        if line.lstrip().startswith("+"):
            headers = len(rows) if "=" in line and not headers else headers
            is_open = False
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)[|+](?![|+-])", line.strip().strip("|"))]
        if is_open and len(cells) == len(rows[-1][1]):
            pairs = zip(rows[-1][1], cells, strict=True)
            rows[-1] = rows[-1][0], [f"{above} {below}".strip() for above, below in pairs]
        else:
            rows.append((at, cells))
        is_open = True
    return _as_lines(rows, len(lines), headers)


def _end_of_simple(lines: list[str], at: int) -> int:
    """Return the line behind a simple table: behind its last border, which a blank line or the end
    follows.
    """
    end = at + 1
    while end < len(lines):
        if _SIMPLE.fullmatch(lines[end]) and (end + 1 == len(lines) or not lines[end + 1].strip()):
            return end + 1
        if not lines[end].strip() and end + 1 < len(lines) and not lines[end + 1].strip():
            break
        end += 1
    return at + 1


def _read_simple(lines: list[str], kept: Kept) -> list[str]:
    """Read a table between borders of "="; a row whose first cell is blank goes on from the one above."""
    columns = [match.start() for match in re.finditer("=+", lines[0])]
    bounds = [*zip(columns, [*columns[1:], None], strict=True)]
    rows: list[tuple[int, list[str]]] = []
    headers = 0
    for at, line in enumerate(lines):
        if re.fullmatch(r" *[=-]+(?: +[=-]+)* *", line) or not line.strip():
            headers = len(rows) if "=" in line and not headers else headers
            continue
        cells = [line[start:end].strip() for start, end in bounds]
        if rows and not cells[0]:
            pairs = zip(rows[-1][1], cells, strict=True)
            rows[-1] = rows[-1][0], [f"{above} {below}".strip() for above, below in pairs]
        else:
            rows.append((at, cells))
    return _as_lines(rows, len(lines), headers)


def _as_lines(rows: Sequence[tuple[int, Sequence[str]]], count: int, headers: int) -> list[str]:
    """Write rows on the lines where they begin; below the names of columns stands a rule, where a line is
    free.
    """
    shown = [""] * count
    for at, cells in rows:
        shown[at] = " | ".join(cell or EMPTY_CELL for cell in cells) if len(cells) > 1 else "".join(cells)
    if 0 < headers < len(rows) and not shown[rows[headers - 1][0] + 1]:
        shown[rows[headers - 1][0] + 1] = " | ".join(["---"] * len(rows[0][1]))
    return shown
