"""The Word loader: paragraphs, headings, lists and tables of a .docx, read with python-docx."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice, takewhile
from pathlib import Path
from string import ascii_letters, digits
from typing import Any, NamedTuple

from docx.opc.package import OpcPackage
from docx.oxml import parse_xml
from docx.oxml.exceptions import XmlchemyError
from docx.oxml.ns import qn
from docx.parts.styles import StylesPart

from adaptive_rag.ingest.documents import HEADING_STYLE, TextBuilder
from adaptive_rag.ingest.equations import read_equation
from adaptive_rag.ingest.numbering import BULLET, DEEPEST, Numbering
from adaptive_rag.ingest.package import find_part, note_core, open_archive, read_links, read_transitional
from adaptive_rag.ingest.page_headers import add_page_edges
from adaptive_rag.ingest.superscripts import raise_digits
from adaptive_rag.ingest.table_cells import Rows, add_table
from adaptive_rag.ingest.word_looks import WordLooks
from adaptive_rag.ingest.word_parts import DRAWN, WordParts

_PARAGRAPH, _RUN, _TABLE, _ROW, _CELL = map(qn, ("w:p", "w:r", "w:tbl", "w:tr", "w:tc"))
_PROPERTIES = qn("w:pPr")
_REFERENCES = {qn(f"w:{kind}Reference"): kind for kind in ("footnote", "endnote")}
# The elements that stand for characters, and their text; "w:t" contains its own.
_BLANKS = dict.fromkeys(map(qn, ("w:tab", "w:ptab", "w:br", "w:cr")), " ")
_SYMBOL, _CHECK_BOX, _CHOICE = map(qn, ("w:sym", "w:checkBox", "w:ddList"))
_CHARACTERS = {qn("w:t"): "", qn("w:noBreakHyphen"): "-", **_BLANKS}
_CHARACTERS |= dict.fromkeys((_SYMBOL, _CHECK_BOX, _CHOICE), "")
_SUPERSCRIPT = f"{qn('w:rPr')}/{qn('w:vertAlign')}[@{qn('w:val')}='superscript']"
_EQUATION = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
# What was deleted or moved elsewhere, and the marks of paragraphs of which it is true.
_GONE = tuple(map(qn, ("w:del", "w:moveFrom")))
# Formatting, pronunciation (ruby), and the second copy of a text box.
_SKIPPED_TAGS = {*map(qn, ("w:pPr", "w:rPr", "w:rt")), *_GONE, _FALLBACK}
# In a document without styles for headings: "§ 7 Illness and holiday", but not "Please bring your own cup."
_BOLD_HEADING = re.compile(r"(?=.*[^\W\d_]{2}).{1,150}(?<![.,;])")
_BOLD_LEVEL = 2  # below a title
_NO_LIST = "0"
_LIST = f"{_PROPERTIES}/{qn('w:numPr')}"
_NUMBER, _DEPTH, _VALUE = map(qn, ("w:numId", "w:ilvl", "w:val"))
# The marker of a list item. A longer number, "4.2" or "Article 3", begins a paragraph of its own.
_LIST_MARKER = re.compile(r"-|\(?(?:\d{1,3}|[a-z]|[ivx]{2,5})[.)]", re.IGNORECASE)
_COLUMN_NAME = re.compile(r"[^\W\d_][^\d£$€%.,;]{0,40}\d{0,2}")
# A row of two cells is understood without column names.
_UNNAMED_COLUMNS = 2
# The characters that Word stores as a font and a code: "μ" is code F06D of the font Symbol.
_GREEK = dict(zip(ascii_letters, "αβχδεφγηιϕκλμνοπθρστυϖωξψζΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", strict=True))
_SYMBOLS = {
    "Symbol": _GREEK
    | dict(zip(digits, digits, strict=True))
    | dict(zip("\xa2\xa3\xa5\xac\xae\xb0\xb1\xb2\xb3\xb4\xb7\xb8\xb9\xbb\xd6\xd7\xde\xe5\xf2",
               "′≤∞←→°±″≥×•÷≠≈√⋅⇒∑∫", strict=True)),
    "Wingdings": {"\xa7": "▪", "\xa8": "☐", "\xe0": "→", "\xfb": "✗", "\xfc": "✓", "\xfd": "☒", "\xfe": "☑"},
    "Wingdings 2": {"P": "✓", "R": "☑", "S": "☒", "\xa3": "☐"},
}  # fmt: skip


class _Style(NamedTuple):
    """The settings of a style, its own or inherited."""

    level: int | None = None
    """The heading level, if it is a heading."""
    number: str | None = None
    """The list that numbers its paragraphs."""
    depth: int = 0
    """Their level in that list."""


def load_docx(path: Path, builder: TextBuilder) -> None:
    """Write a Word document's text and headings into `builder`."""
    with open_archive(path, "a Word document", older=".doc") as archive:
        try:
            main = find_part(read_links(archive), "officeDocument") or ""
            document: Any = parse_xml(read_transitional(archive, main))
            if document.tag != qn("w:document"):
                raise ValueError("a document was expected")
            _join_paragraphs(document)
            parts = WordParts(archive, main, builder)
            if styles_part := find_part(parts.links, "styles"):
                styles = parse_xml(read_transitional(archive, styles_part))
            else:
                styles = StylesPart.default(OpcPackage()).element
            numbering = Numbering(parts.read("numbering"))
            reader = _Reader(numbering, WordLooks(styles, document), parts)
            reader.read_notes()
            reader.write_page_edges(document.body)
            reader.find_bold_headings(document.body)
            reader.write(document.body)
            note_core(archive, builder)
            parts.finish()
        except XmlchemyError as error:
            raise ValueError(str(error)) from error


