"""A server in a process of its own, which can be killed at any moment."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psutil

from adaptive_rag import Index

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
        self,
        folder: Path,
        model_seconds: float = 0,
        *,
        most_files: int | None = None,
        preparation: str = "",
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

    def work(self) -> float:
        """Return the seconds that the processors have worked for the server, without its workers."""
        times = self._process.cpu_times()
        return float(times.user + times.system)

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


def wait_for(holds: Callable[[], Any], what: str, seconds: float = 60) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"waited {seconds} s until {what}"
        time.sleep(0.05)
