"""Jobs: taken up again where a worker died, given up after some attempts, cancelled, followed."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from adaptive_rag.index import Progress
from adaptive_rag.server import indexing
from adaptive_rag.server.tables import Job, JobState
from tests.server.conftest import Serve, work
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
    with Session(client.app.state.services.engine) as db:  # type: ignore[attr-defined]
        for name, value in values.items():
            setattr(db.get(Job, job_id), name, value)
        db.commit()


def test_a_job_whose_worker_died_is_taken_up_again(client: TestClient) -> None:
    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    change(client, job["id"], state=JobState.RUNNING, attempts=1)
    work(client)
    assert (job_of(client, job["id"])["state"], job_of(client, job["id"])["attempts"]) == ("done", 2)


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

    real = indexing._Run._progress
    monkeypatch.setattr(indexing._Run, "_progress", cancel_it)
    work(client)
    assert seen
    assert [job_of(client, job["id"])["state"] for job in (first, second)] == ["cancelled", "cancelled"]
    states = [row["state"] for row in client.get(f"{URL}/documents").json()["items"]]
    assert states == ["failed", "failed"]


def test_a_worker_that_is_stopped_hands_its_job_back(client: TestClient) -> None:
    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    services = client.app.state.services  # type: ignore[attr-defined]
    asked = iter([False, False])
    workshop = indexing.workshop_of(services.settings, services.operator)
    [collection_id] = indexing.waiting_collections(services.engine)
    indexing.work_off(workshop, services.engine, collection_id, lambda: next(asked, True))
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


def test_jobs_are_listed_newest_first(client: TestClient) -> None:
    for name in ("a.md", "b.md"):
        upload(client, {name: FERRY})
    listed = client.get(f"{URL}/jobs").json()
    assert listed["total"] == 2
    assert listed["items"][0]["created"] > listed["items"][1]["created"]
    assert client.get(f"{URL}/jobs", params={"state": "done"}).json()["total"] == 0
    assert client.get(f"{URL}/jobs/none").status_code == 404
