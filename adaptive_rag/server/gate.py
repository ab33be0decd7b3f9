"""The limit of concurrent questions: some run, some wait, and any more are refused."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adaptive_rag.server.problems import Problem

RETRY_AFTER_SECONDS = 5


class Gate:
    """Lets a number of questions run at the same time and another number wait; only a few of one person."""

    def __init__(self, most_running: int, most_waiting: int, most_of_one: int) -> None:
        self._free = asyncio.Semaphore(most_running)
        self._most = most_running + most_waiting
        self._most_of_one = most_of_one
        self._of = Counter[str]()
        self.inside = 0

    @asynccontextmanager
    async def enter(self, person: str | None = None) -> AsyncIterator[None]:
        """Wait for a place, and hold it during the block; refuse (429) if there is none."""
        if person is not None and self._of[person] >= self._most_of_one:
            said = f"You have {self._most_of_one} questions under way. Ask again when one is answered."
            raise _busy(said)
        if self.inside >= self._most:
            raise _busy("The server answers as many questions as it can. Ask again in a few seconds.")
        self.inside += 1
        self._of[person or ""] += 1
        try:
            async with self._free:
                yield
        finally:
            self.inside -= 1
            self._of -= Counter([person or ""])  # drops persons without questions


def _busy(said: str) -> Problem:
    return Problem(429, said, {"Retry-After": str(RETRY_AFTER_SECONDS)}, type="busy")
