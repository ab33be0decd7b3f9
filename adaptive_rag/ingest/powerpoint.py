"""The PowerPoint loader: the slides of a .pptx, with tables, charts, diagrams and notes.

The XML is read directly with lxml: python-pptx holds pictures and films in memory, and does not read
diagrams.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.drawings import find_shapes, read_drawn, read_paragraphs
from adaptive_rag.ingest.embedded import EmbeddedFiles
from adaptive_rag.ingest.numbering import write_number
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
from adaptive_rag.ingest.table_cells import Rows

_TITLE_PLACEHOLDERS = ("title", "ctrTitle")
# Placeholders that are on every slide, or in small print below it.
_SKIPPED_PLACEHOLDERS = ("dt", "ftr", "hdr", "sldNum", "sldImg")
# Placeholders whose paragraphs are list items unless they are formatted otherwise.
_LIST_PLACEHOLDERS = ("body", "obj")
# The kinds of numbers that are not decimal, by how their names begin, and Word's names for them.
_NUMBER_FORMATS = {
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
}


def load_pptx(path: Path, builder: TextBuilder) -> None:
    """Write a presentation's visible slides into `builder`: a slide is a page, and its title a heading."""
    hidden = []
    left_out: Counter[str] = Counter()
    edges = set[str]()
    with open_archive(path, "a PowerPoint presentation", older=".ppt") as archive:
        embedded = EmbeddedFiles(archive, builder)
        note_core(archive, builder)
        presentation, links = open_main(archive, "presentation")
        for number, entry in enumerate(presentation.iterfind("{*}sldIdLst/{*}sldId"), start=1):
            part = links[linked_id(entry)].target
            slide = read_xml(archive, part)
            if slide.get("show") in ("0", "false"):
                hidden.append(str(number))
            else:
                reader = _Slide(archive, part, builder, embedded)
                reader.write(slide, number, edges)
                left_out["comment"] += reader.count_comments()
                left_out["chart"] += reader.missing
        embedded.write()
        if find_part(links, "vbaProject"):
            builder.notes.append("macros were left out")
    for kind, count in left_out.items():
        builder.note_left_out(kind, count)
    builder.note_hidden("slides", hidden)


