"""Time limits for answering a question; steps and long loops check here whether they may continue."""

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
    """The time limit of some work, which also ends with the outer deadline around it."""

    def __init__(self, seconds: float, message: str, outer: Deadline | None = None) -> None:
        self._ends_at = time.monotonic() + seconds
        self._message = message
        self._outer = outer
        self._is_abandoned = False

    def abandon(self) -> None:
        """Stop the work at its next check, in any thread, because nobody waits for it any more."""
        self._is_abandoned = True

    def check(self) -> None:
        """Raise if the time is over or nobody waits for the result."""
        if self._is_abandoned:
            raise DeadlineError("Nobody waits for this answer any more, so the work on it was stopped.")
        if time.monotonic() >= self._ends_at:
            raise DeadlineError(self._message)
        if self._outer is not None:
            self._outer.check()


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(seconds: float = math.inf, message: str = "This took too long.") -> Iterator[Deadline]:
    """Limit the work in this block to `seconds`; work that still runs when the block ends is stopped too.

    Threads that get a copy of the context, as from `asyncio.to_thread`, check the same deadline.
    """
    limit = Deadline(seconds, message, _current.get())
    token = _current.set(limit)
    try:
        yield limit
    finally:
        limit.abandon()
        _current.reset(token)


def check_deadline() -> None:
    """Raise if the current deadline has passed; without a deadline, do nothing.

    Raises:
        DeadlineError: the question took too long, or nobody waits for its answer.
    """
    if (current := _current.get()) is not None:
        current.check()


def in_time(items: Iterable[T]) -> Iterator[T]:
    """Yield items, checking the deadline before each."""
    for item in items:
        check_deadline()
        yield item
