"""Who follows jobs: one look at the database serves all, and who may not read any more is told no more."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi.concurrency import run_in_threadpool
from sqlalchemy import Engine, Row, select
from sqlalchemy.orm import Session

from adaptive_rag.server.access import Caller, may_still_read
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.tables import Job

SECONDS_PER_LOOK = 0.3
# A page follows one job of each collection that it has something to do with.
MOST_OF_ONE = 20
RETRY_AFTER_SECONDS = 10


@dataclass(eq=False)
class Follower:
    """One who follows a job, and what of it they were last told."""

    caller: Caller
    collection_id: str
    job_id: str
    seen: Row[Any] | None = None
    error: Exception | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def next(self) -> Row[Any] | None:
        """Wait for a change, and return the job; None where it is gone, or not theirs to read any more."""
        await self.news.wait()
        self.news.clear()
        if self.error is not None:
            raise self.error
        return self.seen


class Followers:
    """All who follow jobs of this server."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._joined: set[Follower] = set()
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def join(self, caller: Caller, job: Job) -> Iterator[Follower]:
        """Follow a job while the block lasts.

        Raises:
            Problem: 429; the caller follows as many as one may.
        """
        if sum(one.caller.id == caller.id for one in self._joined) >= MOST_OF_ONE:
            raise Problem(
                429,
                f"You follow {MOST_OF_ONE} jobs already. Close a stream, or ask for the job itself.",
                {"Retry-After": str(RETRY_AFTER_SECONDS)},
                type="busy",
            )
        follower = Follower(caller, job.collection_id, job.id)
        self._joined.add(follower)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_on())
        try:
            yield follower
        finally:
            self._joined.discard(follower)

    async def _look_on(self) -> None:
        try:
            while self._joined:
                await asyncio.sleep(SECONDS_PER_LOOK)
                joined = list(self._joined)
                for follower, row in (await run_in_threadpool(self._look, joined)).items():
                    follower.seen = row
                    follower.news.set()
        except Exception as error:
            for follower in self._joined:
                follower.error = error
                follower.news.set()
        finally:
            self._looking = None

    def _look(self, joined: Collection[Follower]) -> dict[Follower, Row[Any] | None]:
        """Return the jobs that have changed, for each who follows one; each person is looked at once."""
        shown = [column for column in Job.__table__.columns if column is not Job.__table__.c.details]
        readers: dict[tuple[str, str | None, str], bool] = {}
        changed: dict[Follower, Row[Any] | None] = {}
        with Session(self._engine) as db:
            rows = db.execute(select(*shown).where(Job.id.in_({one.job_id for one in joined})))
            jobs = {row.id: row for row in rows}
            for one in joined:
                row = jobs.get(one.job_id)
                if row is not None and row == one.seen:
                    continue
                who = one.caller.id, one.caller.token_id, one.collection_id
                if who not in readers:
                    readers[who] = may_still_read(db, one.caller, one.collection_id)
                changed[one] = row if readers[who] else None
        return changed
