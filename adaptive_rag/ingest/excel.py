"""The loader of Excel workbooks: the sheets of an .xlsx or .xlsm as they are seen, row by row.

The file is read as it stands, by lxml: its libraries either do not know which columns are hidden and which
cells are merged, or hold every cell of a sheet up to the last one, which may be the 17,179,869,184th.
"""

from __future__ import annotations

import string
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.number_formats import BUILT_IN, show_number
from adaptive_rag.ingest.package import (
    find_part,
    linked_id,
    local_name,
    note_core,
    open_archive,
    open_main,
    read_xml,
)
from adaptive_rag.ingest.sheets import Sheet, SheetRow, add_sheets

_LETTERS = string.ascii_uppercase
_LAST_COLUMN = 16_384


def load_xlsx(path: Path, builder: TextBuilder) -> None:
    """Write the rows of a workbook's sheets into `builder`; a formula counts as the value it last had.

    Hidden sheets and columns are left out, and a note says so. Hidden rows are read: most often a filter
    hides them for the moment.
    """
    with open_archive(path, "an Excel workbook", older=".xls") as archive:
        book = _Workbook(archive)
        add_sheets(builder, list(book.read()))
        note_core(archive, builder)
    if book.hidden:
        builder.notes.append(f"hidden sheets and columns were left out: {', '.join(book.hidden)}")
    if book.unknown:
        formulas = "formula holds" if book.unknown == 1 else "formulas hold"
        builder.notes.append(
            f"{book.unknown:,} {formulas} no computed value. Open the file in Excel and save it again"
        )


class _Workbook:
    """A workbook that is being read, and what of it could not be or was not."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.hidden: list[str] = []
        self.unknown = 0  # formulas without a value
        self._archive = archive
        self._root, self._links = open_main(archive, "workbook")
        settings = self._root.find("{*}workbookPr")
        self._since_1904 = settings is not None and settings.get("date1904") in ("1", "true")
        texts = find_part(self._links, "sharedStrings")
        self._texts = [_text(item) for item in read_xml(archive, texts)] if texts else []
        styles = find_part(self._links, "styles")
        self._formats = _read_formats(read_xml(archive, styles)) if styles else []

    def read(self) -> Iterator[Sheet]:
        """Yield the sheets that are shown, in order."""
        for sheet in self._root.iterfind("{*}sheets/{*}sheet"):
            name = " ".join(sheet.get("name", "").split())
            if sheet.get("state", "visible") != "visible":
                self.hidden.append(name)
                continue
            link = self._links[linked_id(sheet)]
            if link.kind == "worksheet":  # others hold a chart or a macro
                rows, columns = self._read_rows(name, link.target)
                yield Sheet(name, rows, columns)

    def _read_rows(self, sheet: str, part: str) -> tuple[list[SheetRow], list[int]]:
        """Return the rows of a sheet, and in which of its columns their cells stand."""
        rows: dict[int, dict[int, str]] = {}
        hidden: set[int] = set()
        merged: list[str] = []
        wanted = tuple("{*}" + tag for tag in ("row", "col", "mergeCell"))
        with self._archive.open(part) as file:
            parsed = etree.iterparse(file, tag=wanted, resolve_entities=False, no_network=True)
            for _, element in parsed:
                match local_name(element):
                    case "row":
                        self._read_row(element, rows)
                        element.getparent().remove(element)
                    case "mergeCell":
                        merged.append(element.get("ref", ""))
                    case _ if element.get("hidden") in ("1", "true"):
                        last = min(int(element.get("max")), _LAST_COLUMN)
                        hidden.update(range(int(element.get("min")), last + 1))
        _spread(merged, rows)
        if any(cells.keys() & hidden for cells in rows.values()):
            self.hidden.append(f"columns of {sheet}")
        shown = {
            number: {at: text for at, text in cells.items() if at not in hidden}
            for number, cells in rows.items()
        }
        columns = sorted({at for cells in shown.values() for at in cells})
        found = [SheetRow(number, [shown[number].get(at, "") for at in columns]) for number in sorted(shown)]
        return found, columns

    def _read_row(self, element: Any, rows: dict[int, dict[int, str]]) -> None:
        """Read a row; places that are not given follow on those before."""
        number = int(element.get("r") or next(reversed(rows), 0) + 1)
        cells = rows.setdefault(number, {})
        at = 0
        for cell in element.iterfind("{*}c"):
            at = _column(cell.get("r")) if cell.get("r") else at + 1
            if text := self._show(cell):
                cells[at] = text

    def _show(self, cell: Any) -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return _text(cell)
        value = cell.findtext("{*}v") or ""
        if not value:
            self.unknown += cell.find("{*}f") is not None and kind != "str"
            return ""
        if kind == "s":
            return self._texts[int(value)]
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind == "n":
            style = int(cell.get("s", 0))
            code = self._formats[style] if style < len(self._formats) else ""
            return show_number(value, code, since_1904=self._since_1904)
        return " ".join(value.split())


def _read_formats(styles: Any) -> list[str]:
    """Return the number format of each style of a cell, "" where it has none."""
    own = {each.get("numFmtId"): each.get("formatCode", "") for each in styles.iter("{*}numFmt")}
    used = (each.get("numFmtId", "0") for each in styles.iterfind("{*}cellXfs/{*}xf"))
    return [own[number] if number in own else BUILT_IN.get(int(number), "") for number in used]


def _text(item: Any) -> str:
    """Return the text of a string, without how it is pronounced."""
    parts = (part.text or "" for part in item.iter("{*}t") if local_name(part.getparent()) != "rPh")
    return " ".join("".join(parts).split())


def _spread(areas: Iterable[str], rows: dict[int, dict[int, str]]) -> None:
    """Put the text of each merged cell in all places that it covers, as far as the sheet holds something."""
    last_row, last_column = (
        max(rows, default=0),
        max((max(cells, default=0) for cells in rows.values()), default=0),
    )
    for area in areas:
        corners = [(_column(corner), int(corner.lstrip(_LETTERS))) for corner in area.split(":")]
        (left, top), (right, bottom) = corners[0], corners[-1]
        if text := rows.get(top, {}).get(left):
            columns = range(left, min(right, last_column) + 1)
            for number in range(top, min(bottom, last_row) + 1):
                if number in rows:
                    rows[number].update(dict.fromkeys(columns, text))


def _column(place: str) -> int:
    """Return the number of a cell's column: 28 for "AB7"."""
    number = 0
    for letter in place.rstrip(string.digits):
        number = 26 * number + _LETTERS.index(letter) + 1
    return number
