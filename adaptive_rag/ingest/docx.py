"""The Word loader: paragraphs, headings and tables of a .docx, by the standard library alone.

LangChain's own loader for it needs a further package and gives running text without headings; a chunk's
section could not be told from that.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.builder import TextBuilder

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_ALTERNATIVE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_HEADING = re.compile(r"heading\s*([1-9])", re.IGNORECASE)
# what a document's text unpacks to, at most; more is an attack or not a document
_LARGEST = 200_000_000


def read_docx(path: Path, builder: TextBuilder) -> None:
    """Write a Word document's text and headings into `builder`.

    Raises:
        IndexingError: the file is not a Word document, or is damaged or encrypted.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            levels = _heading_levels(archive)
            body = _part(archive, "word/document.xml")
    except (zipfile.BadZipFile, KeyError, EOFError, RuntimeError, ElementTree.ParseError) as error:
        with path.open("rb") as file:
            old = file.read(4) == b"\xd0\xcf\x11\xe0"
        reason = (
            "is encrypted, or is in the older .doc format. Save it from Word as .docx without a password"
            if old
            else f"is not a Word document or is damaged ({error}). Save it from Word again"
        )
        raise IndexingError(reason) from error
    listed = False
    for text, level, item in _blocks(body, levels):
        if item and listed:
            builder.add("\n" + text)
        else:
            builder.add_paragraph(text, level=level)
        listed = item


def _part(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    if archive.getinfo(name).file_size > _LARGEST:
        raise IndexingError(f"unpacks to more than {_LARGEST // 1_000_000} MB of text and is not read")
    return ElementTree.fromstring(archive.read(name))


def _heading_levels(archive: zipfile.ZipFile) -> dict[str, int]:
    """Return the heading level of each paragraph style that has one, whatever language names it."""
    levels = {}
    try:
        styles = _part(archive, "word/styles.xml")
    except KeyError:
        return {}
    for style in styles.iter(f"{_W}style"):
        name = style.find(f"{_W}name")
        outline = style.find(f"{_W}pPr/{_W}outlineLvl")
        named = name.get(f"{_W}val", "") if name is not None else ""
        if match := _HEADING.match(named):
            levels[style.get(f"{_W}styleId", "")] = int(match[1])
        elif named.casefold() == "title":
            levels[style.get(f"{_W}styleId", "")] = 1
        elif outline is not None and outline.get(f"{_W}val", "9") < "9":
            levels[style.get(f"{_W}styleId", "")] = int(outline.get(f"{_W}val", "0")) + 1
    return levels


def _blocks(element: ElementTree.Element, levels: dict[str, int]) -> Iterator[tuple[str, int | None, bool]]:
    """Yield the text of each paragraph and table, its heading level, and whether it is a list item."""
    for child in element:
        if child.tag == f"{_W}p":
            text = _text(child).strip()
            if not text:
                continue
            style = child.find(f"{_W}pPr/{_W}pStyle")
            level = levels.get(style.get(f"{_W}val", "")) if style is not None else None
            item = level is None and child.find(f"{_W}pPr/{_W}numPr") is not None
            yield ("- " + text if item else text), level, item
        elif child.tag == f"{_W}tbl":
            rows = (
                " | ".join(filter(None, (" ".join(_text(cell).split()) for cell in row.iter(f"{_W}tc"))))
                for row in child.iter(f"{_W}tr")
            )
            if table := "\n".join(filter(None, rows)):
                yield table, None, False
        elif child.tag != _ALTERNATIVE:
            yield from _blocks(child, levels)


def _text(paragraph: ElementTree.Element) -> str:
    parts = []
    for node in paragraph.iter():
        if node.tag == f"{_W}t":
            parts.append(node.text or "")
        elif node.tag in {f"{_W}tab", f"{_W}br", f"{_W}cr", f"{_W}p"}:
            parts.append(" ")
        elif node.tag == f"{_W}noBreakHyphen":
            parts.append("-")
    return re.sub(r"\s+", " ", "".join(parts))
