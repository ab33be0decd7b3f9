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
# In characters: one text that each chunk of a long record has as metadata, and all metadata of a chunk.
LONGEST_VALUE, LONGEST_METADATA = 2_000, 20_000
# Headings and column names take at most this share of what the embedding model reads.
_PREFIX_SHARE = 1 / 3
# In characters, far more than that share of any model has in words.
_LONGEST_PREFIX = 4_000

# What begins at a possible cut.
_INSIDE, _SENTENCE, _PARAGRAPH, _HEADING = range(4)


class _Unit(NamedTuple):
    """A sentence, a table row or a list item, or a part of one that is too long for a chunk."""

    start: int
    end: int
    boundary: int
    """What begins at its start: one of the four constants above."""
    tokens_before: int
    tokens_after: int
    """The number of tokens in the text up to its start, and up to its end."""
    keeps_with_next: bool
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
    Metadata beyond `LONGEST_METADATA` are left out, since each question loads those of the passages that it
    reads. Texts in the metadata of a record that is longer than a chunk are cut to `LONGEST_VALUE`, since
    each of its chunks repeats them: the answer in a list of questions and answers may be as long as a book.

    No chunk crosses a record or ends with a heading. Ids are stable: the same source, span and text give the
    same id.

    Raises:
        ConfigurationError: `size` or `overlap` is out of bounds.
    """
    check_sizes(size, overlap)
    sizer = _ChunkSizer(text, size, UNLIMITED if text.whole else limit)
    return _split(text, sizer, overlap / size, notes)


def _split(text: SourceText, sizer: _ChunkSizer, overlap: float, notes: list[str] | None) -> Iterator[Chunk]:
    """Yield the chunks of a source, record by record, with their column names and speakers."""
    turns = find_turns(text.text) if not text.records else []
    for record in _records(text):
        longest_value = LONGEST_VALUE if record.end - record.start > sizer.size else LONGEST_METADATA
        shared = _cut_metadata({**text.metadata, **record.metadata}, longest_value)
        for start, end, new_start in _pack(_split_units(sizer, record), sizer, overlap):
            computed = {
                "columns": list(sizer.columns_at(start)),
                "speakers": _speakers_between(turns, text, start, end),
            }
            metadata = {**shared, **{name: values for name, values in computed.items() if values}}
            yield _build_chunk(text, record, (start, end), text.section_at(new_start), metadata)
    if sizer.oversized and notes is not None:
        many = "sentences, table rows or list items are longer than a chunk and were"
        one = "sentence, table row or list item is longer than a chunk and was"
        notes.append(f"{sizer.oversized} {one if sizer.oversized == 1 else many} cut")


def _cut_metadata(metadata: dict[str, Any], longest_value: int) -> dict[str, Any]:
    """Return metadata with long texts cut, and without what then exceeds the room; the last come first."""
    kept, room = dict[str, Any](), LONGEST_METADATA
    for name, value in reversed(metadata.items()):  # the loaders' own fields, such as the row, are last
        value = value[:longest_value] if isinstance(value, str) else value
        length = len(name) + len(str(value))
        if length <= room:
            kept[name] = value
            room -= length
    return dict(reversed(kept.items()))


def _speakers_between(turns: Sequence[tuple[int, str]], text: SourceText, start: int, end: int) -> list[str]:
    """Return the speakers in a span; the first may have begun before it, unless a heading comes between."""
    first = bisect_left(turns, (start, ""))
    last = bisect_left(turns, (end, ""))
    speakers = [name for _, name in turns[first:last]]
    starts_mid_turn = first > 0 and (first == len(turns) or turns[first][0] > start)
    if starts_mid_turn:
        turn_start, speaker = turns[first - 1]
        if not text.section_starts(turn_start, start + 1):
            speakers.insert(0, speaker)
    return list(dict.fromkeys(speakers))


def _records(text: SourceText) -> Sequence[Record]:
    return text.records or (Record(0, len(text.text), {}),)


def check_sizes(size: int, overlap: int) -> None:
    """Check that the chunk sizes can work.

    Raises:
        ConfigurationError: `size` is under 50, or `overlap` is negative or more than half of `size`.
    """
    if size < SMALLEST_SIZE:
        expected = f"{SMALLEST_SIZE} or more (default {DEFAULT_SIZE})"
        raise ConfigurationError(f"A chunk size of {size!r} characters is too small: give {expected}.")
    if not 0 <= overlap <= size // 2:
        problem = f"A chunk overlap of {overlap!r} characters does not fit a chunk size of {size}"
        raise ConfigurationError(f"{problem}: give 0 to {size // 2}.")


def text_to_embed(chunk: Chunk, limit: TextLimit) -> str:
    """Return the text to embed: a chunk's text below the headings and column names that it does not repeat.

    The innermost heading comes first. Headings and names beyond a third of `limit` are cut off at the end.
    """
    headings = (chunk["section"] or "").split(SECTION_SEPARATOR)
    missing = [heading for heading in headings if heading not in chunk["text"]]
    # The bound keeps a table of thousands of columns from being counted once for each of its words.
    prefix = _join_prefix(missing, chunk["metadata"].get("columns", ()))[:_LONGEST_PREFIX]
    while limit.count(prefix) > limit.most * _PREFIX_SHARE:
        prefix = prefix.rpartition(" ")[0]
    return f"{prefix}\n{chunk['text']}" if prefix else chunk["text"]


def _join_prefix(headings: Sequence[str], columns: Sequence[str]) -> str:
    return " | ".join(filter(None, (*reversed(headings), *columns)))


@lru_cache(1024)
def _count_prefix_tokens(section: str | None, columns: tuple[str, ...], limit: TextLimit) -> int:
    """Return the largest number of tokens that the headings and column names take when a text is embedded."""
    prefix = _join_prefix((section or "").split(SECTION_SEPARATOR), columns)
    return min(limit.count(prefix), int(limit.most * _PREFIX_SHARE))


class _Table(NamedTuple):
    """A table in a source: where its header and its rows start, where it ends, and its column names."""

    header: int
    start: int
    end: int
    columns: tuple[str, ...]


class _ChunkSizer:
    """Measures how much of a source fits in a chunk."""

    def __init__(self, text: SourceText, size: int, limit: TextLimit) -> None:
        self.text = text
        self.size = size
        self.headings = [heading.offset for heading in text.headings]
        self.oversized = 0
        """The number of sentences, rows and items that are too long for a chunk."""
        self.tokens = lru_cache(4)(lambda start, end: limit.count(text.text[start:end]))
        self._limit = limit
        self._tables = [
            _Table(
                record.start + table.start,
                record.start + table.rows[0].start,
                record.start + table.rows[-1].end,
                table.columns,
            )
            for record in _records(text)
            for table in find_tables(text.text[record.start : record.end])
            if table.rows
        ]

    def columns_at(self, offset: int) -> tuple[str, ...]:
        """Return the column names of the table that contains an offset; () outside tables."""
        index = bisect_right(self._tables, offset, key=lambda table: table.start) - 1
        return self._tables[index].columns if index >= 0 and offset < self._tables[index].end else ()

    def in_header(self, offset: int) -> bool:
        """Return whether an offset lies in a table's header."""
        index = bisect_right(self._tables, offset, key=lambda table: table.header) - 1
        return index >= 0 and offset < self._tables[index].start

    def fullness(self, first: _Unit, last: _Unit, first_new: _Unit) -> float:
        """Return the share of a chunk that some units fill; `first_new` is in no earlier chunk."""
        tokens = last.tokens_after - first.tokens_before
        return max(
            (last.end - first.start) / self.size, tokens / self._token_room(first.start, first_new.start)
        )

    def fits(self, start: int, end: int) -> bool:
        """Return whether a span of text fits in a chunk."""
        return end - start <= self.size and self.tokens(start, end) <= self._token_room(start, start)

    def share_that_fits(self, start: int, end: int) -> float:
        """Return about how much of a span that is too long fits in a chunk, from 0 to 1."""
        return self._token_room(start, start) / max(1, self.tokens(start, end))

    def _token_room(self, start: int, new_start: int) -> int:
        """Return the number of tokens that remain for a chunk's text below its headings and column names."""
        section = self.text.section_at(new_start)
        return self._limit.most - _count_prefix_tokens(section, self.columns_at(start), self._limit) - 1


