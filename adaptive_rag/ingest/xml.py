"""The XML loader: documents with headings (DocBook, JATS, TEI, FictionBook, ...), feeds by entry, and data.

Only entities that stand for one character are expanded, and nothing outside the file is opened.
"""

from __future__ import annotations

import html.entities
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.html import load_html, write_html
from adaptive_rag.ingest.ods import write_sheets
from adaptive_rag.ingest.opendocument import Styles, write_flat
from adaptive_rag.ingest.package import local_name
from adaptive_rag.ingest.properties import note_properties
from adaptive_rag.ingest.sheet_grid import LAST_COLUMN, Grid
from adaptive_rag.ingest.sheets import Sheet, add_sheets
from adaptive_rag.ingest.superscripts import raise_digits
from adaptive_rag.ingest.table_cells import Rows, add_table

_SPREADSHEET = "{urn:schemas-microsoft-com:office:spreadsheet}"
_OPEN_DOCUMENT = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}document"
_FEED_ENTRIES = {"rss": "item", "feed": "entry", "RDF": "item"}
_DOCUMENT_ROOTS = set(
    "book article chapter part section sect1 refentry reference set appendix preface glossary TEI TEI.2 "
    "teiCorpus FictionBook topic concept task dita us-patent-grant us-patent-application wordDocument "
    "package".split()
)
_SECTIONS = set(
    "part chapter section sect1 sect2 sect3 sect4 sect5 simplesect appendix preface sec div div1 div2 "
    "div3 div4 refsection refsect1 refsect2 topic concept task abstract ack app-group boxed-text".split()
)
_TITLES = {"title", "head", "bridgehead", "article-title", "heading", "h"}
_PARAGRAPHS = set(
    "para simpara p ab l v subtitle programlisting screen literallayout code-block preformat verbatim "
    "synopsis caption attrib epigraph dt dd term def".split()
)
_ITEMS = {"listitem", "list-item", "item", "li", "step"}
_NUMBERED_LISTS = {"orderedlist", "ol", "procedure", "steps"}
_TABLES = {"table", "informaltable", "tbl"}
_ROWS, _CELLS = {"row", "tr", "table-row"}, {"entry", "td", "th", "cell", "tc", "table-cell"}
# Elements whose children are separate words: "Ruiz" and "Ana".
_NAME_GROUPS = set(
    "contrib author editor othercredit name personname string-name person-group element-citation "
    "persName aff date pub-date pubdate address kwd-group keywordset".split()
)
_OTHER_BLOCKS = set(
    "itemizedlist orderedlist variablelist list figure fig note footnote fn blockquote disp-quote "
    "disp-formula".split()
)
# Within a paragraph, they follow it, so that its sentences stay whole.
_NOTES = {"note", "footnote", "fn"}
_BLOCKS = _SECTIONS | _TITLES | _PARAGRAPHS | _ITEMS | _TABLES | _NAME_GROUPS | _OTHER_BLOCKS
_SKIPPED_TAGS = set(
    "indexterm remark binary teiHeader docProps styles fonts lists docPr binData object-id article-id "
    "journal-meta permissions custom-meta-group counts contrib-id elocation-id fpage lpage history "
    "alternatives script style instrText sectPr automatic-styles master-styles font-face-decls settings "
    "meta".split()
)
# Parts of a Word document, saved as one XML file, that it does not show.
_HIDDEN_TAGS = "{*}delText", "{*}comments", "{*}hdr", "{*}ftr"
_SEPARATE_TAGS = _BLOCKS | _CELLS | _ROWS
_SENTENCES = _PARAGRAPHS | _ITEMS - {"step"}
_PARAGRAPH_WORDS = 5
_PROLOG = re.compile(rb"\A\s*(?:<\?xml[^>]{0,200}\?>)?\s*(?:<!DOCTYPE[^>\[]{0,500}>)?")
_SKIPPED_ATTRIBUTES = {"", "id", "xml:id", "schemaLocation", "noNamespaceSchemaLocation"}


