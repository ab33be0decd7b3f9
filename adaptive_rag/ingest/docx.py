"""The loader of Word documents: paragraphs, headings, lists and tables of a .docx, by python-docx."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from itertools import takewhile
from pathlib import Path
from typing import Any

import docx
from docx.opc.exceptions import OpcError
from docx.oxml.exceptions import XmlchemyError
from docx.oxml.ns import qn
from lxml import etree

from adaptive_rag.ingest.cells import Rows
from adaptive_rag.ingest.documents import TextBuilder
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


def load_docx(path: Path, builder: TextBuilder) -> None:
    """Write a Word document's text and headings into `builder`."""
    with open_archive(path, "a Word document", older=".doc") as archive:
        try:
            document = docx.Document(_text_parts(archive))
            styles = {style.style_id: _read_style(style) for style in document.styles}
            notes = {kind: _read_notes(archive, kind) for kind in _REFERENCES.values()}
            for text, level, item in _blocks(document.element.body, styles, notes):
                builder.add_paragraph(text, level=level, marker="-" if item else "")
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


def _read_style(style: Any) -> tuple[int | None, bool]:
    """Return a style's heading level, and whether its paragraphs are items of a list.

    Word names its own styles in English, whatever language it shows them in.
    """
    listed = False
    for _ in range(_LONGEST_INHERITANCE):
        if match := _HEADING.match(style.name or ""):
            return int(match[1] or 1), False
        if outline := style.element.xpath("./w:pPr/w:outlineLvl/@w:val"):
            return (int(outline[0]) + 1 if outline[0] in tuple("012345678") else None), listed
        listed = listed or bool(_is_numbered(style.element))
        style = getattr(style, "base_style", None)
        if style is None:
            break
    return None, listed


def _is_numbered(element: Any) -> bool | None:
    """Tell whether a paragraph or a style is numbered; None where it does not say."""
    found = element.xpath("./w:pPr/w:numPr")
    return not found[0].xpath("./w:numId[@w:val='0']") if found else None


def _read_notes(archive: zipfile.ZipFile, kind: str) -> dict[str | None, str]:
    """Return the text of each footnote or endnote by its number in the file."""
    name = f"word/{kind}s.xml"
    found = read_xml(archive, name).findall(qn(f"w:{kind}")) if name in archive.namelist() else ()
    return {note.get(qn("w:id")): " ".join(filter(None, map(_text, _find(note, _P)))) for note in found}


def _blocks(
    element: Iterable[Any],
    styles: Mapping[str, tuple[int | None, bool]],
    notes: Mapping[str, Mapping[str | None, str]],
) -> Iterator[tuple[str, int | None, bool]]:
    """Yield the text of each paragraph and table, its heading level, and whether it is a list item.

    The notes that one refers to come after it.
    """
    for block in _find(element, _P, _TABLE):
        if block.tag == _TABLE:
            if table := "\n".join(_table_lines(block)):
                yield table, None, False
            references = block.iter(*_REFERENCES)
        else:
            if text := _text(block):
                level, listed = styles.get(block.style, (None, False))
                numbered = _is_numbered(block)
                yield text, level, level is None and (listed if numbered is None else numbered)
            references = (found for found in _find(block, *_REFERENCES, _P) if found.tag != _P)
        for found in references:
            if note := notes[_REFERENCES[found.tag]].get(found.get(qn("w:id"))):
                yield note, None, False
        if block.tag == _P:
            for run in block:
                yield from _blocks(run, styles, notes)  # text boxes


def _table_lines(table: Any) -> Iterator[str]:
    """Yield the rows of a table; what is merged stands in each place that it covers."""
    grid: list[dict[int, tuple[Any, int]]] = []  # by row and column: a cell, and the columns that it covers
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
                rows.add("\n".join(map(_text, _find(cell, _P))))
        yield from rows.end_row()


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
