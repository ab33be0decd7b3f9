"""A sign of life of each process that indexes: a file in the data folder, touched every few seconds."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from adaptive_rag.private import make_file, make_folder

log = logging.getLogger(__name__)

SECONDS_PER_BEAT = 5.0
# Without a beat for so long, a worker counts as stopped: loading a model may hold it up for a while.
SECONDS_OF_SILENCE = 60.0
_FORGOTTEN_AFTER = 24 * 3600.0


@contextmanager
def beating(data: Path, is_well: Callable[[], bool]) -> Iterator[None]:
    """Beat while the block lasts and the worker is well."""
    folder = _folder(data)
    make_folder(folder)
    for path in folder.iterdir():
        if _age(path) > _FORGOTTEN_AFTER:
            path.unlink(missing_ok=True)
    own, end = folder / f"{socket.gethostname()}-{os.getpid()}", threading.Event()

    def beat() -> None:
        while not end.wait(SECONDS_PER_BEAT):
            if is_well():
                try:
                    os.utime(own)
                except OSError as error:
                    log.warning("The sign of life %s cannot be written: %s", own, error)

    make_file(own)
    os.utime(own)
    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
        own.unlink(missing_ok=True)


def living_workers(data: Path) -> int:
    """Return how many workers have lately given a sign of life."""
    folder = _folder(data)
    paths = folder.iterdir() if folder.is_dir() else ()
    return sum(_age(path) < SECONDS_OF_SILENCE for path in paths)


def _folder(data: Path) -> Path:
    return data.absolute() / "workers"


def _age(path: Path) -> float:
    try:
        return abs(time.time() - path.stat().st_mtime)  # the clock may have been set back
    except FileNotFoundError:  # a worker has just ended
        return _FORGOTTEN_AFTER
