"""A worker process that reads files, seen from its owner: started, asked, watched, and killed if need be."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any, BinaryIO, cast

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.allowance import BOUNDS, longest_wait
from adaptive_rag.ingest.documents import SourceFile
from adaptive_rag.ingest.loaders import Loader
from adaptive_rag.ingest.wire import read_message, write_message
from adaptive_rag.ingest.worker import IDLE_SECONDS, READY

_MB = 1_000_000
_WATCH_INTERVAL_SECONDS = 0.05
_START_SECONDS = 60.0
_ENDING_SECONDS = 2.0
# A worker that uses this much memory is replaced, so that the next file can use all that it may take.
_REUSE_MEMORY = 300 * _MB
_WORKER_CODE = """
import shutil, sys
folder, *sys.path[:] = sys.argv[1:]
from adaptive_rag.ingest.worker import serve
try:
    serve()
finally:  # the owner may have been killed
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
"""


class _Limits:
    """The limits for one file, and when to check the next time, on the clock of `time.monotonic`."""

    def __init__(self, seconds: float, memory: int, used_before: float = 0.0) -> None:
        """Start the clock; `used_before` is the processor time that the process took for other files."""
        self.seconds, self.memory, self._used_before = seconds, memory, used_before
        self._started = time.monotonic()
        self._next_check = self._started + seconds
        self._end = self._started + longest_wait(seconds)

    @property
    def are_due(self) -> bool:
        """Return whether the time may be used up; several threads at once are not counted earlier."""
        return time.monotonic() > self._next_check

    def find_excess(self, processor_seconds: float) -> str | None:
        """Return why a file is given up, if it has taken too much time, else determine the next check."""
        now, remaining = time.monotonic(), self.seconds - (processor_seconds - self._used_before)
        if remaining <= 0:
            seconds = f"{self.seconds:.0f} s of processor time"
            return f"takes more than {seconds} to read. Save it anew, or split it"
        if now > self._end:
            return (
                f"was not read within {self._end - self._started:.0f} s, most of them spent waiting. Copy it "
                "to a disk of this machine, or try again when the machine is less busy"
            )
        self._next_check = min(now + max(remaining, _WATCH_INTERVAL_SECONDS), self._end)
        return None

    def grant(self, seconds: float, processor_seconds: float) -> None:
        """Allow this many seconds from now, unless more are left already."""
        self.seconds = max(self.seconds, processor_seconds - self._used_before + seconds)
        now = time.monotonic()
        self._next_check = max(self._next_check, now + seconds)
        self._end = max(self._end, now + longest_wait(seconds))


class WorkerProcess:
    """A process that reads one file at a time, and the pipes to it.

    Raises:
        OSError: it cannot be started; the message says why.
    """

    def __init__(self) -> None:
        windows = {"creationflags": getattr(subprocess, "CREATE_NO_WINDOW", 0)}
        # Ctrl-C and the end of a terminal must reach only the owner, which ends this process.
        detached: dict[str, Any] = windows if os.name == "nt" else {"start_new_session": True}
        # What a killed process leaves behind, such as the files of an archive, goes with its folder.
        self._folder = _make_folder()
        folders = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._folder) if self._folder else {}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _WORKER_CODE, self._folder, *_module_path()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=os.path.abspath(os.sep),
                env={**os.environ, **folders},
                **detached,
            )
        except BaseException:
            self._remove_folder()
            raise
        self._stdin = cast(BinaryIO, self._process.stdin)
        self._stdout = cast(BinaryIO, self._process.stdout)
        self._stderr = cast(BinaryIO, self._process.stderr)
        self._idle_since = time.monotonic()
        # The largest extra memory granted to a loader; its models stay in the process, and so does the grant.
        self._granted = 0
        try:
            with self._watch(_Limits(_START_SECONDS, sys.maxsize), threading.Event()):
                if not any(line == READY[1:] for line in self._stdout):
                    raise EOFError
        except EOFError as error:
            messages = self._stderr.read().decode(errors="replace").strip().splitlines()
            self.end()
            raise OSError(messages[-1] if messages else f"it ended with {self._exit_reason()}") from error
        except BaseException:
            self.end()
            raise

    def ask(self, file: SourceFile, loader: Loader, stop: threading.Event) -> tuple[dict[str, Any], bytes]:
        """Send a file to be read, and return the reply.

        Raises:
            IndexingError: reading the file exceeded its limits or crashed the process.
        """
        seconds, memory = BOUNDS.for_file(file.path)
        limits = _Limits(seconds, memory + self._granted, self._processor_seconds(children=False))
        request = {
            "file": os.path.abspath(file.path),
            "source": file.source,
            "loader": asdict(loader),
            "path": _module_path(),
        }
        with self._watch(limits, stop) as reasons:
            try:
                write_message(self._stdin, {**request, "seconds": seconds, "memory": limits.memory})
                reply: tuple[dict[str, Any], bytes] = read_message(self._stdout)
                while "grant" in reply[0]:
                    grant = reply[0]["grant"]
                    if grant["stays"]:
                        self._granted = max(self._granted, grant["memory"])
                    limits.memory = max(limits.memory, memory + max(self._granted, grant["memory"]))
                    limits.grant(grant["seconds"], self._processor_seconds())
                    reply = read_message(self._stdout)
            except (OSError, EOFError) as error:
                with suppress(subprocess.TimeoutExpired):  # its output closes before it ends
                    self._process.wait(_ENDING_SECONDS)
                self.end()
                crash = (
                    f"made the process that read it crash ({self._exit_reason()}). Save it anew or convert it"
                )
                raise IndexingError(reasons[0] if reasons else crash) from error
        if reasons:  # killed just as it replied
            self.end()
        self._idle_since = time.monotonic()
        return reply

    @property
    def is_reusable(self) -> bool:
        """Return whether the process can take another file."""
        # A worker ends by itself after IDLE_SECONDS; it might do so just when the next file arrives.
        is_fresh = time.monotonic() - self._idle_since < IDLE_SECONDS / 2
        is_small = self._memory() < _REUSE_MEMORY + self._granted
        # Until all threads of a killed process have ended, only its status tells.
        has_ended = self._process.poll() is not None or self._has_ended()
        return is_fresh and is_small and not has_ended

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._kill()
        self.close()
        self._process.wait()
        self._remove_folder()

    def close(self) -> None:
        """Close the pipes; an idle process then ends."""
        for pipe in (self._stdin, self._stdout, self._stderr):
            with suppress(OSError):  # data not yet sent has no reader any more
                pipe.close()

    @contextmanager
    def _watch(self, limits: _Limits, stop: threading.Event) -> Iterator[list[str]]:
        """Kill the process if it exceeds its limits or `stop` is set; the list yielded gets the reason."""
        done, reasons = threading.Event(), list[str]()

        def watch() -> None:
            while not done.wait(_WATCH_INTERVAL_SECONDS):
                if limits.are_due and self._has_ended():  # and a child process keeps its pipes open
                    self._kill()
                    return
                if limits.are_due and (excess := limits.find_excess(self._processor_seconds())):
                    reasons.append(excess)
                elif self._memory() > limits.memory:
                    size = f"{limits.memory // _MB:,} MB"
                    reasons.append(f"takes more than {size} of memory to read. Save it anew, or split it")
                elif stop.is_set():
                    reasons.append("was not read: the run was ended")
                if reasons:
                    self._kill()
                    return

        watcher = threading.Thread(target=watch, name="watch-worker", daemon=True)
        watcher.start()
        try:
            yield reasons
        finally:
            done.set()
            watcher.join()

    def _kill(self) -> None:
        """End the process and its child processes at once."""
        if self._process.returncode is not None:
            return
        if os.name == "nt":
            self._process.kill()
            return
        # Kill the whole session, since child processes hold the pipes open. macOS refuses an ended session.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _memory(self) -> int:
        """Return the bytes of memory that the process uses."""
        import psutil

        try:
            process = psutil.Process(self._process.pid)
            # In a virtual environment on Windows, the interpreter is a child of the process that was started.
            processes = [process, *(process.children(recursive=True) if os.name == "nt" else ())]
            return sum(int(each.memory_info().rss) for each in processes)
        except psutil.Error:  # it has just ended
            return 0

    def _processor_seconds(self, *, children: bool = True) -> float:
        """Return the processor time that the process and its children, which take time to find, have used."""
        import psutil

        used = 0.0
        with suppress(psutil.Error):  # it has just ended
            process = psutil.Process(self._process.pid)
            for each in (process, *(process.children(recursive=True) if children else ())):
                with suppress(psutil.Error):
                    used += sum(each.cpu_times()[:4])  # its own, and that of children that have ended
        return used

    def _has_ended(self) -> bool:
        """Return whether the process has ended, without a `poll` that would set its return code."""
        import psutil

        try:
            return bool(psutil.Process(self._process.pid).status() == psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return True

    def _remove_folder(self) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _exit_reason(self) -> str:
        code = self._process.returncode
        with suppress(ValueError):
            return signal.Signals(-code).name
        return f"exit code {code}"


def _make_folder() -> str:
    """Create a folder for temporary files; return "" if none can be created, which few files need."""
    with suppress(OSError):
        # Not a TemporaryDirectory: a fork of this program would delete it at its exit.
        return tempfile.mkdtemp(prefix="adaptive-rag-")
    return ""


def _module_path() -> list[str]:
    """Return this process's module search path, which may have changed since a worker was started."""
    return [os.path.abspath(folder) for folder in sys.path if isinstance(folder, str)]