class _Slide:
    """Writes the shapes of one slide in their own order, which is the order for reading aloud."""

    def __init__(
        self, archive: zipfile.ZipFile, part: str, builder: TextBuilder, embedded: EmbeddedFiles
    ) -> None:
        self.missing = 0
        """The number of charts whose parts are missing."""
        self._archive = archive
        self._embedded = embedded
        self._links = read_links(archive, part)
        self._builder = builder

    def write(self, slide: Any, number: int, edges: set[str]) -> None:
        """Write the slide's title, its shapes, its footer and the text of its layout, then its notes.

        `edges` has the footers and the like of the slides before.
        """
        shapes = list(find_shapes(slide.find("{*}cSld/{*}spTree")))
        titles = [shape for shape in shapes if _placeholder_type(shape) in _TITLE_PLACEHOLDERS]
        title = " ".join(text for shape in titles for text, _ in read_paragraphs(shape))
        self._builder.begin_slide(number, title)
        for shape in shapes:
            if shape not in titles:
                self._write_shape(shape)
        for text in select_edges(self._read_edges(shapes, slide), edges, lambda: self._builder.text):
            self._builder.add_paragraph(text)
        if part := find_part(self._links, "notesSlide"):
            self._write_notes(read_xml(self._archive, part))

    def count_comments(self) -> int:
        """Count the comments on the slide, which are not read."""
        names = self._archive.namelist()
        parts = [link.target for link in self._links.values() if link.kind == "comments"]
        roots = (read_xml(self._archive, part) for part in parts if part in names)
        return sum(sum(1 for _ in root.iter("{*}cm")) for root in roots)

    def _read_edges(self, shapes: list[Any], slide: Any) -> Iterator[str]:
        """Yield the text of the slide's footer, and the fixed text on its layout and its master."""
        edges = [shape for shape in shapes if _placeholder_type(shape) in ("ftr", "hdr")]
        root, links = slide, self._links
        for kind in ("slideLayout", "slideMaster"):
            part = find_part(links, kind)
            if part not in self._archive.namelist() or root.get("showMasterSp") in ("0", "false"):
                break
            root, links = read_xml(self._archive, part), read_links(self._archive, part)
            fixed_shapes = find_shapes(root.find("{*}cSld/{*}spTree"))
            edges += [shape for shape in fixed_shapes if not _placeholder_type(shape)]
        for shape in edges:
            yield from (text for text, _ in read_paragraphs(shape))

    def _write_shape(self, shape: Any) -> None:
        """Write a table, an embedded file, a chart, a diagram or the paragraphs of a shape."""
        kind = _placeholder_type(shape)
        if kind in _SKIPPED_PLACEHOLDERS:
            return
        if (table := shape.find(".//{*}tbl")) is not None:
            if rows := _read_table(table):
                self._builder.add_paragraph("\n".join(rows))
        elif (embedded := shape.find(".//{*}oleObj")) is not None:
            if link := self._links.get(linked_id(embedded)):
                self._embedded.add(link.target, embedded.get("progId", ""))
        else:
            content, texts = read_drawn(self._archive, self._links, shape)
            if content == "text":
                self._write_paragraphs(shape, is_list=kind in _LIST_PLACEHOLDERS)
                return
            self.missing += content == "chart" and not texts
            for text in texts:
                self._builder.add_paragraph(text, marker="-" if content == "diagram" else "")

    def _write_paragraphs(self, shape: Any, *, is_list: bool) -> None:
        """Write the paragraphs of a shape; in a list, those without a bullet of their own are items too."""
        paragraphs = list(read_paragraphs(shape))
        numbers: dict[int, tuple[int, tuple[str, str]]] = {}  # by level: the last item's number and its kind
        for text, settings in paragraphs:
            level = int(settings.get("lvl", 0)) if settings is not None else 0
            bullets = {local_name(each): each for each in settings} if settings is not None else {}
            numbers = {depth: last for depth, last in numbers.items() if depth <= level}
            marker = ""
            last_number, last_kind = numbers.pop(level, (0, None))
            if (numbering := bullets.get("buAutoNum")) is not None:
                kind = numbering.get("type", ""), numbering.get("startAt", "1")
                number = last_number + 1 if kind == last_kind else int(kind[1])
                numbers[level] = number, kind
                marker = _write_number(number, kind[0])
            elif "buNone" not in bullets:
                has_bullet = not bullets.keys().isdisjoint({"buChar", "buBlip"})
                if has_bullet or (is_list and len(paragraphs) > 1):
                    marker = "-"
            self._builder.add_paragraph(text, marker="  " * level + marker if marker else "")

    def _write_notes(self, notes: Any) -> None:
        bodies = [
            shape
            for shape in find_shapes(notes.find("{*}cSld/{*}spTree"))
            if _placeholder_type(shape) == "body"
        ]
        if any(True for shape in bodies for _ in read_paragraphs(shape)):
            self._builder.add_paragraph("Notes", level=2)
            for shape in bodies:
                self._write_paragraphs(shape, is_list=False)


def _write_number(number: int, kind: str) -> str:
    """Write the number of a list item: "a)" if the kind is "alphaLcParenR"."""
    text = write_number(number, _NUMBER_FORMATS.get(kind[:7], ""))
    if kind.endswith("ParenBoth"):
        return f"({text})"
    return f"{text})" if kind.endswith("ParenR") else f"{text}."


def _placeholder_type(shape: Any) -> str:
    """Return a shape's placeholder type, such as "title"; "" if it is not a placeholder."""
    placeholder = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
    return placeholder.get("type", "obj") if placeholder is not None else ""


def _read_table(table: Any) -> list[str]:
    """Return the rows of a table as lines; a merged cell is repeated in each place that it covers."""
    rows = Rows()
    lines = []
    for row in table.iterfind("{*}tr"):
        for cell in row.iterfind("{*}tc"):
            if not {cell.get("hMerge"), cell.get("vMerge")} & {"1", "true"}:
                rows.begin_cell({"colspan": cell.get("gridSpan", ""), "rowspan": cell.get("rowSpan", "")})
                rows.add("\n".join(text for text, _ in read_paragraphs(cell)))
        lines += rows.end_row()
    return lines
