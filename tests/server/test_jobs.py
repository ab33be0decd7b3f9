"""Jobs: taken up again where a worker died, given up after some attempts, cancelled, followed."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event
from sqlalchemy.orm import Session

from adaptive_rag.index import Progress
from adaptive_rag.server import indexing, workers
from adaptive_rag.server.followers import MOST_PER_PERSON, POLL_SECONDS
from adaptive_rag.server.roles import Role
from adaptive_rag.server.tables import Job, JobState
from tests.server.conftest import Serve, add_user, work
from tests.server.processes import wait_for
from tests.server.test_documents import FERRY, TIDE, URL, upload


@pytest.fixture
def client(serve: Serve) -> Iterator[TestClient]:
    """Serve with an empty collection."""
    with serve() as client:
        client.post("/api/v1/collections", json={"name": "tides"})
        yield client


def job_of(client: TestClient, job_id: str) -> Any:
    return client.get(f"{URL}/jobs/{job_id}").json()


def change(client: TestClient, job_id: str, **values: Any) -> None:
    with Session(client.app.state.services.engine) as db:
        for name, value in values.items():
            setattr(db.get(Job, job_id), name, value)
        db.commit()


def test_a_job_whose_worker_died_is_taken_up_again(client: TestClient) -> None:
    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    change(client, job["id"], state=JobState.RUNNING, attempts=1)
    work(client)
    assert (job_of(client, job["id"])["state"], job_of(client, job["id"])["attempts"]) == ("done", 2)


def test_a_worker_that_cannot_be_started_is_started_in_a_later_round(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> Any:
        tries.append(None)
        if len(tries) == 1:
            raise OSError("Cannot allocate memory")
        return SimpleNamespace(is_alive=lambda: True)

    async def watch() -> None:
        crew: list[Any] = [SimpleNamespace(is_alive=lambda: False, exitcode=-9)]
        replacing = asyncio.ensure_future(workers._replace_dead_workers(crew, *[Mock()] * 2))
        while not (crew[0].is_alive() or replacing.done()):
            await asyncio.sleep(0.01)
        assert crew[0].is_alive()
        replacing.cancel()

    tries = list[None]()
    monkeypatch.setattr(workers, "_start", start)
    monkeypatch.setattr(workers, "_WATCH_SECONDS", 0.01)
    asyncio.run(watch())


def test_a_job_that_kills_its_workers_is_given_up_and_says_so(client: TestClient) -> None:
    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    change(client, job["id"], state=JobState.RUNNING, attempts=indexing.MOST_ATTEMPTS)
    work(client)
    shown = job_of(client, job["id"])
    assert (shown["state"], "5 times" in shown["error"]) == ("failed", True)
    [row] = client.get(f"{URL}/documents").json()["items"]
    assert (row["state"], "given up" in row["problem"]) == ("failed", True)
    client.post(f"{URL}/documents/{row['id']}/reindex")
    work(client)
    assert client.get(f"{URL}/documents/{row['id']}").json()["state"] == "indexed"


def test_a_job_is_cancelled_before_and_while_it_runs(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = upload(client, {"ferry.md": FERRY}).json()["job"]
    assert client.post(f"{URL}/jobs/{first['id']}/cancel").json()["is_cancelled"]
    second = upload(client, {"tides.md": TIDE}).json()["job"]
    seen = []

    def cancel_it(run: Any, progress: Progress) -> None:
        seen.append(progress)
        client.post(f"{URL}/jobs/{second['id']}/cancel")
        real(run, progress)

    real = indexing._JobTurn._report_progress
    monkeypatch.setattr(indexing._JobTurn, "_report_progress", cancel_it)
    work(client)
    assert seen
    assert [job_of(client, job["id"])["state"] for job in (first, second)] == ["cancelled", "cancelled"]
    states = [row["state"] for row in client.get(f"{URL}/documents").json()["items"]]
    assert states == ["failed", "failed"]


def test_a_worker_that_is_stopped_hands_its_job_back(client: TestClient) -> None:
    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    services = client.app.state.services
    asked = iter([False])
    workshop = indexing.make_indexing_settings(services.settings, services.operator)
    indexing.run_waiting_jobs(workshop, services.engine, lambda: next(asked, True))
    assert (job_of(client, job["id"])["state"], job_of(client, job["id"])["attempts"]) == ("queued", 0)
    work(client)
    assert job_of(client, job["id"])["state"] == "done"


def test_an_error_fails_the_job_and_says_nothing_of_the_server(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise OSError("/secret/place")

    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    monkeypatch.setattr(indexing.Index, "build", broken)
    work(client)
    shown = job_of(client, job["id"])
    assert (shown["state"], "secret" in json.dumps(shown)) == ("failed", False)
    assert "reference" in shown["error"]


def test_a_job_is_followed_to_its_end(client: TestClient) -> None:
    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    with client.stream("GET", f"{URL}/jobs/{job['id']}/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.iter_lines()
        assert next(lines) == "event: progress"
        work(client)
        rest = [line for line in lines if line]
    assert rest[-2] == "event: end"
    assert json.loads(rest[-1].removeprefix("data: "))["state"] == "done"


def test_who_is_put_out_of_a_collection_follows_its_jobs_no_longer(client: TestClient) -> None:
    root = add_user(client, "root", is_admin=True)
    bob = add_user(client, "bob", tides=Role.READER)
    job = root.post(f"{URL}/documents", files=[("files", ("ferry.md", FERRY))]).json()["job"]
    stream = f"{URL}/jobs/{job['id']}/events"
    with bob.stream("GET", stream) as gone, root.stream("GET", stream) as stays:
        lines, others = gone.iter_lines(), stays.iter_lines()
        assert next(lines) == next(others) == "event: progress"
        assert root.delete(f"{URL}/members/bob").status_code == 204
        work(client)
        assert [line for line in lines if line][-2:] == ["event: end", "data: {}"]
        assert '"state":"done"' in [line for line in others if line][-1].replace(" ", "")
    assert bob.get(stream).status_code == 404


@pytest.mark.nightly
def test_a_job_is_looked_at_once_for_all_who_follow_it_and_one_follows_so_many(client: TestClient) -> None:
    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    stream = f"{URL}/jobs/{job['id']}/events"
    asked: list[str] = []
    with ExitStack() as streams:
        opened = [streams.enter_context(client.stream("GET", stream)) for _ in range(MOST_PER_PERSON)]
        followed = [response.iter_lines() for response in opened]
        assert {next(lines) for lines in followed} == {"event: progress"}
        refused = client.get(stream)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "10")
        time.sleep(2 * POLL_SECONDS)  # until each was looked at for the first time
        event.listen(
            client.app.state.services.engine,
            "before_cursor_execute",
            lambda connection, cursor, statement, *_: asked.append(statement),
        )
        time.sleep(5 * POLL_SECONDS)
        assert 2 <= len(asked) <= 6
        client.post(f"{URL}/jobs/{job['id']}/cancel")
        work(client)
        assert '"state":"cancelled"' in [line for line in followed[0] if line][-1].replace(" ", "")
    wait_for(lambda: client.get(stream).status_code == 200, "the streams are closed", 10)


def test_jobs_are_listed_newest_first(client: TestClient) -> None:
    for name in ("a.md", "b.md"):
        upload(client, {name: FERRY})
    listed = client.get(f"{URL}/jobs").json()
    assert listed["total"] == 2
    assert listed["items"][0]["created"] > listed["items"][1]["created"]
    assert client.get(f"{URL}/jobs", params={"state": "done"}).json()["total"] == 0
    assert client.get(f"{URL}/jobs/none").status_code == 404
