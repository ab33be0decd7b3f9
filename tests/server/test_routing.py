"""The router learns from votes: honestly measured, in force at once, taken back by one request."""

import lzma
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest
from fastapi.testclient import TestClient

from adaptive_rag.analysis import learning
from adaptive_rag.analysis.router import learned_file
from adaptive_rag.errors import InputError
from adaptive_rag.server.backup import back_up, restore
from adaptive_rag.server.settings import read_server_settings
from tests.analysis.test_explain_and_learn import PARTS as ALL_PARTS
from tests.server.conftest import Serve

API = "/api/v1"
FEEDBACK, ASK = f"{API}/collections/samples/feedback", f"{API}/collections/samples/ask"
ROUTER = f"{API}/router"
PARTS = ALL_PARTS[:10]
QUESTION = {"question": "Status of the turbine project?"}


@pytest.fixture(autouse=True)
def short_lesson(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Learn beside few of the built-in questions; tests/analysis/test_explain_and_learn.py takes them all."""
    few = tmp_path / "few.jsonl.xz"
    questions = lzma.decompress(learning.BUILT_IN.read_bytes()).splitlines(keepends=True)
    few.write_bytes(lzma.compress(b"".join(questions[::15])))
    monkeypatch.setattr(learning, "BUILT_IN", few)
    monkeypatch.setattr(learning, "_read_built_in", cache(learning._read_built_in.__wrapped__))
    monkeypatch.setattr(learning, "MAX_DROP", 1.0)
    monkeypatch.setattr(learning, "PENALTIES", (10.0,))


def vote(client: TestClient, parts: list[str]) -> None:
    """Vote as a house would where "Status of the pump project?" asks for views."""
    for part in parts:
        views = {"question": f"Status of the {part} project?", "route": "factual", "better_route": "opinion"}
        facts = {"question": f"Who invented the {part}?", "route": "factual", "is_good": True}
        assert [client.post(FEEDBACK, json=each).status_code for each in (views, facts)] == [201, 201]


def routed(client: TestClient) -> str:
    return str(client.post(ASK, json=QUESTION).json()["analysis"]["type"])


def test_votes_teach_the_router_without_a_restart_and_it_is_put_back(
    client: TestClient, tmp_path: Path
) -> None:
    before = client.post(ASK, json=QUESTION).json()["analysis"]
    vote(client, PARTS)
    taught = client.post(f"{ROUTER}/learn").json()
    assert taught["is_learned"] and taught["votes"] == 20 and taught["routes"] == 2
    lesson = taught["lesson"]
    assert lesson["learned_from"] + lesson["kept_aside"] == 20 and lesson["kept_aside"] == 4
    assert lesson["after"]["accuracy"] > lesson["before"]["accuracy"]
    assert (tmp_path / "data" / "router.json").stat().st_mode & 0o077 == 0
    assert before["type"] != routed(client) == "opinion"
    shown = client.get(ROUTER).json()
    assert shown["learned"] == taught["learned"] and shown["lesson"]["kept_aside"] == 4
    assert shown["lesson"]["after"]["log_loss"] == pytest.approx(lesson["after"]["log_loss"], abs=1e-4)
    assert [client.delete(ROUTER).status_code for _ in range(2)] == [204, 204]
    assert client.get(ROUTER).json() == shown | {"is_learned": False, "lesson": None, "learned": None}
    assert client.post(ASK, json=QUESTION).json()["analysis"] == before
    told = [event["action"] for event in client.get(f"{API}/events").json()["items"]]
    assert told.count("router.learn") == told.count("router.forget") == 1


@pytest.mark.nightly
def test_a_backup_holds_what_the_votes_taught(client: TestClient, tmp_path: Path) -> None:
    vote(client, PARTS)
    client.post(f"{ROUTER}/learn")
    settings = client.app.state.services.settings
    back_up(settings, tmp_path / "all.tar")
    elsewhere = read_server_settings(data=tmp_path / "elsewhere", backup_key=settings.signing_key)
    restore(elsewhere, tmp_path / "all.tar")
    assert elsewhere.learned_router.read_text() == settings.learned_router.read_text()


def test_too_few_votes_or_votes_for_one_route_teach_nothing(client: TestClient) -> None:
    vote(client, PARTS[:5])
    refused = client.post(f"{ROUTER}/learn")
    assert refused.status_code == 409 and "at least 12 questions" in refused.json()["detail"]
    for number in range(12):
        client.post(FEEDBACK, json={"question": f"Why {number}?", "route": "factual", "is_good": False})
    assert client.get(ROUTER).json()["votes"] == 10
    assert client.post(f"{ROUTER}/learn").status_code == 409


@pytest.mark.nightly
def test_what_a_router_learned_elsewhere_holds_until_the_votes_teach_it(
    client: TestClient, tmp_path: Path
) -> None:
    vote(client, PARTS)
    client.post(f"{ROUTER}/learn")
    # In the home of the tests it is what `adaptive-rag route --learn` wrote.
    home = learned_file()
    home.parent.mkdir(exist_ok=True)
    (tmp_path / "data" / "router.json").replace(home)
    assert client.get(ROUTER).json()["is_learned"] is False
    assert routed(client) == "opinion"


def test_one_request_at_a_time_teaches_and_it_holds_no_connection(
    serve_samples: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = list[object]()

    def learn_from(*given: object) -> NoReturn:
        met.append(client.app.state.services.engine.pool.checkedout())
        met.extend(
            client.request(*each).status_code for each in (("POST", f"{ROUTER}/learn"), ("DELETE", ROUTER))
        )
        raise InputError("no more")

    monkeypatch.setattr("adaptive_rag.server.api.feedback.learn_from", learn_from)
    with serve_samples() as client:
        vote(client, PARTS)
        assert client.post(f"{ROUTER}/learn").status_code == 422
        assert met == [0, 409, 409]
        assert client.delete(ROUTER).status_code == 204