def _join_paragraphs(document: Any) -> None:
    """Join each paragraph whose mark was deleted or moved elsewhere with the one below it, as Word does."""
    marks = document.iterfind(f".//{_PARAGRAPH}/{_PROPERTIES}/{qn('w:rPr')}/*")
    # From the last one, so that no part moves more than once.
    for mark in reversed([mark for mark in marks if mark.tag in _GONE]):
        paragraph = next(mark.iterancestors(_PARAGRAPH))
        below = next(paragraph.itersiblings(_PARAGRAPH, _TABLE), None)
        if below is not None and below.tag == _PARAGRAPH:
            start = 0 if below.find(_PROPERTIES) is None else 1
            below[start:start] = [part for part in paragraph if part.tag != _PROPERTIES]
            paragraph.getparent().remove(paragraph)


def _read_style(inherited: Iterable[Any], numbering: Numbering) -> _Style:
    """Return the settings of a style, its own or else those that it inherits.

    Word names its built-in styles in English, whatever the language of its interface.
    """
    level = number = None
    is_settled, depth = False, 0
    for style in inherited:
        if number is None:
            number, depth_in_list = _read_list_settings(style)
            depth = depth_in_list or 0
            if number and depth_in_list is None:
                depth = numbering.depth_of(number, style.styleId)
        if not is_settled:
            outline = style.xpath("./w:pPr/w:outlineLvl/@w:val")
            if match := HEADING_STYLE.match(style.name_val or ""):
                level, is_settled = int(match[1] or 1), True
            elif outline:
                level, is_settled = (int(outline[0]) + 1 if outline[0] in tuple("012345678") else None), True
    return _Style(level, number, depth)


def _read_list_settings(element: Any) -> tuple[str | None, int | None]:
    """Return the list id and the level set by a paragraph or a style; None for what it does not set."""
    settings = element.find(_LIST)
    values = {} if settings is None else {each.tag: each.get(_VALUE) for each in settings}
    depth = values.get(_DEPTH)
    return values.get(_NUMBER), min(int(depth), DEEPEST) if depth else None


