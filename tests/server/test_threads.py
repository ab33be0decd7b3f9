"""Threads: kept, continued, shown to their owner alone, and small on disk."""

import json
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.server.access import digest_of
from adaptive_rag.server.roles import Role
from adaptive_rag.server.tables import Membership, Thread, Token, User, now
from adaptive_rag.testing import ScriptedChatModel
from tests.server.conftest import Serve, add_samples

API = "/api/v1"
ASKED = ("What is the highest water level ever recorded at Pellhythe?", "When was that?")


def begin(client: TestClient, **given: Any) -> str:
    """Begin a thread over the samples, and return its address."""
    made = client.post(f"{API}/collections/samples/threads", json=given)
    assert made.status_code == 201, made.text
    return f"{API}/threads/{made.json()['id']}"


def checkpoints(client: TestClient) -> list[tuple[str, int]]:
    """Return the thread and the size of every checkpoint on disk."""
    data = client.app.state.services.settings.data  # type: ignore[attr-defined]
    with sqlite3.connect(data / "conversations.sqlite") as file:
        return list(file.execute("SELECT thread_id, length(checkpoint) FROM checkpoints"))


def sign_in(client: TestClient, name: str, *collections: str) -> dict[str, str]:
    """Add a user who may read some collections, and return the header that shows who they are."""
    with Session(client.app.state.services.engine) as db:  # type: ignore[attr-defined]
        user = User(name=name)
        db.add(user)
        db.flush()
        db.add(Token(user_id=user.id, digest=digest_of(name), name="test", role=Role.ADMIN))
        for collection in collections:
            db.add(Membership(collection_id=collection, user_id=user.id, role=Role.READER))
        db.commit()
    return {"Authorization": f"Bearer {name}"}


def test_a_thread_is_begun_continued_renamed_exported_and_deleted(serve: Serve, sample_index: Path) -> None:
    with serve() as client:
        add_samples(client, sample_index)
        thread = begin(client)
        first = client.post(f"{thread}/ask", json={"question": ASKED[0]}).json()
        events = client.post(f"{thread}/ask/events", json={"question": ASKED[1]}).text
        assert json.loads(events.strip().rpartition("data: ")[2])["analysis"]
        shown = client.get(thread).json()
        assert (shown["title"], shown["collection"]) == (ASKED[0], "samples")
        assert [turn["question"] for turn in shown["turns"]] == list(ASKED)
        turn = shown["turns"][0]
        assert {name: turn[name] for name in ("answer", "citations")} == {
            name: first[name] for name in ("answer", "citations")
        }
        assert (turn["number"], turn["route"], turn["abstained"]) == (1, "factual", False)
        assert client.patch(thread, json={"title": " Floods "}).json()["title"] == "Floods"
        for blank in ("", " \t", "\u00a0\u2003", "\u200b", "\u3164\u202e\u00ad"):
            assert client.patch(thread, json={"title": blank}).status_code == 422, repr(blank)
        assert client.patch(thread, json={"title": "Flo\u200bods"}).json()["title"] == "Floods"
        exported = client.get(f"{thread}/export")
        assert exported.headers["content-type"].startswith("text/markdown")
        assert exported.text.startswith(f"# Floods\n\n## {ASKED[0]}\n\n{first['answer']}\n\n- [1] ")
        assert client.get(f"{thread}/export?form=json").json()["turns"] == shown["turns"]
        assert client.delete(thread).status_code == 204
        assert client.get(thread).status_code == 404
        assert checkpoints(client) == []


def test_threads_are_listed_a_page_at_a_time_and_found_by_title(serve: Serve, sample_index: Path) -> None:
    with serve() as client:
        add_samples(client, sample_index)
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


def test_a_thread_answers_one_question_at_a_time(serve: Serve, sample_index: Path) -> None:
    with serve(max_seconds=60) as client:
        add_samples(client, sample_index)
        thread = begin(client)
        engine = client.app.state.services.engine  # type: ignore[attr-defined]

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


@pytest.mark.nightly
def test_a_thread_whose_server_was_killed_is_free_after_its_restart(serve: Serve, sample_index: Path) -> None:
    with serve() as client:
        add_samples(client, sample_index)
        thread = begin(client)
        with Session(client.app.state.services.engine) as db:  # type: ignore[attr-defined]
            db.scalars(select(Thread)).one().asked = now()
            db.commit()
    with serve() as client:
        assert client.post(f"{thread}/ask", json={"question": ASKED[0]}).status_code == 200


@pytest.mark.nightly
def test_a_long_thread_keeps_one_checkpoint_and_the_one_before(serve: Serve, sample_index: Path) -> None:
    with serve() as client:
        add_samples(client, sample_index)
        thread = begin(client)
        for _ in range(4):
            client.post(f"{thread}/ask", json={"question": ASKED[0], "settings": {"k": 1}})
        assert len(client.get(thread).json()["turns"]) == 4
        assert len(checkpoints(client)) == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("who", ["stranger", "colleague", "owner who may not read any more"])
def test_a_thread_is_its_owners_alone_and_only_while_they_may_read(
    serve: Serve, sample_index: Path, who: str
) -> None:
    with serve() as client:
        row = add_samples(client, sample_index)
        ada, bob = sign_in(client, "ada", row.id), sign_in(client, "bob", *[row.id] * (who == "colleague"))
        client.headers |= ada
        thread = begin(client, title="Secret")
        client.post(f"{thread}/ask", json={"question": ASKED[0]})
        if who.startswith("owner"):
            with Session(client.app.state.services.engine) as db:  # type: ignore[attr-defined]
                for membership in db.scalars(select(Membership)):
                    db.delete(membership)
                db.commit()
        else:
            client.headers |= bob
        nothing = client.get(f"{API}/threads/{'0' * 32}")
        for method, path, body in (
            ("GET", "", None), ("PATCH", "", {"title": "x"}), ("DELETE", "", None), ("GET", "/export", None),
            ("POST", "/ask", {"question": "x"}), ("POST", "/ask/events", {"question": "x"}),
        ):  # fmt: skip
            refused = client.request(method, thread + path, json=body)
            assert (refused.status_code, refused.json()) == (404, nothing.json())
        assert client.get(f"{API}/threads").json()["total"] == 0


def test_a_collection_takes_its_threads_with_it(serve: Serve, sample_index: Path) -> None:
    with serve() as client:
        add_samples(client, sample_index)
        thread = begin(client)
        client.post(f"{thread}/ask", json={"question": ASKED[0]})
        client.delete(f"{API}/collections/samples")
        assert client.get(thread).status_code == 404
        assert checkpoints(client) == []


def test_no_connection_of_the_database_is_held_while_a_model_answers(
    serve: Serve, sample_index: Path
) -> None:
    held: list[int] = []
    pools: list[Any] = []

    def look(step: str, messages: list[Any]) -> None:
        held.append(pools[0].checkedout())

    with serve({"model": ScriptedChatModel(script=look)}) as client:
        pools.append(client.app.state.services.engine.pool)  # type: ignore[attr-defined]
        add_samples(client, sample_index)
        thread = begin(client)
        for place in (f"{API}/collections/samples", thread):
            for way in ("ask", "ask/events"):
                assert client.post(f"{place}/{way}", json={"question": ASKED[0]}).status_code == 200
        assert len(held) >= 4 and set(held) == {0}
