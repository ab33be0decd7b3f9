"""An overview of a document by its sections, or of all documents, each with its first sentences."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import NamedTuple, TypeVar

from adaptive_rag.answer.aggregate import WholeTable, collect_tables
from adaptive_rag.answer.passages import cite_span
from adaptive_rag.answer.rows import say_row
from adaptive_rag.answer.sentences import AnswerSentence, collect_sentences
from adaptive_rag.answer.speakers import in_words
from adaptive_rag.source import ChoosesSources, ChunkSource, ListsChunks
from adaptive_rag.state import Candidate, Citation, to_candidate
from adaptive_rag.text.markers import respell_markers, write_marker
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


class Overview(NamedTuple):
    """An overview as an answer, with its citations and the passages that its markers count."""

    document: str
    text: str
    citations: list[Citation]
    passages: list[Candidate]


class _Place(NamedTuple):
    """The start of a section: its headings, its offset in the document, and the index of its chunk."""

    section: str
    start: int
    chunk: int


def outline_document(name: str, source: ChunkSource) -> Overview | None:
    """Write an overview of a document; None where its chunks cannot be listed or nothing is readable."""
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
    lines, citations = list[str](), list[Citation]()
    for place in told:
        if sentence := _leading(sentences, passages, place):
            marker = sentence.document + 1
            said = f"{respell_markers(' '.join(sentence.text.split()))} {write_marker(marker)}"
            heading = place.section.rpartition(" > ")[2]
            lines.append(f"- **{heading}**: {said}" if heading else f"- {said}")
            citations.append(cite_span(passages[marker - 1], marker, sentence.start, sentence.end))
    if not lines:
        return None
    of = f"{len(told)} of its {len(places)} sections" if len(told) < len(places) else "its sections"
    lead = f"{PurePath(name).name}, {of if headed else 'from its beginning to its end'}:"
    return Overview(name, "\n".join([lead, *lines]), citations, passages)


def outline_documents(source: ChunkSource) -> Overview | None:
    """Write an overview of all documents, by how each begins; None where nothing can be listed or read."""
    if not isinstance(source, ChoosesSources):
        return None
    held = list(source.sources())
    same = Counter(PurePath(name).name for name in held)
    lines, citations, passages = list[str](), list[Citation](), list[Candidate]()
    told = _spread(held, DOCUMENTS)
    for name in told:
        overview = outline_document(name, source)
        if overview is None:
            continue
        short = PurePath(name).name
        lines.append(f"\n**{respell_markers(short if same[short] == 1 else name)}**")
        said = zip(overview.text.split("\n")[1:], overview.citations, strict=True)
        for line, citation in list(said)[:BEGINNING]:
            passage = overview.passages[citation["marker"] - 1]
            if passage not in passages:
                passages.append(passage)
            marker = passages.index(passage) + 1
            lines.append(f"{line.removesuffix(write_marker(citation['marker']))}{write_marker(marker)}")
            citations.append({**citation, "marker": marker})
    lead = [f"{len(told)} of {len(held)} documents, by how they begin:"] if len(told) < len(held) else []
    text = "\n".join([*lead, *lines]).strip()
    return Overview("all documents", text, citations, passages) if citations else None


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
            said = [
                f"{respell_markers(' '.join(each.text.split()))} {write_marker(at + 1)}" for each in below
            ]
            citations = [cite_span(passage, at + 1, each.start, each.end) for each in below]
            if said:
                return Overview(f"{passage['source']}, {section}", " ".join(said), citations, [*passages])
    return None


def _whole_tables(source: ListsChunks, chunks: Sequence[Candidate]) -> list[WholeTable]:
    """Return the tables of a document if they make up at least half of its text, else []."""
    tables = collect_tables(source)
    rows = sum(row.end - row.start for table in tables for row in table.rows)
    return tables if 2 * rows >= chunks[-1]["end"] - chunks[0]["start"] else []


def _tell_tables(name: str, tables: Sequence[WholeTable]) -> Overview:
    """Describe each table: the number of its rows, its columns, and its first row."""
    lines, citations, passages = list[str](), list[Citation](), list[Candidate]()
    for table in tables[:SECTIONS]:
        first = table.rows[0]
        if all(passage["id"] != first.chunk["id"] for passage in passages):
            passages.append(first.chunk)
        marker = 1 + next(at for at, passage in enumerate(passages) if passage["id"] == first.chunk["id"])
        sheet = str(first.chunk["metadata"].get("sheet", ""))
        columns = in_words([column for column in table.columns if column])
        row = respell_markers(" ".join(say_row(first.cells, "").split()))
        of = f"**{sheet}**: " if sheet else ""
        lines.append(f"- {of}{len(table.rows)} rows with {columns}. The first: {row} {write_marker(marker)}")
        citations.append(cite_span(passages[marker - 1], marker, first.start, first.end))
    return Overview(name, "\n".join([f"{PurePath(name).name}, its tables:", *lines]), citations, passages)


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
