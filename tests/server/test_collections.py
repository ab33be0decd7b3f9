"""Collections by REST: made, listed, shown, deleted."""

import json
import re
import sqlite3
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from adaptive_rag.server.conversations import Conversations
from adaptive_rag.server.problems import PATTERNS
from tests.server.conftest import Serve, add_samples

URL = "/api/v1/collections"


def test_a_collection_is_made_listed_and_deleted(fresh: TestClient) -> None:
    made = fresh.post(URL, json={"name": "handbook", "description": "For new staff"})
    assert made.status_code == 201
    assert made.json() | {"created": ""} == {
        "name": "handbook", "description": "For new staff", "examples": [], "role": "admin",
        "may": ["ask", "manage", "read", "see", "vote", "write"], "roles": ["reader", "writer", "admin"],
        "documents": 0, "chunks": 0, "bytes": 0, "created": "",
    }  # fmt: skip
    assert fresh.get(f"{URL}/handbook").json() == made.json()
    assert fresh.get(URL).json() == {"items": [made.json()], "total": 1}
    assert fresh.delete(f"{URL}/handbook").status_code == 204
    assert fresh.get(URL).json() == {"items": [], "total": 0}
    for name in ("Zoo", "bees", "ants"):
        fresh.post(URL, json={"name": name})
    assert [each["name"] for each in fresh.get(URL).json()["items"]] == ["ants", "bees", "Zoo"]


def test_a_collection_is_described_again_with_what_can_be_asked(serve: Serve) -> None:
    notice = {"question": "How long is the notice period?", "user_context": "", "type": "factual"}
    with serve() as client:
        made = client.post(URL, json={"name": "handbook", "examples": [{"question": "Who?"}]}).json()
        assert made["examples"] == [{"question": "Who?", "user_context": "", "type": None}]
        changed = client.patch(f"{URL}/handbook", json={"examples": [notice]}).json()
        assert changed == made | {"examples": [notice]}
        described = client.patch(f"{URL}/handbook", json={"description": "For new staff"}).json()
        assert described == changed | {"description": "For new staff"}
        assert client.get(f"{URL}/handbook").json() == described
        for examples in ([notice] * 9, [{"question": " "}], [notice | {"type": "rhetorical"}]):
            assert client.patch(f"{URL}/handbook", json={"examples": examples}).status_code == 422


def test_questions_to_begin_with_are_made_of_what_is_indexed(fresh: TestClient, sample_index: Path) -> None:
    fresh.post(URL, json={"name": "empty"})
    assert fresh.get(f"{URL}/empty/questions").json() == []
    assert fresh.get(f"{URL}/nowhere/questions").status_code == 404
    add_samples(fresh, sample_index)
    suggested = fresh.get(f"{URL}/samples/questions").json()
    assert len(suggested) == 4
    for question in suggested:
        answer = fresh.post(f"{URL}/samples/ask", json={"question": question}).json()
        assert answer["citations"] and not answer["abstained"]


def test_a_name_is_given_once_and_fits_an_address(fresh: TestClient) -> None:
    fresh.post(URL, json={"name": "handbook"})
    again = fresh.post(URL, json={"name": "handbook"})
    assert (again.status_code, again.headers["content-type"]) == (409, "application/problem+json")
    assert again.json()["detail"] == "There is a collection 'handbook' already."
    for name in ("", "..", "a/b", "a b", "x" * 101, "-"):
        refused = fresh.post(URL, json={"name": name})
        assert refused.status_code == 422
        assert "expected. name: must have only letters a to z, digits and . _ -" in refused.json()["detail"]


def test_every_pattern_of_a_field_is_explained_in_words(fresh: TestClient) -> None:
    described = fresh.get("/api/openapi.json").text
    patterns = {json.loads(found) for found in re.findall(r'"pattern": ?("(?:[^"\\\\]|\\\\.)*")', described)}
    assert patterns and patterns <= PATTERNS.keys()
    fresh.post(URL, json={"name": "none"})
    for body, said in (({"question": " "}, "question: must not be empty."), ({}, "question: is missing.")):
        refused = fresh.post(f"{URL}/none/ask", json=body).json()
        assert said in refused["detail"] and "should" not in refused["detail"]
    for content, said in (("[]", "body: must be a JSON object."), ("{", "1: from this character on")):
        headers = {"Content-Type": "application/json"}
        assert said in fresh.post(f"{URL}/none/ask", content=content, headers=headers).json()["detail"]


def test_a_collection_whose_conversations_stay_is_whole_until_it_is_deleted_again(
    fresh: TestClient, sample_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget(*_: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    folder = fresh.app.state.services.folder_of(add_samples(fresh, sample_index)).path
    fresh.post(f"{URL}/samples/threads", json={}).raise_for_status()
    with monkeypatch.context() as broken:
        broken.setattr(Conversations, "forget", forget)
        assert fresh.delete(f"{URL}/samples").status_code == 503
    assert folder.is_dir() and fresh.get(f"{URL}/samples").status_code == 200
    assert fresh.delete(f"{URL}/samples").status_code == 204
    assert not folder.exists() and sample_index.is_dir()


def test_a_collection_of_more_conversations_than_a_statement_may_name_is_deleted(
    fresh: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.post(URL, json={"name": "handbook"})
    threads = [fresh.post(f"{URL}/handbook/threads", json={}).json()["id"] for _ in range(20)]
    engine = fresh.app.state.services.engine
    engine.dispose()
    event.listen(
        engine, "connect", lambda opened, _: opened.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 16)
    )
    forgotten: list[str] = []
    monkeypatch.setattr(Conversations, "forget", lambda _, *ids: forgotten.extend(ids))
    assert fresh.delete(f"{URL}/handbook").status_code == 204
    assert sorted(forgotten) == sorted(threads)
