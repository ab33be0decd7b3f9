"""Optional parts of an answer: if one fails, the question goes on without it, and the trace says so.

Storage, settings and access are not optional: their errors end the question.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar

from adaptive_rag.errors import ConfigurationError, DeadlineError, MissingExtraError
from adaptive_rag.private import home, make_file, make_folder, replace_text
from adaptive_rag.text.redaction import redact

if TYPE_CHECKING:
    from adaptive_rag.state import Decision

T = TypeVar("T")
Part = Literal[
    "answer style",
    "check",
    "diversity",
    "feedback",
    "follow-up",
    "join",
    "names",
    "nearest quote",
    "notes",
    "overview",
    "parts",
    "reader",
    "relevance",
    "rows",
    "sides",
    "situation",
    "small talk",
    "speakers",
    "spelling",
    "tables",
    "units",
    "versions",
    "wording",
]
# Name of the trace decision that records a failed part.
LEFT_OUT: Final = "left out"
# Size in bytes of the list of failures beyond which its older half is dropped.
MAX_LIST_BYTES = 200_000

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


class FailureList(logging.Handler):
    """Records when and where parts failed, for `doctor`; without the messages, which may quote a document."""

    def __init__(self, file: Path | None = None) -> None:
        super().__init__(logging.WARNING)
        self._file = file

    def emit(self, record: logging.LogRecord) -> None:
        """Add a line for a failed part; do nothing if the file cannot be written."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_next is not None:
            traceback = traceback.tb_next
        code = traceback.tb_frame.f_code if traceback else None
        place = f"{Path(code.co_filename).name}:{code.co_name}" if code else ""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds")
        line = {"when": when, "part": vars(record).get("part"), "error": type(error).__name__, "place": place}
        file = self._file or failure_file()
        with suppress(OSError):
            make_folder(file.parent)
            make_file(file)
            if file.stat().st_size > MAX_LIST_BYTES:
                lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
                replace_text(file, "".join(lines[len(lines) // 2 :]))
            with file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")


def record_failures() -> None:
    """Record the parts that fail in this process, for `doctor` to read."""
    if not any(isinstance(handler, FailureList) for handler in _log.handlers):
        _log.addHandler(FailureList())


def failure_file() -> Path:
    """Return the file that lists the failed parts."""
    return home() / "left-out.jsonl"


class FailureCount(NamedTuple):
    """A failed part, how often it failed at one place in the code, and when last."""

    part: str
    error: str
    place: str
    times: int
    last: str


def read_failures(file: Path | None = None) -> list[FailureCount]:
    """Return the recorded failures, most frequent first; damaged lines are skipped."""
    counts: Counter[tuple[str, str, str]] = Counter()
    last_time: dict[tuple[str, str, str], str] = {}
    with suppress(OSError):
        for line in (file or failure_file()).read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError, KeyError, TypeError):
                record = json.loads(line)
                key = str(record["part"]), str(record["error"]), str(record["place"])
                counts[key] += 1
                last_time[key] = str(record["when"])
    return [FailureCount(*key, times, last_time[key]) for key, times in counts.most_common()]
