"""The third step of indexing: a source's text to chunks that end where sentences and paragraphs end."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest.documents import Record, SourceText
from adaptive_rag.text.ocr import ocr_confidence
from adaptive_rag.text.sentences import iter_sentences
from adaptive_rag.text.speech import find_speakers
from adaptive_rag.text.tables import Table, find_tables

if TYPE_CHECKING:
    from adaptive_rag.state import Chunk

DEFAULT_SIZE = 1000
DEFAULT_OVERLAP = 200
SMALLEST_SIZE = 50

# what begins at a place to cut
_INSIDE, _SENTENCE, _PARAGRAPH, _HEADING = range(4)


class _Unit(NamedTuple):
    """A sentence, or a part of one too long for a chunk; `border` is what it begins."""

    start: int
    end: int
    border: int


def split(text: SourceText, *, size: int = DEFAULT_SIZE, overlap: int = DEFAULT_OVERLAP) -> Iterator[Chunk]:
    """Cut a source into chunks of at most `size` characters, in order.

    A chunk begins with the last whole sentences of the one before, up to `overlap` characters; its
    section is that of its first new sentence. Its `page` is the one it starts on. A sentence broken over
    two pages stays whole: a chunk that goes on has `metadata["page_end"]`, and `metadata["page_starts"]`
    says where each later page begins. One that begins inside a table has the names of the table's columns as
    `metadata["columns"]`, and those of a transcript have the names of who speaks as `metadata["speakers"]`.
    One that holds text read from a picture has `metadata["ocr"]`, true, the mean confidence as
    `metadata["ocr_confidence"]`, and the confidence of each line as `metadata["ocr_spans"]`.
    No chunk crosses a record or ends with a heading. Ids are stable: the same source, span and text give the
    same id.

    Raises:
        ConfigurationError: `size` or `overlap` is out of bounds.
    """
    check_sizes(size, overlap)
    headings = [heading.offset for heading in text.headings]
    tables = list(find_tables(text.text)) if not text.records else []
    speakers = find_speakers(text.text) if not text.records else ()
    return (
        _chunk(text, record, start, end, text.section_at(fresh), _noted(tables, speakers, start))
        for record in text.records or (Record(0, len(text.text), {}),)
        for start, end, fresh in _pack(_units(text.text, record, headings, size), size, overlap)
    )


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


def _units(text: str, record: Record, headings: list[int], size: int) -> Iterator[_Unit]:
    before = record.start
    for start, end in iter_sentences(text[record.start : record.end], record.start):
        # headings that begin since the last sentence, and not after this one's first character
        if bisect_right(headings, start) > bisect_left(headings, before):
            border = _HEADING
        else:
            border = _PARAGRAPH if text.count("\n", before, start) > 1 else _SENTENCE
        before = end
        for part_start, part_end in _parts(text, start, end, size):
            yield _Unit(part_start, part_end, border)
            border = _INSIDE


def _parts(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut a sentence that fits no chunk: after a clause, else between words, else anywhere."""
    while end - start > size:
        cut = start + size
        for marks in (";:—\n", ",)", " \t"):
            at = max(text.rfind(mark, start + size // 2, cut) for mark in marks)
            if at > 0:
                cut = at + 1
                break
        yield start, start + len(text[start:cut].rstrip())
        start = cut
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield start, end


def _pack(units: Iterator[_Unit], size: int, overlap: int) -> Iterator[tuple[int, int, int]]:
    """Yield the start and end of each chunk, and where what no chunk before had begins in it.

    Only the units of one chunk are held at a time.
    """
    window: list[_Unit] = []
    fresh = 0  # the window's first unit that no chunk before had
    while True:
        while len(window) < fresh + 2 or window[-1].end - window[0].start <= size:
            unit = next(units, None)
            if unit is None:
                break
            window.append(unit)
        if fresh == len(window):
            return
        start, limit = window[0].start, fresh + 1
        while limit < len(window) and window[limit].end - start <= size:
            limit += 1
        cut = limit if limit == len(window) else _best_cut(window, fresh, limit, size)
        yield start, window[cut - 1].end, window[fresh].start
        first = _step_back(window, fresh, cut, size, overlap)
        window, fresh = window[first:], cut - first


def _best_cut(units: list[_Unit], fresh: int, limit: int, size: int) -> int:
    """Choose where a chunk ends among the units that fit.

    Before a heading is best where the chunk is three quarters full by then, else before a paragraph.
    """
    start = units[0].start
    for border, full in ((_HEADING, 0.75), (_PARAGRAPH, 0.85)):
        cuts = (cut for cut in range(limit, fresh, -1) if units[cut].border == border)
        if best := next((cut for cut in cuts if units[cut - 1].end - start >= full * size), None):
            limit = best
            break
    while limit - 1 > fresh and units[limit - 1].border == _HEADING:
        limit -= 1  # a heading goes with what it heads
    return limit


def _step_back(units: list[_Unit], fresh: int, cut: int, size: int, overlap: int) -> int:
    """Return the first unit that the next chunk repeats."""
    first = cut
    while cut < len(units) and first - 1 > fresh:
        candidate = units[first - 1]
        if units[cut - 1].end - candidate.start > overlap or units[cut].end - candidate.start > size:
            break
        first -= 1
    return first


def _noted(tables: list[Table], speakers: tuple[str, ...], start: int) -> dict[str, Any]:
    """Return what a chunk's text does not say: the columns of a table that it begins in, and who speaks."""
    at = bisect_right(tables, start, key=lambda table: table.rows[0].start) - 1
    columns = tables[at].columns if at >= 0 and start < tables[at].rows[-1].end else ()
    found = {"columns": list(columns), "speakers": list(speakers)}
    return {name: values for name, values in found.items() if values}


def _chunk(
    text: SourceText, record: Record, start: int, end: int, section: str | None, noted: dict[str, Any]
) -> Chunk:
    passage = text.text[start:end]
    page, last = text.page_at(start), text.page_at(end - 1)
    metadata: dict[str, Any] = {**text.metadata, **record.metadata, **noted}
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
