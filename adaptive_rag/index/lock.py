"""One writer at a time: whoever comes second waits, or learns who holds the index."""

from __future__ import annotations

import itertools
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from adaptive_rag.errors import IndexingError
from adaptive_rag.index.location import Folder

LOCK = ".lock"
HOLDER = "lock.json"
POLL_SECONDS = 0.2


@contextmanager
def write_lock(
    folder: Path | None, *, wait_seconds: float, on_wait: Callable[[str], None] | None
) -> Iterator[None]:
    """Hold the index for writing; a process that dies lets go of it.

    `on_wait` is told once who holds it, when there is a wait. A bucket (no folder) has no lock.

    Raises:
        IndexingError: another process still holds it after `wait_seconds`, or the folder is read-only.
    """
    if folder is None:
        yield
        return
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK)
    deadline, told = time.monotonic() + wait_seconds, False
    for attempt in itertools.count():
        try:
            lock.acquire(timeout=0)
            break
        except Timeout as error:
            holder = _holder(folder)
            if time.monotonic() >= deadline:
                raise IndexingError(
                    f"The index {folder} is being written by {holder or 'another process'}. "
                    "Wait until it has finished, or index into another folder with --index."
                ) from error
            # who has just taken the lock may not have put down a name yet
            if on_wait and not told and (holder or attempt):
                on_wait(f"Waiting for {holder or 'another process'}, which is writing the index {folder}.")
                told = True
            time.sleep(POLL_SECONDS)
        except OSError as error:
            raise _unwritable(folder, error) from error
    try:
        since = datetime.now().astimezone().isoformat(timespec="seconds")
        holder_file = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since})
        try:
            Folder(folder).write(HOLDER, holder_file.encode())
        except OSError as error:
            raise _unwritable(folder, error) from error
        yield
    finally:
        (folder / HOLDER).unlink(missing_ok=True)
        lock.release()


def _unwritable(folder: Path, error: OSError) -> IndexingError:
    reason = error.strerror or error
    return IndexingError(f"The index {folder} cannot be written: {reason}. What it holds is untouched.")


def _holder(folder: Path) -> str | None:
    try:
        holder = json.loads((folder / HOLDER).read_text(encoding="utf-8"))
        return f"process {holder['pid']} on {holder['host']} since {holder['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return None
