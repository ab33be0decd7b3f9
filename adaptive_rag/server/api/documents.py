"""Documents: list them, show their indexed text, download, reindex and delete them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends, Query
from fastapi.responses import FileResponse
from pydantic import ConfigDict, Field
from sqlalchemy import Select, func, select

from adaptive_rag.index.sources import read_chunks
from adaptive_rag.ingest.archives import owners_of
from adaptive_rag.ingest.web import is_address
from adaptive_rag.server.api.forms import Form, Page, WindowQuery, fetch_page
from adaptive_rag.server.api.jobs import JobShown, add_job
from adaptive_rag.server.calls import CollectionCall, ManageCall, ReadCall, RowId, WriteCall, count
from adaptive_rag.server.folders import LONGEST_NAME, version_of
from adaptive_rag.server.gate import Turns
from adaptive_rag.server.indexing import documents_being_indexed, indexed_sources, sources_by_document
from adaptive_rag.server.problems import Problem, not_found
from adaptive_rag.server.shown import TEXT_READS, cut_text
from adaptive_rag.server.tables import Document, Note
from adaptive_rag.state import Chunk
from adaptive_rag.text.places import outline_of

router = APIRouter(prefix="/collections/{collection}/documents", tags=["documents"])
LONGEST_TEXT = 100_000
# Requests that add or remove files may wait a minute for the lock of their collection. They have worker
# threads of their own, so that other requests do not wait with them.
FILE_CHANGES = Turns(8)
EXAMPLE: dict[str, Any] = {
    "id": "0d3f9d1f2a664ef1bb4a3b7c8a3c5f0e", "name": "reports/2024.pdf", "state": "indexed", "bytes": 48213,
    "chunks": 31, "problem": None, "notes": ["3 of 12 pages hold no text"], "added": "2026-05-04T10:00:00Z",
}  # fmt: skip


class DocumentState(StrEnum):
    """Whether a document can be searched."""

    WAITING = "waiting"
    INDEXED = "indexed"
    FAILED = "failed"


_CONDITIONS = {
    DocumentState.WAITING: Document.chunks.is_(None) & Document.problem.is_(None),
    DocumentState.INDEXED: Document.chunks.is_not(None),
    DocumentState.FAILED: Document.chunks.is_(None) & Document.problem.is_not(None),
}


class DocumentShown(Form):
    """A document and its state."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    id: str
    name: str = Field(description="The name by which answers cite it.")
    state: DocumentState
    bytes: int
    chunks: int | None = Field(description="Passages in the index.")
    problem: str | None = Field(description="Why it, or a part of it, could not be read.")
    notes: list[str] = Field(description="Facts about its text, such as pages without text.")
    added: datetime
    is_being_indexed: bool = Field(False, description="Whether a job is reading it now; only in lists.")
    found_note: str | None = Field(None, description="A note of yours that contains the search text.")

    @classmethod
    def from_row(cls, row: Document) -> Self:
        """Build the model from a row."""
        if row.chunks is not None:
            state = DocumentState.INDEXED
        else:
            state = DocumentState.FAILED if row.problem else DocumentState.WAITING
        fields = {name: getattr(row, name) for name in ("id", "name", "chunks", "problem", "notes", "added")}
        return cls(state=state, bytes=row.size, **fields)


class DocumentFacts(DocumentShown):
    """A document with the names by which answers cite it; an archive has one for each of its files."""

    sources: list[str]


class Accepted(Form):
    """Documents that are safe on disk, and the job that indexes them."""

    documents: list[DocumentShown]
    job: JobShown


class Removal(Form):
    """Documents to delete together."""

    documents: list[Annotated[str, Field(max_length=32)]] = Field(min_length=1, max_length=1000)


class Stretch(Form):
    """A part of a text with one section and page."""

    start: int
    end: int
    section: str | None
    page: int | None


class PassageSpan(Form):
    """A passage of the index, and its span in the text."""

    id: str
    number: int = Field(description="Its number among the passages of this text, from 1.")
    start: int
    end: int


class Text(Form):
    """A part of a document's text as it is indexed. All positions count from the start of the whole text."""

    source: str
    start: int = Field(description="Where this part begins, in characters (Unicode code points).")
    end: int
    length: int = Field(description="Characters of the whole text.")
    text: str
    stretches: list[Stretch]
    passages: list[PassageSpan] = Field(description="The passages of this part; they may overlap.")


