"""A question with events: what happens on the way to its answer, and what follows when nobody listens."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from adaptive_rag.server.app import build_app
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.testing import ScriptedChatModel
from tests.server.conftest import Serve, add_samples, client_of

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


def test_the_way_to_an_answer_is_told_as_it_goes(serve: Serve, sample_index: Path) -> None:
    model = ScriptedChatModel(script={"generate": ANSWER})
    with serve({"model": model}) as client:
        add_samples(client, sample_index)
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
    serve: Serve, sample_index: Path, asked: dict[str, Any], status: int
) -> None:
    with serve() as client:
        add_samples(client, sample_index)
        refused = client.post(URL, json={**QUESTION, **asked})
        assert (refused.status_code, refused.headers["content-type"]) == (status, "application/problem+json")


def test_too_much_to_do_is_said_before_the_first_event(serve: Serve, sample_index: Path) -> None:
    with serve(max_running=1, max_waiting=0) as client:
        add_samples(client, sample_index)
        client.app.state.services.answering.gate.inside = 1  # type: ignore[attr-defined]
        refused = client.post(URL, json=QUESTION)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")


def test_what_fails_midway_ends_in_a_problem(serve: Serve, sample_index: Path) -> None:
    model = ScriptedChatModel(script={"generate": ANSWER}, seconds=5)
    with serve({"model": model}, max_seconds=0.5) as client:
        add_samples(client, sample_index)
        name, problem = events_of(client)[-1]
        assert (name, problem["status"], problem["title"]) == ("problem", 504, "Gateway Timeout")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "url",
    [URL, URL.removesuffix("/events"), URL.replace("ask/events", "compare"), "/api/v1/threads/{}/ask",
     "/v1/chat/completions"],
)  # fmt: skip
def test_a_client_that_goes_away_ends_the_work_and_frees_its_place(
    tmp_path: Path, sample_index: Path, url: str
) -> None:
    model = ScriptedChatModel(script={"generate": ANSWER}, seconds=600)
    app = build_app(read_server_settings(data=tmp_path / "data", max_running=1), {"model": model})
    asked: dict[str, Any] = {**QUESTION, "settings": {"budget.deadline_s": 20}}
    if url.startswith("/v1"):
        said = [{"role": "user", "content": QUESTION["question"]}]
        asked = {"model": "samples", "messages": said, "adaptive_rag": {"budget.deadline_s": 20}}
    body = json.dumps(asked).encode()
    with client_of(app) as client:
        add_samples(client, sample_index)
        path = url.format(client.post("/api/v1/collections/samples/threads", json={}).json()["id"])
        gate = app.state.services.answering.gate

        async def leave_once_it_is_being_answered() -> None:
            coming = [{"type": "http.request", "body": body, "more_body": False}]

            async def receive() -> dict[str, Any]:
                if not coming:
                    while not gate.inside:
                        await asyncio.sleep(0.01)
                    return {"type": "http.disconnect"}
                return coming.pop()

            async def send(message: Any) -> None:
                pass

            headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
            scope = {
                "type": "http", "method": "POST", "path": path, "raw_path": path.encode(),
                "query_string": b"", "headers": headers, "client": ("127.0.0.1", 1),
                "scheme": "http", "http_version": "1.1",
                "asgi": {"version": "3.0", "spec_version": "2.3"}, "server": ("localhost", 80),
                "root_path": "",
            }  # fmt: skip
            await asyncio.wait_for(app(scope, receive, send), 10)

        client.portal.call(leave_once_it_is_being_answered)
        assert gate.inside == 0
        assert "generate" not in model.skills
