"""A question with events: what happens on the way to its answer, and what follows when nobody listens."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from adaptive_rag.testing import ScriptedChatModel
from tests.server.conftest import Serve

URL = "/api/v1/collections/samples/ask/events"
QUESTION = {"question": "What is the highest water level ever recorded at Pellhythe?"}
ANSWER = "The highest level ever recorded at Pellhythe is 4.83 metres [1]."


def events_of(client: TestClient, url: str = URL, **asked: Any) -> list[tuple[str, Any]]:
    """Ask, and return the events that came with their data."""
    text = client.post(url, json={**QUESTION, **asked}).text
    blocks = [
        dict(line.split(": ", 1) for line in block.splitlines()) for block in text.strip().split("\n\n")
    ]
    return [(block["event"], json.loads(block["data"])) for block in blocks]


def test_the_way_to_an_answer_is_told_as_it_goes(serve_samples: Serve) -> None:
    model = ScriptedChatModel(script={"generate": ANSWER})
    with serve_samples({"model": model}) as client:
        events = events_of(client, settings={"route": "factual"})
        plain = client.post(URL.removesuffix("/events"), json={**QUESTION, "settings": {"route": "factual"}})
    assert list(dict.fromkeys(name for name, _ in events)) == ["step", "route", "passages", "draft", "answer"]
    first, last = events[0][1], events[-1][1]
    assert (first["name"], first["strategy"], first["state"]) == ("classify", None, "started")
    assert "".join(data for name, data in events if name == "draft") == last["answer"] == ANSWER
    ended = [data["record"] for name, data in events if name == "step" and data["state"] == "finished"]
    assert ended == last["trace"]
    assert {**last, "trace": []} == {**plain.json(), "trace": []}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("asked", "status"), [({"settings": {"k": 1000}}, 422), ({"question": " "}, 422), ({"more": 1}, 422)]
)
def test_what_is_refused_before_the_first_event_has_its_own_status(
    client: TestClient, asked: dict[str, Any], status: int
) -> None:
    refused = client.post(URL, json={**QUESTION, **asked})
    assert (refused.status_code, refused.headers["content-type"]) == (status, "application/problem+json")


def test_too_much_to_do_is_said_before_the_first_event(serve_samples: Serve) -> None:
    with serve_samples(max_running=1, max_waiting=0) as client:
        client.app.state.services.answering.gate.in_progress = 1
        refused = client.post(URL, json=QUESTION)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")


def test_what_fails_midway_ends_in_a_problem(serve_samples: Serve) -> None:
    model = ScriptedChatModel(script={"generate": ANSWER}, seconds=5)
    with serve_samples({"model": model}, max_seconds=0.5) as client:
        name, problem = events_of(client)[-1]
        assert (name, problem["status"], problem["title"]) == ("problem", 504, "Gateway Timeout")
