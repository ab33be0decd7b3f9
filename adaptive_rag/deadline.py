"""Time limits of questions: each step, and each long loop within one, checks here whether it may go on."""

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
    """The time limit of some work, which also ends when the enclosing work ends."""

    def __init__(self, seconds: float, told: str, whole: Deadline | None = None) -> None:
        self._ends_at = time.monotonic() + seconds
        self._told = told
        self._whole = whole
        self._is_left = False

    def leave(self) -> None:
        """End the work at its next check, in whichever thread it runs: nobody waits for it any more."""
        self._is_left = True

    def check(self) -> None:
        """Raise if the time is over or nobody waits for the result."""
        if self._is_left:
            raise DeadlineError("Nobody waits for this answer any more, so the work on it was ended.")
        if time.monotonic() >= self._ends_at:
            raise DeadlineError(self._told)
        if self._whole is not None:
            self._whole.check()


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(seconds: float = math.inf, told: str = "This took too long.") -> Iterator[Deadline]:
    """Limit the work in this block to `seconds`; when the block is left, work that still runs ends too.

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
    """Raise if the current deadline has passed; without a deadline, do nothing.

    Raises:
        DeadlineError: the question took too long, or nobody waits for its answer.
    """
    if (found := _current.get()) is not None:
        found.check()


def in_time(items: Iterable[T]) -> Iterator[T]:
    """Yield items while there is time for the next one."""
    for item in items:
        check_deadline()
        yield item
