"""The data types of ingestion: a file to read, its text, why it could not be read, and the text builder.

A span counts characters of `SourceText.text`; `extract_text(path)` always returns the same text for the same
file. For plain text and code a span also applies to the file's content, as `Path.read_text` returns it.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from adaptive_rag.text.visible import escape_hidden, without_surrogates

PARAGRAPH = "\n\n"
SECTION_SEPARATOR = " > "
# Metadata that chunks set themselves, in a form that the code relies on; a document's fields with these names
# are left out.
CHUNK_METADATA = frozenset(
    "also_as cells columns line ocr ocr_confidence ocr_spans page_end page_starts section_starts "
    "speakers".split()
)
# In characters, of a file in an archive with its folders, or of an attachment. A few bytes can unpack to a
# name of megabytes, and every chunk, note and citation repeats the name.
LONGEST_NAME = 1000
_LONGEST_TITLE = 120
# An index is opened with the notes on all its sources, and a letter may have attachments by the thousand.
_MOST_NOTES, _LONGEST_NOTE = 50, 2_000
_DEEPEST_SECTION = 3


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read, and its name in the index and in citations."""

    path: Path
    source: str
    real: str | None = None
    """The path with links resolved, if listing its folder already resolved it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be read; other files are not affected.

    `reason` continues a sentence that begins with the name: f"{source} {reason}".
    """

    source: str
    reason: str

    def __str__(self) -> str:
        return f"{self.source} {self.reason}"


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a user should know about a source that was read: "3 of 12 pages hold no text: 4-6"."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its number as viewers count it, and the offset at which its text starts."""

    number: int | None
    """None for text that is on no page, such as a table attached to a PDF."""
    start: int


@dataclass(frozen=True, slots=True)
class Heading:
    """The offset of a heading, and the headings that lead to it, outermost first."""

    offset: int
    section: str


@dataclass(frozen=True, slots=True)
class Record:
    """A span that chunks do not cross (a row, a document passed in), and its metadata."""

    start: int
    end: int
    metadata: Mapping[str, Any]
    page: int | None = None


