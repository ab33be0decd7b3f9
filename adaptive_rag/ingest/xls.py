"""The loader of Excel workbooks up to 2003, .xls, using xlrd: numbers as their cells show them."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import olefile  # type: ignore[import-untyped]
import xlrd
from xlrd.compdoc import CompDocError
from xlrd.formula import FormulaError

from adaptive_rag.ingest.binary_sheets import load_workbook
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.number_formats import show_number
from adaptive_rag.ingest.sheet_grid import Grid
from adaptive_rag.ingest.sheets import Sheet, add_sheets

# What xlrd raises if a workbook is damaged, or of a kind that it does not know.
_DAMAGED = (
    xlrd.XLRDError, CompDocError, FormulaError, struct.error, LookupError, ValueError, ArithmeticError,
    TypeError, AttributeError, AssertionError, OSError,  # the last is raised by olefile
)  # fmt: skip
_BOLD_WEIGHT = 700


def load_xls(path: Path, builder: TextBuilder) -> None:
    """Write the rows of a workbook's sheets into `builder`; hidden sheets and columns are left out.

    A workbook that xlrd cannot read is read with calamine, which reports neither formats nor hidden columns.
    """
    hidden: list[str] = []
    try:
        book = xlrd.open_workbook(
            file_contents=_read_stream(path), logfile=io.StringIO(), formatting_info=True, ragged_rows=True
        )
        visible = [sheet for sheet in book.sheets() if not sheet.visibility]
        sheets = [_read_sheet(book, sheet, hidden) for sheet in visible]
    except _DAMAGED:
        load_workbook(path, builder)
        return
    add_sheets(builder, sheets)
    hidden += [sheet.name for sheet in book.sheets() if sheet.visibility]
    builder.note_hidden("sheets, columns and rows", hidden)
    builder.note_left_out("comment", sum(len(sheet.cell_note_map) for sheet in visible))


def _read_stream(path: Path) -> bytes:
    """Return a workbook's records without their OLE container, which may put xlrd into an endless loop."""
    content = path.read_bytes()
    if not content.startswith(olefile.MAGIC):
        return content
    with olefile.OleFileIO(io.BytesIO(content)) as container:
        name = next((name for name in ("Workbook", "Book") if container.exists(name)), None)
        if name is None:
            raise xlrd.XLRDError("no workbook")
        return bytes(container.openstream(name).read())


def _read_sheet(book: xlrd.book.Book, sheet: xlrd.sheet.Sheet, hidden: list[str]) -> Sheet:
    grid = Grid()
    for row in range(sheet.nrows):
        for column, cell in enumerate(sheet.row(row), start=1):
            if text := _format_cell(book, cell):
                font = book.font_list[book.xf_list[cell.xf_index].font_index]
                grid.add(row + 1, column, text, bold=font.weight >= _BOLD_WEIGHT)
    # xlrd does not report which rows a filter hides, so all rows are read.
    grid.hidden_columns.update(
        column + 1
        for column, settings in sheet.colinfo_map.items()
        if settings.hidden and not settings.outline_level
    )
    grid.merged = [((left + 1, top + 1), (right, bottom)) for top, bottom, left, right in sheet.merged_cells]
    return grid.to_sheet(" ".join(sheet.name.split()), hidden)


def _format_cell(book: xlrd.book.Book, cell: xlrd.sheet.Cell) -> str:
    """Return a cell as Excel shows it; "" if it is empty."""
    match cell.ctype:
        case xlrd.XL_CELL_TEXT:
            return " ".join(str(cell.value).split())
        case xlrd.XL_CELL_NUMBER | xlrd.XL_CELL_DATE:
            code = book.format_map[book.xf_list[cell.xf_index].format_key].format_str
            return show_number(repr(cell.value), code, since_1904=book.datemode == 1)
        case xlrd.XL_CELL_BOOLEAN:
            return "TRUE" if cell.value else "FALSE"
        case xlrd.XL_CELL_ERROR:
            return str(xlrd.error_text_from_code.get(cell.value, ""))
        case _:
            return ""
