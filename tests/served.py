"""The real development server, started as a user starts it, without a network."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import adaptive_rag

ROOT = Path(__file__).parents[1]
SECONDS_TO_START = 120

# Notes and refuses whatever the server would send beyond this machine.
GUARD = """
import os, socket

_connect = socket.socket.connect

def connect(self, address):
    if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost", "0.0.0.0"):
        with open(os.environ["REFUSED"], "a") as file:
            file.write(f"{address}\\n")
        raise ConnectionRefusedError(f"closed in this test: {address}")
    return _connect(self, address)

def connect_ex(self, address):
    try:
        connect(self, address)
    except OSError as error:
        return error.errno or 111
    return 0

socket.socket.connect = connect
socket.socket.connect_ex = connect_ex
"""


class Server:
    """A running `langgraph dev`, with what it wrote and whom it tried to reach."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder

    @property
    def log(self) -> str:
        return re.sub(r"\x1b\[[0-9;]*m", "", (self.folder / "log.txt").read_text(errors="replace"))

    @property
    def refused(self) -> str:
        file = self.folder / "refused.txt"
        return file.read_text() if file.exists() else ""


@contextmanager
def served(folder: Path, settings: Mapping[str, str], *options: str) -> Iterator[Server]:
    """Run the server in `folder / "app"`, with environment variables of the operator."""
    app, guard = folder / "app", folder / "guard"
    app.mkdir(exist_ok=True)
    guard.mkdir(exist_ok=True)
    shutil.copy(ROOT / "langgraph.json", app)
    (guard / "sitecustomize.py").write_text(GUARD)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LANG", "ADAPTIVE_RAG", "OPENAI", "PYTEST"))
    }
    environment |= {
        "PYTHONPATH": os.pathsep.join([str(guard), str(Path(adaptive_rag.__file__).parents[1])]),
        "REFUSED": str(folder / "refused.txt"),
        "LANG": "C.UTF-8",
        "ADAPTIVE_RAG_HOME": str(folder / "home"),
        # The tool itself counts its users and asks for newer versions; all else is to be silent.
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "1",
        **settings,
    }
    command = [Path(sys.executable).with_name("langgraph"), "dev", "--no-browser", "--no-reload"]
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port), *options],
            cwd=app,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    running = Server(f"http://127.0.0.1:{port}", folder)
    try:
        _wait_until_it_answers(running, process)
        yield running
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_answers(server: Server, process: subprocess.Popen[bytes]) -> None:
    for _ in range(SECONDS_TO_START * 2):
        if process.poll() is not None:
            pytest.fail(f"langgraph dev ended with {process.returncode}:\n{server.log}")
        try:
            if httpx.get(f"{server.url}/ok").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    pytest.fail(f"langgraph dev did not answer:\n{server.log}")
