"""The third step of indexing: a source's text to chunks that end where sentences and paragraphs end."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest.documents import SECTION_SEPARATOR, Record, SourceText
from adaptive_rag.text.ocr import ocr_confidence
from adaptive_rag.text.sentences import iter_blocks
from adaptive_rag.text.speech import find_turns
from adaptive_rag.text.tables import find_tables
from adaptive_rag.text.tokens import UNLIMITED, TextLimit

if TYPE_CHECKING:
    from adaptive_rag.state import Chunk

DEFAULT_SIZE = 1000
DEFAULT_OVERLAP = 200
SMALLEST_SIZE = 50
# The names of headings and columns take at most this part of what the embedding model reads.
LEAD_SHARE = 1 / 3

# what begins at a place to cut
_INSIDE, _SENTENCE, _PARAGRAPH, _HEADING = range(4)


class _Unit(NamedTuple):
    """A sentence, a row of a table or an item of a list, or a part of one too long for a chunk."""

    start: int
    end: int
    border: int
    """What it begins."""
    before: int
    after: int
    """The tokens of the text up to its start, and up to its end."""
    leads: bool
    """Whether it belongs to what follows: a heading, "You need:", or the names of a table's columns."""


def split(
    text: SourceText,
    *,
    size: int = DEFAULT_SIZE,
    overlap: int = DEFAULT_OVERLAP,
    limit: TextLimit = UNLIMITED,
    notes: list[str] | None = None,
) -> Iterator[Chunk]:
    """Cut a source into chunks of at most `size` characters, and of what the embedding model reads, in order.

    A chunk begins with the last whole sentences of the one before, up to `overlap` characters or the same
    share of `limit`; its section is that of its first new sentence. No sentence, row of a table or item of a
    list is cut, unless it alone is too long: then after a sentence, a clause or a word, and the last chunk
    adds to `notes` how many there were. A chunk's `page` is the one it starts on. A sentence broken over
    two pages stays whole: a chunk that goes on has `metadata["page_end"]`, and `metadata["page_starts"]`
    says where each later page begins; `metadata["section_starts"]` says the same of sections, where there are
    several, and `metadata["line"]` names the file's line on which a chunk of plain text begins. One that
    begins inside a table has the names of the table's columns as `metadata["columns"]`, and those of a
    transcript have the names of who speaks in them as `metadata["speakers"]`. One that holds text read from a
    picture has `metadata["ocr"]`, true, the mean confidence as `metadata["ocr_confidence"]`, and the
    confidence of each line as `metadata["ocr_spans"]`. No chunk crosses a record or ends with a heading. Ids
    are stable: the same source, span and text give the same id.

    Raises:
        ConfigurationError: `size` or `overlap` is out of bounds.
    """
    check_sizes(size, overlap)
    return _split(text, overlap / size, size, UNLIMITED if text.whole else limit, notes)


def _split(
    text: SourceText, overlap: float, size: int, limit: TextLimit, notes: list[str] | None
) -> Iterator[Chunk]:
    bounds = _Bounds(text, size, limit)
    turns = find_turns(text.text) if not text.records else []
    for record in _records(text):
        for start, end, fresh in _pack(_units(bounds, record), bounds, overlap):
            noted = {
                "columns": list(bounds.columns_at(start)),
                "speakers": _speakers_between(turns, text, start, end),
            }
            known = {name: values for name, values in noted.items() if values}
            yield _chunk(text, record, start, end, text.section_at(fresh), known)
    if bounds.cut and notes is not None:
        many = "sentences, table rows or list items are longer than a chunk and were"
        one = "sentence, table row or list item is longer than a chunk and was"
        notes.append(f"{bounds.cut} {one if bounds.cut == 1 else many} cut")


def _speakers_between(turns: Sequence[tuple[int, str]], text: SourceText, start: int, end: int) -> list[str]:
    """Return who has a turn in a stretch, first whoever's turn goes on into it; a heading ends a turn."""
    first = bisect_left(turns, (start, ""))
    last = bisect_left(turns, (end, ""))
    begun = turns[first - 1 : first] if first and (first == len(turns) or turns[first][0] > start) else []
    headings = text.headings
    if begun and (
        bisect_right(headings, begun[0][0], key=lambda heading: heading.offset)
        < bisect_right(headings, start, key=lambda heading: heading.offset)
    ):
        begun = []
    return list(dict.fromkeys(name for _, name in [*begun, *turns[first:last]]))


def _records(text: SourceText) -> Sequence[Record]:
    return text.records or (Record(0, len(text.text), {}),)


