"""What flows through this room: a file to read, its text, or why it could not be read; and who collects it.

A span counts characters of `SourceText.text`, which `extract_text(path)` returns for the same file, every
time. For plain text and code it is also a span of the file's content, as `Path.read_text` returns it.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adaptive_rag.text.visible import escape_hidden

PARAGRAPH = "\n\n"
SECTION_SEPARATOR = " > "
_LONGEST_TITLE = 120
_DEEPEST_SECTION = 3


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read, and the name it goes by in the index and in citations."""

    path: Path
    source: str
    real: str | None = None
    """The path without links, where the listing of its folder found it out."""


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


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its number as viewers count it, and where its text starts."""

    number: int | None
    """None where what follows stands on no page: a table that is attached to a PDF."""
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
class OcrSpan:
    """A stretch that was read from a picture of text, most often a line, and how sure the reading is."""

    start: int
    end: int
    confidence: float
    """From 0 to 1."""


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
    lines: tuple[int, ...] = field(default=(), repr=False)
    """Where each line of the file starts, where the text is the file's own; else none."""
    whole: bool = False
    """Whether its vector may leave out what is longer than the model reads: passages that were judged."""
    ocr: tuple[OcrSpan, ...] = field(default=(), repr=False)

    def page_at(self, offset: int) -> int | None:
        """Return the number of the page that holds the character at `offset`."""
        index = bisect_right(self.pages, offset, key=lambda page: page.start) - 1
        return self.pages[max(0, index)].number if self.pages else None

    def pages_after(self, start: int, end: int) -> tuple[Page, ...]:
        """Return the pages that begin after `start` and before `end`."""
        first = bisect_right(self.pages, start, key=lambda page: page.start)
        return self.pages[first : bisect_left(self.pages, end, key=lambda page: page.start)]

    def line_at(self, offset: int) -> int | None:
        """Return the number of the file's line that holds the character at `offset`, from 1."""
        return bisect_right(self.lines, offset) or None

    def section_starts(self, start: int, end: int) -> dict[int, str | None]:
        """Return where each section of a stretch begins in it; none where all of it is one section."""
        first = bisect_right(self.headings, start, key=lambda heading: heading.offset)
        later = self.headings[first : bisect_left(self.headings, end, key=lambda heading: heading.offset)]
        begins = [start, *(heading.offset for heading in later)] if later else []
        return {offset: self.section_at(offset) for offset in begins}

    def ocr_between(self, start: int, end: int) -> list[list[float]]:
        """Return what was read from pictures and holds some of a stretch, as [start, end, confidence]."""
        first = bisect_right(self.ocr, start, key=lambda span: span.end)
        last = bisect_left(self.ocr, end, key=lambda span: span.start)
        return [[span.start, span.end, span.confidence] for span in self.ocr[first:last]]

    def section_at(self, offset: int) -> str | None:
        """Return the headings above `offset`, outermost first: "4 Storms > Warning levels"."""
        index = bisect_right(self.headings, offset, key=lambda heading: heading.offset) - 1
        record = bisect_right(self.records, offset, key=lambda record: record.start) - 1
        # the heading of one record says nothing about the next
        if index < 0 or (record >= 0 and self.headings[index].offset < self.records[record].start):
            return None
        return self.headings[index].section


