"""Documents that come in: uploaded as files, or read from an address."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session
from starlette.datastructures import FormData, UploadFile
from starlette.requests import ClientDisconnect
from starlette.types import Message

from adaptive_rag.errors import IndexingError, InputError
from adaptive_rag.ingest.loaders import list_suffixes
from adaptive_rag.ingest.web_fetch import read_address
from adaptive_rag.server.access import Caller, CurrentCaller, ReadableCollection, WritableCollection
from adaptive_rag.server.api.documents import Accepted, accept
from adaptive_rag.server.audit import note
from adaptive_rag.server.database import Db
from adaptive_rag.server.folders import safe_name
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.services import Parts
from adaptive_rag.server.tables import Collection, Document, Upload, now

router = APIRouter(prefix="/collections/{collection}/documents", tags=["documents"])
MEGABYTE = 1_000_000
MOST_FILES = 1000
KEYS_KEPT = timedelta(days=1)
# What a form may have around its files: their names and the lines between them.
AROUND_FILES = MEGABYTE
_UPLOAD_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {
                        "files": {"type": "array", "items": {"type": "string", "format": "binary"}}
                    },
                }
            }
        },
    }
}


class Address(BaseModel):
    """A page of the web to read."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"address": "https://example.org/opening-hours"}]}
    )

    address: str = Field(max_length=1000, pattern=r"^https?://")


class Uploadable(BaseModel):
    """What may be uploaded."""

    suffixes: list[str] = Field(description="Ends of the names of files that are read.")
    megabytes: int = Field(description="Size of one upload with all its documents, at most.")


async def _uploaded(
    request: Request, found: WritableCollection, db: Db, parts: Parts
) -> AsyncIterator[list[UploadFile]]:
    """Receive the files of a form, in files without a name that vanish with this process."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise Problem(415, "Send the documents as multipart/form-data.")
    await run_in_threadpool(db.close)  # a slow upload holds no connection
    most = parts.settings.max_upload_megabytes * MEGABYTE
    form = await _read_form(request, most)
    try:
        files = [file for _, file in form.multi_items() if not isinstance(file, str)]
        if not files or len(files) < len(form.multi_items()):
            raise Problem(422, "The form must hold files, each with its name, and nothing else.")
        yield files
    finally:
        await form.close()


async def _read_form(request: Request, most: int) -> FormData:
    too_large = Problem(413, f"An upload may have {most // MEGABYTE:,} MB (server.max_upload_megabytes).")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most + AROUND_FILES:
        raise too_large
    came = 0

    async def receive() -> Message:
        nonlocal came
        message = await request.receive()
        came += len(message.get("body", b""))
        if came > most + AROUND_FILES:
            raise too_large
        return message

    try:
        return await Request(request.scope, receive).form(max_files=MOST_FILES, max_fields=0)
    except ClientDisconnect:
        raise Problem(400, "The upload broke off. Nothing of it is kept.") from None


@router.get("/uploadable")
def show_uploadable(found: ReadableCollection, parts: Parts) -> Uploadable:
    """Say which kinds of files are read, and how large an upload may be."""
    return Uploadable(suffixes=list_suffixes().split(", "), megabytes=parts.settings.max_upload_megabytes)


# What is uploaded is counted as it comes, to the operator's bound.
@router.post("", status_code=202, openapi_extra=_UPLOAD_FORM, max_body_size=2**50)
def upload_documents(
    files: Annotated[list[UploadFile], Depends(_uploaded)],
    found: WritableCollection,
    db: Db,
    caller: CurrentCaller,
    parts: Parts,
    request: Request,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=255)] = None,
) -> Accepted:
    """Upload documents; one of the same name is replaced. They are safe on disk when this is answered.

    A file's name may have folders, as in "reports/2024.pdf". With an Idempotency-Key the same request can
    be sent again within a day, and is answered as it was the first time.
    """
    names = [safe_name(file.filename or "") for file in files]
    if len(set(names)) < len(names):
        raise Problem(422, "Two of the documents have the same name.")
    folder = parts.folder_of(found)
    with ExitStack() as stack:
        stack.enter_context(folder.changing())
        written = list[tuple[Path, str, int]]()
        for file, name in zip(files, names, strict=True):
            written.append(folder.write(file.file, name))
            stack.callback(shutil.rmtree, written[-1][0], ignore_errors=True)
        content = json.dumps(
            [found.id, sorted(zip(names, (digest for _, digest, _ in written), strict=True))]
        )
        answered = _answered(db, caller, idempotency_key, hashlib.sha256(content.encode()).hexdigest())
        if isinstance(answered, Accepted):
            return answered
        rows = _replace_rows(db, found, caller, names, written, parts.settings.max_collection_megabytes)
        for row, (place, _, _) in zip(rows, written, strict=True):
            folder.publish(place, row)
        accepted = accept(db, found, caller, rows)
        note(db, request, caller, "document.upload", f"{found.name}: {', '.join(names)}")
        if answered:
            answered.answer = accepted.model_dump(mode="json")
            db.add(answered)
        db.commit()
    parts.queue.tell(found.id)
    return accepted


def _answered(db: Session, caller: Caller, key: str | None, digest: str) -> Accepted | Upload | None:
    """Return the answer that a key had before, or the row that will keep it; None without a key.

    Old keys are forgotten.
    """
    if key is None:
        return None
    db.execute(delete(Upload).where(Upload.created < now() - KEYS_KEPT))
    known = db.get(Upload, (caller.id, key))
    if known is None:
        return Upload(user_id=caller.id, key=key, digest=digest)
    if known.digest != digest:
        raise Problem(422, "This Idempotency-Key was used for another upload. Take a new one.")
    return Accepted.model_validate(known.answer)


def _replace_rows(
    db: Session,
    found: Collection,
    caller: Caller,
    names: Sequence[str],
    written: Sequence[tuple[Path, str, int]],
    megabytes: int,
) -> list[Document]:
    """Return the rows of what was written: new ones, or those of the same name."""
    named = select(Document).where(Document.collection_id == found.id, Document.name.in_(names))
    known = {row.name: row for row in db.scalars(named)}
    held = db.scalar(select(func.sum(Document.size)).where(Document.collection_id == found.id)) or 0
    held += sum(size for _, _, size in written) - sum(row.size for row in known.values())
    if held > megabytes * MEGABYTE:
        raise Problem(413, f"A collection may hold {megabytes:,} MB (server.max_collection_megabytes).")
    rows = []
    for name, (_, digest, size) in zip(names, written, strict=True):
        row = known.get(name) or Document(collection_id=found.id, name=name)
        row.digest, row.size, row.added_by, row.added = digest, size, caller.id, now()
        db.add(row)
        rows.append(row)
    db.flush()
    return rows


@router.post("/address", status_code=202)
def add_address(
    new: Address, found: WritableCollection, db: Db, caller: CurrentCaller, parts: Parts, request: Request
) -> Accepted:
    """Read a page of the web, and read it again where it is a document already."""
    try:
        name = str(read_address(new.address))
    except IndexingError as error:
        raise InputError(f"The address {error}.") from None
    query = select(Document).where(Document.collection_id == found.id, Document.name == name)
    row = db.scalar(query) or Document(
        collection_id=found.id, name=name, size=0, digest="", added_by=caller.id
    )
    db.add(row)
    accepted = accept(db, found, caller, [row])
    note(db, request, caller, "document.address", f"{found.name}: {name}")
    db.commit()
    parts.queue.tell(found.id)
    return accepted
