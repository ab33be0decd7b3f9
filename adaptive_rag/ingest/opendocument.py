"""The loaders of OpenDocument texts (.odt) and presentations (.odp), which are read with lxml."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.embedded import EmbeddedFiles
from adaptive_rag.ingest.mathml import read_mathml
from adaptive_rag.ingest.numbering import SHORT_FORMATS, write_number
from adaptive_rag.ingest.package import local_name, note_core, open_archive, read_attribute, read_xml
from adaptive_rag.ingest.page_headers import add_page_edges, select_edges
from adaptive_rag.ingest.sheet_grid import LAST_COLUMN
from adaptive_rag.ingest.superscripts import raise_digits
from adaptive_rag.ingest.table_cells import Rows, add_table

# Comments, pronunciation, deleted text, tables of contents and indexes, forms and declarations.
_SKIPPED_TAGS = {
    "annotation", "ruby-text", "tracked-changes", "table-of-content", "alphabetical-index",
    "illustration-index",
    "table-index", "object-index", "user-index", "bibliography", "forms", "sequence-decls", "variable-decls",
}  # fmt: skip
_SHAPE_TAGS = {
    "frame", "custom-shape", "g", "rect", "ellipse", "circle", "line", "polyline", "polygon", "path",
    "regular-polygon", "connector", "caption", "measure",
}  # fmt: skip
_DEEPEST_LIST = 10
_MANIFEST = "META-INF/manifest.xml"
# Styles inherit; this limit ends a cycle of styles.
_LONGEST_INHERITANCE = 10
# Classes of shapes that are on every slide.
_SLIDE_EDGE_CLASSES = {"footer", "header", "date-time", "page-number"}
# Fields whose value changes, for example with the page.
_CHANGING_FIELDS = {"page-number", "page-count", "sheet-name", "date", "time", "file-name"}


def load_odt(path: Path, builder: TextBuilder) -> None:
    """Write the paragraphs, headings, lists and tables of an OpenDocument text into `builder`."""
    with open_document(path, "text", builder) as (body, styles):
        add_page_edges(builder, styles.page_edges(), body.itertext())
        _Writer(builder, styles).write(body)


def load_odp(path: Path, builder: TextBuilder) -> None:
    """Write the visible slides of a presentation: a slide is a page, and its title a heading."""
    with open_document(path, "presentation", builder) as (body, styles):
        _write_slides(body, styles, builder)


def write_flat(root: Any, builder: TextBuilder) -> None:
    """Write a text or a presentation stored as one XML file; other kinds of document are not written."""
    styles = Styles(root)
    for body in root.iterfind("{*}body/{*}*"):
        _apply_styles(body, styles, builder)
        if local_name(body) == "text":
            _Writer(builder, styles).write(body)
        elif local_name(body) == "presentation":
            _write_slides(body, styles, builder)
        else:
            continue
        builder.note_left_out("comment", sum(1 for _ in body.iter("{*}annotation")))


class Styles:
    """The named styles of a document, and what they set for the elements that use them."""

    def __init__(self, *parts: Any) -> None:
        self._named = {
            (local_name(style), read_attribute(style, "name")): style
            for part in parts
            for style in part.iter("{*}style", "{*}list-style")
        }
        self._masters = [master for part in parts for master in part.iter("{*}master-page")]
        self._outline = next((each for part in parts for each in part.iter("{*}outline-style")), None)

    def page_edges(self) -> Iterator[str]:
        """Yield the paragraphs of page headers and footers."""
        for edge in (child for master in self._masters for child in master):
            is_edge = local_name(edge).startswith(("header", "footer"))
            if is_edge and read_attribute(edge, "display") != "false":
                yield from _edge_paragraphs(edge)

    def drawn_on_slides(self, name: str) -> Iterator[str]:
        """Yield the texts that the master page of this name puts on its slides, without placeholders."""
        masters = (master for master in self._masters if read_attribute(master, "name") == name)
        for shape in (child for master in masters for child in master if local_name(child) in _SHAPE_TAGS):
            if read_attribute(shape, "class") in ("", "footer", "header"):
                yield from _edge_paragraphs(shape)

    def is_hidden(self, element: Any) -> bool:
        """Return whether a sheet or a slide is hidden."""
        style = self._named.get(("style", read_attribute(element, "style-name")))
        return style is not None and any(
            read_attribute(each, "display") == "false" or read_attribute(each, "visibility") == "hidden"
            for each in style
        )

    def hides_letters(self, element: Any) -> bool:
        """Return whether the style of a span or a paragraph hides its text."""
        return self._text_property(element, "display") == "none"

    def raises_letters(self, element: Any) -> bool:
        """Return whether the style of a span makes it a superscript: "super 58%" or "33% 58%"."""
        return self._text_property(element, "text-position").startswith(("super", *"123456789"))

    def _text_property(self, element: Any, setting: str) -> str:
        """Return what the style of a span or a paragraph sets for its letters, directly or by inheritance."""
        name = read_attribute(element, "style-name")
        for _ in range(_LONGEST_INHERITANCE):
            style = self._named.get(("style", name))
            if style is None:
                return ""
            letters = style.find("{*}text-properties")
            if letters is not None and (value := read_attribute(letters, setting)):
                return value
            name = read_attribute(style, "parent-style-name")
        return ""

    def is_title(self, paragraph: Any) -> bool:
        """Return whether a paragraph is the document's title."""
        name = read_attribute(paragraph, "style-name")
        style = self._named.get(("style", name))
        return "Title" in (name, read_attribute(style, "parent-style-name") if style is not None else "")

    def number_of(self, name: str, counts: Sequence[int]) -> str:
        """Return the marker of a list item: "b)", "2.1."; "" if its level has no numbers.

        `name` is that of the list's style, or "" for numbered headings. `counts` are the numbers of the items
        that contain it, from the outermost, and then its own.
        """
        levels = self._levels_of(name)
        settings = levels.get(str(len(counts)))
        if settings is None or not read_attribute(settings, "num-format"):
            return ""
        displayed_levels = min(int(read_attribute(settings, "display-levels") or 1), len(counts))
        numbers = []
        for level in range(len(counts) - displayed_levels + 1, len(counts) + 1):
            kind = read_attribute(levels[str(level)], "num-format") if str(level) in levels else ""
            if kind:
                numbers.append(write_number(counts[level - 1], SHORT_FORMATS.get(kind, "decimal")))
        prefix, suffix = read_attribute(settings, "num-prefix"), read_attribute(settings, "num-suffix")
        return f"{prefix}{'.'.join(numbers)}{suffix}".strip()

    def start_of(self, name: str, level: int) -> int:
        """Return the number of the first item on a level of a list."""
        settings = self._levels_of(name).get(str(level))
        return int(read_attribute(settings, "start-value") or 1) if settings is not None else 1

    def _levels_of(self, name: str) -> dict[str, Any]:
        style = self._named.get(("list-style", name)) if name else self._outline
        return {read_attribute(each, "level"): each for each in (style if style is not None else ())}


