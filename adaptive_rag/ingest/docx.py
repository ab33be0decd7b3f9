"""The loader of Word documents: paragraphs, headings, lists and tables of a .docx, by python-docx."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import docx
from docx.opc.exceptions import OpcError
from docx.oxml.exceptions import XmlchemyError
from docx.oxml.ns import qn
from lxml import etree

from adaptive_rag.ingest.cells import Rows
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.numbering import BULLET, DEEPEST, Numbering
from adaptive_rag.ingest.package import note_core, open_archive, read_xml

_P, _TABLE, _ROW, _CELL = map(qn, ("w:p", "w:tbl", "w:tr", "w:tc"))
_REFERENCES = {qn(f"w:{kind}Reference"): kind for kind in ("footnote", "endnote")}
# the elements that stand for characters, and which; "w:t" holds its own
_BLANKS = dict.fromkeys(map(qn, ("w:tab", "w:br", "w:cr")), " ")
_CHARACTERS = {qn("w:t"): "", qn("w:noBreakHyphen"): "-", **_BLANKS}
# formatting, text that was moved away, how to pronounce a word, and the second copy of a text box
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_LEFT_OUT = {*map(qn, ("w:pPr", "w:rPr", "w:moveFrom", "w:rt")), _FALLBACK}
_HEADING = re.compile(r"heading\s*([1-9])|title$", re.IGNORECASE)
# styles inherit: "My chapter" from "Heading 1"; a circle of them ends here
_LONGEST_INHERITANCE = 10
_NO_LIST = "0"
_LIST = f"{qn('w:pPr')}/{qn('w:numPr')}"
_NUMBER, _DEPTH, _VALUE = map(qn, ("w:numId", "w:ilvl", "w:val"))
# What marks a line of a list. A longer number, "4.2" or "Article 3", begins a paragraph of its own.
_MARK = re.compile(r"-|\(?(?:\d{1,3}|[a-z]|[ivx]{2,5})[.)]", re.IGNORECASE)
_NUMBERING = "word/numbering.xml"


class _Style(NamedTuple):
    """What a style says of its paragraphs, or the style that it is based on."""

    level: int | None = None
    """As a heading."""
    number: str | None = None
    """The list that counts them."""
    depth: int = 0
    """Their level in that list."""


def load_docx(path: Path, builder: TextBuilder) -> None:
    """Write a Word document's text and headings into `builder`."""
    with open_archive(path, "a Word document", older=".doc") as archive:
        try:
            document = docx.Document(_text_parts(archive))
            root = read_xml(archive, _NUMBERING) if _NUMBERING in archive.namelist() else None
            numbering = Numbering(root)
            styles = {style.style_id: _read_style(style, numbering) for style in document.styles}
            notes = {kind: _read_notes(archive, kind) for kind in _REFERENCES.values()}
            reader = _Reader(styles, numbering, notes)
            for text, level, marker in reader.blocks(document.element.body):
                builder.add_paragraph(text, level=level, marker=marker)
            note_core(archive, builder)
        except (OpcError, XmlchemyError) as error:
            raise ValueError(str(error)) from error


def _text_parts(whole: zipfile.ZipFile) -> BytesIO:
    """Copy the document without its pictures, which python-docx would hold in memory.

    Only the text and its styles stay linked, so that a link to a picture that is missing does no harm.
    """
    kept = BytesIO()
    with zipfile.ZipFile(kept, "w") as copy:
        for name in (part.filename for part in whole.infolist()):
            if name.endswith(".rels"):
                links = read_xml(whole, name)
                for link in list(links):
                    if not link.get("Type", "").endswith(("/officeDocument", "/styles")):
                        links.remove(link)
                copy.writestr(name, etree.tostring(links))
            elif name.endswith(".xml"):
                copy.writestr(name, whole.read(name))
    return kept


def _read_style(style: Any, numbering: Numbering) -> _Style:
    """Return what a style says, or else those that it inherits from.

    Word names its own styles in English, whatever language it shows them in.
    """
    level = number = None
    settled, depth = False, 0
    for _ in range(_LONGEST_INHERITANCE):
        if number is None:
            number, own = _list_of(style.element)
            depth = numbering.depth_of(number, style.style_id) if number and own is None else own or 0
        if not settled:
            outline = style.element.xpath("./w:pPr/w:outlineLvl/@w:val")
            if match := _HEADING.match(style.name or ""):
                level, settled = int(match[1] or 1), True
            elif outline:
                level, settled = (int(outline[0]) + 1 if outline[0] in tuple("012345678") else None), True
        style = getattr(style, "base_style", None)
        if style is None:
            break
    return _Style(level, number, depth)


