"""A question by REST: answered with citations and events, or by two routes, within what a caller may set."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.errors import IndexDamagedError
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import Manifest, Settings
from adaptive_rag.server.tables import Collection
from adaptive_rag.testing import ScriptedChatModel
from tests.server.conftest import Serve

URL = "/api/v1/collections/samples/ask"
EVENTS, COMPARE = f"{URL}/events", "/api/v1/collections/samples/compare"
QUESTION = {"question": "What is the highest water level ever recorded at Pellhythe?"}
ANSWER = "The highest level ever recorded at Pellhythe is 4.83 metres [1]."


def test_an_answer_has_citations_and_says_which_way_it_went(reading: TestClient) -> None:
    answer = reading.post(URL, json={**QUESTION, "settings": {"k": 3}}).json()
    assert "[1]" in answer["answer"]
    assert answer["query_type"] == "factual"
    assert answer["citations"][0]["quote"]
    assert len(answer["documents"]) <= 3
    assert answer["trace"][0]["step"] == "classify"


def test_a_collection_with_nothing_to_search_says_why(fresh: TestClient) -> None:
    fresh.post("/api/v1/collections", json={"name": "samples"})
    refused = fresh.post(URL, json=QUESTION)
    assert (refused.status_code, refused.json()["type"]) == (409, "no_documents")
    services = fresh.app.state.services
    with Session(services.engine) as db:
        place = services.folder_of(db.scalars(select(Collection)).one()).index
    place.mkdir(parents=True)
    made_with = Settings(embeddings="local:all-MiniLM-L6-v2", dimension=384)
    Manifest(made_with, table="chunks-1").publish(open_location(place))
    assert fresh.post(URL, json=QUESTION).json()["type"] == "no_documents"
    for name, said in (
        ("a", "1 document of this collection is"),
        ("b", "2 documents of this collection are"),
    ):
        files = [("files", (f"{name}.md", f"# {name}\n\nOne."))]
        fresh.post("/api/v1/collections/samples/documents", files=files)
        refused = fresh.post(URL, json=QUESTION)
        assert (refused.status_code, refused.json()["type"]) == (409, "being_indexed")
        assert refused.json()["detail"].startswith(f"{said} still being indexed.")


@pytest.mark.parametrize(
    "step", ["adaptive_rag.server.answering.open_source", "adaptive_rag.index.Index.search"]
)
def test_a_question_whose_collection_is_deleted_meanwhile_finds_none(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def delete_and_fail(*_: object, **given: object) -> None:
        link = next(client.app.state.services.settings.data.glob("collections/*/index"))
        link.unlink()
        link.mkdir()  # as opening a table of the deleted index does
        raise IndexDamagedError("its table cannot be read")

    monkeypatch.setattr(step, delete_and_fail)
    assert client.post(URL, json=QUESTION).status_code == 404


def test_a_question_that_comes_while_the_server_stops_is_refused_at_once(client: TestClient) -> None:
    client.app.state.services.answering.stop()
    refused = client.post(URL, json={"question": "When?"})
    assert (refused.status_code, refused.json()["detail"]) == (
        503,
        "The server is being stopped. Ask again in a minute.",
    )


def test_what_a_models_server_says_is_read_in_the_log_alone(serve_samples: Serve) -> None:
    model = ScriptedChatModel(script={"generate": RuntimeError("10.0.0.5 refused the key XYZ-1")})
    with serve_samples({"model": model}) as client:
        for way in (URL, f"{URL}/events"):
            answer = client.post(way, json=QUESTION)
            assert answer.status_code == 200 and "the server's log says why" in answer.text
            assert "10.0.0.5" not in answer.text and "XYZ-1" not in answer.text


def events_of(client: TestClient, **asked: Any) -> list[tuple[str, Any]]:
    """Ask, and return the events that came with their data."""
    text = client.post(EVENTS, json={**QUESTION, **asked}).text
    blocks = [
        dict(line.split(": ", 1) for line in block.splitlines()) for block in text.strip().split("\n\n")
    ]
    return [(block["event"], json.loads(block["data"])) for block in blocks]


def test_the_way_to_an_answer_is_told_as_it_goes(serve_samples: Serve) -> None:
    model = ScriptedChatModel(script={"generate": ANSWER})
    with serve_samples({"model": model}) as client:
        events = events_of(client, settings={"route": "factual"})
        plain = client.post(URL, json={**QUESTION, "settings": {"route": "factual"}})
    assert list(dict.fromkeys(name for name, _ in events)) == ["step", "route", "passages", "draft", "answer"]
    first, last = events[0][1], events[-1][1]
    assert (first["name"], first["strategy"], first["state"]) == ("classify", None, "started")
    assert "".join(data for name, data in events if name == "draft") == last["answer"] == ANSWER
    ended = [data["record"] for name, data in events if name == "step" and data["state"] == "finished"]
    assert ended == last["trace"]
    assert {**last, "trace": []} == {**plain.json(), "trace": []}


@pytest.mark.few(1)
@pytest.mark.parametrize("asked", [{"settings": {"k": 1000}}, {"question": " "}, {"more": 1}])
def test_what_is_refused_before_the_first_event_has_its_own_status(
    client: TestClient, asked: dict[str, Any]
) -> None:
    refused = client.post(EVENTS, json={**QUESTION, **asked})
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")


def test_too_much_to_do_is_said_before_the_first_event(serve_samples: Serve) -> None:
    with serve_samples(max_running=1, max_waiting=0) as client:
        client.app.state.services.answering.gate.in_progress = 1
        refused = client.post(EVENTS, json=QUESTION)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")


def test_what_fails_midway_ends_in_a_problem(serve_samples: Serve) -> None:
    model = ScriptedChatModel(script={"generate": ANSWER}, seconds=5)
    with serve_samples({"model": model}, max_seconds=0.5) as client:
        name, problem = events_of(client)[-1]
        assert (name, problem["status"], problem["title"]) == ("problem", 504, "Gateway Timeout")


def test_two_routes_stand_side_by_side_as_each_would_answer(client: TestClient) -> None:
    found = client.post(
        COMPARE, json={**QUESTION, "settings": {"k": 3}, "routes": ["factual", "opinion"]}
    ).json()
    assert [column["name"] for column in found["columns"]] == ["factual", "opinion"]
    for column in found["columns"]:
        asked = {**QUESTION, "settings": {"k": 3, "route": column["name"]}}
        alone = client.post(URL, json=asked).json()
        assert column["answer"] | {"trace": []} == alone | {"trace": []}
        assert len(alone["documents"]) <= 3
    only = found["passages"]["only"]
    assert sorted(found["places"]) == sorted(found["passages"]["in_all"] + only["factual"] + only["opinion"])
    assert client.app.state.services.answering.gate.in_progress == 0


def test_without_routes_the_way_by_itself_stands_beside_the_second_likeliest(client: TestClient) -> None:
    first, second = client.post(COMPARE, json=QUESTION).json()["columns"]
    likely = first["answer"]["analysis"]["probabilities"]
    assert (first["name"], second["name"]) == ("by itself", sorted(likely, key=lambda name: -likely[name])[1])


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "given",
    [{"routes": ["sideways"]}, {"routes": ["factual"] * 3}, {"settings": {"k": 1000}}, {"recipes": ["x"]}],
)
def test_what_a_caller_may_not_compare_is_refused(client: TestClient, given: dict[str, object]) -> None:
    assert client.post(COMPARE, json={**QUESTION, **given}).status_code == 422
