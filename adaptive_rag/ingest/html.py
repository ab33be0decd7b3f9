"""The loaders of web pages: HTML files and saved pages (MHTML), as visible text with headings."""

from __future__ import annotations

import email
import re
from collections.abc import Mapping
from pathlib import Path

from lxml import etree

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.front_matter import take_front_matter
from adaptive_rag.ingest.mathml import read_mathml
from adaptive_rag.ingest.numbering import SHORT_FORMATS, write_number
from adaptive_rag.ingest.page_styles import Look, PageStyles
from adaptive_rag.ingest.properties import note_properties
from adaptive_rag.ingest.superscripts import raise_digits
from adaptive_rag.ingest.table_cells import Rows
from adaptive_rag.ingest.templates import without_tags
from adaptive_rag.ingest.text import decode
from adaptive_rag.text.visible import without_surrogates

_is_skipped_tag = re.compile(
    "title|script|style|noscript|template|svg|canvas|nav|iframe|object|video|audio|select|datalist|button|"
    "annotation|annotation-xml"
).fullmatch
_is_block_tag = re.compile(
    "address|article|aside|blockquote|body|caption|center|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|"
    "figure|footer|form|h[1-6]|header|hgroup|hr|html|legend|li|main|menu|ol|p|pre|search|section|summary|table|"
    "tbody|tfoot|thead|tr|ul"
).fullmatch
# Elements that separate paragraphs within a table cell; any other block element ends the table row.
_is_within_cell = re.compile("p|div|center|ul|ol|menu|dir|li|dl|dt|dd|br").fullmatch
# Classes of a picture of a formula, whose alternative text is TeX: Wikipedia's, Sphinx's and WordPress's.
_is_formula = re.compile(r"\b(?:math|latex)\b").search
_TEX_STYLE = re.compile(r"\A\{\\(?:display|text)style (.*)\}\Z", re.DOTALL)
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
# The parser would take the content of this element for plain text: "<p>This page has frames.</p>".
_NO_FRAMES = re.compile(r"</?noframes\b[^>]{0,200}>", re.IGNORECASE)
# The parser looks for the start of each stray end tag among all open elements. 1e9 steps take 3 seconds.
_MOST_STEPS = 1_000_000_000
_PIECE = 1 << 16

# Names of <meta> fields on web pages, and the property that each is noted as.
_HEAD_FIELDS = {
    "author": "author",
    "article:author": "author",
    "date": "date",
    "dc.date": "date",
    "article:published_time": "date",
    "keywords": "tags",
}


def load_html(path: Path, builder: TextBuilder) -> None:
    """Write an HTML file's visible text and headings into `builder`; its title becomes metadata.

    The file may be a page template with front matter.
    """
    page = decode_page(path.read_bytes(), None, builder)
    write_html(without_tags(page[take_front_matter(page, builder) :]), builder)


def load_mhtml(path: Path, builder: TextBuilder) -> None:
    """Write the page in a file saved by a browser into `builder`, as `load_html` does."""
    try:
        parts = email.message_from_bytes(path.read_bytes()).walk()
        page = next((part for part in parts if part.get_content_type() == "text/html"), None)
    except RecursionError as error:
        raise IndexingError("is nested too deep to be read. Save the page anew") from error
    data = page.get_payload(decode=True) if page else None
    if page is None or not isinstance(data, bytes):
        raise IndexingError("holds no web page: no part of it is of type text/html")
    write_page(data, page.get_content_charset(), builder)


def write_page(data: bytes, charset: str | None, builder: TextBuilder) -> None:
    """Write a page's text into `builder`; without `charset` the page's own declaration counts."""
    write_html(decode_page(data, charset, builder), builder)


def read_page(data: bytes, charset: str | None, builder: TextBuilder) -> str:
    """Return the visible text of a page inside another document, and count its hidden words in `builder`."""
    page = TextBuilder()
    write_page(data, charset, page)
    builder.hidden_words += page.hidden_words
    return page.text


def decode_page(data: bytes, charset: str | None, builder: TextBuilder) -> str:
    """Return a page's HTML as text; without `charset` the page's own declaration counts."""
    if charset is None and (declared := _CHARSET.search(data[:4096])):
        charset = declared[1].decode("ascii", "replace")
    # UTF-7 can produce a lone surrogate, which the parser does not accept.
    return without_surrogates(decode(data, builder, charset))


