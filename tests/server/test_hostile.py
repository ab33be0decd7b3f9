"""What is not for a caller to set is refused at every door of the web server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.hostile import SETTINGS
from tests.server.team import API, Team, open_team

PIER = f"{API}/collections/pier"
# Python's reader of JSON takes them for numbers.
NO_NUMBERS = {"not a number": {"retrieval": {"alpha": float("nan")}}, "no end": {"k": float("inf")}}
QUESTION = "When does the ferry to Grauholm leave?"
GIVEN = SETTINGS | NO_NUMBERS


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """Serve a team, of whom eve asks."""
    with open_team(tmp_path_factory.mktemp("hostile")) as team:
        yield team


def post(team: Team, path: str, body: Any) -> tuple[int, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    answer = team.people["eve"].post(path, content=json.dumps(body), headers=headers)
    return answer.status_code, answer.text


def ask(team: Team, given: Any) -> tuple[int, str]:
    return post(team, f"{PIER}/ask", {"question": QUESTION, "settings": given})


def ask_for_steps(team: Team, given: Any) -> tuple[int, str]:
    return post(team, f"{PIER}/ask/events", {"question": QUESTION, "settings": given})


def ask_in_a_thread(team: Team, given: Any) -> tuple[int, str]:
    thread = json.loads(post(team, f"{PIER}/threads", {})[1])["id"]
    return post(team, f"{API}/threads/{thread}/ask", {"question": QUESTION, "settings": given})


def compare(team: Team, given: Any) -> tuple[int, str]:
    return post(team, f"{PIER}/compare", {"question": QUESTION, "settings": given})


def chat(team: Team, given: Any) -> tuple[int, str]:
    messages = [{"role": "user", "content": QUESTION}]
    return post(team, "/v1/chat/completions", {"model": "pier", "messages": messages, "adaptive_rag": given})


def call_a_tool(team: Team, given: Any) -> tuple[int, str]:
    call = {"name": "ask", "arguments": {"question": QUESTION, "settings": given}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    status, text = post(team, "/mcp", body)
    return (422 if '"isError":true' in text else status), text


DOORS: list[Callable[[Team, Any], tuple[int, str]]] = [
    ask,
    ask_for_steps,
    ask_in_a_thread,
    compare,
    chat,
    call_a_tool,
]


@pytest.mark.few(60)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("name", GIVEN)
def test_what_is_the_operators_is_refused_at_every_door(
    team: Team, tmp_path: Path, name: str, door: Callable[[Team, Any], tuple[int, str]]
) -> None:
    text = json.dumps(GIVEN[name]).replace("FOLDER", str(tmp_path)).replace("STRANGER", "http://127.0.0.1:9")
    status, said = door(team, json.loads(text))
    assert status in (400, 422), said[:500]
    assert len(said) < 3000 and "reference" not in said
    data = str(team.server.app.state.services.settings.data)
    assert data not in said and "Traceback" not in said


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_what_a_caller_may_set_is_taken_at_every_door(
    team: Team, door: Callable[[Team, Any], tuple[int, str]]
) -> None:
    status, said = door(team, {"route": "factual", "k": 2, "retrieval": {"alpha": 0.5}})
    assert (status, "7:45" in said) == (200, True), said[:500]
