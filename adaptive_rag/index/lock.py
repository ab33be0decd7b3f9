"""The write lock: only one process at a time writes to a location, which must be an index or empty."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from adaptive_rag.errors import IndexingError, IndexMismatchError
from adaptive_rag.index.bucket import Bucket
from adaptive_rag.index.cache import FILE, has_entries
from adaptive_rag.index.lease import hold_lease, name_holder, this_process
from adaptive_rag.index.location import Folder, Location
from adaptive_rag.index.manifest import HOLDER, LOCK, MANIFEST, OWN_FILES, is_index

POLL_SECONDS = 0.2


@contextmanager
def write_lock(
    location: Location, *, wait_seconds: float, on_wait: Callable[[str], None] | None
) -> Iterator[None]:
    """Hold the write lock of an index.

    If the process dies, the lock is released, in a bucket after some seconds. If another process holds the
    lock, `on_wait` is called once with a message that names it.

    Raises:
        IndexingError: another process still holds the lock after `wait_seconds`, or the folder is read-only.
        IndexUnreachableError: the bucket cannot be written.
    """
    if not isinstance(location, Folder):
        hold = partial(hold_lease, location) if isinstance(location, Bucket) else location.hold_lock
        with hold(wait_seconds=wait_seconds, on_wait=on_wait):
            yield
        return
    from filelock import FileLock, Timeout

    folder = location.path
    lock, first = FileLock(folder / LOCK), min(POLL_SECONDS, wait_seconds)
    try:
        try:
            # wait a moment before naming the holder, which may not have written its name yet
            lock.acquire(timeout=first)
        except Timeout:
            if on_wait and wait_seconds:
                on_wait(f"Waiting for {_holder(location)}, which is writing the index {folder}.")
            lock.acquire(timeout=wait_seconds - first, poll_interval=POLL_SECONDS)
        location.write(HOLDER, json.dumps(this_process()).encode())
    except Timeout as error:
        raise IndexingError(
            f"The index {folder} is being written by {_holder(location)}. "
            "Wait until it has finished, or index into another folder with --index."
        ) from error
    except OSError as error:
        lock.release()
        reason = f"{error.strerror or error}. Its content is untouched."
        raise IndexingError(f"The index {folder} cannot be written: {reason}") from error
    try:
        yield
    finally:
        (folder / HOLDER).unlink(missing_ok=True)
        lock.release()


def refuse_foreign_folder(location: Location) -> None:
    """Raise an error if a folder holds files that are not an index."""
    names = location.names()
    foreign = not all(name.startswith(OWN_FILES) for name in names)
    if foreign and MANIFEST not in names and not is_index(location):
        raise IndexMismatchError(
            f"{location.uri} is not an index of this program: it has files, but no {MANIFEST}. "
            "Pass a new or empty folder with --index."
        )


def remove_failed_start(location: Location) -> None:
    """Remove the lock files, and the folder, after a first run that wrote nothing but embedded texts."""
    if location.path is None or not all(name.startswith(OWN_FILES) for name in location.names()):
        return
    kept = {FILE} if has_entries(location.path) else set()  # the next run needs to embed these no more
    with suppress(OSError):
        for name in {*location.names()} - kept:
            (location.path / name).unlink()
        if not kept:
            location.path.rmdir()


def _holder(location: Location) -> str:
    try:
        return name_holder(location.read(HOLDER))
    except OSError:
        return "another process"
