"""Following of jobs: one query serves all followers, and those who lose access get no more updates."""

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
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.tables import Job

SECONDS_PER_LOOK = 0.3
# Jobs that one person may follow at once; a page follows one job of each collection that it uses.
MOST_OF_ONE = 20
RETRY_AFTER_SECONDS = 10


@dataclass(eq=False)
class Follower:
    """A caller who follows a job, and the updates for them."""

    caller: Caller
    job: Job
    seen: Row[Any] | None = None
    news: asyncio.Queue[Row[Any] | Exception | None] = field(default_factory=asyncio.Queue)

    async def next(self) -> Row[Any] | None:
        """Wait for a change and return the job; None if it is gone or the caller may no longer read it."""
        news = await self.news.get()
        if isinstance(news, Exception):
            raise news
        return news


class Followers:
    """All followers of this server's jobs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._joined: set[Follower] = set()
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def join(self, caller: Caller, job: Job) -> Iterator[Follower]:
        """Follow a job during the block; more than `MOST_OF_ONE` jobs of one person are refused (429)."""
        if sum(one.caller.id == caller.id for one in self._joined) >= MOST_OF_ONE:
            said = f"You follow {MOST_OF_ONE} jobs already. Close a stream, or ask for the job itself."
            raise Problem(429, said, {"Retry-After": str(RETRY_AFTER_SECONDS)}, type="busy")
        follower = Follower(caller, job)
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
                for follower, row in await run_in_threadpool(self._look, list(self._joined)):
                    follower.seen = row
                    follower.news.put_nowait(row)
        except Exception as error:
            for follower in self._joined:
                follower.news.put_nowait(error)
        finally:
            self._looking = None

    def _look(self, joined: list[Follower]) -> list[tuple[Follower, Row[Any] | None]]:
        """Return the followers whose job changed, with the job; None if it is gone or they lost access."""
        shown = [column for column in Job.__table__.columns if column is not Job.__table__.c.details]
        with Session(self._engine) as db:
            query = select(*shown).where(Job.id.in_({one.job.id for one in joined}))
            jobs = {row.id: row for row in db.execute(query)}
            changed = [one for one in joined if jobs.get(one.job.id) is None or jobs[one.job.id] != one.seen]
            return [
                (one, jobs.get(one.job.id) if may_still_read(db, one.caller, one.job.collection_id) else None)
                for one in changed
            ]
