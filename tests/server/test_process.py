"""The server as a process: how it starts, what it refuses, and how it ends."""

import json
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text
from sqlalchemy.orm import Session

from adaptive_rag.cli.serve import _announce
from adaptive_rag.context import make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server import demo
from adaptive_rag.server.database import open_database
from adaptive_rag.server.process import listen, lock_data_folder, run
from adaptive_rag.server.settings import ServerSettings, read_server_settings
from adaptive_rag.server.tables import Job, JobState
from benchmarks.chat_server import ChatServer
from tests.server.conftest import Serve, work
from tests.server.processes import serving, wait_for

URL = "/api/v1/collections/samples"
FERRY = "# Ferry\n\nThe ferry to Grauholm leaves at 7:45 from the east quay.\n"
Start = Callable[..., tuple[subprocess.Popen[bytes], str]]
QUESTION = {"question": "When does the ferry to Grauholm leave?"}


@pytest.fixture
def silent_model() -> Iterator[ChatServer]:
    """Be a chat model that is asked and does not answer."""
    with ChatServer(behave=lambda number, body: "hang") as server:
        yield server


@pytest.fixture
def start(tmp_path: Path, serve: Serve) -> Iterator[Start]:
    """Return what starts `adaptive-rag serve` over one document, and returns its process and address."""
    with serve(collection="samples") as client:
        client.post(f"{URL}/documents", files=[("files", ("ferry.md", FERRY))])
        work(client)
    with ExitStack() as stack:
        yield lambda **environment: stack.enter_context(serving(tmp_path, **environment))


def environment_of(model: ChatServer) -> dict[str, str]:
    """Return the environment of a server that asks a chat model."""
    names = ("ADAPTIVE_RAG_MODEL", "ADAPTIVE_RAG_MODELS__BASE_URL", "OPENAI_API_KEY")
    return dict(zip(names, ("openai:silent", model.url, "none"), strict=True))


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_sigterm_ends_a_stream_with_a_problem_and_hands_jobs_back(
    start: Start, silent_model: ChatServer, tmp_path: Path, workers: int
) -> None:
    given = {"ADAPTIVE_RAG_SERVER__STOP_SECONDS": "0.5", "ADAPTIVE_RAG_SERVER__WORKERS": str(workers)}
    (tmp_path / "data" / "collections" / "of another server").mkdir()
    process, url = start(**environment_of(silent_model), **given)
    long = " ".join(f"The mark number {at} stands at {at} metres.\n\n" for at in range(6_000))
    files = [("files", ("long.md", long))]
    job = httpx.post(f"{url}{URL}/documents", files=files, timeout=30).json()["job"]["id"]
    shown = f"{url}{URL}/jobs/{job}"
    if workers:
        wait_for(lambda: httpx.get(shown, timeout=30).json()["done"], "the job is amid its text", 120)
    with (
        httpx.stream("GET", f"{shown}/events", timeout=60) as followed,
        httpx.stream("POST", f"{url}{URL}/ask/events", json=QUESTION, timeout=60) as stream,
    ):
        assert stream.status_code == 200
        events = iter(stream.iter_lines())
        assert next(events).startswith("event: ")
        wait_for(lambda: silent_model.calls, "the model is asked", 30)
        process.send_signal(signal.SIGTERM)
        log = tmp_path / "server.log"
        wait_for(lambda: "a second Ctrl-C quits at once" in log.read_text(), "it says that it stops", 5)
        lines = [line for line in events if line]
        assert "event: end" not in list(followed.iter_lines())
    assert "belong to no collection" in log.read_text()
    assert lines[-2] == "event: problem"
    problem = json.loads(lines[-1].removeprefix("data: "))
    assert problem["status"] == 503
    assert problem["detail"] == "The server is being stopped. Ask again in a minute."
    assert process.wait(60) == 0
    engine = open_database(read_server_settings(data=tmp_path / "data"))
    with Session(engine) as db:
        assert db.get_one(Job, job).state == JobState.QUEUED
    engine.dispose()


@pytest.mark.nightly
def test_a_second_ctrl_c_ends_at_once(start: Start, silent_model: ChatServer) -> None:
    process, url = start(**environment_of(silent_model))
    asking = threading.Thread(target=_ask, args=(url,))
    asking.start()
    wait_for(lambda: silent_model.calls, "the model is asked", 30)
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.send_signal(signal.SIGINT)
    assert process.wait(15) == 130
    asking.join()


def _ask(url: str) -> None:
    with pytest.raises(httpx.TransportError):
        httpx.post(f"{url}{URL}/ask", json=QUESTION, timeout=60)


def test_a_port_a_folder_and_a_database_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    settings = read_server_settings(data=tmp_path / "data", port=0)
    with listen(settings) as place:
        port = place.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"port {port}: Address already in use.*--port"):
            listen(settings.model_copy(update={"port": port}))
    with (
        lock_data_folder(settings),
        pytest.raises(ConfigurationError, match=r"Another server uses.*--data"),
        lock_data_folder(settings),
    ):
        pass
    engine = open_database(settings)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(ConfigurationError, match="newer version"):
        open_database(settings)


def test_a_service_that_cannot_be_opened_ends_the_start_with_an_error(tmp_path: Path) -> None:
    def fail(_: FastAPI) -> Any:
        raise PermissionError(13, "Permission denied")

    settings, before = read_server_settings(data=tmp_path / "data", port=0), signal.getsignal(signal.SIGTERM)
    with listen(settings) as place, pytest.raises(ConfigurationError, match="could not start"):
        run(FastAPI(lifespan=fail), settings, place, lambda: None)
    signal.signal(signal.SIGTERM, before)


def test_a_demo_has_the_samples_as_if_they_were_uploaded(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = tmp_path / "few"
    samples.mkdir()
    (samples / "ferry.md").write_text(FERRY)
    monkeypatch.setattr(demo, "samples_path", lambda: samples)
    settings = read_server_settings(data=tmp_path / "data")
    for _ in range(2):  # the second start over the same folder leaves it as it is
        demo.add_samples(settings, make_context({}))
    with serve() as client:
        listed = client.get(f"{URL}/documents").json()["items"]
        assert [(row["name"], row["state"]) for row in listed] == [("ferry.md", "indexed")]
        assert client.get(f"{URL}/documents/{listed[0]['id']}/file").text == FERRY
        assert "7:45" in client.post(f"{URL}/ask", json=QUESTION).json()["answer"]
        shown = client.get(URL).json()
        types = [each["type"] for each in shown["examples"]]
        assert types == ["factual", "analytical", "opinion", "contextual"]
        assert all(client.post(f"{URL}/ask", json=_asked(each)).is_success for each in shown["examples"])


def _asked(example: dict[str, Any]) -> dict[str, Any]:
    return {name: text for name, text in example.items() if name != "type"}


@pytest.mark.parametrize("at_a_screen", [True, False])
def test_a_demo_opens_the_page_where_somebody_sits_at_a_screen(
    at_a_screen: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("sys.stdout.isatty", lambda: at_a_screen)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    place: Any = SimpleNamespace(getsockname=lambda: ("127.0.0.1", 8123))
    for is_demo, browser in ((True, False), (False, True), (True, True)):
        before = set(threading.enumerate())
        _announce(ServerSettings(), place, demo=is_demo, browser=browser)
        for thread in set(threading.enumerate()) - before:
            thread.join()
    assert opened == ["http://127.0.0.1:8123"] * at_a_screen
    first, second = capsys.readouterr().err.splitlines()[:2]
    assert "http://127.0.0.1:8123 " in first
    assert "http://127.0.0.1:8123/api/openapi.json" in second