def write_html(page: str, builder: TextBuilder, *, styled: bool = True) -> None:
    """Write the visible text of a page's HTML into `builder`.

    Text that its styles hide is left out and counted. Use `styled=False` for HTML whose styles no reader
    applies, such as HTML in Markdown and in feeds.
    """
    page = _NO_FRAMES.sub("", page)
    reader = _Reader(builder, _MOST_STEPS // (page.count("</") + 1), PageStyles() if styled else None)
    parser = etree.HTMLParser(target=reader, huge_tree=True)
    # The parser raises an error of the reader only at the end of a piece, so the pieces are short.
    for start in range(0, len(page), _PIECE):
        parser.feed(page[start : start + _PIECE])
    if page:
        parser.close()


def _note_head(tag: str, attributes: Mapping[str, str], builder: TextBuilder) -> None:
    """Note the properties that the head of a page states."""
    if tag == "html":
        note_properties(builder, language=attributes.get("lang"))
    elif tag == "link" and attributes.get("rel", "").lower() == "canonical":
        note_properties(builder, url=attributes.get("href"))
    elif field := _HEAD_FIELDS.get((attributes.get("name") or attributes.get("property") or "").lower()):
        note_properties(builder, **{field: attributes.get("content") or ""})


class _Reader:
    """Collects blocks of text; the parser reports an end tag for every start tag, even a missing one."""

    def __init__(self, builder: TextBuilder, max_depth: int, styles: PageStyles | None) -> None:
        self._builder = builder
        self._max_depth = max_depth
        self._depth = 0
        self._skipped_depth = 0  # the depth inside elements whose text is not read
        self._hidden_depth = 0  # the depth inside elements that a style hides
        self._styles = styles
        self._looks = [Look()]  # of the open elements
        self._root_attributes: Mapping[str, str] = {}
        self._style_sheet: list[str] | None = None
        self._words: list[str] = []
        self._title: list[str] | None = None
        self._level: int | None = None
        self._preformatted = False
        self._is_code = False
        # Of each open list: None, or the number of its last item and their format.
        self._lists: list[tuple[int, str] | None] = []
        self._marker = ""  # of the current list item
        self._term = ""  # the last term of a definition list, or terms that share a definition
        self._awaits_definition = False  # whether no definition has followed the term
        self._definition_term = ""  # the term to write before the next block
        self._rows = Rows()
        self._in_row = False
        self._equation: tuple[int, etree.TreeBuilder] | None = None  # the open <math>, and its depth
        self._superscript: list[str] | None = None  # the text inside an open <sup>
        self._is_note_link = False  # whether a link within the page is open, or was inside the <sup>
        self._is_note_mark = False  # whether a link is open that a book shows raised, without <sup>

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle a start tag."""
        self._depth += 1
        if self._depth > self._max_depth:
            raise IndexingError(
                f"cannot be read: more than {self._max_depth:,} of its tags are left open. Save it anew"
            )
        if tag in ("html", "meta", "link"):
            _note_head(tag, attributes, self._builder)
        if self._skipped_depth or _is_skipped_tag(tag):
            if tag == "title" and not self._skipped_depth:
                self._title = []
            if tag == "style" and not self._skipped_depth:
                self._style_sheet = []
            self._skipped_depth += 1
        elif self._hidden_depth or self._hides(tag, attributes):
            self._hidden_depth += 1
        elif tag == "math" or self._equation:
            self._equation = self._equation or (self._depth, etree.TreeBuilder())
            self._equation[1].start(tag, attributes)
        elif tag == "img" and _is_formula(attributes.get("class", "")):
            tex = attributes.get("alt", "").strip()
            self._add(_TEX_STYLE.sub(r"\1", tex).strip())
        elif tag == "code":
            self._is_code = self._preformatted
        elif tag == "sup":
            if self._superscript is not None:  # 2<sup>2<sup>n</sup></sup>
                self._end_superscript("".join(self._superscript))
            self._superscript = []
        elif tag == "a":
            self._is_note_link = "#" in attributes.get("href", "")
            self._is_note_mark = "noteref" in attributes.get("epub:type", "")
        elif tag in ("td", "th"):
            self._in_row = True
            self._rows.begin_cell(attributes)
        elif tag == "br" or (self._in_row and _is_within_cell(tag)):
            self._add("\n")
        elif _is_block_tag(tag):
            self._begin_block(tag, attributes)

    def _begin_block(self, tag: str, attributes: Mapping[str, str]) -> None:
        """End the block before, and begin one: a heading, a list, an item, a definition, a table or text."""
        self.close()
        if self._awaits_definition and tag not in ("dt", "dd", "div"):
            self._write_term(self._term)
        elif self._definition_term and tag in ("dl", "table"):
            self._write_term(self._definition_term)
        self._level = int(tag[1]) if re.fullmatch("h[1-6]", tag) else None
        self._preformatted = tag == "pre"
        if tag == "table":
            self._rows = Rows()
        elif tag == "ul":
            self._lists.append(None)
        elif tag == "ol":
            first = re.match(r"\s*\d{1,9}", attributes.get("start", ""))
            number_format = SHORT_FORMATS.get(attributes.get("type", ""), "decimal")
            self._lists.append((int(first[0]) - 1 if first else 0, number_format))
        elif tag == "li":
            self._begin_item(attributes)
        elif tag == "dd":
            self._definition_term, self._awaits_definition = self._term, False

    def _hides(self, tag: str, attributes: Mapping[str, str]) -> bool:
        """Return whether the styles hide an element; if they do not, record how its text looks."""
        if self._styles is None:
            self._looks.append(self._looks[-1])
            return False
        if tag == "link" and "stylesheet" in attributes.get("rel", "").lower():
            self._styles.miss_sheet()
        if tag == "html":
            self._root_attributes = attributes
        outer_look = self._styles.outermost(self._root_attributes) if tag == "body" else self._looks[-1]
        look = self._styles.look(tag, attributes, outer_look)
        if look is not None:
            self._looks.append(look)
        return look is None

    def end(self, tag: str) -> None:
        """Handle an end tag."""
        self._depth -= 1
        if self._skipped_depth:
            self._skipped_depth -= 1
            if self._title is not None:
                note_properties(self._builder, title="".join(self._title))
                self._title = None
            if self._style_sheet is not None:
                if self._styles:
                    self._styles.add_sheet("".join(self._style_sheet))
                self._style_sheet = None
            return
        if self._hidden_depth:
            self._hidden_depth -= 1
            return
        self._looks.pop()
        if self._equation:
            depth, tree = self._equation
            tree.end(tag)
            if depth > self._depth:
                self._equation = None
                self._add(read_mathml(tree.close()))
        elif tag == "sup" and self._superscript is not None:
            self._end_superscript("".join(self._superscript))
        elif tag == "a":
            self._is_note_link = self._is_note_link and self._superscript is not None
            self._is_note_mark = False
        elif _is_block_tag(tag) and not (self._in_row and _is_within_cell(tag)):
            self._end_block(tag)

    def _end_block(self, tag: str) -> None:
        """Write the block that ends, and leave its list or item."""
        if tag == "dt":
            if term := " ".join("".join(self._words).split()):
                self._term = f"{self._term}, {term}" if self._awaits_definition else term
                self._awaits_definition = True
            elif not self._awaits_definition:  # its text was in a block of its own
                self._term = ""
            self._words.clear()
        self.close()
        if tag == "dl" and self._awaits_definition:
            self._write_term(self._term)
        elif tag == "dd" and self._definition_term:  # the definition is empty
            self._write_term(self._definition_term)
        self._level = None
        self._preformatted = False
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "li":
            self._marker = ""

    def data(self, text: str) -> None:
        """Handle a piece of text: a title, a style sheet, hidden words or visible words."""
        if self._title is not None:
            self._title.append(text)
        elif self._style_sheet is not None:
            self._style_sheet.append(text)
        elif self._skipped_depth:
            return
        elif self._hidden_depth or not self._looks[-1].is_seen:
            self._builder.hidden_words += len(text.split())
        elif self._equation:
            self._equation[1].data(text)
        else:
            if self._level and self._is_note_link and not any(map(str.isalnum, text)):
                return  # the "¶" behind a heading, which links to it
            if self._is_note_mark and self._superscript is None and text.strip().isalnum():
                text = f"[{text.strip()}]"  # and not "19531" for "1953" and a note
            text = text.replace("\u00ad", "")  # a hyphen that is shown at the end of a line alone
            if self._superscript is None and text.strip():  # not the link of a note: "10 m<sup>2</sup>"
                self._is_note_link = False
            self._add(text if self._preformatted else re.sub(r"\s+", " ", text))

    def close(self) -> None:
        """Write the block or table row that ends here, unless it is empty."""
        if self._in_row:
            self._in_row = False
            for row in self._rows.end_row():
                self._builder.add_paragraph(row)
        text = "".join(self._words)
        self._words.clear()
        if self._preformatted:
            text = text.strip("\n").rstrip()
            if self._is_code and text:
                text = f"```\n{text}\n```"  # as in Markdown, to mark it as code
            self._is_code = False
        else:
            text = "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))
        if not text.strip():
            return
        if term := self._definition_term:
            text = f"{term}{' ' if term[-1] in '.:?!' else ': '}{text}"
            self._definition_term = ""
        self._builder.add_paragraph(text, level=self._level, marker="" if self._level else self._marker)
        self._marker = ""

    def _end_superscript(self, text: str) -> None:
        """Write superscript text: the label of a note as "[1]", which ends no sentence; else an exponent."""
        label, before = text.strip(), self._words[-1][-1:] if self._words else ""
        is_note = label.isalnum() if self._is_note_link else label.isdigit() and before in tuple(".!?")
        self._is_note_link, self._superscript = False, None
        self._add(f"[{label}]" if is_note else raise_digits(text))

    def _add(self, text: str) -> None:
        if self._superscript is not None:
            self._superscript.append(text)
        elif self._in_row:
            self._rows.add(text)
        else:
            self._words.append(text)

    def _write_term(self, term: str) -> None:
        """Write a term without a definition."""
        self._builder.add_paragraph(term)
        self._definition_term, self._awaits_definition = "", False

    def _begin_item(self, attributes: Mapping[str, str]) -> None:
        marker = "-"
        if self._lists and (last := self._lists[-1]):
            value = re.match(r"\s*\d{1,9}", attributes.get("value", ""))
            number, number_format = int(value[0]) if value else last[0] + 1, last[1]
            self._lists[-1] = number, number_format
            marker = f"{write_number(number, number_format)}."
        self._marker = "  " * (len(self._lists) - 1) + marker
