"""Servers over real connections: in a thread, by the command, or in a process that is killed at any time."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psutil
import uvicorn
from fastapi import FastAPI

from adaptive_rag import Index

Held = TypeVar("Held")
# Each line forks a server, so that a restart waits for no import. A worker is a fresh process.
SERVE = """
import os, signal, sys
if __name__ == "__main__":
    from fastmcp import FastMCP
    from pathlib import Path
    from adaptive_rag.server.app import build_app
    from adaptive_rag.server.process import listen, run
    from adaptive_rag.server.settings import read_server_settings
    from adaptive_rag.server import readiness
    from adaptive_rag.testing import ScriptedChatModel
    exec(sys.argv[4])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in sys.stdin:
        if child := os.fork():
            print(child, flush=True)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        given = {"data": Path(sys.argv[1]), "workers": 1, "rate": "1000000/minute", "port": int(sys.argv[2])}
        settings = read_server_settings(**given)
        seconds = float(sys.argv[3])
        given = {"model": ScriptedChatModel(seconds=seconds)} if seconds else {}
        run(build_app(settings, given), settings, listen(settings), lambda: None)
        os._exit(0)
"""


class ServerProcess:
    """A server with one worker over a data folder, on a free port.

    With `model_seconds` a scripted model writes its answers, and takes so long for each call. With
    `most_files` it may have so many files and connections open. `preparation` is a line that it runs first.
    """

    def __init__(
        self, folder: Path, model_seconds: float = 0, *, most_files: int | None = None, preparation: str = ""
    ) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        script = folder / "serve.py"
        script.write_text(SERVE)
        self.data = folder / "data"
        self.http = httpx.Client(base_url=f"http://localhost:{self._port}/api/v1", timeout=30)
        self._mother = subprocess.Popen(
            [sys.executable, script, self.data, str(self._port), str(model_seconds), preparation],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.getcwd()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        if most_files is not None:
            psutil.Process(self._mother.pid).rlimit(psutil.RLIMIT_NOFILE, (most_files, most_files))

    def start(self) -> None:
        """Start it, and wait until it answers."""
        assert self._mother.stdin and self._mother.stdout
        self._mother.stdin.write("start\n")
        self._process = psutil.Process(int(self._mother.stdout.readline()))
        wait_for(self._answers, "the server answers")

    def _answers(self) -> bool:
        assert self._process.is_running(), "the server ended"
        try:
            return self.http.get("/collections").status_code == 200
        except httpx.TransportError:
            return False

    def kill_worker(self) -> None:
        """Kill the process that indexes, once there is one."""
        wait_for(self._killed_worker, "a worker runs")

    def _killed_worker(self) -> bool:
        for child in self._process.children():
            try:
                if "spawn_main" in " ".join(child.cmdline()):
                    child.kill()
                    return True
            except psutil.NoSuchProcess:
                continue  # it has ended, and its parent has not noticed yet
        return False

    def upload(self, name: str, content: str) -> str:
        """Upload a document; return its job."""
        form = {"files": (name, content)}
        answer = self.http.post("/collections/kills/documents", files=form)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["job"]["id"])

    def texts(self) -> dict[str, str]:
        """Return each document's text as it is indexed, by name: "... again" of one that is listed twice."""
        listed = self.http.get("/collections/kills/documents", params={"limit": 500}).json()["items"]
        texts = {}
        for row in listed:
            name = row["name"] if row["name"] not in texts else f"{row['name']} again"
            shown = self.http.get(f"/collections/kills/documents/{row['id']}/text").json()
            texts[name] = shown.get("text", row["problem"])
        return texts

    def indexed_chunks(self) -> tuple[int, int]:
        """Return how many chunks the documents have, and how many the index holds."""
        [index] = (self.data / "collections").glob("*/index")
        return self.http.get("/collections/kills").json()["chunks"], len(list(Index.open(index).chunks()))

    def job(self, job_id: str) -> Any:
        """Return a job as it is shown."""
        return self.http.get(f"/collections/kills/jobs/{job_id}").json()

    def memory(self) -> int:
        """Return the bytes of memory that the server holds, without its workers."""
        return int(self._process.memory_info().rss)

    def kill(self) -> None:
        """Kill the server alone; its workers notice."""
        self._process.kill()
        self._process.wait(60)

    def stop(self) -> None:
        """End it as an operator does."""
        if self._process.is_running():
            self._process.terminate()
            self._process.wait(60)
        self._mother.communicate(timeout=60)


@contextmanager
def running(folder: Path, **given: Any) -> Iterator[ServerProcess]:
    """Run a server during the block."""
    server = ServerProcess(folder, **given)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def wait_for(holds: Callable[[], Held], what: str, seconds: float = 60) -> Held:
    """Wait until something holds, and return what does."""
    end = time.monotonic() + seconds
    while not (held := holds()):
        assert time.monotonic() < end, f"waited {seconds} s until {what}"
        time.sleep(0.05)
    return held


@contextmanager
def listening(app: FastAPI, **config: Any) -> Iterator[str]:
    """Serve an app in a thread, on a port of this machine, and yield its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, ws="none", **config))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for(lambda: server.started, "the server answers")
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


@contextmanager
def serving(folder: Path, **environment: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run `adaptive-rag serve` over `data` in a folder; yield the process and its address."""
    command = [sys.executable, "-m", "adaptive_rag", "serve", "--port", "0", "--data", "data"]
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment}
    log = folder / "server.log"
    with log.open("wb") as target:
        process = subprocess.Popen(command, cwd=folder, env=variables, stderr=target)

    def address() -> Any:
        assert process.poll() is None, log.read_text()
        return re.search(r"answers at (http://\S+)", log.read_text())

    try:
        yield process, str(wait_for(address, "the server answers")[1])
    finally:
        process.terminate()
        process.wait(60)
    assert "Traceback" not in log.read_text()