def _split_units(sizer: _ChunkSizer, record: Record) -> Iterator[_Unit]:
    """Yield the units of a record: table rows and list items whole if they fit in a chunk, else sentences."""
    text, tokens = sizer.text.text, 0
    previous_end = record.start
    for sentences, is_item in iter_blocks(text[record.start : record.end], record.start):
        block = (sentences[0][0], sentences[-1][1])
        stays_whole = is_item and sizer.fits(*block)
        sizer.oversized += is_item and not stays_whole
        for start, end in [block] if stays_whole else sentences:
            # headings that begin after the last sentence and no later than the first character of this one
            if bisect_right(sizer.headings, start) > bisect_left(sizer.headings, previous_end):
                boundary = _HEADING
            else:
                boundary = _PARAGRAPH if text.count("\n", previous_end, start) > 1 else _SENTENCE
            is_cut = False
            for part_start, part_end in _cut_to_fit(sizer, start, end):
                # A cut at the end of a line does no harm.
                is_cut |= part_end < end and "\n" not in text[part_end : part_end + 2]
                # A gap as long as a chunk fills it. All tokens of megabytes of "!!!" take gigabytes.
                before = tokens + sizer.tokens(previous_end, min(part_start, previous_end + sizer.size))
                tokens = before + sizer.tokens(part_start, part_end)
                keeps_with_next = (
                    boundary == _HEADING or text[part_end - 1] in ":：" or sizer.in_header(part_start)
                )
                yield _Unit(part_start, part_end, boundary, before, tokens, keeps_with_next)
                previous_end, boundary = part_end, _INSIDE
            sizer.oversized += not is_item and is_cut