def _list_of(element: Any) -> tuple[str | None, int | None]:
    """Return the list that a paragraph or a style names, and the level in it; None where it does not say."""
    found = element.find(_LIST)
    known = {} if found is None else {each.tag: each.get(_VALUE) for each in found}
    depth = known.get(_DEPTH)
    return known.get(_NUMBER), min(int(depth), DEEPEST) if depth else None


def _read_notes(archive: zipfile.ZipFile, kind: str) -> dict[str | None, str]:
    """Return the text of each footnote or endnote by its number in the file."""
    name = f"word/{kind}s.xml"
    found = read_xml(archive, name).findall(qn(f"w:{kind}")) if name in archive.namelist() else ()
    return {note.get(qn("w:id")): " ".join(filter(None, map(_text, _find(note, _P)))) for note in found}


class _Reader:
    """Reads paragraphs and tables in their order, which their numbers follow."""

    def __init__(
        self,
        styles: Mapping[str, _Style],
        numbering: Numbering,
        notes: Mapping[str, Mapping[str | None, str]],
    ) -> None:
        self._styles = styles
        self._numbering = numbering
        self._notes = notes

    def blocks(self, element: Iterable[Any]) -> Iterator[tuple[str, int | None, str]]:
        """Yield the text of each paragraph and table, its heading level, and what marks a list item.

        The number of a heading is part of its text. The notes that a block refers to come after it.
        """
        for block in _find(element, _P, _TABLE):
            if block.tag == _TABLE:
                if table := "\n".join(self._table_lines(block)):
                    yield table, None, ""
                references = block.iter(*_REFERENCES)
            else:
                text, style, marker, depth = self._read(block)
                if text and style.level is None and _MARK.fullmatch(marker):
                    yield text, None, "  " * depth + marker
                elif text:
                    yield _after(marker, text), style.level, ""
                references = (found for found in _find(block, *_REFERENCES, _P) if found.tag != _P)
            for found in references:
                if note := self._notes[_REFERENCES[found.tag]].get(found.get(qn("w:id"))):
                    yield note, None, ""
            if block.tag == _P:
                for run in block:
                    yield from self.blocks(run)  # text boxes

    def _read(self, paragraph: Any) -> tuple[str, _Style, str, int]:
        """Return a paragraph's text, its style, and what stands before it in a list, at which level.

        One without text is counted too, as Word does.
        """
        style = self._styles.get(paragraph.style, _Style())
        number, depth = _list_of(paragraph)
        number, depth = number or style.number or _NO_LIST, style.depth if depth is None else depth
        marker = "" if number == _NO_LIST else self._numbering.count(number, depth)
        return _text(paragraph), style, marker, depth

    def _table_lines(self, table: Any) -> Iterator[str]:
        """Yield the rows of a table; what is merged stands in each place that it covers."""
        grid: list[dict[int, tuple[Any, int]]] = []  # by row and column: a cell, and the columns it covers
        for row in _find(table, _ROW):
            grid.append({})
            column = 0
            for cell in _find(row, _CELL):
                spans = cell.xpath("./w:tcPr/w:gridSpan/@w:val")
                columns = int(spans[0]) if spans else 1
                grid[-1][column] = cell, columns
                column += columns
        rows = Rows()
        for at, cells in enumerate(grid):
            for column, (cell, columns) in cells.items():
                if not _goes_on(cell):
                    below = (column in later and _goes_on(later[column][0]) for later in grid[at + 1 :])
                    height = 1 + sum(takewhile(bool, below))
                    rows.begin_cell({"colspan": str(columns), "rowspan": str(height)})
                    rows.add("\n".join(self._cell_lines(cell)))
            yield from rows.end_row()

    def _cell_lines(self, cell: Any) -> Iterator[str]:
        for paragraph in _find(cell, _P):
            text, _, marker, _ = self._read(paragraph)
            yield _after(marker, text)


def _after(marker: str, text: str) -> str:
    """Put a number before a text; a bullet says nothing."""
    return text if marker in ("", BULLET) else f"{marker} {text}".strip()


def _goes_on(cell: Any) -> bool:
    """Tell whether a cell is merged with the one above it."""
    return bool(cell.xpath("./w:tcPr/w:vMerge[not(@w:val) or @w:val='continue']"))


def _text(paragraph: Any) -> str:
    """Return a paragraph's own text, without that of a text box in it."""
    found = _find(paragraph, *_CHARACTERS, _P)
    return " ".join("".join(part.text or _CHARACTERS[part.tag] for part in found if part.tag != _P).split())


def _find(element: Iterable[Any], *tags: str) -> Iterator[Any]:
    """Yield the elements of these kinds in an element, in order, but none inside another."""
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag not in _LEFT_OUT:
            yield from _find(child, *tags)