def check_sizes(size: int, overlap: int) -> None:
    """Refuse chunk sizes that cannot work.

    Raises:
        ConfigurationError: `size` is under 50, or `overlap` is negative or more than half of `size`.
    """
    if size < SMALLEST_SIZE:
        default = f"{SMALLEST_SIZE} or more (default {DEFAULT_SIZE})"
        raise ConfigurationError(f"A chunk size of {size!r} characters is too small: give {default}.")
    if not 0 <= overlap <= size // 2:
        wrong = f"A chunk overlap of {overlap!r} characters does not fit a chunk size of {size}"
        raise ConfigurationError(f"{wrong}: give 0 to {size // 2}.")


def text_to_embed(chunk: Chunk, limit: TextLimit) -> str:
    """Return a chunk's text below the headings and columns that stand above it and that it does not repeat.

    The innermost heading comes first. What takes more than a third of `limit` is left out, from the end.
    """
    headings = (chunk["section"] or "").split(SECTION_SEPARATOR)
    unsaid = [heading for heading in headings if heading not in chunk["text"]]
    above = _lead(tuple(unsaid), tuple(chunk["metadata"].get("columns", ())))
    while limit.count(above) > limit.most * LEAD_SHARE:
        above = above.rpartition(" ")[0]
    return f"{above}\n{chunk['text']}" if above else chunk["text"]


def _lead(headings: Sequence[str], columns: Sequence[str]) -> str:
    return " | ".join(filter(None, (*reversed(headings), *columns)))


@lru_cache(1024)
def _lead_tokens(section: str | None, columns: tuple[str, ...], limit: TextLimit) -> int:
    """Return the tokens that the headings and columns above a text take at most where it is embedded."""
    names = _lead((section or "").split(SECTION_SEPARATOR), columns)
    return min(limit.count(names), int(limit.most * LEAD_SHARE))


class _Table(NamedTuple):
    """The rows of a table in a source, below the names of its columns."""

    header: int
    start: int
    end: int
    columns: tuple[str, ...]


class _Bounds:
    """How much of a source a chunk can hold."""

    def __init__(self, text: SourceText, size: int, limit: TextLimit) -> None:
        self.text = text
        self.size = size
        self.headings = [heading.offset for heading in text.headings]
        self.cut = 0
        """How many sentences, rows and items no chunk can hold."""
        self.tokens = lru_cache(4)(lambda start, end: limit.count(text.text[start:end]))
        self._limit = limit
        self._tables = [
            _Table(at + table.start, at + table.rows[0].start, at + table.rows[-1].end, table.columns)
            for at, end in ((record.start, record.end) for record in _records(text))
            for table in find_tables(text.text[at:end])
            if table.rows
        ]

    def columns_at(self, offset: int) -> tuple[str, ...]:
        """Return the names of the columns above a place inside a table."""
        at = bisect_right(self._tables, offset, key=lambda table: table.start) - 1
        return self._tables[at].columns if at >= 0 and offset < self._tables[at].end else ()

    def in_header(self, offset: int) -> bool:
        """Tell whether a place lies in the names of a table's columns."""
        at = bisect_right(self._tables, offset, key=lambda table: table.header) - 1
        return at >= 0 and offset < self._tables[at].start

    def fullness(self, first: _Unit, last: _Unit, fresh: _Unit) -> float:
        """Return which part of a chunk some units fill, of which the first new one is `fresh`."""
        tokens = (last.after - first.before) / self._room(first.start, fresh.start)
        return max((last.end - first.start) / self.size, tokens)

    def fits(self, start: int, end: int) -> bool:
        """Tell whether a chunk can hold a stretch of text."""
        return end - start <= self.size and self.tokens(start, end) <= self._room(start, start)

    def _room(self, start: int, fresh: int) -> int:
        """Return the tokens that the lead of a chunk leaves for its text."""
        above = _lead_tokens(self.text.section_at(fresh), self.columns_at(start), self._limit)
        return self._limit.most - above - 1


def _units(bounds: _Bounds, record: Record) -> Iterator[_Unit]:
    text, tokens = bounds.text.text, 0
    headings = bounds.headings
    before = record.start
    for sentences, is_one in iter_blocks(text[record.start : record.end], record.start):
        whole = (sentences[0][0], sentences[-1][1])
        fits = is_one and bounds.fits(*whole)
        bounds.cut += is_one and not fits
        for start, end in [whole] if fits else sentences:
            # headings that begin since the last sentence, and not after this one's first character
            if bisect_right(headings, start) > bisect_left(headings, before):
                border = _HEADING
            else:
                border = _PARAGRAPH if text.count("\n", before, start) > 1 else _SENTENCE
            parts = list(_parts(bounds, start, end))
            ends = (end for _, end in parts[:-1])
            bounds.cut += not is_one and any("\n" not in text[at : at + 2] for at in ends)
            for part_start, part_end in parts:
                tokens += bounds.tokens(before, part_start)
                after = tokens + bounds.tokens(part_start, part_end)
                leads = border == _HEADING or text[part_end - 1] in ":：" or bounds.in_header(part_start)
                yield _Unit(part_start, part_end, border, tokens, after, leads)
                before, tokens, border = part_end, after, _INSIDE


