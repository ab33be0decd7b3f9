"""The pool of worker processes: kept for the next file, shared by all threads, ended with the program."""

from __future__ import annotations

import atexit
import math
import os
import re
import sys
import threading
import time
import warnings
from pathlib import Path

from adaptive_rag.errors import AdaptiveRAGWarning
from adaptive_rag.ingest.process import WorkerProcess

MOST_IDLE = 2

_lock = threading.Lock()
_idle: list[WorkerProcess] = []
# A start that the system refused is tried again after this time.
RETRY_SECONDS = 60.0
_refused_until = 0.0


def take_worker() -> WorkerProcess | None:
    """Return a worker that is ready, or None if none can be started; a warning then says so once."""
    global _refused_until
    while True:
        with _lock:
            if time.monotonic() < _refused_until:
                return None
            worker = _idle.pop() if _idle else None
        if worker is None:
            break
        if worker.is_reusable:
            return worker
        worker.end()
    reason, retry_after = _explain_no_interpreter(), math.inf
    if not reason:
        try:
            return WorkerProcess()
        except OSError as error:
            reason, retry_after = f"no process can be started for them ({error})", RETRY_SECONDS
    with _lock:
        _refused_until = time.monotonic() + retry_after
    warnings.warn(
        f"Files are read without bounds of time and memory, and a bad one may end this program: {reason}.",
        AdaptiveRAGWarning,
        stacklevel=4,
    )
    return None


def give_back(worker: WorkerProcess) -> None:
    """Keep a worker for the next file, if it is reusable and fewer than MOST_IDLE are idle; else end it."""
    if worker.is_reusable:
        with _lock:
            if len(_idle) < MOST_IDLE:
                _idle.append(worker)
                return
    worker.end()


def _explain_no_interpreter() -> str:
    """Return why this program cannot start Python, or "" if it can.

    A frozen program, or one that embeds Python, would start itself again.
    """
    if getattr(sys, "frozen", False):
        return "a frozen program has no Python to start"
    name = Path(sys.executable or "").name
    return "" if re.match(r"(?i)python|pypy", name) else f"{name or 'this program'} is not Python"


@atexit.register
def end_idle_workers() -> None:
    """End the processes that wait for a file; the next file starts a new one."""
    with _lock:
        while _idle:
            _idle.pop().end()


def _forget_workers() -> None:
    """Forget the workers after a fork: they belong to the parent, which would get replies to our files."""
    global _lock
    _lock = threading.Lock()
    _of_parent.extend(_idle)
    for worker in _idle:
        worker.close()
    _idle.clear()


# Kept, since a deleted handle would poll its process.
_of_parent: list[WorkerProcess] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)
