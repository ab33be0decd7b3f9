"""Threads: kept, continued, shown to their owner alone, and small on disk."""

import asyncio
import json
import sqlite3
import time
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any
from unittest import mock

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.server.roles import Role
from adaptive_rag.server.tables import Thread, now
from adaptive_rag.testing import ScriptedChatModel
from tests.server.conftest import Serve, add_samples, add_user

API = "/api/v1"
ASKED = ("What is the highest water level ever recorded at Pellhythe?", "When was that?")


def begin(client: TestClient, **given: Any) -> str:
    """Begin a thread over the samples, and return its address."""
    made = client.post(f"{API}/collections/samples/threads", json=given)
    assert made.status_code == 201, made.text
    return f"{API}/threads/{made.json()['id']}"


def checkpoints(client: TestClient) -> list[tuple[str, int]]:
    """Return the thread and the size of every checkpoint on disk."""
    data = client.app.state.services.settings.data
    with sqlite3.connect(data / "conversations.sqlite") as file:
        return list(file.execute("SELECT thread_id, length(checkpoint) FROM checkpoints"))


def test_a_thread_is_begun_continued_renamed_exported_and_deleted(reading: TestClient) -> None:
    thread = begin(reading)
    first = reading.post(f"{thread}/ask", json={"question": ASKED[0]}).json()
    events = reading.post(f"{thread}/ask/events", json={"question": ASKED[1]}).text
    assert json.loads(events.strip().rpartition("data: ")[2])["analysis"]
    shown = reading.get(thread).json()
    assert (shown["title"], shown["collection"]) == (ASKED[0], "samples")
    assert [turn["question"] for turn in shown["turns"]] == list(ASKED)
    turn = shown["turns"][0]
    kept = ("answer", "citations", "confidence", "grounding", "outcome", "abstained")
    assert {name: turn[name] for name in kept} == {name: first[name] for name in kept}
    assert 0 < turn["confidence"] <= 1
    assert (turn["number"], turn["route"], turn["abstained"]) == (1, "factual", False)
    assert reading.patch(thread, json={"title": " Floods "}).json()["title"] == "Floods"
    for blank in ("", " \t", "\u00a0\u2003", "\u200b", "\u3164\u202e\u00ad"):
        assert reading.patch(thread, json={"title": blank}).status_code == 422, repr(blank)
    assert reading.patch(thread, json={"title": "Flo\u200bods"}).json()["title"] == "Floods"
    exported = reading.get(f"{thread}/export")
    assert exported.headers["content-type"].startswith("text/markdown")
    assert exported.text.startswith(f"# Floods\n\n## {ASKED[0]}\n\n{first['answer']}\n\n- [1] ")
    assert reading.get(f"{thread}/export?form=json").json()["turns"] == shown["turns"]
    assert reading.delete(thread).status_code == 204
    assert reading.get(thread).status_code == 404
    assert checkpoints(reading) == []


def test_threads_are_listed_a_page_at_a_time_and_found_by_title(client: TestClient) -> None:
    for title in ("Floods", "100% of storms", "Bridges"):
        begin(client, title=title)
    listed = client.get(f"{API}/threads?limit=2").json()
    assert ([item["title"] for item in listed["items"]], listed["total"]) == (
        ["Bridges", "100% of storms"], 3,
    )  # fmt: skip
    for search, titles in (("FLOOD", ["Floods"]), ("0%", ["100% of storms"]), ("%", ["100% of storms"])):
        found = client.get(f"{API}/threads", params={"search": search}).json()["items"]
        assert [item["title"] for item in found] == titles
    assert client.get(f"{API}/threads?collection=other").json() == {"items": [], "total": 0}


def test_a_thread_answers_one_question_at_a_time(serve: Serve, serve_samples: Serve) -> None:
    with serve_samples(max_seconds=60) as client:
        thread = begin(client)
        engine = client.app.state.services.engine

        def busy_for(seconds: float) -> None:
            with Session(engine) as db:
                db.scalars(select(Thread)).one().asked = now() - timedelta(seconds=seconds)
                db.commit()

        busy_for(30)
        for way in ("ask", "ask/events"):
            refused = client.post(f"{thread}/{way}", json={"question": ASKED[0]})
            assert refused.status_code == 409 and "being answered" in refused.json()["detail"]
        # A server that was killed meanwhile left it so; or the clock was set back by a day.
        for seconds in (90, -86_400):
            busy_for(seconds)
            assert client.post(f"{thread}/ask", json={"question": ASKED[0]}).status_code == 200
        assert client.post(f"{thread}/ask", json={"question": ASKED[1]}).status_code == 200
        busy_for(0)
    with serve() as client:  # it was killed and started again
        assert client.post(f"{thread}/ask", json={"question": ASKED[0]}).status_code == 200


