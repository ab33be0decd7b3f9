"""The loader of OpenDocument spreadsheets: the visible sheets of an .ods, row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.opendocument import (
    Styles,
    count_of,
    open_document,
    read_shapes,
    read_text,
    table_rows,
)
from adaptive_rag.ingest.package import local_name, read_attribute
from adaptive_rag.ingest.page_headers import select_edges
from adaptive_rag.ingest.sheet_grid import LAST_COLUMN, Area, Grid
from adaptive_rag.ingest.sheets import add_sheets

_MAX_ROWS = 1_048_576
# "03/01/24", which is in March or in January, or "1. 3. 2024"
_DATE = re.compile(r"\d{1,4}(?P<sign>[./-] ?)\d{1,2}(?P=sign)\d{1,4}")


def load_ods(path: Path, builder: TextBuilder) -> None:
    """Write the rows of an OpenDocument spreadsheet into `builder`, as `load_xlsx` does."""
    with open_document(path, "spreadsheet", builder) as (body, styles):
        write_sheets(body, styles, builder)


def write_sheets(body: Any, styles: Styles, builder: TextBuilder) -> None:
    """Write the rows of the visible sheets of a spreadsheet into `builder`, and note what is hidden."""
    hidden: list[str] = []
    sheets = []
    for table in body.iterfind("{*}table"):
        name = " ".join(read_attribute(table, "name").split())
        if styles.is_hidden(table):
            hidden.append(name)
        else:
            sheets.append(_read_grid(table).to_sheet(name, hidden, read_shapes(table, styles)))
    if sheets:
        sheets[0].shapes += tuple(select_edges(styles.page_edges(), set()))
    add_sheets(builder, sheets)
    builder.note_hidden("sheets, columns and rows", hidden)


def _read_grid(table: Any) -> Grid:
    """Return the cells of a sheet; rows that a filter hides are read."""
    grid = Grid(hidden_columns=set(_find_hidden_columns(table)))
    number = 1
    for row in table_rows(table):
        next_number = number + count_of(row, "number-rows-repeated")
        if cells := _read_cells(row, number, grid.merged):
            rows = range(number, min(next_number, _MAX_ROWS + 1))
            grid.rows.update((row_number, dict(cells)) for row_number in rows)
            grid.hidden_rows.update(rows if _is_hidden(row) else ())
        number = next_number
    return grid


def _read_cells(row: Any, number: int, merged: list[Area]) -> dict[int, str]:
    """Return the texts of a row by column; merged areas are added to `merged`."""
    texts: dict[int, str] = {}
    column = 1
    for cell in row:
        next_column = column + count_of(cell, "number-columns-repeated")
        text = " ".join(filter(None, (read_text(part, []) for part in cell.iterfind("{*}p"))))
        text = _DATE.sub(read_attribute(cell, "date-value")[:10] or r"\g<0>", text)
        if text and local_name(cell) == "table-cell":
            texts.update(dict.fromkeys(range(column, min(next_column, LAST_COLUMN + 1)), text))
            width, height = (count_of(cell, f"number-{axis}-spanned") for axis in ("columns", "rows"))
            if width > 1 or height > 1:
                merged.append(((column, number), (column + width - 1, number + height - 1)))
        column = next_column
    return texts


def _is_hidden(element: Any) -> bool:
    """Return whether a row or a column is hidden, other than by a filter or by folding its group."""
    groups = element.iterancestors("{*}table-row-group", "{*}table-column-group")
    is_folded = any(read_attribute(group, "display") == "false" for group in groups)
    return read_attribute(element, "visibility") == "collapse" and not is_folded


def _find_hidden_columns(table: Any) -> Iterator[int]:
    """Yield the numbers of the hidden columns of a sheet."""
    number = 1
    for column in table.iter("{*}table-column"):
        if next(column.iterancestors("{*}table")) is not table:  # of a chart on the sheet
            continue
        next_number = number + count_of(column, "number-columns-repeated")
        if _is_hidden(column):
            yield from range(number, min(next_number, LAST_COLUMN + 1))
        number = next_number
