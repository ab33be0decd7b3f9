"""Writes an overview of a document by its sections, or of all documents, each with its first sentences."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import NamedTuple, TypeVar

from adaptive_rag.answer.named import names_in
from adaptive_rag.answer.quotes import Quote, WholeAnswer, readable, write_quotes
from adaptive_rag.answer.rows import say_row
from adaptive_rag.answer.sentences import AnswerSentence, collect_sentences
from adaptive_rag.answer.whole_tables import WholeTable, collect_tables
from adaptive_rag.source import ChoosesSources, ChunkSource, ListsChunks
from adaptive_rag.state import Candidate, Phrase, Piece, to_candidate
from adaptive_rag.text.markers import respell_markers
from adaptive_rag.text.phrases import join_pieces, say
from adaptive_rag.text.places import outline_of, section_at
from adaptive_rag.text.words import terms

# Maximum number of sections in an overview. A document with fewer than MIN_SECTIONS is divided into up to
# STRETCHES parts.
SECTIONS, MIN_SECTIONS, STRETCHES = 12, 2, 6
# Maximum depth of headings, and maximum number of chunks of a document.
DEEPEST, MOST_CHUNKS = 6, 5_000
# Maximum number of sentences of a section that the question names.
SECTION_SENTENCES = 4
# Maximum number of documents in an overview of all, and of sections of each.
DOCUMENTS, SECTIONS_OF_EACH = 12, 2
# "3 " and "4.2. " before the words of a heading
_NUMBERING = re.compile(r"\A\d+(?:\.\d+)*\.?\s+")
_DIGIT = re.compile(r"\d")
# Minimum quality of a sentence that represents its section.
READABLE = 0.6

Item = TypeVar("Item")


class _Section(NamedTuple):
    name: str  # the headings above it, "" where there are none
    start: int
    chunk: int


class _Outline(NamedTuple):
    lead: Phrase
    quotes: list[Quote]
    passages: list[Candidate]


def outline_document(name: str, source: ChunkSource) -> WholeAnswer | None:
    """Write an overview of a document, or None where its chunks cannot be listed or nothing is readable."""
    if (outline := _read_document(name, source)) is None:
        return None
    lines, passages = write_quotes(outline.quotes, outline.passages)
    return WholeAnswer(join_pieces([[outline.lead], *lines], "\n"), passages, name)


def outline_documents(source: ChunkSource) -> WholeAnswer | None:
    """Write an overview of all documents, by how each begins; None where nothing can be listed or read."""
    if not isinstance(source, ChoosesSources):
        return None
    documents = list(source.sources())
    same_name = Counter(PurePath(document).name for document in documents)
    shown = dict[str, tuple[str, _Outline]]()
    for document in _spread(documents, DOCUMENTS):
        if outline := _read_document(document, source):
            # Copies of a file have the same passages.
            shown.setdefault(outline.quotes[0].passage["id"], (document, outline))
    quotes = list[Quote]()
    for document, outline in shown.values():
        name = PurePath(document).name
        blank_line = "\n" if quotes or len(shown) < len(documents) else ""
        heading = [f"{blank_line}**{respell_markers(name if same_name[name] == 1 else document)}**\n"]
        for quote in outline.quotes[:SECTIONS_OF_EACH]:
            quotes.append(quote._replace(before=[*heading, *quote.before]))
            heading = []
    lines, passages = write_quotes(quotes, [])
    if not lines:
        return None
    if len(shown) < len(documents):
        lines.insert(0, [say("documents_begin", n=len(shown), all=len(documents))])
    return WholeAnswer(join_pieces(lines, "\n"), passages, "all documents")


def tell_section(heading: str, passages: Sequence[Candidate], source: ChunkSource) -> WholeAnswer | None:
    """Quote the text below a heading in the passages; None where no heading has these words or this number.

    None also where several documents have a section of this number.
    """
    headed = [
        (passage, start, section)
        for passage in passages
        for start, section, _ in outline_of([passage])
        if section and _is_headed(heading, section, passage)
    ]
    by_words = any(terms(heading) == terms(_title(section)) for _, _, section in headed)
    if not by_words and _DIGIT.search(heading) and len({passage["source"] for passage, _, _ in headed}) > 1:
        return None
    for passage, start, section in headed:
        below = [
            Quote(sentence.text, passage, sentence.start, sentence.end)
            for sentence in collect_sentences([passage], source.sentences([passage["id"]]))
            if sentence.start >= start
            and sentence.quality >= READABLE
            and section_at(passage, sentence.start) == section
        ]
        if below:
            lines, all_passages = write_quotes(below[:SECTION_SENTENCES], passages)
            return WholeAnswer(join_pieces(lines, " "), all_passages, f"{passage['source']}, {section}")
    return None


def _is_headed(heading: str, section: str, passage: Candidate) -> bool:
    """Return whether a section has a heading: by its words, or as "section 2" or "section 2 of the lease"."""
    title = _title(section)
    if terms(heading) in (terms(title), terms(_NUMBERING.sub("", title))):
        return True
    number, _, document = heading.partition(" of ")
    names = terms(f"{passage['source']} {passage['section'] or ''}")
    return number in map(str.lower, names_in(title)) and set(terms(document)).issubset(names)


def _title(section: str) -> str:
    return section.rpartition(" > ")[2]


def _read_document(name: str, source: ChunkSource) -> _Outline | None:
    """Return what an overview of a document quotes; None where there is nothing to quote."""
    if not isinstance(source, ChoosesSources) or source.sources().get(name, MOST_CHUNKS) >= MOST_CHUNKS:
        return None
    document = source.only({name})
    if not isinstance(document, ListsChunks):
        return None
    chunks = sorted((to_candidate(chunk, {}) for chunk in document.chunks()), key=lambda c: c["start"])
    if not chunks:
        return None
    short_name, sections = PurePath(name).name, _find_sections(chunks)
    has_sections = len(sections) >= MIN_SECTIONS
    if not has_sections and (tables := _main_tables(document, chunks)):
        quotes = [_describe_table(table) for table in tables[:SECTIONS]]
        return _Outline(say("tables", name=short_name, n=len(tables)), quotes, [])
    if not has_sections:
        sections = [_Section("", chunk["start"], i) for i, chunk in enumerate(chunks)]
    shown = _spread(sections, SECTIONS if has_sections else STRETCHES)
    passages = [chunks[i] for i in sorted({section.chunk for section in shown})]
    sentences = collect_sentences(passages, source.sentences([chunk["id"] for chunk in passages]))
    sentences.sort(key=lambda sentence: sentence.start)
    quotes = list[Quote]()
    for section in shown:
        if first := _first_sentence(sentences, passages, section):
            heading = readable(_title(section.name))
            before = f"- **{heading}**: " if heading else "- "
            quotes.append(Quote(first.text, passages[first.document], first.start, first.end, [before]))
    code = "some_sections" if len(shown) < len(sections) else "sections"
    lead = say(code if has_sections else "whole_text", name=short_name, n=len(shown), all=len(sections))
    return _Outline(lead, quotes, passages) if quotes else None


def _main_tables(source: ListsChunks, chunks: Sequence[Candidate]) -> list[WholeTable]:
    """Return the tables of a document if they make up at least half of its text, else []."""
    tables = collect_tables(source)
    length = sum(row.end - row.start for table in tables for row in table.rows)
    return tables if 2 * length >= chunks[-1]["end"] - chunks[0]["start"] else []


def _describe_table(table: WholeTable) -> Quote:
    """Describe a table: the number of its rows, its columns, and its first row."""
    row = table.rows[0]
    sheet = readable(str(row.chunk["metadata"].get("sheet", "")))
    columns = [readable(column) for column in table.columns if column]
    summary = say("table", n=len(table.rows), columns=columns)
    before: list[Piece] = [f"- **{sheet}**: " if sheet else "- ", summary, " "]
    return Quote(say_row(row.cells, ""), row.chunk, row.start, row.end, before)


def _find_sections(chunks: Sequence[Candidate]) -> list[_Section]:
    """Return each section of a document once; of a document with many sections, only the upper levels."""
    starts = dict[str, int]()
    for offset, section, _ in outline_of(chunks):
        if section:
            starts.setdefault(section, offset)
    chunk_starts = [chunk["start"] for chunk in chunks]
    depths = [depth for depth in range(DEEPEST, 0, -1) if len(_upper(starts, depth)) >= MIN_SECTIONS]
    fitting = [depth for depth in depths if len(_upper(starts, depth)) <= SECTIONS]
    names = _upper(starts, (fitting or depths[-1:] or [1])[0])
    return [_Section(name, starts[name], bisect_right(chunk_starts, starts[name]) - 1) for name in names]


def _upper(sections: Iterable[str], depth: int) -> list[str]:
    return [name for name in sections if name.count(" > ") < depth]


def _spread(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most `most` of the items, evenly spread."""
    step = max(1.0, len(items) / most)
    return [items[int(i * step)] for i in range(min(most, len(items)))]


def _first_sentence(
    sentences: Sequence[AnswerSentence], passages: Sequence[Candidate], section: _Section
) -> AnswerSentence | None:
    """Return the first readable sentence of a section; `sentences` must be in document order."""
    after = (s for s in sentences if s.start >= section.start and s.quality >= READABLE)
    first = next(after, None)
    if first and section.name and section_at(passages[first.document], first.start) != section.name:
        return None
    return first
