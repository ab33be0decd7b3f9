"""Optional parts of an answer: if one fails, the question goes on without it, and the trace says so.

Storage, settings and access are not optional: their errors end the question.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from adaptive_rag.errors import ConfigurationError, DeadlineError, MissingExtraError
from adaptive_rag.text.redaction import redact

if TYPE_CHECKING:
    from adaptive_rag.state import Decision

T = TypeVar("T")
Part = Literal[
    "answer style", "check", "diversity", "feedback", "follow-up", "join", "names", "nearest quote", "notes",
    "overview", "parts", "reader", "relevance", "rows", "sides", "situation", "small talk", "speakers",
    "spelling", "tables", "units", "versions", "wording",
]  # fmt: skip
# Name of the trace decision that records a failed part.
LEFT_OUT: Final = "left out"

_log = logging.getLogger("adaptive_rag.left_out")
_left_out: ContextVar[list[Decision] | None] = ContextVar("left_out", default=None)
_turned_off: ContextVar[Collection[str]] = ContextVar("turned_off", default=())


def attempt(part: Part, work: Callable[[], T], fallback: T) -> T:
    """Return the result of a part; `fallback` if it is turned off, or fails, inside a `leaving_out` block.

    The error is raised outside of such a block, in strict mode, and if the cause is a setting, a missing
    package or a deadline.
    """
    if part in _turned_off.get():
        return fallback
    try:
        return work()
    except (ConfigurationError, DeadlineError, MissingExtraError):
        raise
    except Exception as error:  # any error, since the answer can be given without this part
        left_out = _left_out.get()
        if left_out is None:
            raise
        _log.warning("%s failed and was left out", part, exc_info=True, extra={"part": part})
        reason = redact(f"it failed: {type(error).__name__}: {error}")
        decision: Decision = {"what": LEFT_OUT, "chosen": part, "why": reason}
        if decision not in left_out:  # a part that runs for each passage may fail each time
            left_out.append(decision)
        return fallback


@contextmanager
def leaving_out(*, strict: bool = False, without: Collection[str] = ()) -> Iterator[list[Decision]]:
    """Let parts fail without failing the answer, and collect a decision for each; not if `strict`.

    The parts `without` which the answer shall be given are not tried.
    """
    left_out: list[Decision] = []
    tokens = _left_out.set(None if strict else left_out), _turned_off.set(without)
    try:
        yield left_out
    finally:
        _left_out.reset(tokens[0])
        _turned_off.reset(tokens[1])
