"""Where a loader writes what it reads: text, pages, headings and records, with their offsets kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from adaptive_rag.ingest.source_text import (
    SECTION_SEPARATOR,
    Heading,
    OffsetMap,
    Page,
    Record,
    SourceText,
)

PARAGRAPH = "\n\n"
# many short strings take several times the room of one long one
_LOOSE_PARTS = 5000
_LONGEST_TITLE = 120
_DEEPEST_SECTION = 3


class TextBuilder:
    """Collects the text of one source; a loader fills it from top to bottom."""

    def __init__(self) -> None:
        self.length = 0
        self.metadata: dict[str, Any] = {}
        self.notes: list[str] = []
        self._joined: list[str] = []
        self._parts: list[str] = []
        self._pages: list[Page] = []
        self._headings: list[tuple[int, str, int]] = []
        self._records: list[Record] = []
        self._offsets = OffsetMap()

    @property
    def next_paragraph(self) -> int:
        """Where the next paragraph or record will start."""
        return self.length + len(PARAGRAPH) if self.length else 0

    def add(self, text: str) -> None:
        """Append text that needs no map."""
        self._parts.append(text)
        self.length += len(text)
        if len(self._parts) > _LOOSE_PARTS:
            self._joined.append("".join(self._parts))
            self._parts.clear()

    def add_mapped(self, text: str, raw: int, raw_length: int) -> None:
        """Append text made from `raw_length` characters of raw text at `raw`."""
        if text:
            self._offsets.add(self.length, len(text), raw, raw_length)
            self.add(text)

    def add_paragraph(self, text: str, *, level: int | None = None) -> None:
        """Append a paragraph, parted from the one before; with a level it is a heading."""
        if self.length:
            self.add(PARAGRAPH)
        if level is not None:
            self.mark_heading(text, level)
        self.add(text)

    def mark_heading(self, title: str, level: int, *, offset: int | None = None) -> None:
        """Note that a heading's text starts at `offset`, by default where the text ends now."""
        title = re.sub(r"\s+", " ", title).strip()
        if title:
            self._headings.append((self.length if offset is None else offset, title[:_LONGEST_TITLE], level))

    def add_page(self, number: int, *, start: int, raw_start: int, raw_end: int) -> None:
        """Note that the text from `start` to here is a page."""
        self._pages.append(Page(number, start, self.length, raw_start, raw_end))

    def add_record(self, text: str, metadata: Mapping[str, Any], *, page: int | None = None) -> None:
        """Append a record, which chunks will not cross."""
        if self.length:
            self.add(PARAGRAPH)
        start = self.length
        self.add(text)
        self._records.append(Record(start, self.length, metadata, page))

    def build(self, source: str, content_hash: str) -> SourceText:
        """Return what was collected."""
        return SourceText(
            source=source,
            text="".join(self._joined + self._parts),
            content_hash=content_hash,
            pages=tuple(self._pages),
            headings=_with_sections(sorted(self._headings, key=lambda heading: (heading[0], heading[2]))),
            records=tuple(self._records),
            metadata=self.metadata,
            notes=tuple(self.notes),
            offsets=self._offsets,
        )


def _with_sections(found: list[tuple[int, str, int]]) -> tuple[Heading, ...]:
    """Give each heading its path from the outermost one.

    A lone heading above all others is the document's title: it would stand in every path and tell
    nothing apart, so paths leave it out.
    """
    levels = [level for _, _, level in found]
    titled = len(found) > 1 and levels.count(levels[0]) == 1 and levels[0] == min(levels)
    headings, path = [], list[tuple[int, str]]()
    for index, (offset, title, level) in enumerate(found):
        path = [entry for entry in path if entry[0] < level]
        path.append((level, title))
        shown = path[1:] if titled and index else path
        section = SECTION_SEPARATOR.join(name for _, name in shown[-_DEEPEST_SECTION:])
        headings.append(Heading(offset, title, level, section))
    return tuple(headings)
