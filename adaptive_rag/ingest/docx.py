"""The loader of Word documents: paragraphs, headings, lists and tables of a .docx, by python-docx."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import docx
from docx.opc.exceptions import OpcError
from docx.oxml.exceptions import XmlchemyError
from docx.oxml.ns import qn
from lxml import etree

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.package import note_core, open_archive, read_xml
from adaptive_rag.text.tables import EMPTY_CELL

_P, _TABLE, _ROW, _CELL = map(qn, ("w:p", "w:tbl", "w:tr", "w:tc"))
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
            for text, level, item in _blocks(document.element.body, styles):
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


def _blocks(
    element: Iterable[Any], styles: Mapping[str, tuple[int | None, bool]]
) -> Iterator[tuple[str, int | None, bool]]:
    """Yield the text of each paragraph and table, its heading level, and whether it is a list item."""
    for block in _find(element, _P, _TABLE):
        if block.tag == _TABLE:
            if table := "\n".join(filter(None, map(_row_text, _find(block, _ROW)))):
                yield table, None, False
            continue
        if text := _text(block):
            level, listed = styles.get(block.style, (None, False))
            numbered = _is_numbered(block)
            yield text, level, level is None and (listed if numbered is None else numbered)
        for run in block:
            yield from _blocks(run, styles)  # text boxes


def _row_text(row: Any) -> str:
    """Return a row's cells on one line, with a dash in an empty one, so that the columns stay apart."""
    cells = [" ".join(filter(None, map(_text, _find(cell, _P)))) for cell in _find(row, _CELL)]
    while cells and not cells[-1]:
        cells.pop()
    return " | ".join(cell or EMPTY_CELL for cell in cells)


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
