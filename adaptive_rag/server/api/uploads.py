"""Adding documents: uploaded files, and web pages that are read from an address."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from datetime import timedelta
from tempfile import SpooledTemporaryFile
from typing import Annotated, BinaryIO, cast

from fastapi import APIRouter, Depends, Header, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import ConfigDict, Field
from sqlalchemy import delete, select
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect
from starlette.types import Message

from adaptive_rag.errors import IndexingError, InputError
from adaptive_rag.ingest.loaders import list_suffixes
from adaptive_rag.ingest.web_fetch import read_address
from adaptive_rag.server.api.documents import FILE_CHANGES, Accepted, queue_documents
from adaptive_rag.server.api.forms import Form
from adaptive_rag.server.calls import ReadCall, WriteCall, authenticate, count
from adaptive_rag.server.folders import LONGEST_NAME, StoredFile, normalize_name, version_of
from adaptive_rag.server.problems import WEB_ADDRESS, Problem, unavailable
from adaptive_rag.server.roles import Action
from adaptive_rag.server.tables import Document, Upload, new_id, now

_log = logging.getLogger(__name__)
router = APIRouter(prefix="/collections/{collection}/documents", tags=["documents"])
MEGABYTE = 1_000_000
MOST_FILES = 1000
# An upload may at no time be so many seconds behind LEAST_BYTES_PER_SECOND.
SECONDS_TO_BEGIN = 30
LEAST_BYTES_PER_SECOND = 10_000
KEYS_KEPT = timedelta(days=1)
# Bytes that a form may have besides its files, for their names and the lines between them.
AROUND_FILES = MEGABYTE
_ONLY_FILES = "The form must hold files, each with its name, and nothing else: curl -F files=@handbook.pdf"
_FILES = {"type": "array", "items": {"type": "string", "format": "binary"}}
_SCHEMA = {"type": "object", "required": ["files"], "properties": {"files": _FILES}}
_UPLOAD_FORM = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _SCHEMA}}}}


class Address(Form):
    """A web page to add."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"address": "https://example.org/opening-hours"}]}
    )

    address: str = Field(max_length=1000, pattern=WEB_ADDRESS)


class Uploadable(Form):
    """What may be uploaded."""

    suffixes: list[str] = Field(description="Suffixes of the files that can be read.")
    megabytes: int = Field(description="Size of one upload with all its documents, at most.")


async def _receive_files(call: WriteCall) -> AsyncIterator[list[UploadFile]]:
    """Receive the files of a form as unnamed temporary files, which vanish when this process ends."""
    request = call.request
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise Problem(415, "Send the documents as multipart/form-data.")
    await run_in_threadpool(call.db.close)  # a slow upload must not hold a database connection
    store = SpooledTemporaryFile[bytes](max_size=MEGABYTE)
    try:
        form = await _read_form(request, call.services.settings.max_upload_megabytes * MEGABYTE, store)
        files = [file for _, file in form.multi_items() if not isinstance(file, str)]
        if not files:
            raise Problem(422, _ONLY_FILES)
        yield files
    finally:
        await run_in_threadpool(store.close)


class _StoredPart:
    """A file of a form: a part of the temporary file that holds all of them."""

    def __init__(self, store: SpooledTemporaryFile[bytes]) -> None:
        self._store = store
        self._start, self._position, self._length = 0, 0, 0

    def write(self, data: bytes) -> None:
        """Add data. Nothing may have been written to another part since this one's first data."""
        end = self._store.seek(0, os.SEEK_END)
        self._start = end - self._length
        self._store.write(data)
        self._length += len(data)

    def seek(self, position: int) -> None:
        """Read from a position."""
        self._position = position

    def read(self, size: int) -> bytes:
        """Read so many bytes, or those that are left."""
        self._store.seek(self._start + self._position)
        data = self._store.read(min(size, self._length - self._position))
        self._position += len(data)
        return data