def load_xml(path: Path, builder: TextBuilder) -> None:
    """Write the text of an XML file that a reader needs into `builder`; tags never become text."""
    data, parser = path.read_bytes(), _make_parser()
    root = etree.fromstring(data, parser)
    has_several_roots = any(error.type == etree.ErrorTypes.ERR_DOCUMENT_END for error in parser.error_log)
    if root is not None and has_several_roots:
        # Several top-level elements: the file is a fragment of a document.
        parser = _make_parser(root.getroottree().docinfo.encoding)
        root = etree.fromstring(b"<book>" + _PROLOG.sub(b"", data) + b"</book>", parser)
    if root is None:
        raise IndexingError("is not XML or is damaged. Export it again from the program that made it")
    if parser.error_log:
        first_error = parser.error_log[0]
        builder.notes.append(f"is not well-formed (line {first_error.line}): what could be read was read")
    name = local_name(root)
    if name == "html":
        load_html(path, builder)
    elif root.tag == f"{_SPREADSHEET}Workbook":
        add_sheets(builder, [_read_sheet(sheet) for sheet in root.iterfind(f"{_SPREADSHEET}Worksheet")])
    elif name in _FEED_ENTRIES and next(root.iter(f"{{*}}{_FEED_ENTRIES[name]}"), None) is not None:
        _write_feed(root, _FEED_ENTRIES[name], builder)
    elif name == "opml":
        note_properties(builder, title=root.findtext("head/title"))
        _write_outline(root, builder, 0)
    elif root.tag == _OPEN_DOCUMENT:
        _note_document(root, builder)
        if (spreadsheet := root.find("{*}body/{*}spreadsheet")) is not None:
            write_sheets(spreadsheet, Styles(root), builder)
            builder.note_left_out("comment", sum(1 for _ in spreadsheet.iter("{*}annotation")))
        else:
            write_flat(root, builder)
    elif name in _DOCUMENT_ROOTS or _has_paragraphs(root):
        if name in ("package", "wordDocument"):
            etree.strip_elements(root, *_HIDDEN_TAGS, with_tail=False)
        _prepare_document(root)
        _note_document(root, builder)
        _write_element(builder, root, 0)
    if not builder.length:
        _write_data(root, builder)


def _make_parser(encoding: str | None = None) -> etree.XMLParser:
    return etree.XMLParser(
        encoding=encoding,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        recover=True,
        remove_comments=True,
        remove_pis=True,
    )


def _has_paragraphs(root: Any) -> bool:
    """Return whether there is text to read: a body, a paragraph of several words, or a table of cells."""
    if root.find("{*}body") is not None:
        return True
    paragraphs = root.iter("{*}p", "{*}para")
    if any(len("".join(each.itertext()).split()) > _PARAGRAPH_WORDS for each in paragraphs):
        return True
    return any(local_name(each.getparent()) == "row" for each in root.iterdescendants("{*}entry"))


def _read_words(element: Any, skipped: Collection[str] = _SKIPPED_TAGS) -> str:
    """Return the words of an element and all elements in it; an entity becomes its character."""
    return " ".join("".join(_pieces(element, skipped)).split())


def _pieces(element: Any, skipped: Collection[str] = _SKIPPED_TAGS) -> Iterator[str]:
    """Yield the text of an element and all elements in it, with blanks between separate words."""
    if isinstance(element, etree._Entity):
        yield html.entities.html5.get(f"{element.name};", "")
        return
    if not isinstance(element.tag, str) or local_name(element) in skipped:
        return
    yield element.text or ""
    if local_name(element) in ("tab", "br", "lb", "cr"):
        yield " "
    for child in element:
        # "E = mc" and "2" in two cells or lines are separate words.
        is_separate = local_name(element) in _NAME_GROUPS or local_name(child) in _SEPARATE_TAGS
        pieces = _pieces(child, skipped)
        yield from (" ", *pieces, " ") if is_separate else pieces
        yield child.tail or ""


def _prepare_document(root: Any) -> None:
    """Raise the digits of superscripts, and keep a table of which there is also a picture."""
    for raised in root.iter("{*}sup", "{*}superscript"):
        for part in raised.iter("{*}*"):
            part.text = raise_digits(part.text or "")
    for alternatives in list(root.iter("{*}alternatives")):
        if alternatives.find("{*}table") is not None:
            alternatives.tag = "table-wrap"


def _note_document(root: Any, builder: TextBuilder) -> None:
    title = next(root.iter("{*}article-title", "{*}book-title", "{*}title", "{*}invention-title"), None)
    language = root.get("{http://www.w3.org/XML/1998/namespace}lang") or root.get("lang")
    note_properties(builder, title=_read_words(title) if title is not None else "", language=language)


