"""The loader of OpenDocument spreadsheets: the sheets of an .ods as they are seen, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.opendocument import (
    LAST_COLUMN,
    count_of,
    open_document,
    read_attribute,
    read_shapes,
    read_text,
    table_rows,
)
from adaptive_rag.ingest.package import local_name
from adaptive_rag.ingest.page_edges import tell_apart
from adaptive_rag.ingest.sheet_tables import SheetRow
from adaptive_rag.ingest.sheets import Sheet, add_sheets

_LAST_ROW = 1_048_576


def load_ods(path: Path, builder: TextBuilder) -> None:
    """Write the rows of an OpenDocument spreadsheet into `builder`, as `load_xlsx` does."""
    hidden: list[str] = []
    with open_document(path, "spreadsheet", builder) as (body, styles):
        sheets = []
        for table in body.iterfind("{*}table"):
            name = " ".join(read_attribute(table, "name").split())
            if styles.is_hidden(table):
                hidden.append(name)
            else:
                sheet, left_out = _read_sheet(name, table)
                sheet.shapes = tuple(read_shapes(table, styles))
                sheets.append(sheet)
                hidden += [f"{what} of {name}" for what in left_out]
        if sheets:
            sheets[0].shapes += tuple(tell_apart(styles.page_edges(), ""))
        add_sheets(builder, sheets)
    if hidden:
        builder.notes.append(f"hidden sheets, columns and rows were left out: {', '.join(hidden)}")


def _read_sheet(name: str, table: Any) -> tuple[Sheet, list[str]]:
    """Return a sheet, and what was left out of it as hidden; rows that a filter hides are read."""
    hidden = set(_hidden_columns(table))
    cells: dict[int, dict[int, str]] = {}
    number = 0
    unseen = set[int]()
    for row in table_rows(table):
        if read_attribute(row, "visibility") == "collapse":
            unseen.update(
                range(number + 1, 1 + min(number + count_of(row, "number-rows-repeated"), _LAST_ROW))
            )
        found = _read_cells(row, cells, number + 1)
        repeated = count_of(row, "number-rows-repeated")
        for more in range(repeated if found else 0):
            if number + more < _LAST_ROW:
                cells.setdefault(number + 1 + more, {}).update(found)
        number += repeated
    left_out = ["columns"] if any(row.keys() & hidden for row in cells.values()) else []
    if unseen & cells.keys():
        left_out.append("rows")
        cells = {number: row for number, row in cells.items() if number not in unseen}
    places = sorted({at for row in cells.values() for at in row} - hidden)
    rows = [SheetRow(number, [cells[number].get(at, "") for at in places]) for number in sorted(cells)]
    return Sheet(name, rows, [at + 1 for at in places]), left_out


def _read_cells(row: Any, cells: dict[int, dict[int, str]], number: int) -> dict[int, str]:
    """Return the texts of a row by their columns; those that go on below are put into `cells`."""
    found: dict[int, str] = {}
    at = 0
    for cell in row:
        repeated = count_of(cell, "number-columns-repeated")
        text = " ".join(filter(None, (read_text(part, []) for part in cell.iterfind("{*}p"))))
        if text and local_name(cell) == "table-cell":
            wide, high = (count_of(cell, f"number-{way}-spanned") for way in ("columns", "rows"))
            texts = dict.fromkeys(range(at, min(at + max(repeated, wide), LAST_COLUMN)), text)
            found.update(texts)
            for below in range(number + 1, min(number + high, _LAST_ROW)):
                cells.setdefault(below, {}).update(texts)
        at += repeated
    return found


def _hidden_columns(table: Any) -> Iterator[int]:
    at = 0
    for column in table.iter("{*}table-column"):
        after = at + count_of(column, "number-columns-repeated")
        if read_attribute(column, "visibility") == "collapse":
            yield from range(at, min(after, LAST_COLUMN))
        at = after
