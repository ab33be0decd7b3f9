"""The HTML loader: what a reader sees of a page, with its headings, by the standard library alone."""

from __future__ import annotations

import codecs
import re
from html.parser import HTMLParser
from pathlib import Path

from adaptive_rag.ingest.builder import TextBuilder
from adaptive_rag.ingest.text import decode


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HIDDEN = _names("head script style noscript template svg canvas nav iframe object select button")
_BLOCKS = _names(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 header hr html li main ol p pre section summary table tbody tfoot thead tr "
    "ul caption"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_VOID = _names("area base br col embed hr img input link meta source track wbr")
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)


def read_html(path: Path, builder: TextBuilder) -> None:
    """Write an HTML file's visible text and headings into `builder`; its title goes to the metadata."""
    data = path.read_bytes()
    parser = _Reader(builder)
    # the parser gives up on marked sections that it does not know; as declarations it passes them over
    parser.feed(_decode(data, builder).replace("<![", "<!"))
    parser.close()
    parser.end_block()
    if parser.title.strip():
        builder.metadata["title"] = " ".join(parser.title.split())


def _decode(data: bytes, builder: TextBuilder) -> str:
    """Follow the page's own word on its encoding, unless a byte order mark or UTF-8 itself says more."""
    declared = _CHARSET.search(data[:4096])
    if declared and not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        name = declared[1].decode("ascii", "replace")
        try:
            known = codecs.lookup(name).name
            text = data.decode("cp1252" if known == "iso8859-1" else known)
        except (LookupError, UnicodeDecodeError):
            return decode(data, builder)
        if known != "utf-8":
            builder.metadata["encoding"] = known
        return text
    return decode(data, builder)


class _Reader(HTMLParser):
    """Collects blocks of text; tags that are never closed do no harm."""

    def __init__(self, builder: TextBuilder) -> None:
        super().__init__(convert_charrefs=True)
        self._builder = builder
        self._words: list[str] = []
        self._hidden: list[str] = []
        self._heading: int | None = None
        self._preformatted = False
        self._in_title = False
        self._prefix = ""
        self._in_list = False
        self.title = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        if tag == "body":  # the head may have been left open
            self._hidden.clear()
        if tag in _HIDDEN and tag not in _VOID:
            self._hidden.append(tag)
        if tag == "br":
            self._words.append("\n")
        elif tag in {"td", "th"}:
            self._words.append("\t")
        if tag in _BLOCKS:
            self.end_block()
            self._heading = _HEADINGS.get(tag)
            self._prefix = "- " if tag == "li" else ""
            self._preformatted = tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        if tag in _BLOCKS:
            self.end_block()
            self._heading = None
            self._preformatted = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._hidden:
            self._words.append(data if self._preformatted else re.sub(r"\s+", " ", data))

    def end_block(self) -> None:
        """Write the block that ends here, if it holds anything."""
        text = "".join(self._words)
        self._words.clear()
        if self._preformatted:
            text = text.strip("\n").rstrip()
        else:
            lines = (
                " | ".join(filter(None, (" ".join(cell.split()) for cell in line.split("\t"))))
                for line in text.split("\n")
            )
            text = "\n".join(filter(None, lines))
        if not text.strip():
            return
        listed = self._prefix == "- "
        text = self._prefix + text
        self._prefix = ""
        if listed and self._in_list:
            self._builder.add("\n" + text)
        else:
            self._builder.add_paragraph(text, level=self._heading)
        self._in_list = listed
