"""What every loader makes of a file: its text, and where in the file each character came from.

The contract of a span: `start` and `end` count characters of `SourceText.text`, the text that
`extract_text(path)` returns for the same file, every time. So `extract_text(path).text[start:end]`
is a chunk's text, or a citation's quote, to the letter.

- Plain text and Markdown are kept as they stand; only line ends become line feeds and a byte order mark
  goes, as `Path.read_text` does it. A span is therefore also a span of the file's own content.
- PDF text is cleaned: ligatures, hyphens at line ends, running heads, repeated blanks. The map kept
  beside it leads any span back to the text that the PDF library reads from each page.
- Everything else (HTML, Word, tables) is text that the loader writes; there the spans are its own.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SECTION_SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its number as viewers count it, its span, and where its raw text starts and ends."""

    number: int
    start: int
    end: int
    raw_start: int
    raw_end: int


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, where its text starts, and its depth (1 is the top)."""

    offset: int
    title: str
    level: int
    section: str
    """The headings that lead here, outermost first: "4 Storms > Warning levels"."""


@dataclass(frozen=True, slots=True)
class Record:
    """A stretch that chunks do not cross (a row, a document handed in), and what is known of it."""

    start: int
    end: int
    metadata: Mapping[str, Any]
    page: int | None = None


@dataclass(frozen=True, slots=True)
class RawSpan:
    """A stretch of one page's raw text; `page` is None where the source has no pages."""

    page: int | None
    start: int
    end: int


@dataclass(slots=True)
class OffsetMap:
    """Runs of cleaned text and the runs of raw text they were made from, in order.

    Within a run of equal lengths characters match one to one; otherwise (a ligature, an added blank)
    the run is matched as a whole. Four integers a run keep a long book's map small.
    """

    clean: array[int] = field(default_factory=lambda: array("q"))
    clean_lengths: array[int] = field(default_factory=lambda: array("q"))
    raw: array[int] = field(default_factory=lambda: array("q"))
    raw_lengths: array[int] = field(default_factory=lambda: array("q"))

    def add(self, clean: int, length: int, raw: int, raw_length: int) -> None:
        """Append a run, joining it to the last one where both go on without a gap."""
        if self.clean and length == raw_length:
            before, raw_before = self.clean_lengths[-1], self.raw_lengths[-1]
            adjacent = self.clean[-1] + before == clean and self.raw[-1] + raw_before == raw
            if adjacent and before == raw_before:
                self.clean_lengths[-1] += length
                self.raw_lengths[-1] += length
                return
        self.clean.append(clean)
        self.clean_lengths.append(length)
        self.raw.append(raw)
        self.raw_lengths.append(raw_length)

    def raw_bounds(self, offset: int) -> tuple[int, int]:
        """Return the raw span that the character at `offset` was made from.

        It is empty for a character that was added between two runs.
        """
        if not self.clean:
            return offset, offset + 1
        index = max(0, bisect_right(self.clean, offset) - 1)
        within, length = offset - self.clean[index], self.clean_lengths[index]
        raw, raw_length = self.raw[index], self.raw_lengths[index]
        if within >= length:
            return raw + raw_length, raw + raw_length
        if length == raw_length:
            return raw + within, raw + within + 1
        return raw, raw + raw_length


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of one source, and what is known about its stretches."""

    source: str
    text: str = field(repr=False)
    content_hash: str
    """SHA-256 of the file's bytes, hexadecimal."""
    pages: tuple[Page, ...] = field(default=(), repr=False)
    headings: tuple[Heading, ...] = field(default=(), repr=False)
    records: tuple[Record, ...] = field(default=(), repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What holds for the whole source; every chunk carries it."""
    notes: tuple[str, ...] = ()
    """What the reader should know: an encoding guessed, pages without text."""
    offsets: OffsetMap = field(default_factory=OffsetMap, repr=False)

    def page_at(self, offset: int) -> int | None:
        """Return the number of the page that holds the character at `offset`."""
        page = self._page(offset)
        return page.number if page else None

    def pages_after(self, start: int, end: int) -> list[Page]:
        """Return the pages that begin after `start` and before `end`."""
        first = bisect_right(self.pages, start, key=lambda page: page.start)
        return list(self.pages[first : bisect_left(self.pages, end, key=lambda page: page.start)])

    def offset_on_page(self, offset: int) -> int:
        """Return how many characters of the page's cleaned text stand before `offset`."""
        page = self._page(offset)
        return offset - page.start if page else offset

    def section_at(self, offset: int) -> str | None:
        """Return the headings above `offset`, outermost first: "4 Storms > Warning levels"."""
        index = bisect_right(self.headings, offset, key=lambda heading: heading.offset) - 1
        if index < 0:
            return None
        heading = self.headings[index]
        # the heading of one record says nothing about the next
        return heading.section if heading.offset >= self._record_start(offset) else None

    def raw_span(self, start: int, end: int) -> list[RawSpan]:
        """Return where `text[start:end]` stands in the raw text, one span for each page it touches."""
        if not 0 <= start < end <= len(self.text):
            raise ValueError(f"span {start}:{end} does not lie in a text of {len(self.text)} characters")
        first, _ = self.offsets.raw_bounds(start)
        _, last = self.offsets.raw_bounds(end - 1)
        if not self.pages:
            return [RawSpan(None, first, last)]
        return [
            RawSpan(
                page.number,
                max(first, page.raw_start) - page.raw_start,
                min(last, page.raw_end) - page.raw_start,
            )
            for page in self.pages
            if page.raw_start < last and first < page.raw_end
        ]

    def _record_start(self, offset: int) -> int:
        index = bisect_right(self.records, offset, key=lambda record: record.start) - 1
        return self.records[index].start if index >= 0 else 0

    def _page(self, offset: int) -> Page | None:
        index = bisect_right(self.pages, offset, key=lambda page: page.start) - 1
        return self.pages[max(0, index)] if self.pages else None