class TextBuilder:
    """Collects the text of one source; a loader fills it from top to bottom."""

    def __init__(self) -> None:
        self.length = 0
        self.metadata: dict[str, Any] = {}
        self.notes: list[str] = []
        self.hidden_words = 0
        """Words of the file that its reader does not see, which were left out."""
        self.depth = 0
        """In how many files the source lies that holds it as a part or an attachment."""
        self.keeps_lines = False
        """Whether the lines of the text are those of the file; the loader says so."""
        self._text = io.StringIO()
        self._pages: list[Page] = []
        self._headings: list[tuple[int, int, str]] = []
        self._records: list[Record] = []
        self._ocr: list[OcrSpan] = []
        self._after_item = False

    @property
    def text(self) -> str:
        """Return the text so far."""
        return self._text.getvalue()

    def add(self, text: str) -> None:
        """Append text."""
        self.length += self._text.write(without_half_characters(text))

    def note_left_out(self, kind: str, count: int) -> None:
        """Note how many things of a kind were left out, if any: "2 comments were left out"."""
        if count:
            self.notes.append(f"{count:,} {kind}{'s were' if count > 1 else ' was'} left out")

    def note_hidden(self, kinds: str, names: Sequence[str]) -> None:
        """Note which hidden parts were left out, if any: "hidden slides were left out: 2, 5"."""
        if names:
            self.notes.append(f"hidden {kinds} were left out: {', '.join(names)}")

    def begin_paragraph(self, gap: str = PARAGRAPH) -> None:
        """Append what parts the text so far from what comes."""
        if self.length:
            self.add(gap)
        self._after_item = False

    def add_paragraph(self, text: str, *, level: int | None = None, marker: str = "") -> None:
        """Append a paragraph; with a level it is a heading, and with a marker ("-", "2.") an item of a list.

        Items stand on neighbouring lines.
        """
        self.begin_paragraph("\n" if marker and self._after_item else PARAGRAPH)
        if level is not None:
            self.mark_heading(text, level)
        self.add(f"{marker} {text}" if marker else text)
        self._after_item = bool(marker)

    def add_record(
        self, text: str, metadata: Mapping[str, Any], *, page: int | None = None, title: str | None = None
    ) -> None:
        """Append a record, which chunks will not cross; with a title, that is its section."""
        self.begin_paragraph()
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

    def add_part(self, part: TextBuilder, title: str, level: int, metadata: Mapping[str, Any]) -> None:
        """Append what another builder collected as a record of its own, or as the records that it has.

        `title` is the heading above all of it, and `metadata` is added to that of each record. Text so far
        that is no record becomes one.
        """
        if self.length and not self._records:
            self._records.append(Record(0, self.length, {}))
        self.begin_paragraph()
        start = self.length
        self.mark_heading(title, level)
        self._append(part, level)
        for record in part._records or [Record(0, part.length, {})]:
            known = {**part.metadata, **record.metadata, **metadata}
            self._records.append(Record(start + record.start, start + record.end, known, record.page))
        if part._pages:
            before = [] if self._pages else [Page(None, 0)]
            pages = [Page(page.number, start + page.start) for page in part._pages]
            self._pages += [*before, *pages, Page(None, self.length)]
        elif self._pages:
            self._pages.append(Page(None, start))
        self.notes += [f"{title}: {note}" for note in part.notes]

    def insert(self, part: TextBuilder) -> None:
        """Append what another builder collected as a passage of this text, without its records and pages."""
        if part.length:
            self.begin_paragraph()
        self._append(part, 0)
        self.notes += part.notes

    def _append(self, part: TextBuilder, level: int) -> None:
        start = self.length
        self.add(part.text)
        self._headings += [(start + offset, level + below, name) for offset, below, name in part._headings]
        self._ocr += [OcrSpan(start + span.start, start + span.end, span.confidence) for span in part._ocr]
        self.hidden_words += part.hidden_words

    def mark_page(self, number: int) -> None:
        """Note that a page begins where the text ends now."""
        self._pages.append(Page(number, self.length))

    def mark_ocr(self, start: int, confidence: float) -> None:
        """Note that the text from `start` to where it ends now was read from a picture."""
        self._ocr.append(OcrSpan(start, self.length, round(confidence, 2)))

    def build(self, source: str, content_hash: str) -> SourceText:
        """Return what was collected."""
        notes = [*self.notes, hidden] if (hidden := _note_hidden(self.hidden_words)) else self.notes
        return SourceText(
            source=source,
            text=self.text,
            content_hash=content_hash,
            pages=tuple(self._pages),
            headings=_with_sections(sorted(self._headings, key=lambda heading: heading[:2])),
            records=tuple(self._records),
            metadata={
                name: without_half_characters(value) if isinstance(value, str) else value
                for name, value in self.metadata.items()
            },
            notes=tuple(notes),
            lines=(0, *(found.end() for found in re.finditer("\n", self.text))) if self.keeps_lines else (),
            ocr=tuple(self._ocr),
        )


def _note_hidden(words: int) -> str:
    """Return the note on words that a reader does not see; "" where there are none."""
    if words == 1:
        return "1 word that the document hides was left out"
    return f"{words:,} words that the document hides were left out" if words else ""


def printable(name: str) -> str:
    r"""Write what is not shown of a file's name as "caf\xe9.txt", and leave other names alone.

    That is bytes that are no UTF-8, and characters that are not drawn, end lines or turn the direction.
    """
    return escape_hidden(name.encode(errors="surrogateescape").decode(errors="backslashreplace"))


def without_half_characters(text: str) -> str:
    r"""Put a question mark in the place of each half of a character, such as JSON's "\ud83d" alone.

    No file and no database can hold such a half.
    """
    return text if text.isascii() else text.encode(errors="replace").decode()


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
        section = SECTION_SEPARATOR.join(name for _, name in shown[-_DEEPEST_SECTION:])
        headings.append(Heading(offset, section))
    return tuple(headings)