def _write_element(builder: TextBuilder, element: Any, depth: int, marker: str = "") -> str:
    """Write an element: its own words as paragraphs, and each block in it separately.

    Return the marker if no paragraph has it yet; only the first paragraph of a list item has its marker.
    """
    name = local_name(element)
    depth += name in _SECTIONS
    is_numbered = name in _NUMBERED_LISTS or element.get("list-type") == "order"
    words, notes, items = [element.text or ""], [], 0
    # The children of such an element are not parts of a sentence.
    has_tail_text = any((child.tail or "").strip() for child in element)
    has_only_elements = name not in _SENTENCES and not has_tail_text
    for child in element:
        child_name = local_name(child)
        if child_name in _SKIPPED_TAGS:
            pass
        elif not child_name:
            words += _pieces(child)
        elif child_name in _NOTES and name in _PARAGRAPHS:
            notes.append(child)
        elif child_name in _TITLES:
            marker = _end_paragraph(builder, words, marker)
            if text := _read_words(child):
                builder.add_paragraph(text, level=min(depth + 1, 9))
        elif child_name in _NAME_GROUPS:
            marker = _end_paragraph(builder, words, marker)
            marker = _end_paragraph(builder, [*_pieces(child)], marker)
        elif child_name in _TABLES:
            marker = _end_paragraph(builder, words, marker)
            _write_table(builder, child)
        elif (
            child_name in _BLOCKS
            or any(local_name(each) in _BLOCKS for each in child.iterdescendants())
            or (has_only_elements and not any(map(str.strip, words)))
        ):
            marker = _end_paragraph(builder, words, marker)
            if child_name in _ITEMS:
                items += 1
                _write_element(builder, child, depth, f"{items}." if is_numbered else "-")
            else:
                marker = _write_element(builder, child, depth, marker)
        else:
            words.append("".join(_pieces(child)))
        words.append(child.tail or "")
    marker = _end_paragraph(builder, words, marker)
    for note in notes:
        _write_element(builder, note, depth)
    return marker


def _end_paragraph(builder: TextBuilder, words: list[str], marker: str) -> str:
    """Write the words so far as a paragraph, and return the marker if there are none."""
    text = " ".join("".join(words).split())
    words.clear()
    if not text:
        return marker
    builder.add_paragraph(text, marker=marker)
    return ""


def _write_table(builder: TextBuilder, table: Any) -> None:
    """Write the rows of a table; a merged cell is repeated in each place that it covers."""
    rows, lines = Rows(named=True), list[tuple[list[str], bool]]()
    columns = [column.get("colname") for column in table.iterfind(".//{*}colspec")]
    for element in _outside_cells(table):
        name = local_name(element)
        if name in _ROWS:
            for cell in (cell for cell in element if local_name(cell) in _CELLS):
                rows.begin_cell(_read_spans(cell, columns))
                rows.add(_read_words(cell))
            lines.append((rows.end_row(), rows.is_apart))
        elif name in _TITLES | {"caption"} and (text := _read_words(element)):
            builder.add_paragraph(text)
    add_table(builder, lines, has_header=False)


def _read_spans(cell: Any, columns: Sequence[str | None]) -> dict[str, str]:
    """Return the columns and rows that a cell covers, as HTML, TEI or a CALS table with `columns` says."""
    first, last = cell.get("namest"), cell.get("nameend")
    named = columns.index(last) - columns.index(first) + 1 if first in columns and last in columns else 1
    more_rows = cell.get("morerows", "")
    rows = int(more_rows) + 1 if more_rows.isdecimal() and len(more_rows) < 5 else 1
    return {
        "colspan": cell.get("colspan") or cell.get("cols") or str(named),
        "rowspan": cell.get("rowspan") or cell.get("rows") or str(rows),
    }


def _outside_cells(element: Any) -> Iterator[Any]:
    """Yield all elements in a table except those inside its cells."""
    for child in element:
        yield child
        if local_name(child) not in _CELLS:
            yield from _outside_cells(child)


def _write_feed(root: Any, entry: str, builder: TextBuilder) -> None:
    """Write a record for each entry of a feed: its title, its text without tags, its date and address."""
    channel = next(root.iter("{*}channel"), root)
    note_properties(builder, title=_text_of(channel, "title"), language=_text_of(channel, "language"))
    for element in root.iter(f"{{*}}{entry}"):
        title = _visible_text(element, "title")
        bodies = (_visible_text(element, name) for name in ("encoded", "content", "description", "summary"))
        body = next(filter(None, bodies), "")
        part = TextBuilder()
        part.add("\n\n".join(filter(None, (title, body))))
        links = element.findall("{*}link")
        # An Atom entry may also link to its comments or its source: <link rel="replies" href="...">.
        links.sort(key=lambda link: link.get("rel", "alternate") != "alternate")
        url = (links[0].get("href") or links[0].text) if links else ""
        dates = (_text_of(element, name) for name in ("pubDate", "published", "updated", "date"))
        author = element.findtext("{*}author/{*}name") or _text_of(element, "author", "creator")
        note_properties(part, author=author, date=next(filter(None, dates), ""), url=url)
        if part.length:
            builder.add_part(part, title or "Entry", 1, {})


