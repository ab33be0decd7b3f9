"""What flows through this room: a file to read, its text, what was noted, or why it could not be read.

A span counts characters of `SourceText.text`, the text that `extract_text(path)` returns for the same
file, every time. So `extract_text(path).text[start:end]` is a chunk's text, or a citation's quote, to the
letter. For plain text and Markdown a span is also a span of the file's own content, as `Path.read_text`
returns it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read, and the name it goes by in the index and in citations."""

    path: Path
    source: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be read; the others are not touched by it.

    `reason` reads on from the name: f"{source} {reason}".
    """

    source: str
    reason: str

    def __str__(self) -> str:
        return f"{self.source} {self.reason}"


@dataclass(frozen=True, slots=True)
class Note:
    """What a user should know of a source that was read: "3 of 12 pages hold no text: 4-6"."""

    source: str
    text: str

    def __str__(self) -> str:
        return f"{self.source}: {self.text}"


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its number as viewers count it, and where its text starts."""

    number: int
    start: int


@dataclass(frozen=True, slots=True)
class Heading:
    """Where a heading's text starts, and the headings that lead to it, outermost first."""

    offset: int
    section: str


@dataclass(frozen=True, slots=True)
class Record:
    """A stretch that chunks do not cross (a row, a document handed in), and what is known of it."""

    start: int
    end: int
    metadata: Mapping[str, Any]
    page: int | None = None


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
    """What the user should know: an encoding guessed, pages without text."""

    def page_at(self, offset: int) -> int | None:
        """Return the number of the page that holds the character at `offset`."""
        index = bisect_right(self.pages, offset, key=lambda page: page.start) - 1
        return self.pages[max(0, index)].number if self.pages else None

    def pages_after(self, start: int, end: int) -> tuple[Page, ...]:
        """Return the pages that begin after `start` and before `end`."""
        first = bisect_right(self.pages, start, key=lambda page: page.start)
        return self.pages[first : bisect_left(self.pages, end, key=lambda page: page.start)]

    def section_at(self, offset: int) -> str | None:
        """Return the headings above `offset`, outermost first: "4 Storms > Warning levels"."""
        index = bisect_right(self.headings, offset, key=lambda heading: heading.offset) - 1
        if index < 0:
            return None
        heading = self.headings[index]
        # the heading of one record says nothing about the next
        return heading.section if heading.offset >= self._record_start(offset) else None

    def _record_start(self, offset: int) -> int:
        index = bisect_right(self.records, offset, key=lambda record: record.start) - 1
        return self.records[index].start if index >= 0 else 0