class _FormParser(MultiPartParser):
    """A parser of forms that writes all files to one: each by itself would take memory or a file handle."""

    def __init__(self, request: Request, store: SpooledTemporaryFile[bytes]) -> None:
        super().__init__(request.headers, request.stream(), max_files=MOST_FILES, max_fields=1)
        self._store = store

    def on_headers_finished(self) -> None:
        """Begin a part of the form."""
        super().on_headers_finished()
        if self._current_part.file is None:  # a field
            raise MultiPartException(_ONLY_FILES)
        self._current_part.file.file = cast(BinaryIO, _StoredPart(self._store))


async def _read_form(request: Request, max_bytes: int, store: SpooledTemporaryFile[bytes]) -> FormData:
    too_large = Problem(
        413, f"An upload may have {max_bytes // MEGABYTE:,} MB (server.max_upload_megabytes)."
    )
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > max_bytes + AROUND_FILES:
        raise too_large
    received, deadline = 0, time.monotonic() + SECONDS_TO_BEGIN

    async def receive() -> Message:
        nonlocal received, deadline
        deadline = min(deadline, time.monotonic() + SECONDS_TO_BEGIN)
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                message = await request.receive()
        except TimeoutError:
            raise Problem(
                408,
                f"The upload was slower than {LEAST_BYTES_PER_SECOND // 1000} KB a second. Nothing of it was "
                "stored.",
                {"Connection": "close"},
            ) from None
        received += len(message.get("body", b""))
        deadline += len(message.get("body", b"")) / LEAST_BYTES_PER_SECOND
        if received > max_bytes + AROUND_FILES:
            raise too_large
        return message

    try:
        return await _FormParser(Request(request.scope, receive), store).parse()
    except MultiPartException as error:
        raise Problem(400, error.message) from None
    except UnicodeError:  # of a codec such as "undefined"
        raise Problem(400, "The names of the form cannot be read in its charset.") from None
    except ClientDisconnect:
        raise Problem(400, "The upload was interrupted. Nothing of it was stored.") from None
    except OSError as error:  # the folder of temporary files is full
        _log.error("An upload could not be received: %s", error)
        raise unavailable("The server has no room for this upload.") from error


@router.get("/uploadable")
def show_uploadable(call: ReadCall) -> Uploadable:
    """Show which kinds of files can be read, and how large an upload may be."""
    megabytes = call.services.settings.max_upload_megabytes
    return Uploadable(suffixes=list_suffixes().split(", "), megabytes=megabytes)


# `_read_form` counts the bytes as they arrive, against the operator's limit.
@router.post("", status_code=202, openapi_extra=_UPLOAD_FORM, max_body_size=2**50)
async def upload_documents(
    files: Annotated[list[UploadFile], Depends(_receive_files)],
    call: WriteCall,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=255)] = None,
) -> Accepted:
    """Upload documents; each replaces the document of the same name.

    They are safe on disk when this is answered.

    A file's name may have folders, as in "reports/2024.pdf". With an Idempotency-Key, the same request can be
    repeated within a day, and gets the first answer again.
    """
    return await FILE_CHANGES.run(call.caller.id, _upload, files, call, idempotency_key)


def _upload(files: list[UploadFile], call: WriteCall, key: str | None) -> Accepted:
    names = [normalize_name(file.filename or "") for file in files]
    if len(set(names)) < len(names):
        raise Problem(422, "Two of the documents have the same name.")
    with ExitStack() as stack:
        stack.enter_context(call.lock_documents())
        stored_files = dict[str, StoredFile]()
        for file, name in zip(files, names, strict=True):
            stored_files[name] = call.folder.write(file.file, name)
            stack.callback(shutil.rmtree, stored_files[name].folder, ignore_errors=True)
        _require_rights_again(call)
        answer = _find_earlier_answer(call, key, stored_files)
        if isinstance(answer, Accepted):
            return answer
        _check_collection_size(call, stored_files)
        return _publish_documents(call, stored_files, answer)


def _require_rights_again(call: WriteCall) -> None:
    """Refuse an upload whose caller lost the right to it while it was received, which may take hours."""
    authenticate(call.request, call.db).open_collection(call.collection.name, Action.WRITE)