class _Reader:
    """Reads paragraphs and tables in document order, since list numbers depend on the order."""

    def __init__(self, numbering: Numbering, looks: WordLooks, parts: WordParts) -> None:
        self._styles = {name: _read_style(looks.inherited(name), numbering) for name in looks.styles}
        self._numbering = numbering
        self._looks = looks
        self._parts = parts
        self._builder = parts.builder
        self._styled_tables = looks.tables_with_header()
        self._notes: dict[str, dict[str | None, str]] = {}
        self._bold_headings: set[Any] = set()

    def read_notes(self) -> None:
        """Read the text of each footnote and endnote by its number in the file."""
        for kind in _REFERENCES.values():
            root = self._parts.read(f"{kind}s")
            self._notes[kind] = {
                note.get(qn("w:id")): " ".join(filter(None, map(self._read_text, _find(note, _PARAGRAPH))))
                for note in (root.iterfind(qn(f"w:{kind}")) if root is not None else ())
            }

    def write_page_edges(self, body: Any) -> None:
        """Write the text of page headers and footers, unless the document contains it already."""
        paragraphs = (part for root in self._parts.page_edges(body) for part in root.iter(_PARAGRAPH))
        add_page_edges(self._builder, map(self._read_text, paragraphs), body.itertext(qn("w:t")))

    def find_bold_headings(self, body: Any) -> None:
        """Find the headings of a document without styles for them: short bold paragraphs above other text."""
        blocks = list(_find(body, _PARAGRAPH, _TABLE))
        styled = (self._styles.get(block.style) for block in blocks if block.tag == _PARAGRAPH)
        if sum(style is not None and style.level is not None for style in styled) > 1:  # more than a title
            return
        is_above_text = False
        for block in reversed(blocks):
            text = "" if block.tag == _TABLE else "".join(block.itertext(qn("w:t"))).strip()
            is_bold = bool(text) and self._looks.is_bold(block)
            if is_bold and is_above_text and _BOLD_HEADING.fullmatch(text):
                self._bold_headings.add(block)
            if text or block.tag == _TABLE:
                is_above_text = not is_bold

    def write(self, element: Iterable[Any]) -> None:
        """Write each paragraph and table, with heading levels and list markers.

        The number of a heading is part of its text. Notes, text boxes and the like follow the block that
        refers to them.
        """
        for block in _find(element, _PARAGRAPH, _TABLE, *DRAWN):
            if block.tag == _PARAGRAPH:
                self._write_paragraph(block)
            elif block.tag == _TABLE:
                self._write_table(block)
            else:
                self._parts.write(block)

    def _write_paragraph(self, paragraph: Any) -> None:
        """Write a paragraph as a heading, a list item or plain text, then its notes and drawings."""
        text, style, marker, depth = self._read_paragraph(paragraph)
        level = style.level
        if level is None and paragraph in self._bold_headings and marker != BULLET:
            level = _BOLD_LEVEL
        if text and level is None and _LIST_MARKER.fullmatch(marker):
            self._builder.add_paragraph(text, marker="  " * depth + marker)
        elif text:
            self._builder.add_paragraph(_prefix_number(marker, text), level=level)
        marks = _find(paragraph, *_REFERENCES, _PARAGRAPH)
        self._write_notes(mark for mark in marks if mark.tag != _PARAGRAPH)
        self._write_drawn(paragraph)

    def _write_table(self, table: Any) -> None:
        """Write a table, then the notes and drawings of its cells, and any tables nested in them."""
        add_table(self._builder, self._table_rows(table), has_header=_has_header(table, self._styled_tables))
        parts = list(_find_cells(table, _PARAGRAPH, *DRAWN))
        paragraphs = (part for part in parts if part.tag == _PARAGRAPH)
        self._write_notes(mark for paragraph in paragraphs for mark in paragraph.iter(*_REFERENCES))
        for part in parts:
            if part.tag == _PARAGRAPH:
                self._write_drawn(part)
            else:
                self.write((part,))

    def _write_notes(self, references: Iterable[Any]) -> None:
        for mark in references:
            if note := self._notes[_REFERENCES[mark.tag]].get(mark.get(qn("w:id"))):
                self._builder.add_paragraph(note)

    def _write_drawn(self, paragraph: Any) -> None:
        """Write the text boxes, charts and similar objects that are anchored in a paragraph."""
        for run in paragraph:
            if run.tag == _RUN and self._looks.hides(run, paragraph):
                texts = (text for each in _find(run, _PARAGRAPH) for text in each.iter(qn("w:t")))
                self._builder.hidden_words += sum(len((text.text or "").split()) for text in texts)
            else:
                self.write((run,))

    def _read_paragraph(self, paragraph: Any) -> tuple[str, _Style, str, int]:
        """Return a paragraph's text, its style, its list marker and its level in the list.

        A paragraph without text is counted too, as in Word.
        """
        style = self._styles.get(paragraph.style, _Style())
        number, depth = _read_list_settings(paragraph)
        number, depth = number or style.number or _NO_LIST, style.depth if depth is None else depth
        text = self._read_text(paragraph)
        is_counted = number != _NO_LIST and (text or not self._looks.hides_mark(paragraph))
        return text, style, self._numbering.count(number, depth) if is_counted else "", depth

    def _table_rows(self, table: Any) -> Iterator[tuple[list[str], bool]]:
        """Yield the lines of each row; the text of a merged cell is repeated in each place that it covers."""
        grid: list[dict[int, tuple[Any, int]]] = []  # by row and column: a cell and its width in columns
        for row in _find(table, _ROW):
            grid.append({})
            column = sum(map(int, row.xpath("./w:trPr/w:gridBefore/@w:val")))
            for cell in _find(row, _CELL):
                spans = cell.xpath("./w:tcPr/w:gridSpan/@w:val")
                columns = int(spans[0]) if spans else 1
                grid[-1][column] = cell, columns
                column += columns
        rows = Rows(named=True)
        for row_index, cells in enumerate(grid):
            if indent := min(cells, default=0):  # the row begins further right than the table
                rows.begin_cell({"colspan": str(indent)})
            for column, (cell, columns) in cells.items():
                if not _continues_cell_above(cell):
                    rows_below = (grid[index] for index in range(row_index + 1, len(grid)))
                    continues = (
                        column in cells_below and _continues_cell_above(cells_below[column][0])
                        for cells_below in rows_below
                    )
                    height = 1 + sum(takewhile(bool, continues))
                    rows.begin_cell({"colspan": str(columns), "rowspan": str(height)})
                    rows.add("\n".join(self._cell_lines(cell)))
            yield rows.end_row(), rows.is_apart

    def _cell_lines(self, cell: Any) -> Iterator[str]:
        for paragraph in _find_cells(cell, _PARAGRAPH):
            if paragraph.tag == _PARAGRAPH:
                text, _, marker, _ = self._read_paragraph(paragraph)
                yield _prefix_number(marker, text)

    def _read_text(self, paragraph: Any) -> str:
        """Return a paragraph's own text, without text boxes in it; hidden words are left out and counted."""
        visible, hidden = list[str](), list[str]()
        for part in _find(paragraph, *_CHARACTERS, _EQUATION, _PARAGRAPH):
            is_hidden = part.tag in _CHARACTERS and self._looks.hides(part.getparent(), paragraph)
            (hidden if is_hidden else visible).append(_read_characters(part))
            if not is_hidden:
                hidden.append(" ")
        self._builder.hidden_words += len("".join(hidden).split())
        return " ".join("".join(visible).split())