class Outline(Form):
    """The sections and pages of a whole text."""

    source: str
    length: int = Field(description="Characters of the whole text.")
    stretches: list[Stretch]


def _find_document(call: ReadCall, document: RowId) -> Document:
    return call.row(Document, document)


Source = Annotated[
    str | None, Query(max_length=2000, description="Which file, if the document is an archive.")
]
ReadableDocument = Annotated[Document, Depends(_find_document)]


def queue_documents(call: CollectionCall, rows: Sequence[Document]) -> Accepted:
    """Add a job that indexes documents, and mark the documents as waiting."""
    for row in rows:
        row.chunks, row.problem, row.notes = None, None, []
    call.db.flush()
    job = add_job(call, "index", [row.id for row in rows])
    return Accepted(documents=[DocumentShown.from_row(row) for row in rows], job=JobShown.model_validate(job))


@router.get("")
def list_documents(
    call: ReadCall,
    window: WindowQuery,
    search: Annotated[
        str, Query(max_length=200, description="Part of the name, or of a note of yours in the document.")
    ] = "",
    state: DocumentState | None = None,
    folder: Annotated[
        str, Query(max_length=LONGEST_NAME, description="Only documents below this folder.")
    ] = "",
    source: Annotated[
        str | None, Query(max_length=2000, description="Only the document with this name in citations.")
    ] = None,
) -> Page[DocumentShown]:
    """List the documents of a collection by name."""
    query: Select[Any] = select(Document).where(Document.collection_id == call.collection.id)
    own_notes = select(Note).where(
        Note.owner_id == call.caller.id, Note.text.icontains(search, autoescape=True)
    )
    if search:
        in_name = Document.name.icontains(search, autoescape=True)
        query = query.where(in_name | Document.id.in_(own_notes.with_only_columns(Note.document_id)))
    if folder:
        query = query.where(Document.name.startswith(f"{folder}/", autoescape=True))
    if source is not None:
        record = indexed_sources(call.folder.index).get(source)
        query = query.where(Document.name.in_(owners_of(source, record.start if record else None)))
    if state is not None:
        query = query.where(_CONDITIONS[state])
    page = fetch_page(
        call.db, query.order_by(func.lower(Document.name), Document.name), window, DocumentShown.from_row
    )
    being_indexed = documents_being_indexed(call.db, call.collection.id)
    for row in page.items:
        row.is_being_indexed = row.id in being_indexed and row.state == DocumentState.WAITING
    if search:
        ids = [row.id for row in page.items]
        notes = call.db.scalars(own_notes.where(Note.document_id.in_(ids)).order_by(Note.changed))
        note_texts = {note.document_id: note.text for note in notes}
        for row in page.items:
            row.found_note = note_texts.get(row.id)
    return page


@router.get("/{document}")
def show_document(row: ReadableDocument, call: ReadCall) -> DocumentFacts:
    """Show a document, and the names by which answers cite it."""
    sources = sources_by_document(indexed_sources(call.folder.index))
    return DocumentFacts(sources=sources.get(row.name, []), **DocumentShown.from_row(row).model_dump())


@router.get("/{document}/text")
async def show_text(
    row: ReadableDocument,
    call: ReadCall,
    source: Source = None,
    start: Annotated[int, Query(ge=0, le=2**31)] = 0,
    length: Annotated[int, Query(ge=1, le=LONGEST_TEXT)] = LONGEST_TEXT,
) -> Text:
    """Show the text of a document as it is indexed; the spans of citations count in this text."""
    return await TEXT_READS.run(call.caller.id, _read_text, row, call, source, start, length)


def _read_text(row: Document, call: CollectionCall, source: str | None, start: int, length: int) -> Text:
    name, chunks = read_document_chunks(call, row, source)
    part = cut_text(chunks, start, start + length)
    passages = [
        PassageSpan(id=chunk["id"], number=number, start=chunk["start"], end=chunk["end"])
        for number, chunk in enumerate(chunks, 1)
        if chunk["start"] < part.end and chunk["end"] > part.start
    ]
    stretches = _outline_between(chunks, part.start, part.end)
    return Text(source=name, stretches=stretches, passages=passages, **part._asdict())


