"""The Excel loader: the visible sheets of an .xlsx or .xlsm, row by row.

The XML is read directly with lxml. Other libraries either do not report hidden columns and merged cells, or
keep every cell up to the last one in memory, and that may be the 17,179,869,184th.
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
from adaptive_rag.ingest.drawings import find_shapes, read_drawn
from adaptive_rag.ingest.embedded import EmbeddedFiles
from adaptive_rag.ingest.number_formats import BUILT_IN, show_number
from adaptive_rag.ingest.package import (
    find_part,
    linked_id,
    local_name,
    note_core,
    open_archive,
    open_main,
    read_links,
    read_xml,
)
from adaptive_rag.ingest.page_headers import select_edges
from adaptive_rag.ingest.sheet_grid import LAST_COLUMN, Area, Grid
from adaptive_rag.ingest.sheets import Sheet, add_sheets
from adaptive_rag.ingest.superscripts import raise_digits

_LETTERS = string.ascii_uppercase
# Codes in a page header for position, formatting and fields: "&L&8Acme&RPage &P" (ECMA-376, 18.3.1.46).
_HEADER_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-F+-]{5,6}|\d{1,3}|(?P<place>[LCR])|(?P<sign>&)|.)', re.DOTALL)
# "_x000D_", a character that XML does not allow (ECMA-376, 22.9.2.19), but not a surrogate, "_xD83D_".
_ESCAPE = re.compile(r"_x(?!D[89A-F])([0-9A-F]{4})_", re.IGNORECASE)


def load_xlsx(path: Path, builder: TextBuilder) -> None:
    """Write the rows of a workbook's sheets into `builder`; a formula is written as its last value.

    Hidden sheets, rows and columns are left out and noted. Rows that a filter hides and folded groups are
    read, since they are hidden only temporarily.
    """
    with open_archive(path, "an Excel workbook", older=".xls") as archive:
        embedded = EmbeddedFiles(archive, builder)
        book = _Workbook(archive, embedded)
        add_sheets(builder, list(book.read()))
        note_core(archive, builder)
        embedded.write()
    builder.note_hidden("sheets, columns and rows", book.hidden)
    for kind, count in book.unread.items():
        builder.note_left_out(kind, count)
    if book.has_macros:
        builder.notes.append("macros were left out")
    if count := book.formulas_without_value:
        formulas = "formula holds" if count == 1 else "formulas hold"
        builder.notes.append(
            f"{count:,} {formulas} no computed value. Open the file in Excel and save it again"
        )


class _Workbook:
    """Reads a workbook, and records what was left out."""

    def __init__(self, archive: zipfile.ZipFile, embedded: EmbeddedFiles) -> None:
        self.hidden: list[str] = []
        self.formulas_without_value = 0
        self.unread: Counter[str] = Counter()  # by kind: "chart"
        self._page_headers = set[str]()  # page headers and footers already read
        self._archive = archive
        self._embedded = embedded
        self._root, self._links = open_main(archive, "workbook")
        self.has_macros = find_part(self._links, "vbaProject") is not None
        settings = self._root.find("{*}workbookPr")
        self._since_1904 = settings is not None and settings.get("date1904") in ("1", "true")
        strings = find_part(self._links, "sharedStrings")
        self._strings = [_read_string(item) for item in read_xml(archive, strings)] if strings else []
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
            if link.kind not in ("worksheet", "chartsheet"):  # others contain macros or a dialog
                self.unread[f"{link.kind.removeprefix('xl').lower().removesuffix('sheet')} sheet"] += 1
                continue
            grid = Grid()
            shapes = self._read_parts(link.target, grid)
            if link.kind == "worksheet":
                self._read_grid(link.target, grid, shapes)
            yield grid.to_sheet(name, self.hidden, shapes)

    def _read_parts(self, sheet: str, grid: Grid) -> list[str]:
        """Read the comments, files and tables of a sheet; return the texts of its boxes and charts."""
        shapes, unread = list[str](), Counter(chart=0, comment=0)
        names = set(self._archive.namelist())
        for link in read_links(self._archive, sheet).values():
            if link.kind in ("oleObject", "package"):
                self._embedded.add(link.target)
            if link.kind not in ("drawing", "comments", "table") or link.target not in names:
                continue
            root = read_xml(self._archive, link.target, recover=True)
            if root is None:
                continue
            match link.kind:
                case "drawing":
                    links = read_links(self._archive, link.target)
                    for shape in find_shapes(root):
                        kind, texts = read_drawn(self._archive, links, shape)
                        # a chart without values has no table
                        unread["chart"] += kind == "chart" and not any("\n" in text for text in texts)
                        shapes += ["\n".join(texts)] if texts else []
                case "comments":
                    unread["comment"] += sum(1 for _ in root.iter("{*}comment"))
                case "table":
                    if root.get("headerRowCount", "1") != "0":  # its first row names its columns
                        (left, top), (right, _) = _parse_area(root.get("ref", ""))
                        columns = range(left, min(right, LAST_COLUMN) + 1)
                        grid.bold.setdefault(top, set()).update(columns)
                    grid.filtered |= root.find(".//{*}filterColumn") is not None
        self.unread.update(+unread)
        return shapes

    def _read_grid(self, part: str, grid: Grid, shapes: list[str]) -> None:
        """Read the cells of a sheet into `grid`; the texts of its page headers are added to `shapes`."""
        tags = tuple("{*}" + tag for tag in ("row", "col", "mergeCell", "filterColumn", "headerFooter"))
        with self._archive.open(part) as file:
            parsed = etree.iterparse(file, tag=tags, resolve_entities=False, no_network=True)
            for _, element in parsed:
                match local_name(element):
                    case "row":
                        self._read_row(element, grid)
                        element.getparent().remove(element)
                    case "mergeCell":
                        grid.merged.append(_parse_area(element.get("ref", "")))
                    case "filterColumn":
                        grid.filtered = True
                    case "headerFooter":
                        lines = (line for each in element for line in _split_header(each.text or ""))
                        shapes += select_edges(lines, self._page_headers)
                    case _ if _is_hidden(element):
                        last = min(int(element.get("max")), LAST_COLUMN)
                        grid.hidden_columns.update(range(int(element.get("min")), last + 1))

    def _read_row(self, element: Any, grid: Grid) -> None:
        """Read a row into `grid`; a row or cell without a position follows the one before it."""
        number = int(element.get("r") or next(reversed(grid.rows), 0) + 1)
        grid.rows.setdefault(number, {})
        if _is_hidden(element):
            grid.hidden_rows.add(number)
        column = 0
        for cell in element.iterfind("{*}c"):
            column = _parse_column(cell.get("r")) if cell.get("r") else column + 1
            if text := self._format_cell(cell):
                style = int(cell.get("s", 0))
                grid.add(number, column, text, bold=style < len(self._bold) and self._bold[style])

    def _format_cell(self, cell: Any) -> str:
        """Return a cell as Excel shows it; "" if it is empty or its formula has no value."""
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return _read_string(cell)
        value = cell.findtext("{*}v") or ""
        if not value:
            self.formulas_without_value += cell.find("{*}f") is not None and kind != "str"
            return ""
        if kind == "s":
            return self._strings[int(value)]
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind == "n":
            style = int(cell.get("s", 0))
            code = self._formats[style] if style < len(self._formats) else ""
            return show_number(value, code, since_1904=self._since_1904)
        return _unescape(value)


def _read_styles(styles: Any) -> tuple[list[str], list[bool]]:
    """Return the number format of each cell style, "" if it has none, and whether it is bold."""
    custom = {item.get("numFmtId"): item.get("formatCode", "") for item in styles.iter("{*}numFmt")}
    bold_marks = [font.find("{*}b") for font in styles.iterfind("{*}fonts/{*}font")]
    is_bold = [mark is not None and mark.get("val", "1") not in ("0", "false") for mark in bold_marks]
    cell_styles = [
        (style.get("numFmtId", "0"), int(style.get("fontId", 0)))
        for style in styles.iterfind("{*}cellXfs/{*}xf")
    ]
    return (
        [custom[number] if number in custom else BUILT_IN.get(int(number), "") for number, _ in cell_styles],
        [font < len(is_bold) and is_bold[font] for _, font in cell_styles],
    )


def _read_string(item: Any) -> str:
    """Return the text of a string, without its phonetic guide."""
    parts = (part for part in item.iter("{*}t") if local_name(part.getparent()) != "rPh")
    texts = (raise_digits(part.text or "") if _is_raised(part) else part.text or "" for part in parts)
    return _unescape("".join(texts))


def _is_raised(part: Any) -> bool:
    """Return whether a part of a string is a superscript."""
    align = part.getparent().find("{*}rPr/{*}vertAlign")
    return align is not None and align.get("val") == "superscript"


def _unescape(text: str) -> str:
    """Return a text with its escapes decoded, on one line."""
    return " ".join(_ESCAPE.sub(lambda code: chr(int(code[1], 16)), text).replace("\0", "").split())


def _split_header(text: str) -> list[str]:
    """Return the lines of a page header or footer, without its codes."""
    return _HEADER_CODE.sub(lambda code: "\n" if code["place"] else code["sign"] or "", text).split("\n")


def _is_hidden(element: Any) -> bool:
    """Return whether a row or column is hidden, and not merely folded into a group."""
    return element.get("hidden") in ("1", "true") and element.get("outlineLevel", "0") == "0"


def _parse_area(area: str) -> Area:
    """Return the column and row of the first and last cell of a range such as "A3:F20"."""
    corners = [(_parse_column(corner), int(corner.lstrip(_LETTERS))) for corner in area.split(":")]
    return corners[0], corners[-1]


def _parse_column(reference: str) -> int:
    """Return a cell's column number: 28 for "AB7"."""
    number = 0
    for letter in reference.rstrip(string.digits):
        number = 26 * number + _LETTERS.index(letter) + 1
    return number