def _prefix_number(marker: str, text: str) -> str:
    """Return a text with its number before it; a bullet is dropped."""
    return text if marker in ("", BULLET) else f"{marker} {text}".strip()


def _is_grid(table: Any) -> bool:
    """Return whether a table has rows and columns; otherwise it only lays out its text."""
    rows = list(_find(table, _ROW))
    return len(rows) > 1 and all(len(list(_find(row, _CELL))) > 1 for row in rows[:2])


def _find_cells(element: Iterable[Any], *tags: str) -> Iterator[Any]:
    """Yield the elements with these tags, as `_find` does, but yield a table with rows and columns whole."""
    for child in element:
        if child.tag in tags or (child.tag == _TABLE and _is_grid(child)):
            yield child
        elif child.tag not in _SKIPPED_TAGS:
            yield from _find_cells(child, *tags)


def _has_header(table: Any, styles: Collection[str]) -> bool:
    """Return whether the first row is a header: repeated on each page, or set apart by style or look."""
    rows = list(islice(_find(table, _ROW), 2))
    if len(rows) < 2:
        return False
    first, second = rows
    if first.xpath("./w:trPr/w:tblHeader[not(@w:val='0' or @w:val='false')]"):
        return True
    if table.xpath("./w:tblPr/w:tblLook[@w:firstRow='1']"):  # the style may format the first row
        style = table.xpath("string(./w:tblPr/w:tblStyle/@w:val)")
        if style in styles or _is_all_names(first):
            return True
    return any(
        _have_all(first, elements, mark) and not _have_all(second, elements, mark)
        for elements, mark in (
            ("w:r[w:t]", "w:rPr/w:b[not(@w:val='0')]"),
            ("w:tc", "w:tcPr/w:shd[not(@w:fill='auto')]"),
        )
    )