@router.get("/{document}/outline")
async def show_outline(row: ReadableDocument, call: ReadCall, source: Source = None) -> Outline:
    """Show where the sections and pages of a document begin in its text."""
    return await TEXT_READS.run(call.caller.id, _read_outline, row, call, source)


def _read_outline(row: Document, call: CollectionCall, source: str | None) -> Outline:
    name, chunks = read_document_chunks(call, row, source)
    total_length = chunks[-1]["end"] if chunks else 0
    return Outline(source=name, length=total_length, stretches=_outline_between(chunks, 0, total_length))


def read_document_chunks(call: CollectionCall, row: Document, source: str | None) -> tuple[str, list[Chunk]]:
    """Return the name of a document's source, and its chunks in the index."""
    index = call.folder.index
    # The index may still hold a deleted document of the same name.
    is_indexed = row.name not in call.collection.hidden
    sources = sources_by_document(indexed_sources(index)).get(row.name, []) if is_indexed else []
    if not sources or (source is not None and source not in sources):
        raise Problem(409 if not sources else 404, "This document has no such text in the index.")
    return read_chunks(index, source or sources[0])


def _outline_between(chunks: Sequence[Chunk], start: int, end: int) -> list[Stretch]:
    """Return the stretches of a text that overlap a span, limited to the span."""
    outline = outline_of(chunks)
    ends = [begin for begin, _, _ in outline[1:]] + [end]
    return [
        Stretch(start=max(start, low), end=min(end, high), section=section, page=page)
        for (low, section, page), high in zip(outline, ends, strict=True)
        if max(start, low) < min(end, high)
    ]


@router.get("/{document}/file", response_class=FileResponse)
def download_document(row: ReadableDocument, call: ReadCall) -> FileResponse:
    """Download the uploaded file of a document."""
    path = call.folder.file_of(row)
    if is_address(row.name) or not path.is_file():
        raise Problem(404, "This document has no file: it is a page of the web.")
    headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'"}
    return FileResponse(
        path, headers=headers, media_type="application/octet-stream", filename=PurePosixPath(row.name).name
    )


@router.post("/{document}/reindex", status_code=202, dependencies=[count("change")])
def reindex_document(row: ReadableDocument, call: WriteCall) -> Accepted:
    """Read a document again, such as one that could not be read, or a web page that may have changed."""
    accepted = queue_documents(call, [row])
    call.commit("document.reindex", f"{call.collection.name}: {row.name}")
    return accepted


@router.post("/reindex", status_code=202, dependencies=[count("change")])
def rebuild_index(call: ManageCall) -> JobShown:
    """Rebuild the index, as after a change of the embedding model. Meanwhile, questions use the old one."""
    job = add_job(call, "rebuild")
    call.commit("collection.rebuild", call.collection.name)
    return JobShown.model_validate(job)


@router.delete("/{document}", status_code=202, dependencies=[count("change")])
async def delete_document(row: ReadableDocument, call: WriteCall) -> JobShown:
    """Delete a document. No answer uses it any more; the job removes its passages from the index."""
    return await delete_documents(Removal(documents=[row.id]), call)


@router.post("/delete", status_code=202, dependencies=[count("change")])
async def delete_documents(removal: Removal, call: WriteCall) -> JobShown:
    """Delete several documents with one job; ids of documents that no longer exist are ignored."""
    return await FILE_CHANGES.run(call.caller.id, _delete, removal, call)


def _delete(removal: Removal, call: WriteCall) -> JobShown:
    folder, collection = call.folder, call.collection
    with call.lock_documents():
        query = select(Document).where(
            Document.collection_id == collection.id, Document.id.in_(removal.documents)
        )
        rows = call.db.scalars(query.order_by(Document.name)).all()
        if not rows:
            raise not_found("document")
        collection.hidden = sorted({*collection.hidden, *(row.name for row in rows)})
        job = add_job(call, "remove")
        for row in rows:
            call.record_event("document.delete", f"{collection.name}: {row.name}")
            call.db.delete(row)
        call.db.commit()
        for row in rows:
            folder.retire(version_of(row))
    return JobShown.model_validate(job)
