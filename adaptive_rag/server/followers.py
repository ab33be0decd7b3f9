"""Following of jobs: one query serves all followers; who loses access gets no more updates."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi.concurrency import run_in_threadpool
from sqlalchemy import Engine, Row, select
from sqlalchemy.orm import Session

from adaptive_rag.server.access import Caller, may_still_read
from adaptive_rag.server.problems import busy
from adaptive_rag.server.tables import Job

POLL_SECONDS = 0.3
# Jobs that one person may follow at once; the page follows one job of each collection that it uses.
MOST_PER_PERSON = 20
RETRY_AFTER_SECONDS = 10


class Stopped(Exception):
    """The server stops. The job goes on, and can be followed once the server runs again."""


@dataclass(eq=False)
class Follower:
    """A caller who follows a job, with the updates that they have not received yet."""

    caller: Caller
    job: Job
    last_row: Row[Any] | None = None
    updates: asyncio.Queue[Row[Any] | Exception | None] = field(default_factory=asyncio.Queue)

    async def next(self) -> Row[Any] | None:
        """Wait for a change and return the job; None if it was deleted or the caller lost access."""
        update = await self.updates.get()
        if isinstance(update, Exception):
            raise update
        return update


class Followers:
    """All followers of this server's jobs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._followers: set[Follower] = set()
        self._poll_task: asyncio.Task[None] | None = None
        self._is_stopping = False

    def stop(self) -> None:
        """End all streams, because the server is stopping and waits for them."""
        self._is_stopping = True
        for follower in self._followers:
            follower.updates.put_nowait(Stopped())

    @contextmanager
    def follow(self, caller: Caller, job: Job) -> Iterator[Follower]:
        """Follow a job during the block; more than `MOST_PER_PERSON` jobs of one person are refused (429)."""
        if sum(follower.caller.id == caller.id for follower in self._followers) >= MOST_PER_PERSON:
            detail = f"You follow {MOST_PER_PERSON} jobs already. Close a stream, or ask for the job itself."
            raise busy(detail, RETRY_AFTER_SECONDS)
        follower = Follower(caller, job)
        self._followers.add(follower)
        if self._is_stopping:
            follower.updates.put_nowait(Stopped())
        if self._poll_task is None:
            self._poll_task = asyncio.create_task(self._poll())
        try:
            yield follower
        finally:
            self._followers.discard(follower)

    async def _poll(self) -> None:
        try:
            while self._followers:
                await asyncio.sleep(POLL_SECONDS)
                for follower, row in await run_in_threadpool(self._find_changes, list(self._followers)):
                    follower.last_row = row
                    follower.updates.put_nowait(row)
        except Exception as error:
            for follower in self._followers:
                follower.updates.put_nowait(error)
        finally:
            self._poll_task = None

    def _find_changes(self, followers: list[Follower]) -> list[tuple[Follower, Row[Any] | None]]:
        """Return the followers whose job has changed, with the job; None if they can no longer read it."""
        columns = [column for column in Job.__table__.columns if column is not Job.__table__.c.details]
        with Session(self._engine) as db:
            query = select(*columns).where(Job.id.in_({follower.job.id for follower in followers}))
            jobs = {row.id: row for row in db.execute(query)}
            changes = list[tuple[Follower, Row[Any] | None]]()
            for follower in followers:
                row = jobs.get(follower.job.id)
                if row is None or row != follower.last_row:
                    is_readable = may_still_read(db, follower.caller, follower.job.collection_id)
                    changes.append((follower, row if is_readable else None))
            return changes
