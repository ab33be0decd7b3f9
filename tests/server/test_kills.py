"""A server and its worker killed while documents come in: what was acknowledged is there afterwards, once."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.server.processes import ServerProcess, running, wait_for


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """Start a server with one worker, and end it with the test."""
    with running(tmp_path) as server:
        server.http.post("/collections", json={"name": "kills"})
        yield server


def text_of(name: str) -> str:
    return " ".join(f"The mark of {name} stands at {at} metres above the quay." for at in range(60))


@pytest.mark.parametrize("kills", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_what_was_acknowledged_survives_kills_of_server_and_worker(server: ServerProcess, kills: int) -> None:
    jobs = [server.upload("a.md", text_of("a"))]
    if kills == 2:
        server.kill_worker()
    jobs.append(server.upload("b.md", text_of("b")))
    wait_for(lambda: server.job(jobs[0])["state"] != "queued", "the first job is taken up")
    server.kill_worker()
    jobs.append(server.upload("c.md", text_of("c")))
    server.kill()
    server.start()
    jobs.append(server.upload("a.md", text_of("new")))
    wait_for(lambda: all(server.job(job)["ended"] for job in jobs), "all jobs have ended", 100)
    assert [server.job(job)["state"] for job in jobs] == ["done"] * 4
    assert server.texts() == {"a.md": text_of("new"), "b.md": text_of("b"), "c.md": text_of("c")}
    held, stored = server.indexed_chunks()
    assert held == stored > 3


@pytest.mark.nightly
def test_a_worker_alone_does_the_jobs_and_ends_when_it_is_told_to(fresh: TestClient, tmp_path: Path) -> None:
    fresh.post("/api/v1/collections", json={"name": "kills"})
    place = "/api/v1/collections/kills"
    job = fresh.post(f"{place}/documents", files={"files": ("a.md", text_of("a"))}).json()["job"]["id"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "ADAPTIVE_RAG_SERVER__DATA": str(tmp_path / "data"),
    }
    worker = subprocess.Popen([sys.executable, "-m", "adaptive_rag", "worker"], env=environment)
    wait_for(lambda: fresh.get(f"{place}/jobs/{job}").json()["ended"], "the job has ended")
    assert fresh.get(f"{place}/jobs/{job}").json()["state"] == "done"
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(60) == 0
