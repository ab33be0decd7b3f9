"""Limits of what runs at the same time: questions, of which more are refused, and slow work, which waits."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread

from adaptive_rag.server.problems import busy

RETRY_AFTER_SECONDS = 5
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class Gate:
    """Limits the questions that run at the same time, those that wait, and those of one person."""

    def __init__(self, max_running: int, max_waiting: int, max_per_person: int) -> None:
        self._running = asyncio.Semaphore(max_running)
        self._max_in_progress = max_running + max_waiting
        self._max_per_person = max_per_person
        self._per_person = Counter[str]()
        self.in_progress = 0  # questions that run or wait

    @asynccontextmanager
    async def enter(self, person: str | None = None) -> AsyncIterator[None]:
        """Wait for a place and hold it during the block; refuse (429) if too many wait already."""
        if person is not None and self._per_person[person] >= self._max_per_person:
            detail = f"You have {self._max_per_person} questions under way. Ask again when one is answered."
            raise busy(detail, RETRY_AFTER_SECONDS)
        if self.in_progress >= self._max_in_progress:
            detail = "The server answers as many questions as it can. Ask again in a few seconds."
            raise busy(detail, RETRY_AFTER_SECONDS)
        self.in_progress += 1
        self._per_person[person or ""] += 1
        try:
            async with self._running:
                yield
        finally:
            self.in_progress -= 1
            self._per_person -= Counter([person or ""])  # drops people without questions


class Turns:
    """Limits work that takes much time or memory: one piece of a caller at a time, some of all callers."""

    def __init__(self, max_running: int) -> None:
        self._limiter = CapacityLimiter(max_running)
        self._locks = WeakValueDictionary[str, asyncio.Lock]()  # by caller

    def has_turn(self, caller: str) -> bool:
        """Return whether work of the caller runs or waits."""
        lock = self._locks.get(caller)
        return lock is not None and lock.locked()

    async def run(self, caller: str, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Work in a worker thread, when it is the turn of the caller (an id, or an address).

        Until then, no worker thread is occupied.
        """
        async with self._locks.setdefault(caller, asyncio.Lock()):
            return await to_thread.run_sync(work, *arguments, limiter=self._limiter)
