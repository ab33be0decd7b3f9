"""A question ends at its deadline and with its caller, also where no chat model is asked; on every door."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from adaptive_rag.deadline import check_deadline
from adaptive_rag.errors import DeadlineError
from adaptive_rag.llm.request import Asking
from adaptive_rag.nodes import step
from adaptive_rag.rank.rerankers import RERANKERS, Reranker
from adaptive_rag.rank.scoring import RerankRequest
from adaptive_rag.server.app import build_app
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.state import Candidate
from adaptive_rag.testing import ScriptedChatModel
from tests.server.conftest import QUICK, add_samples, client_of
from tests.server.doors import DOORS, JSON_RPC, doors
from tests.server.processes import listening, wait_for

ASK = "/api/v1/collections/samples/ask"
QUESTION: dict[str, Any] = {"question": "What is the highest water level ever recorded at Pellhythe?"}
SLOW = {"reranker": "slow"}


class SlowStep:
    """A local step that would take a minute, and notes how it ended."""

    def __init__(self) -> None:
        self.began, self.ended = threading.Event(), threading.Event()

    def __call__(self, request: RerankRequest) -> Asking[list[Candidate]]:
        self.began.set()
        try:
            for _ in range(600):
                time.sleep(0.1)
                check_deadline()
        except DeadlineError:
            self.ended.set()
            raise
        return list(request.candidates)
        yield  # a reranker is a generator


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowStep:
    found = SlowStep()
    monkeypatch.setitem(RERANKERS, "slow", Reranker(found))
    monkeypatch.setattr(step, "FINISHING_SECONDS", 0.2)
    return found


@contextmanager
def serving(folder: Path, sample_index: Path, **given: Any) -> Iterator[tuple[str, FastAPI, str]]:
    """Serve the samples; yield the address, the app and a thread."""
    settings = read_server_settings(data=folder / "data", workers=0)
    with client_of(build_app(settings, QUICK | given)) as client:
        add_samples(client, sample_index)
        thread = client.post("/api/v1/collections/samples/threads", json={}).json()["id"]
    app = build_app(settings, QUICK | given)
    with listening(app) as address:
        yield address, app, thread


def leave(address: str, thread: str, door: str, begun: Callable[[], Any]) -> None:
    """Ask at a door, and go away once the work has begun."""
    path, asked = doors(QUESTION["question"], thread=thread)[door]
    host, body = address.removeprefix("http://"), json.dumps(asked).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n"
    head += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(host.partition(":")[2]))) as caller:
        caller.sendall(head.encode() + body)
        wait_for(begun, "the work begins", 20)


@pytest.mark.few(2)
@pytest.mark.parametrize("door", DOORS)
def test_who_goes_away_ends_the_work_at_its_next_check(
    tmp_path: Path, sample_index: Path, slow: SlowStep, door: str
) -> None:
    with serving(tmp_path, sample_index, retrieval=SLOW) as (address, app, thread):
        leave(address, thread, door, slow.began.is_set)
        assert slow.ended.wait(10), "the step goes on although its caller has left"
        wait_for(lambda: not app.state.services.answering.gate.in_progress, "the place is free")


@pytest.mark.few(1)
@pytest.mark.parametrize("door", DOORS)
def test_who_goes_away_ends_the_call_of_a_model(tmp_path: Path, sample_index: Path, door: str) -> None:
    model = ScriptedChatModel(seconds=600)
    budget = {"deadline_s": 60}
    with serving(tmp_path, sample_index, model=model, budget=budget) as (address, app, thread):
        gate = app.state.services.answering.gate
        leave(address, thread, door, lambda: gate.in_progress)
        wait_for(lambda: not gate.in_progress, "the place is free", 10)
    assert "generate" not in model.skills


@pytest.mark.nightly
def test_a_question_without_a_model_ends_at_its_deadline_on_every_door(
    tmp_path: Path, sample_index: Path, slow: SlowStep
) -> None:
    with (
        serving(tmp_path, sample_index, retrieval=SLOW, budget={"deadline_s": 0.5}) as (address, _, thread),
        httpx.Client(timeout=30, headers=JSON_RPC) as client,
    ):
        for door, (path, body) in doors(QUESTION["question"], thread=thread).items():
            slow.ended.clear()
            answer = client.post(address + path, json=body)
            assert slow.ended.wait(1), door
            assert "not answered within the 0.5 s of budget.deadline_s" in answer.text, (door, answer.text)
            streams = "events" in door or "stream" in door or door == "agent"
            assert answer.status_code == (200 if streams else 504), door
        problem = client.post(address + ASK, json=QUESTION).json()
        assert (problem["type"], problem["title"]) == ("too_slow", "Gateway Timeout")
        last = client.post(f"{address}{ASK}/events", json=QUESTION).text.strip().split("\n\n")[-1]
        assert last.startswith("event: problem") and json.loads(last.partition("data: ")[2])["status"] == 504
