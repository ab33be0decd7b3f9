"""Until when a question is worked on: each step, and each long loop within one, asks here if it may go on."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from adaptive_rag.errors import DeadlineError

T = TypeVar("T")


class Deadline:
    """Until when some work may go on; it also ends with the work that it is a part of."""

    def __init__(self, seconds: float, told: str, whole: Deadline | None = None) -> None:
        self._ends_at = time.monotonic() + seconds
        self._told = told
        self._whole = whole
        self._is_left = False

    def leave(self) -> None:
        """End the work at its next check, whichever thread it runs in: nobody waits for it any more."""
        self._is_left = True

    def check(self) -> None:
        """Raise where the time is over, or nobody waits.

        Raises:
            DeadlineError: the work has to end here.
        """
        if self._is_left:
            raise DeadlineError("Nobody waits for this answer any more, so the work on it was ended.")
        if time.monotonic() >= self._ends_at:
            raise DeadlineError(self._told)
        if self._whole is not None:
            self._whole.check()


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(seconds: float = math.inf, told: str = "This took too long.") -> Iterator[Deadline]:
    """Give the work in this block so many seconds; what still runs when the block is left ends as well.

    Threads that are given a copy of the context, as by `asyncio.to_thread`, check the same deadline.
    """
    found = Deadline(seconds, told, _current.get())
    token = _current.set(found)
    try:
        yield found
    finally:
        found.leave()
        _current.reset(token)


def check_deadline() -> None:
    """Go on where there is time; work without a deadline has it always.

    Raises:
        DeadlineError: the question took too long, or nobody waits for its answer.
    """
    if (found := _current.get()) is not None:
        found.check()


def in_time(items: Iterable[T]) -> Iterator[T]:
    """Yield items while there is time for the next one.

    Raises:
        DeadlineError: as `check_deadline` does.
    """
    for item in items:
        check_deadline()
        yield item
