"""The workers that index: they look for jobs, are watched and replaced, and write heartbeats."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from multiprocessing.context import SpawnProcess
from pathlib import Path

from adaptive_rag.private import make_file, make_folder
from adaptive_rag.server.database import open_database
from adaptive_rag.server.indexing import Workshop, work_off
from adaptive_rag.server.pairing import pair
from adaptive_rag.server.problems import database_faults
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.text.redaction import redact

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.5  # until a worker without work looks again
_GRACE_SECONDS = 12.0  # for a job to reach a point where it can be handed back
_WATCH_SECONDS, _LONGEST_PAUSE = 0.5, 5.0
SECONDS_PER_BEAT = 5.0
# Without a heartbeat for this long a worker counts as stopped; loading a model may delay one for a while.
SECONDS_OF_SILENCE = 60.0
_FORGOTTEN_AFTER = 24 * 3600.0


def work(settings: ServerSettings, workshop: Workshop) -> None:
    """Run jobs until SIGTERM or Ctrl-C; then hand the running job back.

    Raises:
        ConfigurationError: the data folder or the database cannot be opened, or they do not belong together.
    """
    engine, stop = open_database(settings), threading.Event()
    pair(settings, engine)

    def end(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)  # the second signal ends the process at once

    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)

    def look_for_jobs() -> None:
        while not stop.is_set():
            pause = _POLL_SECONDS
            try:
                work_off(workshop, engine, stop.is_set)
            except database_faults() as error:
                log.warning("The database does not answer, and jobs wait: %s", redact(str(error)))
                pause = _LONGEST_PAUSE
            stop.wait(pause)

    # In its own thread, so that this one can handle a signal during a long call.
    thread = threading.Thread(target=look_for_jobs, daemon=True)
    with beating(settings.data):
        thread.start()
        while thread.is_alive() and not stop.wait(_WATCH_SECONDS):
            pass
        thread.join(_GRACE_SECONDS)


def _work_for_parent(settings: ServerSettings, workshop: Workshop) -> None:
    """Work as a child process: ignore Ctrl-C, which the parent handles, and end when the parent ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def follow() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, daemon=True).start()
    work(settings, workshop)


@asynccontextmanager
async def watching_workers(settings: ServerSettings, workshop: Workshop) -> AsyncIterator[None]:
    """Run the workers that the settings ask for during the block, and replace those that die."""
    crew = [_start(settings, workshop) for _ in range(settings.workers)]
    watch = asyncio.create_task(_replace_the_dead(crew, settings, workshop))
    try:
        yield
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
        await asyncio.to_thread(_dismiss, crew)


def _start(settings: ServerSettings, workshop: Workshop) -> SpawnProcess:
    process = multiprocessing.get_context("spawn").Process(
        target=_work_for_parent, args=(settings, workshop), name="indexing worker", daemon=True
    )
    process.start()
    return process


async def _replace_the_dead(crew: list[SpawnProcess], settings: ServerSettings, workshop: Workshop) -> None:
    pause = _WATCH_SECONDS
    while True:
        await asyncio.sleep(pause)
        dead = [at for at, process in enumerate(crew) if not process.is_alive()]
        # A worker that keeps ending is restarted at growing intervals.
        pause = min(2 * pause, _LONGEST_PAUSE) if dead else _WATCH_SECONDS
        for at in dead:
            log.warning("An indexing worker ended (exit code %s). Another is started.", crew[at].exitcode)
            try:
                crew[at] = await asyncio.to_thread(_start, settings, workshop)
            except OSError as error:  # as when memory is short; the next round tries again
                log.error("An indexing worker cannot be started: %s", error)


def _dismiss(crew: list[SpawnProcess]) -> None:
    for process in crew:
        process.terminate()
    for process in crew:
        process.join(_GRACE_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()


@contextmanager
def beating(data: Path) -> Iterator[None]:
    """Touch a heartbeat file in the data folder every few seconds during the block."""
    folder, end = _folder(data), threading.Event()
    make_folder(folder)
    for path in folder.iterdir():
        if _age(path) > _FORGOTTEN_AFTER:
            path.unlink(missing_ok=True)
    own = folder / f"{socket.gethostname()}-{os.getpid()}"

    def beat() -> None:
        while not end.wait(SECONDS_PER_BEAT):
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
    """Return the number of workers with a recent heartbeat."""
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
