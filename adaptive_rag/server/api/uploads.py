"""Documents that come in: uploaded as files, or read from an address."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import shutil
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import delete, select
from sqlalchemy.exc import SQLAlchemyError
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
from adaptive_rag.server.folders import CollectionFolder, safe_name, version_of
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.services import Parts
from adaptive_rag.server.tables import Collection, Document, Upload, now

_log = logging.getLogger(__name__)
router = APIRouter(prefix="/collections/{collection}/documents", tags=["documents"])
MEGABYTE = 1_000_000
MOST_FILES = 1000
# An upload has so long, and then a second more for each so many bytes that came.
SECONDS_TO_BEGIN = 30
LEAST_BYTES_PER_SECOND = 10_000
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
    came, began = 0, time.monotonic()

    async def receive() -> Message:
        nonlocal came
        ends = began + SECONDS_TO_BEGIN + came / LEAST_BYTES_PER_SECOND
        try:
            async with asyncio.timeout(ends - time.monotonic()):
                message = await request.receive()
        except TimeoutError:
            raise Problem(
                408,
                f"The upload came more slowly than {LEAST_BYTES_PER_SECOND // 1000} KB a second. Nothing of "
                "it is kept.",
                {"Connection": "close"},
            ) from None
        came += len(message.get("body", b""))
        if came > most + AROUND_FILES:
            raise too_large
        return message

    try:
        return await Request(request.scope, receive).form(max_files=MOST_FILES, max_fields=0)
    except ClientDisconnect:
        raise Problem(400, "The upload broke off. Nothing of it is kept.") from None
    except OSError as error:  # the folder of temporary files is full
        _log.error("An upload could not be taken in: %s", error)
        raise Problem(503, "The server has no room for this upload now. Try again later.") from error


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
        sizes = dict(zip(names, (size for _, _, size in written), strict=True))
        _check_quota(db, found, folder, sizes, parts.settings.max_collection_megabytes)
        rows, replaced = _replace_rows(db, found, caller, names, written)
        versions = {version_of(row) for row in rows}
        ours = select(Document).where(Document.collection_id == found.id)
        try:
            for row, (place, _, _) in zip(rows, written, strict=True):
                folder.publish(place, row)
            accepted = accept(db, found, caller, rows)
            note(db, request, caller, "document.upload", f"{found.name}: {', '.join(names)}")
            if answered:
                answered.answer = accepted.model_dump(mode="json")
                db.add(answered)
            db.commit()
        except (OSError, SQLAlchemyError):
            db.rollback()
            # Asked anew, for a connection may break after the rows were kept.
            kept = {version_of(row) for row in db.scalars(ours)}
            for version in versions - replaced - kept:
                folder.retire(version)
            raise
        for version in replaced - versions:
            folder.retire(version)
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


def _check_quota(
    db: Session, found: Collection, folder: CollectionFolder, sizes: Mapping[str, int], megabytes: int
) -> None:
    """Check that a collection may hold what comes, beside what no worker has cleared away yet.

    Raises:
        Problem: 413; it may not.
    """
    facts = select(Document.id, Document.digest, Document.name, Document.size)
    rows = db.execute(facts.where(Document.collection_id == found.id)).all()
    held = sum(sizes.values()) + sum(size for _, _, name, size in rows if name not in sizes)
    left = folder.leftover_bytes([(document_id, digest) for document_id, digest, _, _ in rows])
    if held + left > megabytes * MEGABYTE:
        more = (
            f" {left / MEGABYTE:,.1f} MB of it were replaced or deleted, and go with the next job."
            if left
            else ""
        )
        raise Problem(413, f"A collection may hold {megabytes:,} MB (server.max_collection_megabytes).{more}")


def _replace_rows(
    db: Session,
    found: Collection,
    caller: Caller,
    names: Sequence[str],
    written: Sequence[tuple[Path, str, int]],
) -> tuple[list[Document], set[str]]:
    """Return the rows of what was written, new ones or those of the same name, and what they replace."""
    named = select(Document).where(Document.collection_id == found.id, Document.name.in_(names))
    known = {row.name: row for row in db.scalars(named)}
    rows, replaced = [], {version_of(row) for row in known.values()}
    for name, (_, digest, size) in zip(names, written, strict=True):
        row = known.get(name) or Document(collection_id=found.id, name=name)
        row.digest, row.size, row.added_by, row.added = digest, size, caller.id, now()
        db.add(row)
        rows.append(row)
    db.flush()
    return rows, replaced


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
