"""What a server says of itself to whoever watches over it."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socket import create_server

import httpx
import psutil
import pytest
from fastapi.testclient import TestClient

from adaptive_rag.server import readiness, workers
from tests.server.conftest import Serve
from tests.server.processes import ServerProcess, running, wait_for


def add_a_job(client: TestClient) -> None:
    client.post("/api/v1/collections", json={"name": "samples"}).raise_for_status()
    form = {"files": ("ferry.md", "The ferry leaves at 7:45.")}
    client.post("/api/v1/collections/samples/documents", files=form).raise_for_status()


@pytest.mark.nightly
def test_120_who_ask_at_once_try_the_address_of_the_model_once(serve: Serve) -> None:
    with create_server(("127.0.0.1", 0)) as model:
        tried, end = list[object](), threading.Event()

        def count() -> None:
            model.settimeout(0.1)
            while not end.is_set():
                try:
                    tried.append(model.accept())
                except TimeoutError:
                    continue

        counting = threading.Thread(target=count)
        counting.start()
        given = {
            "model": "openai:local",
            "models": {"base_url": f"http://127.0.0.1:{model.getsockname()[1]}/v1"},
        }
        with serve(given) as client, ThreadPoolExecutor(120) as pool:
            answers = list(pool.map(lambda _: client.get("/readyz"), range(120)))
        end.set()
        counting.join()
    assert {answer.json()["model"] for answer in answers} == {"ok"}
    assert len(tried) == 1


FILES = ["server.sqlite", "conversations.sqlite"]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FILES)
def test_a_locked_database_is_not_ready_and_named(
    serve: Serve, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "LOCK_SECONDS", 0.2)
    monkeypatch.setattr(readiness, "SECONDS_KEPT", 0)
    with serve() as client:
        assert client.get("/readyz").status_code == 200
        other = sqlite3.connect(tmp_path / "data" / name, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
        assert ready.json()["store"] == f"{name} is locked: another program holds it"
        other.execute("ROLLBACK")
        other.close()
        assert client.get("/readyz").status_code == 200


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("start", [0, 4096], ids=["its header", "its second page"])
def test_a_damaged_database_is_not_ready_and_named(
    serve: Serve, tmp_path: Path, name: str, start: int
) -> None:
    with serve() as client:
        add_a_job(client)
        path = tmp_path / "data" / name
        other = sqlite3.connect(path)
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        other.close()
        whole = path.read_bytes()
        with path.open("r+b") as file:
            file.seek(start)
            file.write(b"\xff" * 4096)
        ready = client.get("/readyz")
        path.write_bytes(whole)
    assert ready.status_code == 503
    assert ready.json()["store"] == f"{name} is damaged: stop the server, and restore a backup"


def test_a_database_that_was_moved_away_is_not_ready(serve: Serve, tmp_path: Path) -> None:
    with serve() as client:
        path = tmp_path / "data" / "server.sqlite"
        path.rename(path.with_suffix(".away"))
        ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["store"]) == (503, "server.sqlite cannot be opened or written")


def test_jobs_that_nobody_does_are_not_ready(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "SECONDS_KEPT", 0)
    with serve() as client:
        add_a_job(client)
        assert client.get("/readyz").status_code == 200
        monkeypatch.setattr(readiness, "SECONDS_OF_SILENCE", 0.01)
        time.sleep(0.05)
        ready = client.get("/readyz")
    assert ready.status_code == 503
    assert ready.json()["indexing"] == "jobs wait, and no worker runs: start one with adaptive-rag worker"


def test_a_worker_counts_again_after_another_took_its_sign_of_life_for_an_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "SECONDS_PER_BEAT", 0.01)
    with workers.heartbeat(tmp_path):
        next((tmp_path / "workers").iterdir()).unlink()
        wait_for(lambda: workers.count_live_workers(tmp_path) == 1, "the worker is seen again")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """Start a server of its own, with one worker, whose start has been forgotten."""
    with running(tmp_path, preparation="readiness.SECONDS_OF_SILENCE = 0") as server:
        yield server


@pytest.mark.nightly
def test_a_stopped_worker_is_not_ready(server: ServerProcess) -> None:
    url = f"{server.http.base_url.copy_with(path='/readyz')}"
    beats = server.data / "workers"
    wait_for(lambda: beats.is_dir() and list(beats.iterdir()), "the worker gives a sign of life")
    wait_for(lambda: httpx.get(url).status_code == 200, "the worker is seen")
    [beat] = beats.iterdir()
    worker = psutil.Process(int(beat.name.rpartition("-")[2]))
    worker.suspend()
    try:
        for seconds in (-100, 3600):  # its clock was ahead
            os.utime(beat, (time.time(),) * 2)
            wait_for(lambda: httpx.get(url).status_code == 200, "the worker is seen")
            os.utime(beat, (time.time() + seconds,) * 2)
            wait_for(lambda: httpx.get(url).status_code == 503, "the worker is missed")
        assert httpx.get(url).json()["indexing"].startswith("1 of 1 workers gave no sign of life")
    finally:
        worker.resume()
    wait_for(lambda: httpx.get(url).status_code == 200, "the worker is seen again")