@contextmanager
def open_document(path: Path, kind: str, builder: TextBuilder) -> Iterator[tuple[Any, Styles]]:
    """Open a document, and yield its body and its styles.

    Raises:
        IndexingError: it is not an OpenDocument file of this kind, or it is encrypted or damaged.
    """
    with open_archive(path, f"an OpenDocument {kind}") as archive:
        names = archive.namelist()
        if _MANIFEST in names and read_xml(archive, _MANIFEST).find(".//{*}encryption-data") is not None:
            raise IndexingError("asks for a password. Save it without one")
        content = read_xml(archive, "content.xml")
        body = content.find(f"{{*}}body/{{*}}{kind}")
        if body is None:
            raise ValueError(f"no {kind}")
        common_styles = [read_xml(archive, "styles.xml")] if "styles.xml" in names else []
        note_core(archive, builder)
        embedded = EmbeddedFiles(archive, builder)
        _insert_objects(body, archive, embedded, builder)
        styles = Styles(*common_styles, content)
        _apply_styles(body, styles, builder)
        yield body, styles
        embedded.write()
        builder.note_left_out("comment", sum(1 for _ in body.iter("{*}annotation")))
        basic = [name for name in names if name.startswith("Basic/") and name.endswith(".xml")]
        if not all(name.endswith(("-lc.xml", "-lb.xml")) for name in basic):  # these only list macros
            builder.notes.append("macros were left out")