def _find_earlier_answer(
    call: WriteCall, key: str | None, stored_files: Mapping[str, StoredFile]
) -> Accepted | Upload | None:
    """Return the stored answer for an idempotency key, or a new row to store it in; None without a key.

    Nothing is written here, since SQLite lets nobody else write until the upload is committed.
    """
    if key is None:
        return None
    content = json.dumps(
        [call.collection.id, sorted((name, file.digest) for name, file in stored_files.items())]
    )
    digest = hashlib.sha256(content.encode()).hexdigest()
    same_key = select(Upload).where(Upload.user_id == call.caller.id, Upload.key == key)
    existing = call.db.scalar(same_key.where(Upload.created >= now() - KEYS_KEPT))
    if existing is None:
        return Upload(user_id=call.caller.id, key=key, digest=digest)
    if existing.digest != digest:
        raise Problem(422, "This Idempotency-Key was used for another upload. Take a new one.")
    return Accepted.model_validate(existing.answer)


def _check_collection_size(call: WriteCall, stored_files: Mapping[str, StoredFile]) -> None:
    """Refuse (413) an upload that exceeds the collection's quota; old files count until they are removed."""
    megabytes = call.services.settings.max_collection_megabytes
    query = select(Document.name, Document.size).where(Document.collection_id == call.collection.id)
    rows = call.db.execute(query).all()
    size = sum(file.size for file in stored_files.values())
    size += sum(row.size for row in rows if row.name not in stored_files)
    leftover = call.folder.leftover_bytes()
    if size + leftover > megabytes * MEGABYTE:
        more = f" {leftover / MEGABYTE:,.1f} MB of them were replaced or deleted; the next job removes them."
        limit = f"A collection may hold {megabytes:,} MB (server.max_collection_megabytes)."
        raise Problem(413, limit + (more if leftover else ""))


def _publish_documents(
    call: WriteCall, stored_files: Mapping[str, StoredFile], answer_row: Upload | None
) -> Accepted:
    """Make all written files documents, or new versions of the documents of the same names; all or none."""
    folder, db, collection = call.folder, call.db, call.collection
    of_collection = select(Document).where(Document.collection_id == collection.id)
    existing = {row.name: row for row in db.scalars(of_collection.where(Document.name.in_(stored_files)))}
    replaced = {version_of(row) for row in existing.values()}
    rows = []
    for name, file in stored_files.items():
        row = existing.get(name) or Document(id=new_id(), collection_id=collection.id, name=name)
        row.digest, row.size, row.added_by, row.added = file.digest, file.size, call.caller.id, now()
        rows.append(row)
    versions = {version_of(row) for row in rows}
    try:
        for row in rows:
            folder.publish(stored_files[row.name].folder, row)
        folder.flush()
        db.add_all(rows)
        accepted = queue_documents(call, rows)
        for name in stored_files:
            call.record_event("document.upload", f"{collection.name}: {name}")
        if answer_row:
            answer_row.answer = accepted.model_dump(mode="json")
            db.execute(delete(Upload).where(Upload.created < now() - KEYS_KEPT))
            db.add(answer_row)
        db.commit()
    except (OSError, SQLAlchemyError):
        db.rollback()
        # Ask the database, because the connection may have broken after the commit.
        committed = {version_of(row) for row in db.scalars(of_collection)}
        for version in versions - replaced - committed:
            folder.retire(version)
        raise
    for version in replaced - versions:
        folder.retire(version)
    return accepted


@router.post("/address", status_code=202, dependencies=[count("change")])
def add_address(new: Address, call: WriteCall) -> Accepted:
    """Add a web page; read it again if it is a document already."""
    try:
        name = str(read_address(new.address))
    except IndexingError as error:
        raise InputError(f"The address {error}.") from None
    if len(name) > LONGEST_NAME:
        raise InputError(
            f"The address is too long: with its characters encoded it has {len(name):,}, and may have "
            f"{LONGEST_NAME:,}."
        )
    key = {"collection_id": call.collection.id, "name": name}
    row = call.db.scalar(select(Document).filter_by(**key))
    row = row or Document(**key, size=0, digest="", added_by=call.caller.id)
    call.db.add(row)
    accepted = queue_documents(call, [row])
    call.commit("document.address", f"{call.collection.name}: {name}")
    return accepted
