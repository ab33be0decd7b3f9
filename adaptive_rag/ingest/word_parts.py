"""Charts, diagrams and embedded files of a Word document, most of them stored in parts of their own."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from docx.oxml.ns import qn

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.drawings import read_chart, read_diagram, read_paragraphs
from adaptive_rag.ingest.embedded import EmbeddedFiles
from adaptive_rag.ingest.package import find_part, linked_id, read_linked, read_links, read_xml

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/"
_CHARTS = (f"{_DRAWING}chart}}chart", "{http://schemas.microsoft.com/office/drawing/2014/chartex}chart")
_DIAGRAM = f"{_DRAWING}diagram}}relIds"
_LOCKED_CANVAS = f"{_DRAWING}lockedCanvas}}lockedCanvas"
_OBJECT = "{urn:schemas-microsoft-com:office:office}OLEObject"
_WORD_ART = "{urn:schemas-microsoft-com:vml}textpath"
# A document of another kind that Word shows in this place.
_CHUNK = qn("w:altChunk")
DRAWN = (*_CHARTS, _DIAGRAM, _LOCKED_CANVAS, _OBJECT, _WORD_ART, _CHUNK)


class WordParts:
    """Writes the content of a document that is not in paragraphs and tables, each part in its place."""

    def __init__(self, archive: zipfile.ZipFile, main: str, builder: TextBuilder) -> None:
        self.builder = builder
        self._archive = archive
        self.links = read_links(archive, main)
        self._names = set(archive.namelist())
        self._embedded = EmbeddedFiles(archive, builder)
        self._missing: Counter[str] = Counter()

    def write(self, element: Any) -> None:
        """Write an element with one of the tags in DRAWN."""
        if element.tag in _CHARTS:
            self._write_part(element, "id", "chart", read_chart)
        elif element.tag == _DIAGRAM:
            self._write_part(element, "dm", "diagram", read_diagram, marker="-")
        elif element.tag == _CHUNK:
            self._missing["part"] += 1
        elif element.tag == _OBJECT:
            if (part := self._target(element)) and element.get("Type") != "Link":
                self._embedded.add(part, element.get("ProgID", ""))
        elif element.tag == _LOCKED_CANVAS:
            for text, _ in read_paragraphs(element):
                self.builder.add_paragraph(text)
        elif text := " ".join(element.get("string", "").split()):
            self.builder.add_paragraph(text)

    def read(self, kind: str) -> Any | None:
        """Return the root of the part of a kind, such as "footnotes"; None if there is none."""
        part = find_part(self.links, kind)
        return read_xml(self._archive, part) if part in self._names else None

    def page_edges(self, body: Any) -> Iterator[Any]:
        """Yield the page headers and footers that sections refer to."""
        references = body.iter(qn("w:headerReference"), qn("w:footerReference"))
        for part in dict.fromkeys(self._target(reference) for reference in references):
            if part in self._names:
                yield read_xml(self._archive, part)

    def finish(self) -> None:
        """Write the embedded files, and note what was left out."""
        self._embedded.write()
        comments = self.read("comments")
        self._missing["comment"] += 0 if comments is None else len(comments)
        for kind, count in self._missing.items():
            self.builder.note_left_out(kind, count)
        if find_part(self.links, "vbaProject"):
            self.builder.notes.append("macros were left out")

    def _target(self, element: Any) -> str:
        """Return the part that an element refers to; "" if there is none."""
        link = self.links.get(linked_id(element))
        return link.target if link else ""

    def _write_part(
        self, element: Any, name: str, kind: str, read: Callable[[Any], Iterator[str]], *, marker: str = ""
    ) -> None:
        """Write the texts of a part that an element refers to, or count it as missing."""
        root = read_linked(self._archive, self.links, element, name)
        if root is None:
            self._missing[kind] += 1
            return
        for text in read(root):
            self.builder.add_paragraph(text, marker=marker)
