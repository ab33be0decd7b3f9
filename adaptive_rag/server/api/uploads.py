"""Adding documents: uploaded files, and pages read from an address."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import shutil
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from datetime import timedelta
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Header, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import ConfigDict, Field
from sqlalchemy import delete, select
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import FormData, UploadFile
from starlette.requests import ClientDisconnect
from starlette.types import Message

from adaptive_rag.errors import IndexingError, InputError
from adaptive_rag.ingest.loaders import list_suffixes
from adaptive_rag.ingest.web_fetch import read_address
from adaptive_rag.server.api.documents import CHANGING_FILES, Accepted, accept
from adaptive_rag.server.api.forms import Form
from adaptive_rag.server.calls import ReadCall, WriteCall
from adaptive_rag.server.folders import Written, safe_name, version_of
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.tables import Document, Upload, now

_log = logging.getLogger(__name__)
router = APIRouter(prefix="/collections/{collection}/documents", tags=["documents"])
MEGABYTE = 1_000_000
MOST_FILES = 1000
# An upload may take SECONDS_TO_BEGIN, and one second more for each LEAST_BYTES_PER_SECOND received.
SECONDS_TO_BEGIN = 30
LEAST_BYTES_PER_SECOND = 10_000
KEYS_KEPT = timedelta(days=1)
# Bytes that a form may have around its files, for their names and the lines between them.
AROUND_FILES = MEGABYTE
_FILES = {"type": "array", "items": {"type": "string", "format": "binary"}}
_SCHEMA = {"type": "object", "required": ["files"], "properties": {"files": _FILES}}
_UPLOAD_FORM = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _SCHEMA}}}}


class Address(Form):
    """A page of the web to read."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"address": "https://example.org/opening-hours"}]}
    )

    address: str = Field(max_length=1000, pattern=r"^https?://")


class Uploadable(Form):
    """What may be uploaded."""

    suffixes: list[str] = Field(description="Ends of the names of files that are read.")
    megabytes: int = Field(description="Size of one upload with all its documents, at most.")


async def _uploaded(call: WriteCall) -> AsyncIterator[list[UploadFile]]:
    """Receive the files of a form, in unnamed temporary files that vanish with this process."""
    request = call.request
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise Problem(415, "Send the documents as multipart/form-data.")
    await run_in_threadpool(call.db.close)  # a slow upload must not hold a database connection
    form = await _read_form(request, call.parts.settings.max_upload_megabytes * MEGABYTE)
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
def show_uploadable(call: ReadCall) -> Uploadable:
    """Say which kinds of files are read, and how large an upload may be."""
    megabytes = call.parts.settings.max_upload_megabytes
    return Uploadable(suffixes=list_suffixes().split(", "), megabytes=megabytes)


# The upload is counted as it arrives, against the operator's limit.
@router.post("", status_code=202, openapi_extra=_UPLOAD_FORM, max_body_size=2**50)
async def upload_documents(
    files: Annotated[list[UploadFile], Depends(_uploaded)],
    call: WriteCall,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=255)] = None,
) -> Accepted:
    """Upload documents; one of the same name is replaced. They are safe on disk when this is answered.

    A file's name may have folders, as in "reports/2024.pdf". With an Idempotency-Key the same request can
    be sent again within a day, and is answered as it was the first time.
    """
    return await to_thread.run_sync(_upload, files, call, idempotency_key, limiter=CHANGING_FILES)


def _upload(files: list[UploadFile], call: WriteCall, key: str | None) -> Accepted:
    names = [safe_name(file.filename or "") for file in files]
    if len(set(names)) < len(names):
        raise Problem(422, "Two of the documents have the same name.")
    with ExitStack() as stack:
        stack.enter_context(call.folder.changing())
        written = dict[str, Written]()
        for file, name in zip(files, names, strict=True):
            written[name] = call.folder.write(file.file, name)
            stack.callback(shutil.rmtree, written[name].folder, ignore_errors=True)
        answered = _answered(call, key, written)
        if isinstance(answered, Accepted):
            return answered
        _check_quota(call, written)
        return _keep(call, written, answered)


