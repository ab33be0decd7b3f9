"""The loader of older and binary Excel workbooks, .xls and .xlsb, using the calamine library."""

from __future__ import annotations

from datetime import date, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.sheet_grid import Grid
from adaptive_rag.ingest.sheets import Sheet, add_sheets

# The library keeps every cell up to the last row and column in memory.
_MAX_CELLS = 20_000_000


def load_workbook(path: Path, builder: TextBuilder) -> None:
    """Write the rows of a workbook's sheets into `builder`; hidden sheets are noted and left out."""
    try:
        # Given a path, the library would rely on the suffix, which may be wrong.
        book = CalamineWorkbook.from_filelike(BytesIO(path.read_bytes()))
        worksheets = [sheet for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
        hidden_names = [sheet.name for sheet in worksheets if sheet.visible != SheetVisibleEnum.Visible]
        sheets = [
            _read_sheet(book.get_sheet_by_name(sheet.name))
            for sheet in worksheets
            if sheet.name not in hidden_names
        ]
    except PasswordError as error:
        raise IndexingError("asks for a password. Save it without one") from error
    except BaseException as error:
        # A panic in the library is not an Exception, and its class cannot be imported.
        if not isinstance(error, CalamineError) and type(error).__name__ != "PanicException":
            raise
        raise IndexingError(
            "is not an Excel workbook or is damaged. Open it in Excel or LibreOffice and save it as .xlsx"
        ) from error
    add_sheets(builder, sheets)
    builder.note_hidden("sheets", hidden_names)


def _read_sheet(sheet: CalamineSheet) -> Sheet:
    if sheet.total_height * sheet.total_width > _MAX_CELLS:
        raise IndexingError(f"holds a sheet of more than {_MAX_CELLS:,} cells. Split it")
    grid = Grid()
    for row, cells in enumerate(sheet.to_python(skip_empty_area=False), start=1):
        for column, cell in enumerate(cells, start=1):
            if cell != "":
                grid.add(row, column, _format_cell(cell))
    grid.merged = [
        ((left + 1, top + 1), (right + 1, bottom + 1))
        for (top, left), (bottom, right) in sheet.merged_cell_ranges or ()
    ]
    return grid.to_sheet(sheet.name, [])


def _format_cell(cell: Any) -> str:
    """Return the text of a cell: a whole number without ".0", a date as 2025-03-01."""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float):
        return f"{cell:.15g}"
    if isinstance(cell, datetime) and not (cell.hour or cell.minute or cell.second):
        cell = cell.date()
    if isinstance(cell, date):
        return cell.isoformat().replace("T", " ")
    return " ".join(str(cell).split())
