"""The third step of indexing: split a source's text into chunks that end at sentences and paragraphs."""

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
# Headings and column names take at most this share of what the embedding model reads.
LEAD_SHARE = 1 / 3

# What begins at a possible cut.
_INSIDE, _SENTENCE, _PARAGRAPH, _HEADING = range(4)


class _Unit(NamedTuple):
    """A sentence, a table row or a list item, or a part of one that is too long for a chunk."""

    start: int
    end: int
    border: int
    """What begins at its start: one of the four constants above."""
    before: int
    after: int
    """The number of tokens in the text up to its start, and up to its end."""
    leads: bool
    """Whether it belongs with what follows: a heading, "You need:", or a table's column names."""


def split(
    text: SourceText,
    *,
    size: int = DEFAULT_SIZE,
    overlap: int = DEFAULT_OVERLAP,
    limit: TextLimit = UNLIMITED,
    notes: list[str] | None = None,
) -> Iterator[Chunk]:
    """Split a source, in order, into chunks within `size` characters and within the embedding model's limit.

    A chunk begins with the last whole sentences of the chunk before it, up to `overlap` characters or the
    same share of `limit`; its section is the section of its first new sentence. A sentence, table row or list
    item is cut only if it is too long for a chunk by itself: after a line or a clause, else between words,
    else anywhere. After the last chunk, the number of such sentences, rows and items is added to `notes`.

    A chunk's `page` is the page it starts on. A sentence that continues on the next page stays whole: such a
    chunk has `metadata["page_end"]`, and `metadata["page_starts"]` gives the offset at which each later page
    begins. `metadata["section_starts"]` gives the same for sections, if there are several. `metadata["line"]`
    is the line of the file on which a chunk of plain text begins. A chunk that begins inside a table has the
    column names as `metadata["columns"]`, and a chunk of a transcript has the speakers' names as
    `metadata["speakers"]`. A chunk with text read from a picture has `metadata["ocr"]`, true, the mean
    confidence as `metadata["ocr_confidence"]`, and the confidence of each line as `metadata["ocr_spans"]`.

    No chunk crosses a record or ends with a heading. Ids are stable: the same source, span and text give the
    same id.

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
    """Return the speakers in a span; the first may have begun before it, unless a heading comes between."""
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
    """Check that the chunk sizes can work.

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
    """Return the text to embed: a chunk's text below the headings and column names that it does not repeat.

    The innermost heading comes first. Headings and names beyond a third of `limit` are cut off at the end.
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
    """Return the largest number of tokens that the headings and column names take when a text is embedded."""
    names = _lead((section or "").split(SECTION_SEPARATOR), columns)
    return min(limit.count(names), int(limit.most * LEAD_SHARE))


class _Table(NamedTuple):
    """The rows of a table in a source, and its column names."""

    header: int
    start: int
    end: int
    columns: tuple[str, ...]


class _Bounds:
    """Measures how much of a source fits in a chunk."""

    def __init__(self, text: SourceText, size: int, limit: TextLimit) -> None:
        self.text = text
        self.size = size
        self.headings = [heading.offset for heading in text.headings]
        self.cut = 0
        """The number of sentences, rows and items that are too long for a chunk."""
        self.tokens = lru_cache(4)(lambda start, end: limit.count(text.text[start:end]))
        self._limit = limit
        self._tables = [
            _Table(at + table.start, at + table.rows[0].start, at + table.rows[-1].end, table.columns)
            for at, end in ((record.start, record.end) for record in _records(text))
            for table in find_tables(text.text[at:end])
            if table.rows
        ]

    def columns_at(self, offset: int) -> tuple[str, ...]:
        """Return the column names of the table that contains an offset; () outside tables."""
        at = bisect_right(self._tables, offset, key=lambda table: table.start) - 1
        return self._tables[at].columns if at >= 0 and offset < self._tables[at].end else ()

    def in_header(self, offset: int) -> bool:
        """Tell whether an offset lies in a table's header."""
        at = bisect_right(self._tables, offset, key=lambda table: table.header) - 1
        return at >= 0 and offset < self._tables[at].start

    def fullness(self, first: _Unit, last: _Unit, fresh: _Unit) -> float:
        """Return the share of a chunk that some units fill; `fresh` is the first one that is new."""
        tokens = (last.after - first.before) / self._room(first.start, fresh.start)
        return max((last.end - first.start) / self.size, tokens)

    def fits(self, start: int, end: int) -> bool:
        """Tell whether a span of text fits in a chunk."""
        return end - start <= self.size and self.tokens(start, end) <= self._room(start, start)

    def _room(self, start: int, fresh: int) -> int:
        """Return the number of tokens that remain for a chunk's text below its headings and column names."""
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
            # headings that begin after the last sentence and no later than the first character of this one
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
    """Cut a sentence that fits in no chunk: after a line or a clause, else between words, else anywhere."""
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
    """Yield the start and end of each chunk, and the offset of its first new unit.

    Only the units of one chunk are held in memory. `overlap` is the share of a chunk that the next one
    repeats.
    """
    window: list[_Unit] = []
    fresh = 0  # the window's first unit that was in no earlier chunk
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
    """Choose the end of a chunk among the units that fit.

    The best end is before a heading if the chunk is three quarters full by then, or else before a paragraph
    if it is 85% full.
    """
    for border, full in ((_HEADING, 0.75), (_PARAGRAPH, 0.85)):
        cuts = [cut for cut in range(limit, fresh, -1) if units[cut].border == border]
        if cuts and bounds.fullness(units[0], units[cuts[0] - 1], units[fresh]) >= full:
            limit = cuts[0]
            break
    led = limit
    while led - 1 > fresh and units[led - 1].leads:
        led -= 1  # a heading stays with the text below it
    # A chunk of headings alone takes all that fit but the last: one heading a chunk would repeat each 200
    # times.
    return max(limit - 1, fresh + 1) if units[led - 1].leads else led


def _step_back(units: list[_Unit], fresh: int, cut: int, bounds: _Bounds, overlap: float) -> int:
    """Return the index of the first unit that the next chunk repeats."""
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
        first += 1  # half a header is of no use
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
    """Return a chunk's id: 16 hexadecimal digits that depend only on its source, span and text."""
    return hashlib.sha256(f"{source}\0{start}\0{end}\0{text}".encode(errors="surrogatepass")).hexdigest()[:16]