class _Writer:
    """Writes the content of a text, a text box or a cell."""

    def __init__(self, builder: TextBuilder, styles: Styles) -> None:
        self._builder = builder
        self._styles = styles
        self._numbers: dict[tuple[str, int], int] = {}  # by list style and level: the number of the last item
        self._headings = [0] * _DEEPEST_LIST

    def write(self, element: Iterable[Any]) -> None:
        """Write the blocks of an element in order."""
        for block in element:
            match local_name(block):
                case "h":
                    self._write_heading(block)
                case "p":
                    self._write_paragraph(block, level=1 if self._styles.is_title(block) else None)
                case "list":
                    self._write_list(block, "", ())
                case "table":
                    self._write_table(block)
                case "math":
                    if text := " ".join(read_mathml(block).split()):
                        self._builder.add_paragraph(text)
                case name if name not in _SKIPPED_TAGS:
                    self.write(block)

    def _write_table(self, table: Any) -> None:
        """Write the rows of a table, then the notes and shapes that are anchored in its cells."""
        rows = Rows(named=True)
        anchored: list[Any] = []
        lines = [(_read_row(row, rows, anchored), rows.is_apart) for row in table_rows(table)]
        add_table(self._builder, lines, has_header=table.find("{*}table-header-rows") is not None)
        for each in anchored:
            self.write(each)

    def _write_heading(self, heading: Any) -> None:
        level = min(int(read_attribute(heading, "outline-level") or 1), _DEEPEST_LIST)
        number = ""
        if read_attribute(heading, "is-list-header") != "true" and read_text(heading, []):
            start = self._styles.start_of("", level) - 1
            self._headings[level - 1] = max(self._headings[level - 1], start) + 1
            self._headings[level:] = [0] * (_DEEPEST_LIST - level)
            number = self._styles.number_of("", self._headings[:level])
        self._write_paragraph(heading, level=level, marker=number)

    def _write_paragraph(self, element: Any, *, level: int | None = None, marker: str = "") -> bool:
        """Write a paragraph, then its notes and anchored shapes; return whether it has text.

        The number of a heading becomes part of its text.
        """
        anchored: list[Any] = []
        text = read_text(element, anchored)
        if text and level and marker:
            self._builder.add_paragraph(f"{marker} {text}", level=level)
        elif text:
            self._builder.add_paragraph(text, level=level, marker=marker)
        for each in anchored:
            self.write(each)
        return bool(text)

    def _write_list(self, element: Any, style: str, above: Sequence[int]) -> None:
        """Write a list; `above` has the numbers of the items that contain it."""
        style = read_attribute(element, "style-name") or style
        level = len(above) + 1
        start = self._styles.start_of(style, level) - 1
        is_continued = read_attribute(element, "continue-numbering") == "true"
        is_continued = is_continued or bool(read_attribute(element, "continue-list"))
        number = self._numbers.get((style, level), start) if is_continued else start
        for item in element:
            has_marker = local_name(item) != "list-item"
            if not has_marker and (start_value := read_attribute(item, "start-value")):
                number = int(start_value) - 1
            for block in item:
                if local_name(block) == "list":
                    self._write_list(block, style, (*above, number if has_marker else number + 1))
                elif local_name(block) == "p" and not has_marker:
                    marker = self._styles.number_of(style, (*above, number + 1))
                    # A number alone does not look like a list item.
                    marker = f"{marker}." if marker.isalnum() else marker or "-"
                    has_marker = self._write_paragraph(block, marker="  " * (level - 1) + marker)
                    number += has_marker
                elif local_name(block) == "p":
                    self._write_paragraph(block)
                else:
                    self.write((block,))
        self._numbers[style, level] = number


