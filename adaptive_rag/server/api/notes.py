"""Notes on passages of documents, each visible to its writer only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import AfterValidator, Field
from sqlalchemy import Select, select

from adaptive_rag.index.sources import join_chunks, read_chunks
from adaptive_rag.server.api.documents import ReadableDocument, chunks_of
from adaptive_rag.server.api.forms import Form, Page, WindowAsked, page_of
from adaptive_rag.server.calls import CHANGING, CollectionCall, ReadCall, RowId
from adaptive_rag.server.database import let_go
from adaptive_rag.server.indexing import indexed_sources, sources_by_document
from adaptive_rag.server.problems import Problem, found
from adaptive_rag.server.quotas import check_number
from adaptive_rag.server.quotes import LONGEST_QUOTE, Quote, Span, find_quotes
from adaptive_rag.server.tables import Document, Note, now
from adaptive_rag.state import Chunk, Place
from adaptive_rag.text.places import place_at
from adaptive_rag.text.visible import visible

router = APIRouter(prefix="/collections/{collection}/documents/{document}/notes", tags=["notes"])
Written = Annotated[
    str,
    Field(max_length=4000, pattern=r"\S", examples=["Ask Ada whether this still holds."]),
    AfterValidator(lambda text: visible(text).strip()),
]


class NoteText(Form):
    """What a note says."""

    text: Written


class NewNote(NoteText):
    """A new note on words of a document."""

    source: str = Field(max_length=2000, description="The name by which answers cite the text.")
    start: int = Field(ge=0, le=2**31, description="Where the words begin in the text, in characters.")
    end: int = Field(ge=0, le=2**31)
    quote: str = Field(
        "",
        max_length=LONGEST_QUOTE,
        description="The words as they are shown, where their place is not known exactly: the first place "
        "from `start` on is taken, whatever stands between their letters.",
    )


class NoteShown(Form):
    """A note, and where its words are now."""

    id: str
    source: str
    start: int | None = Field(description="Where the words begin now; null if the text has them no longer.")
    end: int | None
    place: Place | None = Field(description="The same in words: page, slide, sheet, section or lines.")
    quote: str = Field(description="The words when the note was written.")
    text: str
    created: datetime
    changed: datetime


def own_notes(call: CollectionCall, document: Document) -> Select[Note]:
    """Return a query for the caller's notes in a document."""
    return select(Note).where(Note.owner_id == call.caller.id, Note.document_id == document.id)


def _note_of(call: ReadCall, row: ReadableDocument, note: RowId) -> Note:
    own = found(call.db.scalar(own_notes(call, row).where(Note.id == note)), "note")
    let_go(call.db)
    return own


OwnNote = Annotated[Note, Depends(_note_of)]


@router.get("")
def list_notes(row: ReadableDocument, call: ReadCall, window: WindowAsked) -> Page[NoteShown]:
    """List your notes in a document, in the order of its text.

    Each is found again by its words if the document was changed.
    """
    query = own_notes(call, row).order_by(Note.source, Note.start, Note.created, Note.id)
    page = page_of(call.db, query, window, lambda note: note)
    let_go(call.db)
    return Page(items=_shown(call, row, page.items), total=page.total)


@router.post("", status_code=201, dependencies=[CHANGING])
def write_note(new: NewNote, row: ReadableDocument, call: ReadCall) -> NoteShown:
    """Write a note on words of a document."""
    check_number(call.db, call.caller, "notes")
    let_go(call.db)
    _, chunks = chunks_of(call, row, new.source)
    span = _span_of(new, chunks)
    facts = {"source": new.source, "text": new.text, "quote": join_chunks(chunks, *span)}
    note = Note(owner_id=call.caller.id, document_id=row.id, start=span.start, end=span.end, **facts)
    call.db.add(note)
    call.db.commit()
    return _found(note, span, chunks)


@router.patch("/{note}", dependencies=[CHANGING])
def change_note(changed: NoteText, note: OwnNote, row: ReadableDocument, call: ReadCall) -> NoteShown:
    """Replace the text of a note of yours; its place stays the same."""
    note.text, note.changed = changed.text, now()
    call.db.commit()
    return _shown(call, row, [note])[0]


@router.delete("/{note}", status_code=204)
def delete_note(note: OwnNote, call: ReadCall) -> None:
    """Delete a note of yours."""
    call.db.delete(note)
    call.db.commit()


def _span_of(new: NewNote, chunks: Sequence[Chunk]) -> Span:
    """Return the place of a new note, without the blanks around it; 422 if there are no words."""
    whole = chunks[-1]["end"] if chunks else 0
    span: Span | None = Span(new.start, min(new.end, whole, new.start + LONGEST_QUOTE))
    if new.quote:
        [span] = find_quotes(chunks, [Quote(new.quote, new.start, is_after=True)])
    text = join_chunks(chunks, *span) if span and span.start < span.end else ""
    if span is None or not text.strip():
        raise Problem(422, "These words are not in the document's text.")
    start = span.start + len(text) - len(text.lstrip())
    return Span(start, start + len(text.strip()))


def _shown(call: CollectionCall, row: Document, notes: Sequence[Note]) -> list[NoteShown]:
    """Return notes with the places of their words in the text as it is now."""
    index = call.folder.index
    sources = sources_by_document(indexed_sources(index)).get(row.name, ())
    shown = []
    for source in dict.fromkeys(note.source for note in notes):
        there = [note for note in notes if note.source == source]
        chunks = read_chunks(index, source)[1] if source in sources else []
        moved = [note for note in there if not _is_in_place(note, chunks)]
        found = find_quotes(chunks, [Quote(note.quote, note.start) for note in moved])
        spans = dict(zip((note.id for note in moved), found, strict=True))
        shown += [_found(note, spans.get(note.id, Span(note.start, note.end)), chunks) for note in there]
    return shown


def _is_in_place(note: Note, chunks: Sequence[Chunk]) -> bool:
    is_inside = bool(chunks) and note.end <= chunks[-1]["end"]
    return is_inside and join_chunks(chunks, note.start, note.end) == note.quote


def _found(note: Note, span: Span | None, chunks: Sequence[Chunk]) -> NoteShown:
    facts = {name: getattr(note, name) for name in ("id", "source", "quote", "text", "created", "changed")}
    chunk = next((each for each in chunks if span and each["start"] <= span.start < each["end"]), None)
    place = place_at(chunk, *span) if chunk and span else None
    start, end = span or (None, None)
    return NoteShown(start=start, end=end, place=place, **facts)
