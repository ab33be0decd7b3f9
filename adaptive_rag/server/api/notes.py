"""Notes on passages of documents, visible only to the person who wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import AfterValidator, Field
from sqlalchemy import Select, select

from adaptive_rag.index.sources import join_chunks, read_chunks
from adaptive_rag.server.api.documents import ReadableDocument, read_document_chunks
from adaptive_rag.server.api.forms import Form, Page, Window, WindowQuery, fetch_page
from adaptive_rag.server.calls import CollectionCall, ReadCall, RowId, count
from adaptive_rag.server.database import release_connection
from adaptive_rag.server.indexing import indexed_sources, sources_by_document
from adaptive_rag.server.problems import NOT_EMPTY, Problem, require_found
from adaptive_rag.server.quotas import check_quota
from adaptive_rag.server.quotes import LONGEST_QUOTE, Quote, Span, find_quotes
from adaptive_rag.server.shown import TEXT_READS
from adaptive_rag.server.tables import Document, Note, now
from adaptive_rag.state import Chunk, Place
from adaptive_rag.text.places import place_at
from adaptive_rag.text.visible import visible

router = APIRouter(prefix="/collections/{collection}/documents/{document}/notes", tags=["notes"])
NoteBody = Annotated[
    str,
    Field(max_length=4000, pattern=NOT_EMPTY, examples=["Ask Ada whether this still holds."]),
    AfterValidator(lambda text: visible(text).strip()),
]


class NoteText(Form):
    """The text of a note."""

    text: NoteBody


class NewNote(NoteText):
    """A new note on words of a document."""

    source: str = Field(max_length=2000, description="The name by which answers cite the text.")
    start: int = Field(ge=0, le=2**31, description="Where the words begin in the text, in characters.")
    end: int = Field(ge=0, le=2**31)
    quote: str = Field(
        "",
        max_length=LONGEST_QUOTE,
        description="The words as they are displayed, if their position is not known exactly. The first "
        "match from `start` on is taken; only letters and digits are compared.",
    )


class NoteShown(Form):
    """A note, and where its words are now."""

    id: str
    source: str
    start: int | None = Field(description="Where the words begin now; null if the text no longer has them.")
    end: int | None
    place: Place | None = Field(description="The position in words: page, slide, sheet, section or lines.")
    quote: str = Field(description="The words when the note was written.")
    text: str
    created: datetime
    changed: datetime


def select_own_notes(call: CollectionCall, document: Document) -> Select[Note]:
    """Return a query for the caller's notes in a document."""
    return select(Note).where(Note.owner_id == call.caller.id, Note.document_id == document.id)


def _find_note(call: ReadCall, row: ReadableDocument, note: RowId) -> Note:
    note_row = require_found(call.db.scalar(select_own_notes(call, row).where(Note.id == note)), "note")
    release_connection(call.db)
    return note_row


OwnNote = Annotated[Note, Depends(_find_note)]


@router.get("")
async def list_notes(row: ReadableDocument, call: ReadCall, window: WindowQuery) -> Page[NoteShown]:
    """List your notes in a document, in the order of its text.

    If the document has changed, a note is found again by its words.
    """
    return await TEXT_READS.run(call.caller.id, _find_notes, row, call, window)


def _find_notes(row: Document, call: CollectionCall, window: Window) -> Page[NoteShown]:
    query = select_own_notes(call, row).order_by(Note.source, Note.start, Note.created, Note.id)
    page = fetch_page(call.db, query, window, lambda note: note)
    release_connection(call.db)
    return Page(items=_describe_notes(call, row, page.items), total=page.total)


@router.post("", status_code=201, dependencies=[count("change")])
async def write_note(new: NewNote, row: ReadableDocument, call: ReadCall) -> NoteShown:
    """Add a note to words of a document."""
    return await TEXT_READS.run(call.caller.id, _write_note, new, row, call)


def _write_note(new: NewNote, row: Document, call: CollectionCall) -> NoteShown:
    check_quota(call.db, call.caller, "notes")
    release_connection(call.db)
    _, chunks = read_document_chunks(call, row, new.source)
    span = _find_span(new, chunks)
    fields = {"source": new.source, "text": new.text, "quote": join_chunks(chunks, *span)}
    note = Note(owner_id=call.caller.id, document_id=row.id, start=span.start, end=span.end, **fields)
    call.db.add(note)
    call.db.commit()
    return _describe_note(note, span, chunks)


@router.patch("/{note}", dependencies=[count("change")])
async def change_note(changed: NoteText, note: OwnNote, row: ReadableDocument, call: ReadCall) -> NoteShown:
    """Change the text of a note of yours; its position stays the same."""
    return await TEXT_READS.run(call.caller.id, _change_note, changed, note, row, call)


def _change_note(changed: NoteText, note: Note, row: Document, call: CollectionCall) -> NoteShown:
    note.text, note.changed = changed.text, now()
    call.db.commit()
    return _describe_notes(call, row, [note])[0]


@router.delete("/{note}", status_code=204)
def delete_note(note: OwnNote, call: ReadCall) -> None:
    """Delete a note of yours."""
    call.db.delete(note)
    call.db.commit()


def _find_span(new: NewNote, chunks: Sequence[Chunk]) -> Span:
    """Return the span of a new note, without the spaces around it; refuse (422) a span without words."""
    length = chunks[-1]["end"] if chunks else 0
    span: Span | None = Span(new.start, min(new.end, length, new.start + LONGEST_QUOTE))
    if new.quote:
        [span] = find_quotes(chunks, [Quote(new.quote, new.start, is_after=True)])
    text = join_chunks(chunks, *span) if span and span.start < span.end else ""
    if span is None or not text.strip():
        raise Problem(422, "These words are not in the document's text.")
    start = span.start + len(text) - len(text.lstrip())
    return Span(start, start + len(text.strip()))


def _describe_notes(call: CollectionCall, row: Document, notes: Sequence[Note]) -> list[NoteShown]:
    """Return notes with the spans of their words in the present text."""
    index = call.folder.index
    sources = sources_by_document(indexed_sources(index)).get(row.name, ())
    shown = []
    for source in dict.fromkeys(note.source for note in notes):
        in_source = [note for note in notes if note.source == source]
        chunks = read_chunks(index, source)[1] if source in sources else []
        moved = [note for note in in_source if not _is_unmoved(note, chunks)]
        new_spans = find_quotes(chunks, [Quote(note.quote, note.start) for note in moved])
        spans = dict(zip((note.id for note in moved), new_spans, strict=True))
        shown += [
            _describe_note(note, spans.get(note.id, Span(note.start, note.end)), chunks) for note in in_source
        ]
    return shown


def _is_unmoved(note: Note, chunks: Sequence[Chunk]) -> bool:
    is_inside = bool(chunks) and note.end <= chunks[-1]["end"]
    return is_inside and join_chunks(chunks, note.start, note.end) == note.quote


def _describe_note(note: Note, span: Span | None, chunks: Sequence[Chunk]) -> NoteShown:
    fields = {name: getattr(note, name) for name in ("id", "source", "quote", "text", "created", "changed")}
    chunk = next((chunk for chunk in chunks if span and chunk["start"] <= span.start < chunk["end"]), None)
    place = place_at(chunk, *span) if chunk and span else None
    start, end = span or (None, None)
    return NoteShown(start=start, end=end, place=place, **fields)