def read_shapes(element: Any, styles: Styles) -> Iterator[str]:
    """Yield the text of each box, chart and drawing that is anchored in an element."""
    for child in element:
        if local_name(child) in _SHAPE_TAGS:
            inner = TextBuilder()
            _Writer(inner, styles).write((child,))
            if inner.length:
                yield inner.text
        elif local_name(child) not in _SKIPPED_TAGS:
            yield from read_shapes(child, styles)


def _edge_paragraphs(element: Any) -> Iterator[str]:
    """Yield the paragraphs of an element that is on each page, without page numbers, dates and the like."""
    for paragraph in element.iter("{*}p", "{*}h"):
        texts = paragraph.xpath(".//text()")
        yield "".join(text for text in texts if local_name(text.getparent()) not in _CHANGING_FIELDS)


def _write_slides(body: Any, styles: Styles, builder: TextBuilder) -> None:
    hidden, edges = [], set[str]()
    for number, page in enumerate(body.iterfind("{*}page"), start=1):
        if styles.is_hidden(page):
            hidden.append(str(number))
        else:
            _write_slide(page, number, builder, styles, edges)
    builder.note_hidden("slides", hidden)


def _write_slide(page: Any, number: int, builder: TextBuilder, styles: Styles, known_edges: set[str]) -> None:
    """Write a slide: its title, its shapes, its new footers and the like, then its notes."""
    writer = _Writer(builder, styles)
    shapes = [shape for shape in page if read_attribute(shape, "class") not in _SLIDE_EDGE_CLASSES]
    titles = [shape for shape in shapes if read_attribute(shape, "class") == "title"]
    title_texts = (read_text(part, []) for shape in titles for part in shape.iter("{*}p"))
    builder.begin_slide(number, " ".join(filter(None, title_texts)))
    for shape in shapes:
        if shape not in titles and local_name(shape) != "notes":
            writer.write(shape)
    edges = [shape for shape in page if read_attribute(shape, "class") in ("footer", "header")]
    edges += page.getparent().iterfind("{*}footer-decl")
    edge_texts = [text for edge in edges for text in (*_edge_paragraphs(edge), edge.text or "")]
    edge_texts += styles.drawn_on_slides(read_attribute(page, "master-page-name"))
    for text in select_edges(edge_texts, known_edges, lambda: builder.text):
        builder.add_paragraph(text)
    bodies = [
        shape for shape in page.iterfind("{*}notes/{*}frame") if read_attribute(shape, "class") == "notes"
    ]
    if any(read_text(part, []) for shape in bodies for part in shape.iter("{*}p")):
        builder.add_paragraph("Notes", level=2)
        for shape in bodies:
            writer.write(shape)


def read_text(element: Any, anchored: list[Any]) -> str:
    """Return a paragraph's own text; its notes and anchored shapes are added to `anchored`."""
    parts: list[str] = []

    def gather(part: Any) -> None:
        parts.append(part.text or "")
        for child in part:
            name = local_name(child)
            if name in ("s", "tab", "line-break"):
                parts.append(" ")
            elif name == "note":
                anchored.extend(child.iterfind("{*}note-body"))
            elif name == "frame" and (equation := child.find("{*}object/{*}math")) is not None:
                parts.append(f" {read_mathml(equation)} ")
            elif name in _SHAPE_TAGS:
                anchored.append(child)
            elif name and name not in _SKIPPED_TAGS:
                gather(child)
            parts.append(child.tail or "")

    gather(element)
    return " ".join("".join(parts).split())


