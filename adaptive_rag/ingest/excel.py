"""The Excel loader: the visible sheets of an .xlsx or .xlsm, row by row.

The XML is read directly with lxml. The libraries for it either do not report hidden columns and merged cells,
or hold every cell of a sheet up to the last one in memory, and that may be the 17,179,869,184th.
"""

from __future__ import annotations

import re
import string
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.embedded import EmbeddedFiles
from adaptive_rag.ingest.excel_beside import Beside, read_beside
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
from adaptive_rag.ingest.page_edges import tell_apart
from adaptive_rag.ingest.sheet_grid import LAST_COLUMN, Area, Grid
from adaptive_rag.ingest.sheets import Sheet, add_sheets

_LETTERS = string.ascii_uppercase
# Codes in a header for position, formatting and fields: "&L&8Acme&RPage &P" (ECMA-376, 18.3.1.46).
_HEADER_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-F+-]{5,6}|\d{1,3}|(?P<place>[LCR])|(?P<sign>&)|.)', re.DOTALL)
# "_x000D_", a character that XML does not allow (ECMA-376, 22.9.2.19), but for half a character, "_xD83D_"
_ESCAPE = re.compile(r"_x(?!D[89A-F])([0-9A-F]{4})_", re.IGNORECASE)


def load_xlsx(path: Path, builder: TextBuilder) -> None:
    """Write the rows of a workbook's sheets into `builder`; a formula is written as its last value.

    Hidden sheets, rows and columns are left out, and a note says so. Rows hidden by a filter and folded
    groups are read, since they are hidden only temporarily.
    """
    with open_archive(path, "an Excel workbook", older=".xls") as archive:
        embedded = EmbeddedFiles(archive, builder)
        book = _Workbook(archive, embedded)
        add_sheets(builder, list(book.read()))
        note_core(archive, builder)
        embedded.write()
    builder.note_hidden("sheets, columns and rows", book.hidden)
    for kind, number in book.unread.items():
        builder.note_left_out(kind, number)
    if book.has_macros:
        builder.notes.append("macros were left out")
    if book.unknown:
        formulas = "formula holds" if book.unknown == 1 else "formulas hold"
        builder.notes.append(
            f"{book.unknown:,} {formulas} no computed value. Open the file in Excel and save it again"
        )


