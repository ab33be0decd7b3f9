"""The loaders of OpenDocument texts and presentations: an .odt or an .odp, by lxml."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.cells import Rows
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.package import local_name, note_core, open_archive, read_xml

# comments, how to pronounce a word, what was deleted, and lists of what stands elsewhere
_LEFT_OUT = {
    "annotation", "ruby-text", "tracked-changes", "table-of-content", "alphabetical-index",
    "illustration-index",
    "table-index", "object-index", "user-index", "bibliography", "forms", "sequence-decls", "variable-decls",
}  # fmt: skip
_BLANKS = {"s", "tab", "line-break"}
_SHAPES = {"frame", "custom-shape", "g", "rect", "ellipse", "line", "polygon", "path", "connector"}
# what stands on every slide
_FURNITURE = {"footer", "header", "date-time", "page-number"}
LAST_COLUMN = 16_384


def load_odt(path: Path, builder: TextBuilder) -> None:
    """Write the paragraphs, headings, lists and tables of an OpenDocument text into `builder`."""
    with open_document(path, "text", builder) as (body, styles):
        _Writer(builder, styles).write(body)


def load_odp(path: Path, builder: TextBuilder) -> None:
    """Write an OpenDocument presentation into `builder`: a slide is a page, and its title a heading.

    Hidden slides are left out, and a note says so.
    """
    hidden = []
    with open_document(path, "presentation", builder) as (body, styles):
        for number, page in enumerate(body.iterfind("{*}page"), start=1):
            if styles.is_hidden(page):
                hidden.append(str(number))
            else:
                builder.mark_page(number)
                _write_slide(page, number, builder, styles)
    if hidden:
        builder.notes.append(f"hidden slides were left out: {', '.join(hidden)}")


class Styles:
    """What the named styles of a document say of what has them."""

    def __init__(self, *parts: Any) -> None:
        self._named = {
            (local_name(style), read_attribute(style, "name")): style
            for part in parts
            for style in part.iter("{*}style", "{*}list-style")
        }

    def is_hidden(self, element: Any) -> bool:
        """Tell whether a sheet or a slide is not shown."""
        style = self._named.get(("style", read_attribute(element, "style-name")))
        found = style if style is not None else ()
        return any(
            read_attribute(each, "display") == "false" or read_attribute(each, "visibility") == "hidden"
            for each in found
        )

    def is_title(self, paragraph: Any) -> bool:
        """Tell whether a paragraph is the document's title."""
        name = read_attribute(paragraph, "style-name")
        style = self._named.get(("style", name))
        return "Title" in (name, read_attribute(style, "parent-style-name") if style is not None else "")

    def is_numbered(self, name: str, level: int) -> bool:
        """Tell whether the items of a list have numbers at a level, from 1."""
        style = self._named.get(("list-style", name))
        found = style if style is not None else ()
        return any(
            local_name(each) == "list-level-style-number"
            and read_attribute(each, "level") == str(level)
            and read_attribute(each, "num-format")
            for each in found
        )


@contextmanager
def open_document(path: Path, kind: str, builder: TextBuilder) -> Iterator[tuple[Any, Styles]]:
    """Open a document, and give what it consists of and its styles.

    Raises:
        IndexingError: it is no OpenDocument file of this kind, is encrypted or damaged.
    """
    with open_archive(path, f"an OpenDocument {kind}") as archive:
        if _is_encrypted(archive):
            raise IndexingError("asks for a password. Save it without one")
        content = read_xml(archive, "content.xml")
        body = content.find(f"{{*}}body/{{*}}{kind}")
        if body is None:
            raise ValueError(f"no {kind}")
        common = [read_xml(archive, "styles.xml")] if "styles.xml" in archive.namelist() else []
        note_core(archive, builder)
        yield body, Styles(*common, content)


def _is_encrypted(archive: zipfile.ZipFile) -> bool:
    manifest = "META-INF/manifest.xml"
    found = (
        read_xml(archive, manifest).find(".//{*}encryption-data") if manifest in archive.namelist() else None
    )
    return found is not None