@dataclass(frozen=True, slots=True)
class OcrSpan:
    """A span read from a picture of text, usually one line, and the confidence of the reading."""

    start: int
    end: int
    confidence: float
    """From 0 to 1."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of one source, with its pages, headings, records and metadata."""

    source: str
    text: str = field(repr=False)
    content_hash: str
    """SHA-256 of the file's bytes, hexadecimal."""
    pages: tuple[Page, ...] = field(default=(), repr=False)
    headings: tuple[Heading, ...] = field(default=(), repr=False)
    records: tuple[Record, ...] = field(default=(), repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Metadata of the whole source; every chunk carries it."""
    notes: tuple[str, ...] = ()
    """What the user should know: a guessed encoding, pages without text."""
    lines: tuple[int, ...] = field(default=(), repr=False)
    """The offset of each line of the file, if the text is the file's own; else empty."""
    whole: bool = False
    """Whether the embedding may leave out text beyond the model's limit: for passages that were judged."""
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
        """Return the number of the file's line, from 1, that contains `offset`."""
        return bisect_right(self.lines, offset) or None

    def section_starts(self, start: int, end: int) -> dict[int, str | None]:
        """Return the offset and name of each section in a span; {} if the whole span is in one section."""
        first = bisect_right(self.headings, start, key=lambda heading: heading.offset)
        later = self.headings[first : bisect_left(self.headings, end, key=lambda heading: heading.offset)]
        begins = [start, *(heading.offset for heading in later)] if later else []
        return {offset: self.section_at(offset) for offset in begins}

    def ocr_between(self, start: int, end: int) -> list[list[float]]:
        """Return the spans read from pictures that overlap this one, as [start, end, confidence]."""
        first = bisect_right(self.ocr, start, key=lambda span: span.end)
        last = bisect_left(self.ocr, end, key=lambda span: span.start)
        return [[span.start, span.end, span.confidence] for span in self.ocr[first:last]]

    def section_at(self, offset: int) -> str | None:
        """Return the headings above `offset`, outermost first: "4 Storms > Warning levels"."""
        index = bisect_right(self.headings, offset, key=lambda heading: heading.offset) - 1
        record = bisect_right(self.records, offset, key=lambda record: record.start) - 1
        # a heading in one record does not apply to the next record
        if index < 0 or (record >= 0 and self.headings[index].offset < self.records[record].start):
            return None
        return self.headings[index].section


# The name of a style of headings in Word: "heading 2", "Title".
HEADING_STYLE = re.compile(r"heading\s*([1-9])|title$", re.IGNORECASE)


class TextBuilder:
    """Collects the text of one source; a loader fills it from top to bottom."""

    def __init__(self) -> None:
        self.length = 0
        self.metadata: dict[str, Any] = {}
        self.notes: list[str] = []
        self.hidden_words = 0
        """The number of words that the document hides; they were left out."""
        self.depth = 0
        """How many files this source is nested in, as a part or an attachment."""
        self.keeps_lines = False
        """Whether the lines of the text are the lines of the file; set by the loader."""
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
        self.length += self._text.write(_storable(text))

    def note_left_out(self, kind: str, count: int) -> None:
        """Note how many items of a kind were left out, if any: "2 comments were left out"."""
        if count:
            self.notes.append(f"{count:,} {kind}{'s were' if count > 1 else ' was'} left out")

    def note_hidden(self, kinds: str, names: Sequence[str]) -> None:
        """Note which hidden parts were left out, if any: "hidden slides were left out: 2, 5"."""
        if names:
            self.notes.append(f"hidden {kinds} were left out: {', '.join(names)}")

    def begin_paragraph(self, gap: str = PARAGRAPH) -> None:
        """Append the gap between the text so far and the next paragraph."""
        if self.length:
            self.add(gap)
        self._after_item = False

    def add_paragraph(self, text: str, *, level: int | None = None, marker: str = "") -> None:
        """Append a paragraph; with `level` it is a heading, with `marker` ("-", "2.") a list item.

        Consecutive list items are on consecutive lines.
        """
        self.begin_paragraph("\n" if marker and self._after_item else PARAGRAPH)
        if level is not None:
            self.mark_heading(text, level)
        self.add(f"{marker} {text}" if marker else text)
        self._after_item = bool(marker)

    def add_record(
        self, text: str, metadata: Mapping[str, Any], *, page: int | None = None, title: str | None = None
    ) -> None:
        """Append a record, which chunks do not cross; `title`, if given, is its section."""
        self.begin_paragraph()
        if title:
            self.mark_heading(title, 1)
        start = self.length
        self.add(text)
        self._records.append(Record(start, self.length, metadata, page))

    def mark_record(self, start: int, end: int, metadata: Mapping[str, Any]) -> None:
        """Note that a span of the text so far is a record, which chunks do not cross."""
        self._records.append(Record(start, end, metadata))

    @property
    def has_records(self) -> bool:
        """Return whether the text has records."""
        return bool(self._records)

    def has_heading_after(self, offset: int) -> bool:
        """Return whether a heading starts at an offset or after it."""
        return any(start >= offset for start, *_ in self._headings)

    def mark_heading(self, title: str, level: int, *, offset: int | None = None) -> None:
        """Note that a heading, on level 1 if outermost, starts at `offset`, or else at the end so far."""
        title = re.sub(r"\s+", " ", _storable(title)).strip()
        if title:
            self._headings.append((self.length if offset is None else offset, level, title[:_LONGEST_TITLE]))

    def add_part(self, part: TextBuilder, title: str, level: int, metadata: Mapping[str, Any]) -> None:
        """Append the text of another builder as a record of its own, or as the records that it contains.

        `title` is the heading above all of it, and `metadata` is added to the metadata of each record. Text
        so far that is not in a record becomes one.
        """
        if self.length and not self._records:
            self._records.append(Record(0, self.length, {}))
        self.begin_paragraph()
        start = self.length
        self.mark_heading(title, level)
        self._append(part, level)
        for record in part._records or [Record(0, part.length, {})]:
            merged = {**part.metadata, **record.metadata, **metadata}
            self._records.append(Record(start + record.start, start + record.end, merged, record.page))
        if part._pages:
            before = [] if self._pages else [Page(None, 0)]
            pages = [Page(page.number, start + page.start) for page in part._pages]
            self._pages += [*before, *pages, Page(None, self.length)]
        elif self._pages:
            self._pages.append(Page(None, start))
        self.notes += [f"{title}: {note}" for note in part.notes]

    def insert(self, part: TextBuilder) -> None:
        """Append the text of another builder as a passage of this text, without its records and pages."""
        if part.length:
            self.begin_paragraph()
        self._append(part, 0)
        self.notes += part.notes

    def _append(self, part: TextBuilder, level: int) -> None:
        start = self.length
        self.add(part.text)
        self._headings += [
            (start + offset, level + sublevel, name) for offset, sublevel, name in part._headings
        ]
        self._ocr += [OcrSpan(start + span.start, start + span.end, span.confidence) for span in part._ocr]
        self.hidden_words += part.hidden_words

    def mark_page(self, number: int) -> None:
        """Note that a page begins at the current end of the text."""
        self._pages.append(Page(number, self.length))

    def begin_slide(self, number: int, title: str) -> None:
        """Begin a slide, which is a page; its heading is its title, or "Slide 3" without one."""
        self.mark_page(number)
        if title:
            self.add_paragraph(title, level=1)
        else:
            self.mark_heading(f"Slide {number}", 1)

    def mark_ocr(self, start: int, confidence: float) -> None:
        """Note that the text from `start` to the current end was read from a picture."""
        self._ocr.append(OcrSpan(start, self.length, round(confidence, 2)))

    def build(self, source: str, content_hash: str) -> SourceText:
        """Build the source text from what was collected."""
        repeated = Counter(note[:_LONGEST_NOTE] for note in self.notes)
        notes = [
            note if count == 1 else f"{note} ({count:,} times)"
            for note, count in islice(repeated.items(), _MOST_NOTES)
        ]
        if (count := len(repeated) - _MOST_NOTES) > 0:
            notes.append(f"{count:,} more {'note was' if count == 1 else 'notes were'} left out")
        if count := self.hidden_words:
            one, many = "word that the document hides was", "words that the document hides were"
            notes.append(f"{count:,} {one if count == 1 else many} left out")
        return SourceText(
            source=source,
            text=self.text,
            content_hash=content_hash,
            pages=tuple(self._pages),
            headings=_with_sections(sorted(self._headings, key=lambda heading: heading[:2])),
            records=tuple(self._records),
            metadata={name: _storable(value) for name, value in self.metadata.items()},
            notes=tuple(notes),
            lines=(0, *(line_end.end() for line_end in re.finditer("\n", self.text)))
            if self.keeps_lines
            else (),
            ocr=tuple(self._ocr),
        )


def _storable(value: Any) -> Any:
    """Return a text, or the texts of a list, without lone surrogates and NUL, which no store takes."""
    if isinstance(value, list):
        return [_storable(part) for part in value]
    return without_surrogates(value).replace("\0", "") if isinstance(value, str) else value


def printable(name: str) -> str:
    r"""Escape the characters of a file name that cannot be shown: "caf\xe9.txt".

    They are bytes that are not UTF-8, and characters that are invisible, end a line or change the text
    direction. Other names are unchanged.
    """
    return escape_hidden(name.encode(errors="surrogateescape").decode(errors="backslashreplace"))


def attachment_name(path: str) -> str:
    """Return the name of a file in another file without its folders; the middle of a very long one is cut."""
    name = PurePosixPath(path.replace("\\", "/")).name
    return printable(name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 100]} … {name[-90:]}")


def _with_sections(titles: list[tuple[int, int, str]]) -> tuple[Heading, ...]:
    """Give each heading its path from the outermost heading: "4 Storms > Warning levels".

    A single heading above all others is the document's title. It would be in every path and distinguish
    nothing, so paths leave it out.
    """
    levels = [level for _, level, _ in titles]
    has_title = len(titles) > 1 and levels.count(levels[0]) == 1 and levels[0] == min(levels)
    headings, path = [], list[tuple[int, str]]()
    for index, (offset, level, title) in enumerate(titles):
        path = [entry for entry in path if entry[0] < level]
        path.append((level, title))
        visible_path = path[1:] if has_title and index else path
        section = SECTION_SEPARATOR.join(name for _, name in visible_path[-_DEEPEST_SECTION:])
        headings.append(Heading(offset, section))
    return tuple(headings)
