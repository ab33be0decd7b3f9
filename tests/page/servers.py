"""Servers for the tests of the page, as forks of one process: only the first waits for what it imports."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx
import psutil

# Each line begins a server, or ends the one of that number. Its workers are fresh processes.
_FORK = """
import json, os, signal, sys
if __name__ == "__main__":
    import fastmcp, lancedb, onnxruntime, openai, tokenizers, uvicorn, websockets
    import adaptive_rag.graph, adaptive_rag.server.app, adaptive_rag.server.demo
    import adaptive_rag.server.process, adaptive_rag.server.tracing
    from adaptive_rag.cli.app import app
    for line in sys.stdin:
        told = json.loads(line)
        if "ended" in told:
            os.kill(told["ended"], signal.SIGKILL)  # its worker follows it
            print(os.waitpid(told["ended"], 0)[1], flush=True)
        elif child := os.fork():
            print(child, flush=True)
        else:
            os.chdir(told["folder"])
            os.environ.clear()
            os.environ.update(told["environment"])
            log = os.open("serve.log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
            os.dup2(log, 1), os.dup2(log, 2), os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            app(told["arguments"])
"""


class Servers:
    """Starts `adaptive-rag serve` again and again without waiting for imports."""

    def __init__(self, folder: Path) -> None:
        script = folder / "servers.py"
        script.write_text(_FORK)
        self._mother = subprocess.Popen(
            [sys.executable, script],
            env={**os.environ, "PYTHONPATH": os.getcwd()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._mother.kill()
        self._mother.communicate()

    @contextmanager
    def serve(self, folder: Path, *options: str, **variables: str) -> Iterator[str]:
        """Serve in a folder, with variables of the environment, and yield the address once it answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        address = f"http://localhost:{port}"
        settings = {"ADAPTIVE_RAG_SERVER__RATE": "100000/minute", "ADAPTIVE_RAG_SERVER__WORKERS": "1"}
        environment = {**os.environ, **settings, **variables}
        number = self._tell(
            arguments=["serve", "--port", str(port), *options], folder=str(folder), environment=environment
        )
        try:
            while not _answers(address):
                is_there = psutil.Process(number).status() != psutil.STATUS_ZOMBIE
                assert is_there, (folder / "serve.log").read_text()
                time.sleep(0.05)
            yield address
        finally:
            self._tell(ended=number)

    def _tell(self, **told: Any) -> int:
        assert self._mother.stdin and self._mother.stdout
        self._mother.stdin.write(json.dumps(told) + "\n")
        return int(self._mother.stdout.readline())


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False
