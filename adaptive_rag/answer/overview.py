"""An overview of a document by its sections, or of all documents, each with its first sentences."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple, TypeVar

from adaptive_rag.answer.aggregate import WholeTable, collect_tables
from adaptive_rag.answer.passages import cite_span
from adaptive_rag.answer.rows import say_row
from adaptive_rag.answer.sentences import AnswerSentence, collect_sentences
from adaptive_rag.source import ChoosesSources, ChunkSource, ListsChunks
from adaptive_rag.state import Candidate, Piece, to_candidate
from adaptive_rag.text.markers import respell_markers
from adaptive_rag.text.phrases import Written, citations_of, joined, say
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


@dataclass(frozen=True)
class Overview(Written):
    """An overview as an answer, and the passages that its markers count."""

    document: str
    passages: list[Candidate]


class _Lines(NamedTuple):
    """The lines of a document's overview, and the passages that its markers count."""

    lines: list[list[Piece]]
    passages: list[Candidate]


class _Place(NamedTuple):
    """The start of a section: its headings, its offset in the document, and the index of its chunk."""

    section: str
    start: int
    chunk: int


def outline_document(name: str, source: ChunkSource) -> Overview | None:
    """Write an overview of a document; None where its chunks cannot be listed or nothing is readable."""
    found = _outline(name, source)
    return Overview(joined(found.lines, "\n"), name, found.passages) if found else None


def _outline(name: str, source: ChunkSource) -> _Lines | None:
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
    places = _sections(chunks)
    headed = len(places) >= FEW
    if not headed and (tables := _whole_tables(narrowed, chunks)):
        return _tell_tables(name, tables)
    if not headed:
        places = [_Place("", chunk["start"], at) for at, chunk in enumerate(chunks)]
    told = _spread(places, SECTIONS if headed else STRETCHES)
    read = sorted({place.chunk for place in told})
    passages = [chunks[at] for at in read]
    found = collect_sentences(passages, source.sentences([chunk["id"] for chunk in passages]))
    sentences = sorted(found, key=lambda sentence: sentence.start)
    lines = list[list[Piece]]()
    for place in told:
        if sentence := _leading(sentences, passages, place):
            heading = place.section.rpartition(" > ")[2]
            lines.append([f"- **{heading}**: " if heading else "- ", *_quote(passages, sentence)])
    if not lines:
        return None
    code = "some_sections" if len(told) < len(places) else "sections"
    lead = say(code if headed else "whole_text", name=PurePath(name).name, n=len(told), all=len(places))
    return _Lines([[lead], *lines], passages)


def outline_documents(source: ChunkSource) -> Overview | None:
    """Write an overview of all documents, by how each begins; None where nothing can be listed or read."""
    if not isinstance(source, ChoosesSources):
        return None
    held = list(source.sources())
    same = Counter(PurePath(name).name for name in held)
    lines, passages = list[list[Piece]](), list[Candidate]()
    told = _spread(held, DOCUMENTS)
    for name in told:
        overview = _outline(name, source)
        if overview is None:
            continue
        short = PurePath(name).name
        above = "\n" if lines or len(told) < len(held) else ""
        lines.append([f"{above}**{respell_markers(short if same[short] == 1 else name)}**"])
        for line in overview.lines[1 : BEGINNING + 1]:
            [citation] = citations_of(line)
            passage = overview.passages[citation["marker"] - 1]
            if passage not in passages:
                passages.append(passage)
            lines.append([*line[:-1], {**citation, "marker": passages.index(passage) + 1}])
    lead = [[say("documents_begin", n=len(told), all=len(held))]] if len(told) < len(held) else []
    return Overview(joined([*lead, *lines], "\n"), "all documents", passages) if passages else None


def tell_section(heading: str, passages: Sequence[Candidate], source: ChunkSource) -> Overview | None:
    """Quote the text below a heading in the passages; None where no heading has these words."""
    wanted = terms(heading)
    for at, passage in enumerate(passages):
        for start, section, _ in outline_of([passage]):
            if not section or terms(section.rpartition(" > ")[2]) != wanted:
                continue
            found = collect_sentences([passage], source.sentences([passage["id"]]))
            below = [
                each
                for each in found
                if each.start >= start
                and each.quality >= READABLE
                and section_at(passage, each.start) == section
            ][:TOLD]
            if below:
                said = joined([_quote(passages, each, at) for each in below], " ")
                return Overview(said, f"{passage['source']}, {section}", [*passages])
    return None


def _whole_tables(source: ListsChunks, chunks: Sequence[Candidate]) -> list[WholeTable]:
    """Return the tables of a document if they make up at least half of its text, else []."""
    tables = collect_tables(source)
    rows = sum(row.end - row.start for table in tables for row in table.rows)
    return tables if 2 * rows >= chunks[-1]["end"] - chunks[0]["start"] else []


def _tell_tables(name: str, tables: Sequence[WholeTable]) -> _Lines:
    """Describe each table: the number of its rows, its columns, and its first row."""
    lines, passages = list[list[Piece]](), list[Candidate]()
    for table in tables[:SECTIONS]:
        first = table.rows[0]
        if all(passage["id"] != first.chunk["id"] for passage in passages):
            passages.append(first.chunk)
        marker = 1 + next(at for at, passage in enumerate(passages) if passage["id"] == first.chunk["id"])
        sheet = str(first.chunk["metadata"].get("sheet", ""))
        said = say("table", n=len(table.rows), columns=[column for column in table.columns if column])
        row = respell_markers(" ".join(say_row(first.cells, "").split()))
        mark = cite_span(passages[marker - 1], marker, first.start, first.end)
        lines.append([f"- **{sheet}**: " if sheet else "- ", said, f" {row} ", mark])
    return _Lines([[say("tables", name=PurePath(name).name)], *lines], passages)


def _quote(passages: Sequence[Candidate], sentence: AnswerSentence, at: int | None = None) -> list[Piece]:
    """Return a sentence on one line and its mark; `at` is its passage, by default the sentence's own."""
    number = sentence.document if at is None else at
    mark = cite_span(passages[number], number + 1, sentence.start, sentence.end)
    return [f"{respell_markers(' '.join(sentence.text.split()))} ", mark]


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