def _answered(call: WriteCall, key: str | None, written: Mapping[str, Written]) -> Accepted | Upload | None:
    """Return the earlier answer for an idempotency key, or the row that will store it; None without a key.

    Expired keys are deleted.
    """
    if key is None:
        return None
    content = json.dumps([call.collection.id, sorted((name, file.digest) for name, file in written.items())])
    digest = hashlib.sha256(content.encode()).hexdigest()
    call.db.execute(delete(Upload).where(Upload.created < now() - KEYS_KEPT))
    known = call.db.get(Upload, (call.caller.id, key))
    if known is None:
        return Upload(user_id=call.caller.id, key=key, digest=digest)
    if known.digest != digest:
        raise Problem(422, "This Idempotency-Key was used for another upload. Take a new one.")
    return Accepted.model_validate(known.answer)


def _check_quota(call: WriteCall, written: Mapping[str, Written]) -> None:
    """Refuse (413) an upload that exceeds the collection's quota, counting old files not yet removed."""
    megabytes = call.parts.settings.max_collection_megabytes
    facts = select(Document.name, Document.size)
    rows = call.db.execute(facts.where(Document.collection_id == call.collection.id)).all()
    held = sum(file.size for file in written.values())
    held += sum(row.size for row in rows if row.name not in written)
    left = call.folder.leftover_bytes()
    if held + left > megabytes * MEGABYTE:
        more = f" {left / MEGABYTE:,.1f} MB of it were replaced or deleted, and go with the next job."
        limit = f"A collection may hold {megabytes:,} MB (server.max_collection_megabytes)."
        raise Problem(413, limit + (more if left else ""))


def _keep(call: WriteCall, written: Mapping[str, Written], answered: Upload | None) -> Accepted:
    """Publish the written files as documents, or as new versions of those of the same name; all or none."""
    folder, db, collection = call.folder, call.db, call.collection
    ours = select(Document).where(Document.collection_id == collection.id)
    known = {row.name: row for row in db.scalars(ours.where(Document.name.in_(written)))}
    replaced = {version_of(row) for row in known.values()}
    rows = []
    for name, file in written.items():
        row = known.get(name) or Document(collection_id=collection.id, name=name)
        row.digest, row.size, row.added_by, row.added = file.digest, file.size, call.caller.id, now()
        rows.append(row)
    db.add_all(rows)
    db.flush()
    versions = {version_of(row) for row in rows}
    try:
        for row in rows:
            folder.publish(written[row.name].folder, row)
        accepted = accept(call, rows)
        call.note("document.upload", f"{collection.name}: {', '.join(written)}")
        if answered:
            answered.answer = accepted.model_dump(mode="json")
            db.add(answered)
        db.commit()
    except (OSError, SQLAlchemyError):
        db.rollback()
        # Read again, because the connection may have broken after the commit.
        kept = {version_of(row) for row in db.scalars(ours)}
        for version in versions - replaced - kept:
            folder.retire(version)
        raise
    for version in replaced - versions:
        folder.retire(version)
    return accepted


@router.post("/address", status_code=202)
def add_address(new: Address, call: WriteCall) -> Accepted:
    """Read a page of the web, and read it again where it is a document already."""
    try:
        name = str(read_address(new.address))
    except IndexingError as error:
        raise InputError(f"The address {error}.") from None
    facts = {"collection_id": call.collection.id, "name": name}
    row = call.db.scalar(select(Document).filter_by(**facts))
    row = row or Document(**facts, size=0, digest="", added_by=call.caller.id)
    call.db.add(row)
    accepted = accept(call, [row])
    call.commit("document.address", f"{call.collection.name}: {name}")
    return accepted
