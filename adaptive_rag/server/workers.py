"""The workers that index, the queue that tells them of jobs, and the signs of life that they give."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from multiprocessing.context import SpawnProcess
from pathlib import Path

from huey import PostgresHuey, SqliteHuey
from huey.api import Huey
from huey.constants import WORKER_THREAD

from adaptive_rag.private import make_file, make_folder
from adaptive_rag.server.database import open_database
from adaptive_rag.server.indexing import Workshop, waiting_collections, work_off
from adaptive_rag.server.pairing import pair
from adaptive_rag.server.problems import database_faults
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.text.redaction import redact

log = logging.getLogger(__name__)

_TASK = "work_off"
_LONGEST_POLL = 0.5  # seconds until a worker without work looks again
_GRACE_SECONDS = 10.0  # for a job to reach a point where it can be handed back
_WATCH_SECONDS = 0.5
_LONGEST_PAUSE = 5.0
SECONDS_PER_BEAT = 5.0
# Without a beat for so long, a worker counts as stopped: loading a model may hold it up for a while.
SECONDS_OF_SILENCE = 60.0
_FORGOTTEN_AFTER = 24 * 3600.0


def open_queue(settings: ServerSettings) -> Huey:
    """Open the queue, in the data folder or in the database that the settings name."""
    if settings.database is None:
        file = settings.data / "queue.sqlite"
        make_file(file)
        return SqliteHuey("adaptive-rag", filename=str(file), results=False, fsync=True, timeout=10)
    from adaptive_rag.server import postgres

    address = settings.database.get_secret_value()
    connect = partial(postgres.connect, address, **postgres.GIVE_UP)
    return PostgresHuey("adaptive-rag", connection=connect, results=False)


class Queue:
    """Tells workers that a collection has jobs. What is lost here is found in the table of jobs."""

    def __init__(self, settings: ServerSettings) -> None:
        self._huey = open_queue(settings)
        self._tell = self._huey.task(name=_TASK)(_only_named)

    def tell(self, collection_id: str) -> None:
        """Say that a collection has a job; it must be committed."""
        try:
            self._tell(collection_id)
        except database_faults() as error:
            log.warning("The queue could not be told of a job, which waits a minute: %s", redact(str(error)))


def _only_named(collection_id: str) -> None:
    raise NotImplementedError("The server tells of work and does none.")


def work(settings: ServerSettings, workshop: Workshop) -> None:
    """Do jobs until the process is told to end by SIGTERM or Ctrl-C; a job at hand is handed back.

    Raises:
        ConfigurationError: the data folder or the database cannot be opened, or they are not of one server.
    """
    engine, huey = open_database(settings), open_queue(settings)
    pair(settings, engine)
    consumer = huey.create_consumer(
        workers=1,
        periodic=True,
        worker_type=WORKER_THREAD,
        initial_delay=0.1,
        max_delay=_LONGEST_POLL,
        shutdown_timeout=_GRACE_SECONDS,
    )

    def do(collection_id: str) -> None:
        work_off(workshop, engine, consumer.stop_flag.is_set)

    def look_around() -> None:
        for collection_id in waiting_collections(engine):
            task(collection_id)

    task = huey.task(name=_TASK)(do)
    # What a worker that died has left, and what was committed and never told of. Once a minute too.
    huey.on_startup()(look_around)
    huey.periodic_task(lambda moment: True)(look_around)
    with beating(settings.data, lambda: all(thread.is_alive() for _, thread in consumer.worker_threads)):
        consumer.run()
    for _, thread in consumer.worker_threads:
        thread.join(_GRACE_SECONDS)  # after a signal for which huey itself does not wait


def _work_for_parent(settings: ServerSettings, workshop: Workshop) -> None:
    """Work as a child: Ctrl-C is for the parent to pass on, and its death ends this process too."""
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
    """Run the workers that the settings ask for while the block lasts, and replace those that die."""
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
        # One that ends again and again is started ever more slowly.
        pause = min(2 * pause, _LONGEST_PAUSE) if dead else _WATCH_SECONDS
        for at in dead:
            log.warning("An indexing worker ended (exit code %s). Another is started.", crew[at].exitcode)
            crew[at] = await asyncio.to_thread(_start, settings, workshop)


def _dismiss(crew: list[SpawnProcess]) -> None:
    for process in crew:
        process.terminate()
    for process in crew:
        process.join(_GRACE_SECONDS + 2)
        if process.is_alive():
            process.kill()
            process.join()


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
