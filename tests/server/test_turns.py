"""The turns of threads: found by their words, and deleted one by one."""

import sqlite3
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from adaptive_rag.server import search
from adaptive_rag.server.api import threads
from adaptive_rag.server.roles import Role
from adaptive_rag.server.search import make_excerpt
from adaptive_rag.server.tables import Feedback, TurnText
from tests.server.conftest import add_user
from tests.server.test_threads import API, ASKED, begin

WALL = "How long is the Long Wall and how high is its crest?"


def found(client: TestClient, words: str) -> list[set[str]]:
    """Return the words that are marked below each thread that a search finds, in lower case."""
    items = client.get(f"{API}/threads", params={"search": words}).json()["items"]
    excerpts = [item["found"]["excerpt"] if item["found"] else [] for item in items]
    return [{piece["text"].lower() for piece in excerpt if piece["is_match"]} for excerpt in excerpts]


def ask(client: TestClient, thread: str, question: str) -> dict[str, Any]:
    answer = client.post(f"{thread}/ask", json={"question": question})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def check_search_and_deletion(client: TestClient) -> None:
    """Ask, search and delete, over whatever database the server has."""
    thread = begin(client, title="Überflutete Straße")
    ask(client, thread, f"{ASKED[0]} (ÄRGER, 100 %, Straße)")
    assert "5.10" in ask(client, thread, WALL)["answer"]
    assert found(client, "crest  LONG") == [{"crest", "long"}]
    assert found(client, "4.83") == [{"4.83"}]  # of an answer
    assert found(client, "ärger 100 %") == [{"ärger", "100", "%"}]
    assert found(client, "straße ärger") == [{"straße", "ärger"}]
    assert found(client, "ÜBERFLUTETE straße") == [set()]
    assert [found(client, none) for none in ("crest ärger", "crest_", "c%t", "zeppelin")] == [[]] * 4
    first, second = client.get(thread).json()["turns"]
    hit = client.get(f"{API}/threads?search=5.10").json()["items"][0]["found"]
    assert hit["turn"] == second["id"]
    assert client.delete(f"{thread}/turns/{first['id']}").status_code == 204
    assert client.delete(f"{thread}/turns/{first['id']}").status_code == 404
    assert (found(client, "4.83"), len(found(client, "crest"))) == ([], 1)
    kept = client.get(thread).json()["turns"]
    assert [(turn["number"], turn["question"]) for turn in kept] == [(1, WALL)]
    asked = ask(client, thread, "And how long is it?")
    assert (asked["turn"], asked["number"]) == (client.get(thread).json()["turns"][1]["id"], 2)
    assert client.delete(thread).status_code == 204
    with Session(client.app.state.services.engine) as db:
        assert db.scalar(select(func.count()).select_from(TurnText)) == 0


def test_a_thread_is_found_by_its_questions_and_answers_until_they_are_deleted(client: TestClient) -> None:
    check_search_and_deletion(client)


def test_a_search_finds_ones_own_threads_alone_and_no_more_than_it_may_read(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = (add_user(client, name, samples=Role.READER) for name in ("ada", "bob"))
    root = add_user(client, "root", is_admin=True)
    begun = [begin(ada) for _ in range(2)]
    for thread in begun:
        ask(ada, thread, WALL)
    assert (len(found(ada, "crest")), found(bob, "crest"), found(root, "crest")) == (2, [], [])
    monkeypatch.setattr(search, "MOST_THREADS_SEARCHED", 1)
    assert len(found(ada, "crest")) == 1
    ada.post(f"{begun[0]}/branches", json={"turns": 1})
    assert ada.get(f"{API}/threads?search=crest").json()["items"][0]["title"] == ""


def test_a_turn_whose_thread_is_deleted_meanwhile_is_gone(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete_thread(*_: object) -> None:
        assert client.delete(thread).status_code == 204

    thread = begin(client)
    turn = ask(client, thread, WALL)["turn"]
    monkeypatch.setattr(threads, "remove_turn_from_feedback", delete_thread)
    assert client.delete(f"{thread}/turns/{turn}").status_code == 404


def test_what_later_questions_remember_does_not_hold_a_deleted_turn(client: TestClient) -> None:
    thread = begin(client)
    for question in (f"{ASKED[0]} (omega)", ASKED[1], WALL):
        ask(client, thread, question)
    for number in (1, 2, 3):
        client.post(f"{thread}/turns/{number}/feedback", json={"is_good": number != 2})
    first = client.get(thread).json()["turns"][0]
    assert client.delete(f"{thread}/turns/{first['id']}").status_code == 204
    services = client.app.state.services
    with sqlite3.connect(services.settings.data / "conversations.sqlite") as file:
        stored = [*file.execute("SELECT checkpoint FROM checkpoints UNION SELECT value FROM writes")]
    assert stored and not [row for row in stored if b"omega" in row[0]]
    shown = client.get(thread).json()
    assert shown["title"] == ASKED[1]
    assert [turn["feedback"]["is_good"] for turn in shown["turns"]] == [False, True]
    with Session(services.engine) as db:
        rows = db.scalars(select(Feedback).order_by(Feedback.created)).all()
        assert [len(row.history) for row in rows] == [0, 0, 2]
        assert rows[0].thread_id is None and "omega" not in str(rows[2].history)
    last = shown["turns"][-1]["id"]
    for turn in [last, shown["turns"][0]["id"]]:
        assert client.delete(f"{thread}/turns/{turn}").status_code == 204
    assert client.get(thread).json()["turns"] == []
    assert "5.10" in ask(client, thread, WALL)["answer"]


def test_a_turn_is_not_deleted_while_a_question_is_answered_nor_by_others(client: TestClient) -> None:
    ada, bob = (add_user(client, name, samples=Role.READER) for name in ("ada", "bob"))
    thread = begin(ada)
    turn = ask(ada, thread, WALL)["turn"]
    assert bob.delete(f"{thread}/turns/{turn}").status_code == 404
    with Session(client.app.state.services.engine) as db:
        db.execute(text("UPDATE threads SET asked = updated"))
        db.commit()
    assert ada.delete(f"{thread}/turns/{turn}").status_code == 409
    assert len(ada.get(thread).json()["turns"]) == 1


def test_an_excerpt_is_short_marks_each_word_and_begins_and_ends_with_words() -> None:
    words = ["wall", "c#"]
    excerpt = make_excerpt(f"{'Before it. ' * 20}The **Wall** is [1] a wall.{' After it' * 60}", words)
    assert [piece.text for piece in excerpt if piece.is_match] == ["Wall", "wall"]
    whole = "".join(piece.text for piece in excerpt)
    assert whole.startswith("… Before") and whole.endswith("…") and len(whole) <= 204
    assert "The Wall is a wall." in whole
    assert [piece.text for piece in make_excerpt("Nothing of it", words)] == ["Nothing of it"]
