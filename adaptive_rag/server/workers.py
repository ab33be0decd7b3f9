"""The processes that run jobs: they poll for jobs and write heartbeats; dead ones are replaced."""

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
from multiprocessing.context import SpawnProcess
from pathlib import Path

from adaptive_rag.private import make_file, make_folder
from adaptive_rag.server.database import open_database
from adaptive_rag.server.indexing import IndexingSettings, run_waiting_jobs
from adaptive_rag.server.pairing import pair
from adaptive_rag.server.problems import database_error_types
from adaptive_rag.server.requests import log_as_json, log_as_text, logs_as_json
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.text.redaction import redact

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.5  # between two looks for jobs
_GRACE_SECONDS = 12.0  # for a job to reach a point where it can be queued again
_WATCH_SECONDS, _LONGEST_PAUSE = 0.5, 5.0
SECONDS_PER_BEAT = 5.0
# A worker without a heartbeat for this long counts as stopped. Loading a model may delay a heartbeat.
SECONDS_OF_SILENCE = 60.0
_STALE_SECONDS = 24 * 3600.0


def work(
    settings: ServerSettings,
    indexing_settings: IndexingSettings,
    set_up_logs: Callable[[], None] = log_as_text,
) -> None:
    """Run jobs until SIGTERM or Ctrl-C; then queue the running job again."""
    set_up_logs()
    engine, stop = open_database(settings), threading.Event()
    pair(settings, engine)

    def stop_on_signal(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once

    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop_on_signal)

    def poll_jobs() -> None:
        while not stop.is_set():
            pause = _POLL_SECONDS
            try:
                run_waiting_jobs(indexing_settings, engine, stop.is_set)
            except database_error_types(OSError) as error:
                log.warning("Jobs wait, since not all can be run: %s", redact(str(error)))
                pause = _LONGEST_PAUSE
            stop.wait(pause)

    # Jobs run in another thread, so that this one can handle a signal during a long call.
    thread = threading.Thread(target=poll_jobs, daemon=True)
    with heartbeat(settings.data):
        thread.start()
        while thread.is_alive() and not stop.wait(_WATCH_SECONDS):
            pass
        thread.join(_GRACE_SECONDS)


def _work_as_child(
    settings: ServerSettings, indexing_settings: IndexingSettings, set_up_logs: Callable[[], None]
) -> None:
    """Run jobs in a child process: leave Ctrl-C to the parent, and end when the parent ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end_with_parent, daemon=True).start()
    work(settings, indexing_settings, set_up_logs)


@asynccontextmanager
async def supervise_workers(
    settings: ServerSettings, indexing_settings: IndexingSettings
) -> AsyncIterator[None]:
    """Run the configured number of workers during the block, and replace those that die."""
    arguments = (settings, indexing_settings, log_as_json if logs_as_json() else log_as_text)

    def start() -> SpawnProcess:
        process = multiprocessing.get_context("spawn").Process(
            target=_work_as_child, args=arguments, name="indexing worker", daemon=True
        )
        process.start()
        return process

    workers = [start() for _ in range(settings.workers)]
    supervisor = asyncio.create_task(_replace_dead_workers(workers, start))
    try:
        yield
    finally:
        supervisor.cancel()
        with suppress(asyncio.CancelledError):
            await supervisor
        await asyncio.to_thread(_stop_workers, workers)


async def _replace_dead_workers(workers: list[SpawnProcess], start: Callable[[], SpawnProcess]) -> None:
    pause = _WATCH_SECONDS
    while True:
        await asyncio.sleep(pause)
        dead = [index for index, process in enumerate(workers) if not process.is_alive()]
        # A worker that keeps ending is restarted at growing intervals.
        pause = min(2 * pause, _LONGEST_PAUSE) if dead else _WATCH_SECONDS
        for index in dead:
            log.warning(
                "An indexing worker ended (exit code %s). Another is started.", workers[index].exitcode
            )
            try:
                workers[index] = await asyncio.to_thread(start)
            except OSError as error:  # for example out of memory; the next round tries again
                log.error("An indexing worker cannot be started: %s", error)


def _stop_workers(workers: list[SpawnProcess]) -> None:
    for process in workers:
        process.terminate()
    for process in workers:
        process.join(_GRACE_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()


@contextmanager
def heartbeat(data: Path) -> Iterator[None]:
    """Touch a heartbeat file in the data folder every few seconds during the block."""
    folder, stop = _folder(data), threading.Event()
    make_folder(folder)
    for path in folder.iterdir():
        if _age(path) > _STALE_SECONDS:
            path.unlink(missing_ok=True)
    heartbeat_file = folder / f"{socket.gethostname()}-{os.getpid()}"

    def beat() -> None:
        # Another worker may have removed the file as too old, if the clock was set forward.
        make_file(heartbeat_file)
        os.utime(heartbeat_file)

    def keep_beating() -> None:
        while not stop.wait(SECONDS_PER_BEAT):
            try:
                beat()
            except OSError as error:
                log.warning("The heartbeat file %s cannot be written: %s", heartbeat_file, error)

    beat()
    thread = threading.Thread(target=keep_beating, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        heartbeat_file.unlink(missing_ok=True)


def count_live_workers(data: Path) -> int:
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
        return _STALE_SECONDS
