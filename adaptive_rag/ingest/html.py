"""The loaders of web pages, as HTML files and as saved pages (MHTML): what a reader sees, with headings."""

from __future__ import annotations

import codecs
import email
import re
from contextlib import suppress
from pathlib import Path

from lxml import etree

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder, without_half_characters
from adaptive_rag.ingest.text import BYTE_ORDER_MARKS, decode

_is_hidden = re.compile(
    "title|script|style|noscript|template|svg|canvas|nav|iframe|object|select|button"
).fullmatch
_is_block = re.compile(
    "address|article|aside|blockquote|body|caption|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|"
    "h[1-6]|header|hr|html|li|main|ol|p|pre|section|summary|table|tbody|tfoot|thead|tr|ul"
).fullmatch
_MARKS = {"br": "\n", "td": "\t", "th": "\t"}
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
# Python's encodings of domain names take forever for a page; one that was searched by bytes is not UTF-16
_NO_CHARSETS = ("punycode", "idna", "utf-16", "utf-32")
# the parser takes what stands in it for text: "<p>This page has frames.</p>"
_NO_FRAMES = re.compile(r"</?noframes\b[^>]{0,200}>", re.IGNORECASE)
# The parser looks for the start of each stray end tag among all open elements. 1e9 steps take 3 seconds.
_MOST_STEPS = 1_000_000_000
_PIECE = 1 << 16


def load_html(path: Path, builder: TextBuilder) -> None:
    """Write an HTML file's visible text and headings into `builder`; its title goes to the metadata."""
    _write(path.read_bytes(), None, builder)


def load_mhtml(path: Path, builder: TextBuilder) -> None:
    """Write the page of a file that a browser saved into `builder`, as `load_html` does."""
    try:
        parts = email.message_from_bytes(path.read_bytes()).walk()
        page = next((part for part in parts if part.get_content_type() == "text/html"), None)
    except RecursionError as error:
        raise IndexingError("is nested too deep to be read. Save the page anew") from error
    data = page.get_payload(decode=True) if page else None
    if page is None or not isinstance(data, bytes):
        raise IndexingError("holds no web page: no part of it is of type text/html")
    _write(data, page.get_content_charset(), builder)


def _decode(data: bytes, declared: str | None, builder: TextBuilder) -> str:
    """Follow the page's own word on its encoding, unless a byte order mark says otherwise."""
    if declared is None and (found := _CHARSET.search(data[:4096])):
        declared = found[1].decode("ascii", "replace")
    if declared and not data.startswith(tuple(mark for mark, _ in BYTE_ORDER_MARKS)):
        with suppress(LookupError, ValueError):
            known = codecs.lookup(declared).name
            if not known.startswith(_NO_CHARSETS):
                text = data.decode("cp1252" if known == "iso8859-1" else known)
                if known != "utf-8":
                    builder.metadata["encoding"] = known
                return text
    return decode(data, builder)


def _write(data: bytes, charset: str | None, builder: TextBuilder) -> None:
    # UTF-7 may give half a character, which the parser does not take
    page = without_half_characters(_NO_FRAMES.sub("", _decode(data, charset, builder)))
    reader = _Reader(builder, deepest=_MOST_STEPS // (page.count("</") + 1))
    parser = etree.HTMLParser(target=reader, huge_tree=True)
    # an error that the reader raises ends the parsing after the piece that it was raised in
    for start in range(0, len(page), _PIECE):
        parser.feed(page[start : start + _PIECE])
    if page:
        parser.close()


class _Reader:
    """Collects blocks of text; the parser reports an end for every start, also where the page has none."""

    def __init__(self, builder: TextBuilder, deepest: int) -> None:
        self._builder = builder
        self._deepest = deepest
        self._depth = 0
        self._hidden = 0
        self._words: list[str] = []
        self._title: list[str] | None = None
        self._level: int | None = None
        self._preformatted = False
        self._code = False
        self._item = False

    def start(self, tag: str, attributes: object) -> None:
        self._depth += 1
        if self._depth > self._deepest:
            raise IndexingError(
                f"cannot be read: more than {self._deepest:,} of its tags are left open. Save it anew"
            )
        if self._hidden or _is_hidden(tag):
            if tag == "title" and not self._hidden:
                self._title = []
            self._hidden += 1
        elif tag == "code":
            self._code = self._preformatted
        elif tag in _MARKS:
            self._words.append(_MARKS[tag])
        elif _is_block(tag):
            self.close()
            self._level = int(tag[1]) if re.fullmatch("h[1-6]", tag) else None
            self._item = self._item or tag == "li"
            self._preformatted = tag == "pre"

    def end(self, tag: str) -> None:
        self._depth -= 1
        if self._hidden:
            self._hidden -= 1
            if self._title is not None:
                if title := " ".join("".join(self._title).split()):
                    self._builder.metadata.setdefault("title", title)
                self._title = None
        elif _is_block(tag):
            self.close()
            self._level = None
            self._item = self._item and tag != "li"
            self._preformatted = False

    def data(self, text: str) -> None:
        if self._title is not None:
            self._title.append(text)
        elif not self._hidden:
            self._words.append(text if self._preformatted else re.sub(r"\s+", " ", text))

    def close(self) -> None:
        """Write the block that ends here, if it holds anything."""
        text = "".join(self._words)
        self._words.clear()
        if self._preformatted:
            text = text.strip("\n").rstrip()
            if self._code and text:
                text = f"```\n{text}\n```"  # as in Markdown, so that code is known from prose
            self._code = False
        else:
            lines = (
                " | ".join(filter(None, (" ".join(cell.split()) for cell in line.split("\t"))))
                for line in text.split("\n")
            )
            text = "\n".join(filter(None, lines))
        if text.strip():
            self._builder.add_paragraph(text, level=self._level, item=self._item and not self._level)
            self._item = False