class _Writer:
    """Writes what a text, a text box or a cell consists of."""

    def __init__(self, builder: TextBuilder, styles: Styles) -> None:
        self._builder = builder
        self._styles = styles
        self._numbers: dict[tuple[str, int], int] = {}  # by list and level, of the last item

    def write(self, element: Any) -> None:
        for block in element:
            match local_name(block):
                case "h":
                    self._write_paragraph(block, level=int(read_attribute(block, "outline-level") or 1))
                case "p":
                    self._write_paragraph(block, level=1 if self._styles.is_title(block) else None)
                case "list":
                    self._write_list(block, "", 1)
                case "table":
                    rows = Rows()
                    lines = [line for row in table_rows(block) for line in _read_row(row, rows)]
                    if lines:
                        self._builder.add_paragraph("\n".join(lines))
                case name if name not in _LEFT_OUT:
                    self.write(block)

    def _write_paragraph(self, element: Any, *, level: int | None = None, marker: str = "") -> bool:
        """Write a paragraph, then its notes and what else is anchored in it; tell whether it holds text."""
        apart: list[Any] = []
        text = read_text(element, apart)
        if text:
            self._builder.add_paragraph(text, level=level, marker=marker)
        for each in apart:
            self.write(each)
        return bool(text)

    def _write_list(self, element: Any, style: str, level: int) -> None:
        style = read_attribute(element, "style-name") or style
        goes_on = read_attribute(element, "continue-numbering") == "true" or read_attribute(
            element, "continue-list"
        )
        number = self._numbers.get((style, level), 0) if goes_on else 0
        numbered = self._styles.is_numbered(style, level)
        for item in element:
            marked = local_name(item) != "list-item"
            for block in item:
                if local_name(block) == "list":
                    self._write_list(block, style, level + 1)
                elif local_name(block) == "p" and not marked:
                    marker = "  " * (level - 1) + (f"{number + 1}." if numbered else "-")
                    marked = self._write_paragraph(block, marker=marker)
                    number += marked
                elif local_name(block) == "h":
                    self._write_paragraph(block, level=int(read_attribute(block, "outline-level") or 1))
                elif local_name(block) == "p":
                    self._write_paragraph(block)
        self._numbers[style, level] = number


def _write_slide(page: Any, number: int, builder: TextBuilder, styles: Styles) -> None:
    writer = _Writer(builder, styles)
    shapes = [shape for shape in page if read_attribute(shape, "class") not in _FURNITURE]
    titles = [shape for shape in shapes if read_attribute(shape, "class") == "title"]
    parts = (read_text(part, []) for shape in titles for part in shape.iter("{*}p"))
    if title := " ".join(filter(None, parts)):
        builder.add_paragraph(title, level=1)
    else:
        builder.mark_heading(f"Slide {number}", 1)
    for shape in shapes:
        if shape not in titles and local_name(shape) != "notes":
            writer.write(shape)
    bodies = [
        shape for shape in page.iterfind("{*}notes/{*}frame") if read_attribute(shape, "class") == "notes"
    ]
    if any(read_text(part, []) for shape in bodies for part in shape.iter("{*}p")):
        builder.add_paragraph("Notes", level=2)
        for shape in bodies:
            writer.write(shape)


def read_text(element: Any, apart: list[Any]) -> str:
    """Return a paragraph's own text; its notes and what is anchored in it are added to `apart`."""
    parts: list[str] = []

    def gather(part: Any) -> None:
        parts.append(part.text or "")
        for child in part:
            name = local_name(child)
            if name in _BLANKS:
                parts.append(" ")
            elif name == "note":
                apart.extend(child.iterfind("{*}note-body"))
            elif name in _SHAPES:
                apart.append(child)
            elif name and name not in _LEFT_OUT:
                gather(child)
            parts.append(child.tail or "")

    gather(element)
    return " ".join("".join(parts).split())


def table_rows(table: Any) -> Iterator[Any]:
    """Yield the rows of a table, also those that are grouped or repeated as its head."""
    for element in table:
        name = local_name(element)
        if name == "table-row":
            yield element
        elif name in ("table-header-rows", "table-row-group", "table-rows"):
            yield from table_rows(element)


def _read_row(row: Any, rows: Rows) -> list[str]:
    """Return a row of a text's table as lines."""
    for cell in row.iterfind("{*}table-cell"):
        spans = {
            "colspan": read_attribute(cell, "number-columns-spanned"),
            "rowspan": read_attribute(cell, "number-rows-spanned"),
        }
        for _ in range(min(count_of(cell, "number-columns-repeated"), LAST_COLUMN)):
            rows.begin_cell(spans)
            rows.add("\n".join(read_text(part, []) for part in cell.iter("{*}p", "{*}h")))
    return rows.end_row()


def count_of(element: Any, name: str) -> int:
    """Return how many times an element stands there, or how many places it covers."""
    return max(int(read_attribute(element, name) or 1), 1)


def read_attribute(element: Any, name: str) -> str:
    """Return an attribute by its name without its namespace; "" where it is not there."""
    found = (str(value) for key, value in element.items() if key.rpartition("}")[2] == name)
    return next(found, "")