def table_rows(table: Any) -> Iterator[Any]:
    """Yield the rows of a table, including grouped rows and header rows."""
    for element in table:
        name = local_name(element)
        if name == "table-row":
            yield element
        elif name in ("table-header-rows", "table-row-group", "table-rows"):
            yield from table_rows(element)


def _read_row(row: Any, rows: Rows, anchored: list[Any]) -> list[str]:
    """Return a row of a text table as lines; notes and shapes in its cells are added to `anchored`."""
    for cell in row.iterfind("{*}table-cell"):
        spans = {
            "colspan": read_attribute(cell, "number-columns-spanned"),
            "rowspan": read_attribute(cell, "number-rows-spanned"),
        }
        text = "\n".join(read_text(part, anchored) for part in _cell_paragraphs(cell, anchored))
        for _ in range(min(count_of(cell, "number-columns-repeated"), LAST_COLUMN)):
            rows.begin_cell(spans)
            rows.add(text)
    return rows.end_row()


def _cell_paragraphs(element: Any, anchored: list[Any]) -> Iterator[Any]:
    """Yield the paragraphs of a cell, including those of nested lists and tables; shapes go to `anchored`."""
    for child in element:
        name = local_name(child)
        if name in ("p", "h"):
            yield child
        elif name in _SHAPE_TAGS:
            anchored.append(child)
        elif name not in _SKIPPED_TAGS:
            yield from _cell_paragraphs(child, anchored)


def _apply_styles(body: Any, styles: Styles, builder: TextBuilder) -> None:
    """Write the digits of superscripts as raised ones, and remove and count the words that are hidden."""
    for span in body.iter("{*}span"):
        if styles.raises_letters(span):
            span.text = raise_digits(span.text or "")
    removed = set[Any]()
    for element in list(body.iter("{*}section", "{*}p", "{*}h", "{*}span", "{*}a", "{*}hidden-text")):
        if element in removed:
            continue
        if local_name(element) in ("section", "hidden-text"):
            values = (read_attribute(element, name) for name in ("display", "is-hidden"))
            is_hidden = not {"none", "true"}.isdisjoint(values)
        else:
            marks = element.iterfind("{*}hidden-paragraph")
            is_hidden = styles.hides_letters(element) or any(
                read_attribute(mark, "is-hidden") == "true" for mark in marks
            )
        if is_hidden:
            builder.hidden_words += len(" ".join(element.itertext()).split())
            removed.update(element.iter())
            for child in list(element):
                element.remove(child)
            element.text = ""


def _insert_objects(
    body: Any, archive: zipfile.ZipFile, embedded: EmbeddedFiles, builder: TextBuilder
) -> None:
    """Put the content of embedded objects in their place: charts, equations, sheets, texts.

    Each object is in a folder of the archive; a flat document holds its objects in place. Objects of other
    programs are read as embedded files, and objects inside objects are left out.
    """
    names = set(archive.namelist())
    left_out = 0
    for element in list(body.iter("{*}object", "{*}object-ole")):
        path = read_attribute(element, "href").removeprefix("./")
        content = f"{path}/content.xml"
        if content in names and len(element) == 0:
            root = read_xml(archive, content)
            names.discard(content)  # each object is shown once
            object_root = root if local_name(root) == "math" else root.find("{*}body")
            left_out += sum(1 for _ in root.iter("{*}object"))
            if object_root is not None:
                element.append(object_root)
        elif path in names:
            embedded.add(path)
    if left_out:
        builder.notes.append(f"{left_out} object{'s' if left_out > 1 else ''} within others were left out")


def count_of(element: Any, name: str) -> int:
    """Return how many times an element is repeated, or how many places it covers."""
    return max(int(read_attribute(element, name) or 1), 1)
