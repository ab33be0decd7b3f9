"""A server in a process of its own, which can be killed at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psutil

from adaptive_rag import Index

SERVE = """
import sys, uvicorn
from pathlib import Path
from adaptive_rag.server.app import build_app
from adaptive_rag.server.settings import read_server_settings
if __name__ == "__main__":
    settings = read_server_settings(data=Path(sys.argv[1]), workers=1)
    uvicorn.run(build_app(settings, {}), port=int(sys.argv[2]), log_level="warning")
"""


class ServerProcess:
    """A server with one worker over a data folder."""

    def __init__(self, folder: Path, port: int) -> None:
        self._script = folder / "serve.py"
        self._script.write_text(SERVE)
        self.data, self._port = folder / "data", port
        self.http = httpx.Client(base_url=f"http://localhost:{port}/api/v1", timeout=30)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, str(self._script), str(self.data), str(self._port)]
        environment = {**os.environ, "PYTHONPATH": os.getcwd()}
        self.process = subprocess.Popen(command, cwd=self._script.parent, env=environment)
        wait_for(self._answers, "the server answers")

    def _answers(self) -> bool:
        assert self.process.poll() is None, "the server ended"
        try:
            return self.http.get("/collections").status_code == 200
        except httpx.TransportError:
            return False

    def kill_worker(self) -> None:
        """Kill the process that indexes, once there is one."""
        wait_for(self._killed_worker, "a worker runs")

    def _killed_worker(self) -> bool:
        for child in psutil.Process(self.process.pid).children():
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

    def kill(self) -> None:
        """Kill the server alone; its workers notice."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End it as an operator does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)


def wait_for(holds: Callable[[], Any], what: str, seconds: float = 60) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"waited {seconds} s until {what}"
        time.sleep(0.05)