def _cut_to_fit(sizer: _ChunkSizer, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a sentence that fits in no chunk: after a line or a clause, else between words, else anywhere."""
    text = sizer.text.text
    while not sizer.fits(start, end):
        cut = min(end, start + sizer.size)
        while cut > start + 1 and not sizer.fits(start, cut):
            cut = start + max(1, int((cut - start) * min(0.9, sizer.share_that_fits(start, cut))))
        for marks in ("\n", ";:—；：", ",)，、）", " \t"):
            last_mark = max(text.rfind(mark, start + (cut - start) // 2, cut) for mark in marks)
            if last_mark > 0:
                cut = last_mark + 1
                break
        yield start, start + len(text[start:cut].rstrip())
        start = cut
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield start, end


def _pack(units: Iterator[_Unit], sizer: _ChunkSizer, overlap: float) -> Iterator[tuple[int, int, int]]:
    """Yield the start and end of each chunk, and the offset of its first new unit.

    Only the units of one chunk are held in memory. `overlap` is the share of a chunk that the next one
    repeats.
    """
    window: list[_Unit] = []
    new = 0  # the index of the first unit that was in no earlier chunk
    while True:
        while len(window) < new + 2 or sizer.fullness(window[0], window[-1], window[new]) <= 1:
            unit = next(units, None)
            if unit is None:
                break
            window.append(unit)
        if new == len(window):
            return
        limit = new + 1
        while limit < len(window) and sizer.fullness(window[0], window[limit], window[new]) <= 1:
            limit += 1
        cut = limit if limit == len(window) else _choose_cut(window, new, limit, sizer)
        yield window[0].start, window[cut - 1].end, window[new].start
        first_repeated = _step_back(window, new, cut, sizer, overlap)
        window, new = window[first_repeated:], cut - first_repeated


def _choose_cut(units: list[_Unit], new: int, limit: int, sizer: _ChunkSizer) -> int:
    """Choose the end of a chunk among the units that fit.

    The best end is before a heading if the chunk is three quarters full by then, or else before a paragraph
    if it is 85% full.
    """
    for boundary, least_fullness in ((_HEADING, 0.75), (_PARAGRAPH, 0.85)):
        last = next((cut for cut in range(limit, new, -1) if units[cut].boundary == boundary), None)
        if last and sizer.fullness(units[0], units[last - 1], units[new]) >= least_fullness:
            limit = last
            break
    cut = limit
    while cut - 1 > new and units[cut - 1].keeps_with_next:
        cut -= 1  # a heading stays with the text below it
    if not units[cut - 1].keeps_with_next:
        return cut
    # A chunk of headings alone takes all that fit but the last. One heading to a chunk would repeat each
    # heading 200 times.
    return max(limit - 1, new + 1)


def _step_back(units: list[_Unit], new: int, cut: int, sizer: _ChunkSizer, overlap: float) -> int:
    """Return the index of the first unit that the next chunk repeats."""
    first = cut
    while cut < len(units) and first - 1 > new:
        candidate, next_unit = units[first - 1], units[cut]
        repeated = sizer.fullness(candidate, units[cut - 1], next_unit)
        if repeated > overlap or sizer.fullness(candidate, next_unit, next_unit) > 1:
            break
        first -= 1
    # Half a table header is of no use.
    while new < first < cut and all(sizer.in_header(unit.start) for unit in units[first - 1 : first + 1]):
        first += 1
    return first


def _build_chunk(
    text: SourceText, record: Record, span: tuple[int, int], section: str | None, metadata: dict[str, Any]
) -> Chunk:
    """Return the chunk of a span; `metadata` gets what describes its place."""
    start, end = span
    passage = text.text[start:end]
    first_page, last_page = text.page_at(start), text.page_at(end - 1)
    if line := text.line_at(start):
        metadata["line"] = line
    if sections := text.section_starts(start, end):
        metadata["section_starts"] = {str(offset): name for offset, name in sections.items()}
    if last_page != first_page:
        metadata["page_end"] = last_page
        metadata["page_starts"] = {str(page.number): page.start for page in text.pages_after(start, end)}
    if spans := text.ocr_between(start, end):
        metadata |= {"ocr": True, "ocr_confidence": ocr_confidence(spans, start, end), "ocr_spans": spans}
    return {
        "id": chunk_id(text.source, start, end, passage),
        "source": text.source,
        "page": record.page or first_page,
        "section": section,
        "start": start,
        "end": end,
        "text": passage,
        "metadata": metadata,
    }


def chunk_id(source: str, start: int, end: int, text: str) -> str:
    """Return a chunk's id: 16 hexadecimal digits that depend only on its source, span and text."""
    return hashlib.sha256(f"{source}\0{start}\0{end}\0{text}".encode(errors="surrogatepass")).hexdigest()[:16]
