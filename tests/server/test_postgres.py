"""A server over PostgreSQL: its tables and the conversations beside them, in a real database."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from sqlalchemy import text

from adaptive_rag.server import database as databases
from adaptive_rag.server.api import threads
from adaptive_rag.testing import ScriptedChatModel
from tests.postgres_server import empty_database
from tests.server import test_isolation as isolation
from tests.server.conftest import Serve
from tests.server.processes import wait_for
from tests.server.team import API, CODE, QUESTION, VAULT, open_team
from tests.server.test_sharing import EVERYBODY, Friends
from tests.server.test_threads import ASKED, begin
from tests.server.test_turns import check_search_and_deletion

# The first attempt at each door.
ATTEMPTS = {attempt.door: attempt for attempt in reversed(isolation.ATTEMPTS)}


@pytest.fixture
def database(postgres: Any) -> str:
    """Return the address of an empty database."""
    return empty_database(postgres)


@pytest.mark.nightly
def test_threads_are_kept_in_postgresql_and_forgotten_with_their_checkpoints(
    serve: Serve, serve_samples: Serve, database: str
) -> None:
    with serve_samples(database=database) as client:
        thread = begin(client)
        for question in (*ASKED, *ASKED):
            answer = client.post(f"{thread}/ask", json={"question": question})
            assert answer.status_code == 200, answer.text
        engine = client.app.state.services.engine

        def rows(table: str) -> int:
            with engine.connect() as connection:
                return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())

        assert rows("checkpoints") == 2
    with serve(database=database) as client:
        shown = client.get(thread).json()
        assert [turn["question"] for turn in shown["turns"]] == [*ASKED, *ASKED]
        engine = client.app.state.services.engine
        assert client.delete(thread).status_code == 204
        tables = ("threads", "checkpoints", "checkpoint_blobs", "checkpoint_writes")
        assert [rows(table) for table in tables] == [0, 0, 0, 0]


def test_turns_are_searched_shared_and_deleted_in_postgresql(serve_samples: Serve, database: str) -> None:
    with serve_samples(database=database) as client:
        check_search_and_deletion(client)
        thread = begin(client)
        asked = client.post(f"{thread}/ask", json={"question": f"{ASKED[0]} (omega)"})
        assert client.delete(f"{thread}/turns/{asked.json()['turn']}").status_code == 204
        with client.app.state.services.engine.connect() as connection:
            for table in ("checkpoint_blobs", "checkpoint_writes"):
                blobs = connection.execute(text(f"SELECT blob FROM {table}")).scalars()
                assert not [blob for blob in blobs if blob and b"omega" in blob]
        assert client.delete(thread).status_code == 204
        friends = Friends(client)
        friends.share("bob", "collection")
        assert friends.readers() == EVERYBODY


@pytest.mark.nightly
def test_a_worker_finds_an_upload_in_postgresql_and_it_is_answered_from(serve: Serve, database: str) -> None:
    vault = f"{API}/collections/vault"
    with serve(database=database, collection="vault") as client:
        form = [("files", ("vault.md", VAULT))]
        job = client.post(f"{vault}/documents", files=form).json()["job"]["id"]
    with serve(database=database, workers=1) as client:
        wait_for(lambda: client.get(f"{vault}/jobs/{job}").json()["ended"], "the job is done")
        shown = client.get(f"{vault}/jobs/{job}").json()
        assert (shown["state"], shown["error"], shown["problems"]) == ("done", None, [])
        assert CODE in client.post(f"{vault}/ask", json={"question": QUESTION}).json()["answer"]


def test_nothing_of_others_is_reached_through_postgresql(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_SERVER__DATABASE", database)
    with open_team(tmp_path) as team:
        assert team.engine.dialect.name == "postgresql"
        assert len(ATTEMPTS) >= 12
        for attempt in ATTEMPTS.values():
            isolation.test_nothing_of_others_is_reached_and_nothing_tells_whether_it_is_there(team, attempt)
        isolation.test_all_that_was_tried_is_still_there(team)
        isolation.test_a_stranger_who_is_made_a_reader_reads(team)


def test_a_text_that_postgresql_cannot_keep_is_refused_and_not_a_fault(serve: Serve, database: str) -> None:
    with serve(database=database, collection="samples") as client:
        thread = begin(client)
        samples, asked = f"{API}/collections/samples", {"question": "When\x00?"}
        answers = {
            "a description": client.patch(samples, json={"description": "\x00"}),
            "an example": client.patch(samples, json={"examples": [asked]}),
            "a name in a path": client.get(f"{API}/collections/samples%00"),
            "an id in a path": client.get(f"{samples}/documents/%00"),
            "a part of a name": client.get(f"{samples}/documents", params={"search": "\x00"}),
            "a source": client.get(f"{samples}/documents", params={"source": "\x00"}),
            "ids": client.post(f"{samples}/documents/delete", json={"documents": ["\x00"]}),
            "a title": client.patch(thread, json={"title": "\x00"}),
            "a question": client.post(f"{samples}/ask", json=asked),
            "a question in a thread": client.post(f"{thread}/ask", json=asked),
            "feedback": client.post(f"{samples}/feedback", json={**asked, "route": "factual"}),
            "a profile": client.put(f"{API}/me/profile", json={"text": "\x00"}),
            "a user": client.post(f"{API}/users", json={"name": "\x00", "is_admin": True}),
            "a model": client.get("/v1/models/%00"),
        }
        assert {name: answer.text for name, answer in answers.items() if answer.status_code >= 500} == {}


def test_a_search_that_takes_too_long_is_cancelled_and_the_database_answers_others(
    serve_samples: Serve, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "SLOW_STATEMENT_SECONDS", 0.2)
    monkeypatch.setattr(
        threads, "filter_by_words", lambda query, _: query.where(text("pg_sleep(60) IS NULL"))
    )
    with serve_samples(database=database) as client:
        begin(client)
        slow = client.get(f"{API}/threads", params={"search": "ferry"})
        assert (slow.status_code, "takes too long" in slow.json()["detail"]) == (503, True)
        assert client.get(f"{API}/collections").status_code == 200


@contextmanager
def frozen(postgres: Any) -> Iterator[None]:
    """Stop all processes of a PostgreSQL: it takes connections and requests, and says nothing."""
    mother = psutil.Process(postgres.get_pid())
    processes = [mother, *mother.children(recursive=True)]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


@pytest.mark.parametrize("times", [1, pytest.param(6, marks=pytest.mark.nightly)])
def test_while_postgresql_is_frozen_every_request_ends_in_time(
    serve_samples: Serve, postgres: Any, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    from adaptive_rag.server import postgres as connections

    monkeypatch.setattr(connections, "SECONDS_OF_SILENCE", 1.0)
    monkeypatch.setattr(connections, "POOL_SECONDS", 2.0)
    monkeypatch.setattr(connections, "RETRY_PAUSE", 0.5)
    monkeypatch.setitem(connections.TIMEOUTS, "connect_timeout", 2)
    slow = {"model": ScriptedChatModel(seconds=3)}
    with serve_samples(slow, database=empty_database(postgres), max_running=60, rate="1000/minute") as client:
        threads = [begin(client) for _ in range(4)]
        asked, chat = {"question": ASKED[0]}, [{"role": "user", "content": ASKED[0]}]
        late = [f"{thread}/ask" for thread in threads] + [f"{API}/collections/samples/ask"] * 2
        at_once = [
            ("GET", f"{API}/collections", None), ("GET", threads[0], None), ("GET", f"{API}/threads", None),
            ("POST", f"{threads[1]}/ask/events", asked), ("POST", f"{API}/collections/samples/ask", asked),
            ("POST", f"{API}/collections/samples/ask/events", asked), ("GET", f"{API}/me/profile", None),
            ("POST", "/v1/chat/completions", {"model": "samples", "messages": chat}),
            ("PUT", f"{API}/me/profile", {"text": "At the quay."}), ("GET", "/v1/models", None),
        ] * times  # fmt: skip
        begun = threading.Semaphore(0)

        def send(method: str, path: str, body: Any) -> tuple[str, httpx.Response, float]:
            begun.release()
            started = time.monotonic()
            return path, client.request(method, path, json=body), time.monotonic() - started

        with ThreadPoolExecutor(80) as pool:
            answering = [pool.submit(send, "POST", path, asked) for path in late]
            for _ in late:
                begun.acquire()
            time.sleep(1.5)  # they wait for their model
            with frozen(postgres):
                refused = [pool.submit(send, *request) for request in at_once]
                ended = [each.result(30) for each in (*answering, *refused)]
        assert {answer.status_code for _, answer, _ in ended[: len(late)]} <= {200, 503}
        assert {(path, answer.status_code) for path, answer, _ in ended[len(late) :]} == {
            (path, 503) for _, path, _ in at_once
        }
        assert max(seconds for _, _, seconds in ended) < 25  # three of them are a model's
        # What could not be kept was not answered as if it were.
        wait_for(lambda: client.get(threads[0]).status_code == 200, "the database answers again")
        for thread, (_, answer, _) in zip(threads, ended, strict=False):
            kept = client.get(thread).json()["turns"]
            assert len(kept) == (answer.status_code == 200)
        assert client.post(f"{begin(client)}/ask", json=asked).status_code == 200