def _text_of(element: Any, *names: str) -> str:
    elements = (each for name in names for each in element.iterfind(f"{{*}}{name}"))
    return "".join(_pieces(each)) if (each := next(elements, None)) is not None else ""


def _visible_text(element: Any, name: str) -> str:
    """Return the visible text of a part of an entry, which is HTML if its kind says so."""
    part = element.find(f"{{*}}{name}")
    text = _text_of(element, name)
    is_html = name in ("encoded", "description") or (part is not None and part.get("type") == "html")
    return _plain_html(text) if is_html else text.strip()


def _plain_html(text: str) -> str:
    """Return the visible text of a string that may be HTML."""
    if "<" not in text and "&" not in text:
        return text.strip()
    page = TextBuilder()
    write_html(text, page, styled=False)
    return page.text.strip()


def _write_outline(element: Any, builder: TextBuilder, depth: int) -> None:
    for each in element.iterfind("body/outline" if depth == 0 else "outline"):
        words = filter(None, (each.get("text") or each.get("title"), each.get("_note")))
        if text := _plain_html(" ".join(words)):
            level = 1 if depth == 0 and len(each) else None
            builder.add_paragraph(text, level=level, marker="-" if depth else "")
        _write_outline(each, builder, depth + 1)


def _write_data(root: Any, builder: TextBuilder) -> None:
    """Write the lines "name: value" of an element's own values, then those of the elements inside it."""
    pending = [root]
    while pending:
        element = pending.pop()
        if not isinstance(element.tag, str):
            continue
        attributes = ((name.rpartition("}")[2], value) for name, value in element.items())
        named = ((name, value) for name, value in attributes if name not in _SKIPPED_ATTRIBUTES)
        lines = [f"{name}: {value}" for name, value in named if value.strip()]
        nested = []
        has_text = bool((element.text or "").strip()) or any((child.tail or "").strip() for child in element)
        if has_text:
            lines.append(f"{local_name(element)}: {_read_words(element, ())}")
        for child in () if has_text else element:
            if len(child) == 0 and not child.attrib and isinstance(child.tag, str):
                lines += [f"{local_name(child)}: {text}"] if (text := _read_words(child, ())) else []
            else:
                nested.append(child)
        if lines:
            builder.add_paragraph("\n".join(lines))
        pending += reversed(nested)


def _write_date(text: str) -> str:
    """Return a date as it is written elsewhere: "2024-03-01", or "2024-03-01 09:30:00" with a time."""
    return text.partition(".")[0].removesuffix("T00:00:00").replace("T", " ")


def _read_sheet(sheet: Any) -> Sheet:
    """Return a sheet of a workbook saved as XML by Excel 2003; an index attribute skips empty places."""
    grid, row_number = Grid(), 0
    for row in sheet.iterfind(f"{_SPREADSHEET}Table/{_SPREADSHEET}Row"):
        row_number = int(row.get(f"{_SPREADSHEET}Index") or row_number + 1)
        column = extra_columns = 0
        for cell in row.iterfind(f"{_SPREADSHEET}Cell"):
            previous, column = column, int(cell.get(f"{_SPREADSHEET}Index") or column + extra_columns + 1)
            if not previous < column <= LAST_COLUMN:
                raise IndexingError("is damaged: its cells are out of order. Save it as .xlsx")
            data = cell.find("{*}Data")
            if data is not None and (text := _read_words(data)):
                is_date = data.get(f"{_SPREADSHEET}Type") == "DateTime"
                grid.add(row_number, column, _write_date(text) if is_date else text)
            extra_columns = int(cell.get(f"{_SPREADSHEET}MergeAcross") or 0)
            extra_rows = int(cell.get(f"{_SPREADSHEET}MergeDown") or 0)
            if extra_columns or extra_rows:
                grid.merged.append(((column, row_number), (column + extra_columns, row_number + extra_rows)))
    return grid.to_sheet(sheet.get(f"{_SPREADSHEET}Name") or "Sheet", [])