class _Workbook:
    """A workbook while it is read, and what could not be or was not read."""

    def __init__(self, archive: zipfile.ZipFile, embedded: EmbeddedFiles) -> None:
        self.hidden: list[str] = []
        self.unknown = 0  # the number of formulas without a value
        self.unread: Counter[str] = Counter()
        self._edges: list[str] = []  # page headers and footers already read
        self._archive = archive
        self._embedded = embedded
        self._root, self._links = open_main(archive, "workbook")
        self.has_macros = find_part(self._links, "vbaProject") is not None
        settings = self._root.find("{*}workbookPr")
        self._since_1904 = settings is not None and settings.get("date1904") in ("1", "true")
        texts = find_part(self._links, "sharedStrings")
        self._texts = [_text(item) for item in read_xml(archive, texts)] if texts else []
        styles = find_part(self._links, "styles")
        self._formats, self._bold = _read_styles(read_xml(archive, styles)) if styles else ([], [])

    def read(self) -> Iterator[Sheet]:
        """Yield the visible sheets, in order."""
        for sheet in self._root.iterfind("{*}sheets/{*}sheet"):
            name = " ".join(sheet.get("name", "").split())
            if sheet.get("state", "visible") != "visible":
                self.hidden.append(name)
                continue
            link = self._links[linked_id(sheet)]
            if link.kind not in ("worksheet", "chartsheet"):  # other kinds hold macros or a dialog
                self.unread[f"{link.kind.removeprefix('xl').lower().removesuffix('sheet')} sheet"] += 1
                continue
            beside = read_beside(self._archive, link.target)
            counts = {"chart": beside.charts, "comment": beside.comments}
            self.unread.update({kind: number for kind, number in counts.items() if number})
            for part in beside.embedded:
                self._embedded.add(part)
            if link.kind == "worksheet":
                yield self._read_grid(link.target, beside).to_sheet(name, self.hidden, beside.shapes)
            else:
                yield Sheet(name, [], [], tuple(beside.shapes))

    def _read_grid(self, part: str, beside: Beside) -> Grid:
        grid = Grid(filtered=beside.filtered)
        wanted = tuple("{*}" + tag for tag in ("row", "col", "mergeCell", "filterColumn", "headerFooter"))
        with self._archive.open(part) as file:
            parsed = etree.iterparse(file, tag=wanted, resolve_entities=False, no_network=True)
            for _, element in parsed:
                match local_name(element):
                    case "row":
                        self._read_row(element, grid)
                        element.getparent().remove(element)
                    case "mergeCell":
                        grid.merged.append(_corners(element.get("ref", "")))
                    case "filterColumn":
                        grid.filtered = True
                    case "headerFooter":
                        edges = (line for each in element for line in _lines_of_header(each.text or ""))
                        new = [edge for edge in tell_apart(edges, "") if edge not in self._edges]
                        self._edges += new
                        beside.shapes += new
                    case _ if _is_hidden(element):
                        last = min(int(element.get("max")), LAST_COLUMN)
                        grid.hidden_columns.update(range(int(element.get("min")), last + 1))
        for area in beside.headers:
            (left, top), (right, _) = _corners(area)
            grid.bold.setdefault(top, set()).update(range(left, min(right, LAST_COLUMN) + 1))
        return grid

    def _read_row(self, element: Any, grid: Grid) -> None:
        """Read a row; missing positions continue from the previous row or cell."""
        number = int(element.get("r") or next(reversed(grid.rows), 0) + 1)
        grid.rows.setdefault(number, {})
        if _is_hidden(element):
            grid.hidden_rows.add(number)
        at = 0
        for cell in element.iterfind("{*}c"):
            at = _column(cell.get("r")) if cell.get("r") else at + 1
            if text := self._show(cell):
                style = int(cell.get("s", 0))
                grid.add(number, at, text, bold=style < len(self._bold) and self._bold[style])

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
        return _unescaped(value)


def _read_styles(styles: Any) -> tuple[list[str], list[bool]]:
    """Return each cell style's number format, "" if it has none, and whether it is bold."""
    own = {each.get("numFmtId"): each.get("formatCode", "") for each in styles.iter("{*}numFmt")}
    fonts = [font.find("{*}b") for font in styles.iterfind("{*}fonts/{*}font")]
    bold = [mark is not None and mark.get("val", "1") not in ("0", "false") for mark in fonts]
    used = [
        (each.get("numFmtId", "0"), int(each.get("fontId", 0)))
        for each in styles.iterfind("{*}cellXfs/{*}xf")
    ]
    return (
        [own[number] if number in own else BUILT_IN.get(int(number), "") for number, _ in used],
        [font < len(bold) and bold[font] for _, font in used],
    )


def _text(item: Any) -> str:
    """Return the text of a string, without its phonetic guide."""
    parts = (part.text or "" for part in item.iter("{*}t") if local_name(part.getparent()) != "rPh")
    return _unescaped("".join(parts))


def _unescaped(text: str) -> str:
    """Return a text on one line, without escapes."""
    return " ".join(_ESCAPE.sub(lambda code: chr(int(code[1], 16)), text).split())


def _lines_of_header(text: str) -> list[str]:
    """Return the lines of a header or footer, without its codes."""
    return _HEADER_CODE.sub(lambda code: "\n" if code["place"] else code["sign"] or "", text).split("\n")


def _is_hidden(element: Any) -> bool:
    """Return whether a row or column is hidden, and not merely folded into a group."""
    return element.get("hidden") in ("1", "true") and element.get("outlineLevel", "0") == "0"


def _corners(area: str) -> Area:
    """Return the column and row of the first and last cell of a range such as "A3:F20"."""
    places = [(_column(corner), int(corner.lstrip(_LETTERS))) for corner in area.split(":")]
    return places[0], places[-1]


def _column(place: str) -> int:
    """Return a cell's column number: 28 for "AB7"."""
    number = 0
    for letter in place.rstrip(string.digits):
        number = 26 * number + _LETTERS.index(letter) + 1
    return number
