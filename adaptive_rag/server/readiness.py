"""Checks whether the server can answer and index; a result is reused for a few seconds."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Literal

from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field
from sqlalchemy import Engine, exists, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from adaptive_rag.server.model import ServerModel
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Job, JobState, now
from adaptive_rag.server.workers import SECONDS_OF_SILENCE, count_live_workers

# With less free space the server is not ready: an upload or an index would soon fail halfway.
LEAST_FREE_MEGABYTES = 200
SECONDS_KEPT = 3.0  # how long a result is reused
MODEL_SECONDS = 2
LOCK_SECONDS = 2.0
# Reading all pages of a database takes about a second for each gigabyte.
SECONDS_PER_CHECK, CHECK_SECONDS = 300.0, 5.0
_NO_ANSWER = "the database does not answer"


class Ready(BaseModel):
    """Whether the server is ready, by its parts."""

    status: Literal["ready", "not ready"]
    store: str = Field(description="ok, or what is wrong with the database.")
    disk: str = Field(description="ok, or what is wrong with the data folder.")
    indexing: str = Field(description="ok, or what is wrong with the processes that index.")
    model: str = Field(description="ok, none, or unreachable; without a model, answers are made locally.")


class Readiness:
    """Checks the parts of a server, one check at a time, and reuses the result for `SECONDS_KEPT`."""

    def __init__(self, settings: ServerSettings, model: ServerModel, engine: Engine) -> None:
        self._settings, self._model, self._engine = settings, model, engine
        self._lock = asyncio.Lock()
        self._last_result: tuple[float, Ready] | None = None
        self._started = time.monotonic()
        self._next_check: dict[Path, float] = {}

    async def check(self) -> Ready:
        """Return the result of a new check, or of one made a moment ago."""
        async with self._lock:
            if self._last_result is None or time.monotonic() - self._last_result[0] > SECONDS_KEPT:
                store, disk, indexing, address = await run_in_threadpool(self._check_locally)
                model = await self._check_model(address)
                status = "ready" if store == disk == indexing == "ok" else "not ready"
                ready = Ready(status=status, store=store, disk=disk, indexing=indexing, model=model)
                self._last_result = time.monotonic(), ready
            return self._last_result[1]

    def _check_locally(self) -> tuple[str, str, str, str | None]:
        store = self._check_store()
        workers = self._check_workers() if store == "ok" else "ok"
        # The model that an admin has set is in the database.
        address = self._model.address() if store == "ok" or self._model.operator_model else None
        return store, self._check_disk(), workers, address

    def _check_store(self) -> str:
        if self._engine.dialect.name == "sqlite":
            files = (self._settings.data / f"{name}.sqlite" for name in ("server", "conversations"))
            return "; ".join(filter(None, map(self._check_file, files))) or "ok"
        try:
            with self._engine.connect() as connection:
                for setting in ("lock_timeout", "statement_timeout"):
                    connection.execute(text(f"SET LOCAL {setting} = '{LOCK_SECONDS:g}s'"))
                connection.execute(text("SELECT id FROM users LIMIT 1"))
        except SQLAlchemyError:
            return _NO_ANSWER
        return "ok"

    def _check_file(self, file: Path) -> str | None:
        """Return what is wrong with a SQLite file, read by a new connection, which has no cached pages."""
        try:
            address = f"{file.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, timeout=LOCK_SECONDS, uri=True)) as connection:
                connection.isolation_level = None
                # Takes the lock of a writer, without writing anything.
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                connection.execute("ROLLBACK")
                is_intact = self._is_intact(connection, file)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return f"{file.name} is locked: another program holds it"
            return f"{file.name} cannot be opened or written"
        except sqlite3.DatabaseError:
            is_intact = False
        return None if is_intact else f"{file.name} is damaged: stop the server, and restore a backup"

    def _is_intact(self, connection: sqlite3.Connection, file: Path) -> bool:
        """Check the pages of a file every `SECONDS_PER_CHECK`, as far as possible within `CHECK_SECONDS`."""
        started = time.monotonic()
        if started < self._next_check.get(file, 0):
            return True
        connection.set_progress_handler(lambda: time.monotonic() - started > CHECK_SECONDS, 10_000)
        try:
            is_intact = connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            is_intact = True  # out of time: the pages that were read are intact
        if is_intact:
            self._next_check[file] = time.monotonic() + SECONDS_PER_CHECK
        return bool(is_intact)

    def _check_disk(self) -> str:
        try:
            free = shutil.disk_usage(self._settings.data).free // 2**20
        except OSError:
            return "the data folder cannot be read"
        needed = LEAST_FREE_MEGABYTES
        return "ok" if free >= needed else f"{free} MB are free, of {needed} needed"

    def _check_workers(self) -> str:
        """Check that all of this server's workers are alive, and that waiting jobs have a worker."""
        if time.monotonic() - self._started < SECONDS_OF_SILENCE:
            return "ok"  # they may still be starting
        alive, expected = count_live_workers(self._settings.data), self._settings.workers
        if alive < expected:
            silent = f"{expected - alive} of {expected} workers"
            return f"{silent} gave no sign of life for {SECONDS_OF_SILENCE:g} seconds"
        cutoff = now() - timedelta(seconds=SECONDS_OF_SILENCE)
        waiting = exists().where(Job.state.in_((JobState.QUEUED, JobState.RUNNING)), Job.created < cutoff)
        with Session(self._engine) as db:
            if not alive and db.scalar(select(waiting)):
                return "jobs wait, and no worker runs: start one with adaptive-rag worker"
        return "ok"

    async def _check_model(self, address: str | None) -> str:
        """Check that the model's base URL, if there is one, accepts connections; no request is sent."""
        if not address:
            return "none" if address is None else "ok"
        from httpx import URL, InvalidURL

        try:
            url = URL(address)
            port = url.port or (443 if url.scheme == "https" else 80)
            async with asyncio.timeout(MODEL_SECONDS):
                _, writer = await asyncio.open_connection(url.host, port)
        except (OSError, UnicodeError, InvalidURL):  # UnicodeError: no valid host name, such as "a..b"
            return "unreachable"
        writer.close()
        return "ok"
