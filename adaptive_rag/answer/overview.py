"""An overview of a document by its sections, or of all documents, each with its first sentences."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import NamedTuple, TypeVar

from adaptive_rag.answer.aggregate import WholeTable, collect_tables
from adaptive_rag.answer.quotes import Quote, WholeAnswer, readable, write_quotes
from adaptive_rag.answer.rows import say_row
from adaptive_rag.answer.sentences import AnswerSentence, collect_sentences
from adaptive_rag.source import ChoosesSources, ChunkSource, ListsChunks
from adaptive_rag.state import Candidate, Phrase, Piece, to_candidate
from adaptive_rag.text.markers import respell_markers
from adaptive_rag.text.phrases import join_pieces, say
from adaptive_rag.text.places import outline_of, section_at
from adaptive_rag.text.words import terms

# Maximum number of sections in an overview. A document with fewer headings than FEW is divided into up to
# STRETCHES parts.
SECTIONS, FEW, STRETCHES = 12, 2, 6
# Maximum depth of headings, and maximum number of chunks of a document.
DEEPEST, MOST_CHUNKS = 6, 5_000
# Maximum number of sentences from a section that is asked for by its heading.
TOLD = 4
# Maximum number of documents in an overview of all, and of sections of each.
DOCUMENTS, BEGINNING = 12, 2
# Minimum quality of a sentence that represents its section.
READABLE = 0.6

Item = TypeVar("Item")


class _Place(NamedTuple):
    section: str  # the headings above it, "" where none
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
    held = list(source.sources())
    same = Counter(PurePath(name).name for name in held)
    told = _spread(held, DOCUMENTS)
    quotes = list[Quote]()
    for name in told:
        outline = _read_document(name, source)
        short = PurePath(name).name
        above = "\n" if quotes or len(told) < len(held) else ""
        heading = [f"{above}**{respell_markers(short if same[short] == 1 else name)}**\n"]
        for quote in outline.quotes[:BEGINNING] if outline else []:
            quotes.append(quote._replace(before=[*heading, *quote.before]))
            heading = []
    lines, passages = write_quotes(quotes, [])
    lead = [[say("documents_begin", n=len(told), all=len(held))]] if len(told) < len(held) else []
    return WholeAnswer(join_pieces([*lead, *lines], "\n"), passages, "all documents") if lines else None


def tell_section(heading: str, passages: Sequence[Candidate], source: ChunkSource) -> WholeAnswer | None:
    """Quote the text below a heading in the passages; None where no heading has these words."""
    wanted = terms(heading)
    for passage in passages:
        for start, section, _ in outline_of([passage]):
            if not section or terms(section.rpartition(" > ")[2]) != wanted:
                continue
            found = collect_sentences([passage], source.sentences([passage["id"]]))
            below = [
                Quote(each.text, passage, each.start, each.end)
                for each in found
                if each.start >= start
                and each.quality >= READABLE
                and section_at(passage, each.start) == section
            ]
            if below:
                lines, read = write_quotes(below[:TOLD], passages)
                return WholeAnswer(join_pieces(lines, " "), read, f"{passage['source']}, {section}")
    return None


def _read_document(name: str, source: ChunkSource) -> _Outline | None:
    """Return what an overview of a document quotes; None where there is nothing to quote."""
    if not isinstance(source, ChoosesSources) or source.sources().get(name, MOST_CHUNKS) >= MOST_CHUNKS:
        return None
    narrowed = source.only({name})
    if not isinstance(narrowed, ListsChunks):
        return None
    chunks = sorted(
        (to_candidate(chunk, {}) for chunk in narrowed.chunks()), key=lambda chunk: chunk["start"]
    )
    if not chunks:
        return None
    short, places = PurePath(name).name, _sections(chunks)
    headed = len(places) >= FEW
    if not headed and (tables := _whole_tables(narrowed, chunks)):
        return _Outline(say("tables", name=short, n=len(tables)), [*map(_tell_table, tables[:SECTIONS])], [])
    if not headed:
        places = [_Place("", chunk["start"], at) for at, chunk in enumerate(chunks)]
    told = _spread(places, SECTIONS if headed else STRETCHES)
    passages = [chunks[at] for at in sorted({place.chunk for place in told})]
    found = collect_sentences(passages, source.sentences([chunk["id"] for chunk in passages]))
    sentences = sorted(found, key=lambda sentence: sentence.start)
    quotes = list[Quote]()
    for place in told:
        if first := _leading(sentences, passages, place):
            heading = readable(place.section.rpartition(" > ")[2])
            before = f"- **{heading}**: " if heading else "- "
            quotes.append(Quote(first.text, passages[first.document], first.start, first.end, [before]))
    code = "some_sections" if len(told) < len(places) else "sections"
    lead = say(code if headed else "whole_text", name=short, n=len(told), all=len(places))
    return _Outline(lead, quotes, passages) if quotes else None


def _whole_tables(source: ListsChunks, chunks: Sequence[Candidate]) -> list[WholeTable]:
    """Return the tables of a document if they make up at least half of its text, else []."""
    tables = collect_tables(source)
    rows = sum(row.end - row.start for table in tables for row in table.rows)
    return tables if 2 * rows >= chunks[-1]["end"] - chunks[0]["start"] else []


def _tell_table(table: WholeTable) -> Quote:
    """Describe a table: the number of its rows, its columns, and its first row."""
    first = table.rows[0]
    sheet = readable(str(first.chunk["metadata"].get("sheet", "")))
    said = say("table", n=len(table.rows), columns=[readable(column) for column in table.columns if column])
    before: list[Piece] = [f"- **{sheet}**: " if sheet else "- ", said, " "]
    return Quote(say_row(first.cells, ""), first.chunk, first.start, first.end, before)


def _sections(chunks: Sequence[Candidate]) -> list[_Place]:
    """Return each section of a document once; of a document with many sections, only the upper levels."""
    found = dict[str, int]()
    for offset, section, _ in outline_of(chunks):
        if section:
            found.setdefault(section, offset)
    starts = [chunk["start"] for chunk in chunks]
    depths = [depth for depth in range(DEEPEST, 0, -1) if len(_upper(found, depth)) >= FEW]
    fitting = [depth for depth in depths if len(_upper(found, depth)) <= SECTIONS]
    upper = _upper(found, (fitting or depths[-1:] or [1])[0])
    return [_Place(name, found[name], bisect_right(starts, found[name]) - 1) for name in upper]


def _upper(sections: Iterable[str], depth: int) -> list[str]:
    return [name for name in sections if name.count(" > ") < depth]


def _spread(places: Sequence[Item], most: int) -> list[Item]:
    """Return at most `most` of the places or documents, evenly spread."""
    step = max(1.0, len(places) / most)
    return [places[int(at * step)] for at in range(min(most, len(places)))]


def _leading(
    sentences: Sequence[AnswerSentence], passages: Sequence[Candidate], place: _Place
) -> AnswerSentence | None:
    """Return the first readable sentence of a section; `sentences` must be in document order."""
    inside = (each for each in sentences if each.start >= place.start and each.quality >= READABLE)
    first = next(inside, None)
    if first and place.section and section_at(passages[first.document], first.start) != place.section:
        return None
    return first
