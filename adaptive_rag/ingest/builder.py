"""Where a loader writes what it reads: text, pages, headings and records, with their offsets kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from adaptive_rag.ingest.documents import Heading, Page, Record, SourceText

PARAGRAPH = "\n\n"
_SECTION_SEPARATOR = " > "
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
        self._headings: list[tuple[int, int, str]] = []
        self._records: list[Record] = []
        self._after_item = False

    def add(self, text: str) -> None:
        """Append text."""
        self._parts.append(text)
        self.length += len(text)
        if len(self._parts) > _LOOSE_PARTS:
            self._joined.append("".join(self._parts))
            self._parts.clear()

    def add_paragraph(self, text: str, *, level: int | None = None) -> None:
        """Append a paragraph, parted from the one before; with a level it is a heading."""
        if self.length:
            self.add(PARAGRAPH)
        if level is not None:
            self.mark_heading(text, level)
        self.add(text)

    def add_block(self, text: str, *, level: int | None = None, item: bool = False) -> None:
        """Append a paragraph, a heading or an item of a list; items of a list stand on lines of their own."""
        if item and self._after_item:
            self.add(f"\n- {text}")
        else:
            self.add_paragraph(f"- {text}" if item else text, level=level)
        self._after_item = item

    def add_record(
        self, text: str, metadata: Mapping[str, Any], *, page: int | None = None, title: str | None = None
    ) -> None:
        """Append a record, which chunks will not cross; with a title, that is its section."""
        if self.length:
            self.add(PARAGRAPH)
        if title:
            self.mark_heading(title, 1)
        start = self.length
        self.add(text)
        self._records.append(Record(start, self.length, metadata, page))

    def mark_heading(self, title: str, level: int, *, offset: int | None = None) -> None:
        """Note that a heading's text starts at `offset`, by default where the text ends now.

        Level 1 is the outermost.
        """
        title = re.sub(r"\s+", " ", title).strip()
        if title:
            self._headings.append((self.length if offset is None else offset, level, title[:_LONGEST_TITLE]))

    def mark_page(self, number: int) -> None:
        """Note that a page begins where the text ends now."""
        self._pages.append(Page(number, self.length))

    def build(self, source: str, content_hash: str) -> SourceText:
        """Return what was collected."""
        return SourceText(
            source=source,
            text="".join(self._joined + self._parts),
            content_hash=content_hash,
            pages=tuple(self._pages),
            headings=_with_sections(sorted(self._headings, key=lambda heading: heading[:2])),
            records=tuple(self._records),
            metadata=self.metadata,
            notes=tuple(self.notes),
        )


def _with_sections(found: list[tuple[int, int, str]]) -> tuple[Heading, ...]:
    """Give each heading its path from the outermost one: "4 Storms > Warning levels".

    A lone heading above all others is the document's title: it would stand in every path and tell
    nothing apart, so paths leave it out.
    """
    levels = [level for _, level, _ in found]
    titled = len(found) > 1 and levels.count(levels[0]) == 1 and levels[0] == min(levels)
    headings, path = [], list[tuple[int, str]]()
    for index, (offset, level, title) in enumerate(found):
        path = [entry for entry in path if entry[0] < level]
        path.append((level, title))
        shown = path[1:] if titled and index else path
        section = _SECTION_SEPARATOR.join(name for _, name in shown[-_DEEPEST_SECTION:])
        headings.append(Heading(offset, section))
    return tuple(headings)