def _parts(bounds: _Bounds, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a sentence that fits no chunk: after a line, else a clause, else between words, else anywhere."""
    text = bounds.text.text
    while not bounds.fits(start, end):
        cut = min(end, start + bounds.size)
        while cut > start + 1 and not bounds.fits(start, cut):
            cut = start + (cut - start) * 9 // 10
        for marks in ("\n", ";:—；：", ",)，、）", " \t"):
            at = max(text.rfind(mark, start + (cut - start) // 2, cut) for mark in marks)
            if at > 0:
                cut = at + 1
                break
        yield start, start + len(text[start:cut].rstrip())
        start = cut
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield start, end


def _pack(units: Iterator[_Unit], bounds: _Bounds, overlap: float) -> Iterator[tuple[int, int, int]]:
    """Yield the start and end of each chunk, and where what no chunk before had begins in it.

    Only the units of one chunk are held at a time. `overlap` is the part of a chunk that the next repeats.
    """
    window: list[_Unit] = []
    fresh = 0  # the window's first unit that no chunk before had
    while True:
        while len(window) < fresh + 2 or bounds.fullness(window[0], window[-1], window[fresh]) <= 1:
            unit = next(units, None)
            if unit is None:
                break
            window.append(unit)
        if fresh == len(window):
            return
        limit = fresh + 1
        while limit < len(window) and bounds.fullness(window[0], window[limit], window[fresh]) <= 1:
            limit += 1
        cut = limit if limit == len(window) else _best_cut(window, fresh, limit, bounds)
        yield window[0].start, window[cut - 1].end, window[fresh].start
        first = _step_back(window, fresh, cut, bounds, overlap)
        window, fresh = window[first:], cut - first


def _best_cut(units: list[_Unit], fresh: int, limit: int, bounds: _Bounds) -> int:
    """Choose where a chunk ends among the units that fit.

    Before a heading is best where the chunk is three quarters full by then, else before a paragraph.
    """
    for border, full in ((_HEADING, 0.75), (_PARAGRAPH, 0.85)):
        cuts = [cut for cut in range(limit, fresh, -1) if units[cut].border == border]
        if cuts and bounds.fullness(units[0], units[cuts[0] - 1], units[fresh]) >= full:
            limit = cuts[0]
            break
    led = limit
    while led - 1 > fresh and units[led - 1].leads:
        led -= 1  # a heading goes with what it heads
    # Of headings alone a chunk holds all that fit but the last: one a chunk would read each 200 times.
    return max(limit - 1, fresh + 1) if units[led - 1].leads else led


def _step_back(units: list[_Unit], fresh: int, cut: int, bounds: _Bounds, overlap: float) -> int:
    """Return the first unit that the next chunk repeats."""
    first = cut
    while cut < len(units) and first - 1 > fresh:
        candidate, new = units[first - 1], units[cut]
        repeated = bounds.fullness(candidate, units[cut - 1], new)
        if repeated > overlap or bounds.fullness(candidate, new, new) > 1:
            break
        first -= 1
    while (
        first < cut
        and first > fresh
        and bounds.in_header(units[first].start)
        and bounds.in_header(units[first - 1].start)
    ):
        first += 1  # half a header names nothing
    return first


def _chunk(
    text: SourceText, record: Record, start: int, end: int, section: str | None, noted: dict[str, Any]
) -> Chunk:
    passage = text.text[start:end]
    page, last = text.page_at(start), text.page_at(end - 1)
    metadata: dict[str, Any] = {**text.metadata, **record.metadata, **noted}
    if line := text.line_at(start):
        metadata["line"] = line
    if sections := text.section_starts(start, end):
        metadata["section_starts"] = {str(offset): below for offset, below in sections.items()}
    if last != page:
        metadata["page_end"] = last
        metadata["page_starts"] = {str(later.number): later.start for later in text.pages_after(start, end)}
    if read := text.ocr_between(start, end):
        metadata |= {"ocr": True, "ocr_confidence": ocr_confidence(read, start, end), "ocr_spans": read}
    return {
        "id": chunk_id(text.source, start, end, passage),
        "source": text.source,
        "page": record.page or page,
        "section": section,
        "start": start,
        "end": end,
        "text": passage,
        "metadata": metadata,
    }


def chunk_id(source: str, start: int, end: int, text: str) -> str:
    """Return the id of a chunk: 16 hexadecimal digits that depend on nothing but what it is."""
    return hashlib.sha256(f"{source}\0{start}\0{end}\0{text}".encode(errors="surrogatepass")).hexdigest()[:16]
