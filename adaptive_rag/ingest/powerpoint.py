"""The loader of PowerPoint presentations: a .pptx slide by slide, with tables, charts, diagrams and notes.

The file is read as it stands, by lxml: python-pptx holds its pictures and films in memory, and does not
read diagrams.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptive_rag.ingest.cells import Rows
from adaptive_rag.ingest.documents import TextBuilder
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
from adaptive_rag.text.tables import EMPTY_CELL

_P = (
    "{http://schemas.openxmlformats.org/drawingml/2006/main}p",
    "{http://purl.oclc.org/ooxml/drawingml/main}p",
)
_TITLES = ("title", "ctrTitle")
# what stands on every slide, or in small print below it
_FURNITURE = ("dt", "ftr", "hdr", "sldNum", "sldImg")
# the placeholders whose paragraphs are items of a list unless they say otherwise
_LISTS = ("body", "obj")


def load_pptx(path: Path, builder: TextBuilder) -> None:
    """Write a presentation's slides into `builder`: a slide is a page, and its title a heading.

    Hidden slides are left out, and a note says so.
    """
    hidden = []
    with open_archive(path, "a PowerPoint presentation", older=".ppt") as archive:
        note_core(archive, builder)
        presentation, links = open_main(archive, "presentation")
        for number, entry in enumerate(presentation.iterfind("{*}sldIdLst/{*}sldId"), start=1):
            part = links[linked_id(entry)].target
            slide = read_xml(archive, part)
            if slide.get("show") in ("0", "false"):
                hidden.append(str(number))
            else:
                builder.mark_page(number)
                _Slide(archive, part, builder).write(slide, number)
    if hidden:
        builder.notes.append(f"hidden slides were left out: {', '.join(hidden)}")


class _Slide:
    """Writes the shapes of one slide in their own order, which is the one in which they are read aloud."""

    def __init__(self, archive: zipfile.ZipFile, part: str, builder: TextBuilder) -> None:
        self._archive = archive
        self._links = read_links(archive, part)
        self._builder = builder

    def write(self, slide: Any, number: int) -> None:
        shapes = list(_shapes(slide.find("{*}cSld/{*}spTree")))
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        title = " ".join(text for shape in titles for text, _ in _paragraphs(shape))
        if title:
            self._builder.add_paragraph(title, level=1)
        else:
            self._builder.mark_heading(f"Slide {number}", 1)
        for shape in shapes:
            if shape not in titles:
                self._write_shape(shape)
        if part := find_part(self._links, "notesSlide"):
            self._write_notes(read_xml(self._archive, part))

    def _write_shape(self, shape: Any) -> None:
        kind = _placeholder(shape)
        if kind in _FURNITURE:
            return
        if (table := shape.find(".//{*}tbl")) is not None:
            self._add_table(_read_table(table))
        elif (chart := shape.find(".//{*}chart")) is not None:
            self._write_chart(read_xml(self._archive, self._links[linked_id(chart)].target))
        elif (diagram := shape.find(".//{*}relIds")) is not None:
            data = read_xml(self._archive, self._links[linked_id(diagram, "dm")].target)
            for point in data.iter("{*}pt"):
                for text, _ in _paragraphs(point):
                    self._builder.add_paragraph(text, marker="-")
        else:
            self._write_paragraphs(shape, listed=kind in _LISTS)

    def _write_paragraphs(self, shape: Any, *, listed: bool) -> None:
        found = list(_paragraphs(shape))
        numbers: dict[int, int] = {}  # by level, of the last item
        for text, settings in found:
            level = int(settings.get("lvl", 0)) if settings is not None else 0
            signs = {local_name(each) for each in settings} if settings is not None else set()
            numbers = {deep: last for deep, last in numbers.items() if deep <= level}
            marker = ""
            if "buAutoNum" in signs:
                numbers[level] = numbers.get(level, 0) + 1
                marker = f"{numbers[level]}."
            elif "buNone" not in signs and (signs & {"buChar", "buBlip"} or (listed and len(found) > 1)):
                marker = "-"
            self._builder.add_paragraph(text, marker="  " * level + marker if marker else "")

    def _write_notes(self, notes: Any) -> None:
        bodies = [
            shape for shape in _shapes(notes.find("{*}cSld/{*}spTree")) if _placeholder(shape) == "body"
        ]
        if any(True for shape in bodies for _ in _paragraphs(shape)):
            self._builder.add_paragraph("Notes", level=2)
            for shape in bodies:
                self._write_paragraphs(shape, listed=False)

    def _write_chart(self, chart: Any) -> None:
        """Write the numbers that a chart draws, as a table below its title."""
        if title := " ".join(text for found in chart.iter("{*}title") for text, _ in _paragraphs(found)):
            self._builder.add_paragraph(title)
        series = list(chart.iter("{*}ser"))
        names = {place: name for one in series for place, name in _points(one, "cat").items()}
        columns = [_points(one, "val") for one in series]
        heads = [" ".join(_points(one, "tx").values()) or EMPTY_CELL for one in series]
        rows = [[names[at], *(column.get(at, EMPTY_CELL) for column in columns)] for at in sorted(names)]
        self._add_table([" | ".join(row) for row in [[EMPTY_CELL, *heads], *rows]] if rows else [])

    def _add_table(self, rows: list[str]) -> None:
        if rows:
            self._builder.add_paragraph("\n".join(rows))


def _shapes(tree: Any) -> Iterator[Any]:
    """Yield the shapes of a slide, also those in groups, and of each choice of programs the first one."""
    for shape in tree if tree is not None else ():
        match local_name(shape):
            case "grpSp" | "AlternateContent" | "Choice":
                yield from _shapes(shape)
            case "sp" | "graphicFrame":
                yield shape


def _placeholder(shape: Any) -> str:
    """Return what a shape is there for by the slide's layout, such as "title"; "" where it is free."""
    found = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
    return found.get("type", "obj") if found is not None else ""


def _paragraphs(element: Any) -> Iterator[tuple[str, Any]]:
    """Yield the text of each paragraph that holds some, and its settings or None."""
    for paragraph in element.iter(*_P):
        parts = (part.text or " " for part in paragraph.iter("{*}t", "{*}br"))
        if text := " ".join("".join(parts).split()):
            yield text, paragraph.find("{*}pPr")


def _read_table(table: Any) -> list[str]:
    rows = Rows()
    written = []
    for row in table.iterfind("{*}tr"):
        for cell in row.iterfind("{*}tc"):
            if not {cell.get("hMerge"), cell.get("vMerge")} & {"1", "true"}:
                rows.begin_cell({"colspan": cell.get("gridSpan", ""), "rowspan": cell.get("rowSpan", "")})
                rows.add("\n".join(text for text, _ in _paragraphs(cell)))
        written += rows.end_row()
    return written


def _points(series: Any, kind: str) -> dict[int, str]:
    """Return the values that a chart keeps of a series, by their places."""
    points = series.iterfind(f"{{*}}{kind}//{{*}}pt")
    return {int(point.get("idx", 0)): " ".join((point.findtext("{*}v") or "").split()) for point in points}