def test_a_caller_who_leaves_while_the_thread_is_reserved_leaves_it_free(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = begin(client).rpartition("/")[2]
    services = client.app.state.services
    take, began, ended = services.conversations._reserve, Event(), Event()

    def take_late(*given: Any) -> None:
        began.set()
        time.sleep(0.5)
        take(*given)
        ended.set()

    async def ask_and_leave() -> None:
        asking = asyncio.ensure_future(services.conversations.reserve(thread, ASKED[0]).__aenter__())
        await asyncio.to_thread(began.wait)
        asking.cancel()
        await asyncio.wait({asking})
        await asyncio.to_thread(ended.wait)

    monkeypatch.setattr(services.conversations, "_reserve", take_late)
    client.portal.call(ask_and_leave)
    with Session(services.engine) as db:
        assert db.scalars(select(Thread)).one().asked is None


def test_a_branch_begins_as_its_thread_did_and_leaves_it_whole(client: TestClient) -> None:
    thread = begin(client)
    for question in ASKED:
        client.post(f"{thread}/ask", json={"question": question}).raise_for_status()
    made = client.post(f"{thread}/branches", json={"turns": 1})
    assert made.status_code == 201 and made.json()["title"] == ""
    branch = f"{API}/threads/{made.json()['id']}"
    client.post(f"{branch}/ask", json={"question": "How long was that?"}).raise_for_status()
    shown, kept = client.get(branch).json(), client.get(thread).json()
    assert [turn["question"] for turn in shown["turns"]] == [ASKED[0], "How long was that?"]
    assert shown["turns"][0] == kept["turns"][0]
    assert [turn["question"] for turn in kept["turns"]] == list(ASKED)
    assert client.post(f"{thread}/branches", json={"turns": 3}).status_code == 422
    assert client.get(f"{API}/threads").json()["total"] == 2


@pytest.mark.nightly
def test_a_long_thread_keeps_one_checkpoint_and_the_one_before(client: TestClient) -> None:
    thread = begin(client)
    for _ in range(4):
        client.post(f"{thread}/ask", json={"question": ASKED[0], "settings": {"k": 1}})
    assert len(client.get(thread).json()["turns"]) == 4
    assert len(checkpoints(client)) == 2


@pytest.mark.parametrize("deleted", ["threads/{}", "users/ada", "collections/samples"])
def test_messages_that_could_not_be_deleted_are_deleted_when_asked_again(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, deleted: str
) -> None:
    ada = add_user(client, "ada", samples=Role.READER)
    caller = ada if deleted == "threads/{}" else add_user(client, "root", is_admin=True)
    threads = [begin(ada) for _ in range(1 if caller is ada else 3)]
    for thread in threads:
        ada.post(f"{thread}/ask", json={"question": ASKED[0]}).raise_for_status()
    first = threads[len(threads) // 2].rpartition("/")[2]
    address, saver = f"{API}/{deleted.format(first)}", client.app.state.services.conversations.saver
    commit = mock.AsyncMock(
        wraps=saver.conn.commit, side_effect=sqlite3.OperationalError("database is locked")
    )
    monkeypatch.setattr(saver.conn, "commit", commit)
    assert caller.delete(address).status_code == 503
    assert len({thread for thread, _ in checkpoints(client)}) == len(threads)
    commit.side_effect = None
    assert caller.delete(address).status_code == 204
    assert checkpoints(client) == []
    assert commit.await_count == 2  # each waits for the disk while others wait for the lock


def test_no_connection_of_the_database_is_held_while_a_model_answers(
    serve: Serve, sample_index: Path
) -> None:
    held: list[int] = []
    pools: list[Any] = []

    def look(step: str, messages: list[Any]) -> None:
        held.append(pools[0].checkedout())

    with serve({"model": ScriptedChatModel(script=look)}) as client:
        pools.append(client.app.state.services.engine.pool)
        add_samples(client, sample_index)
        thread = begin(client)
        for place in (f"{API}/collections/samples", thread):
            for way in ("ask", "ask/events"):
                assert client.post(f"{place}/{way}", json={"question": ASKED[0]}).status_code == 200
        assert len(held) >= 4 and set(held) == {0}