def _is_all_names(row: Any) -> bool:
    """Return whether a row of three or more cells holds only names: "Level", "Week 12"."""
    texts = [" ".join("".join(cell.itertext(qn("w:t"))).split()) for cell in _find(row, _CELL)]
    are_names = all(map(_COLUMN_NAME.fullmatch, texts))
    return are_names and len(set(texts)) == len(texts) > _UNNAMED_COLUMNS


def _have_all(row: Any, element_path: str, property_path: str) -> bool:
    """Return whether a row has elements with this path, and all of them have a property."""
    elements = row.xpath(f".//{element_path}")
    return bool(elements) and all(each.xpath(f"./{property_path}") for each in elements)


def _continues_cell_above(cell: Any) -> bool:
    return bool(cell.xpath("./w:tcPr/w:vMerge[not(@w:val) or @w:val='continue']"))


def _read_characters(part: Any) -> str:
    """Return the text of an element that stands for characters, an equation or a symbol."""
    if part.tag == _EQUATION:
        return f" {read_equation(part)} "
    if part.tag == _SYMBOL:
        return _read_symbol(part.get(qn("w:font"), ""), part.get(qn("w:char"), "FFFD"))
    if part.tag in (_CHECK_BOX, _CHOICE):
        return _read_form_field(part)
    text = "" if part.tag == _PARAGRAPH else part.text or _CHARACTERS[part.tag]
    return text if part.getparent().find(_SUPERSCRIPT) is None else raise_digits(text)


def _read_form_field(field: Any) -> str:
    """Return what a form field shows that has no text of its own: a box, or the entry that was chosen."""
    values = (field.find(qn(f"w:{name}")) for name in ("checked", "result", "default"))
    value = next((each.get(_VALUE, "1") for each in values if each is not None), "0")
    if field.tag == _CHECK_BOX:
        return "☐" if value in ("0", "false", "off") else "☒"
    entry = next(islice(field.iterfind(qn("w:listEntry")), int(value), None), None)
    return "" if entry is None else entry.get(_VALUE, "")


def _read_symbol(font: str, code: str) -> str:
    """Return the character of a hexadecimal code, which may be shifted into Unicode's private area."""
    number = int(code, 16)
    if 0xF000 <= number <= 0xF0FF or font in _SYMBOLS:
        return _SYMBOLS.get(font, {}).get(chr(number & 0xFF), "\N{REPLACEMENT CHARACTER}")
    return chr(number)


def _find(element: Iterable[Any], *tags: str) -> Iterator[Any]:
    """Yield the outermost elements with these tags inside an element, in order."""
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag not in _SKIPPED_TAGS:
            yield from _find(child, *tags)
