"""What is not for a caller to set is refused at every door of the web server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.doors import DOORS, JSON_RPC, doors
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


def ask(team: Team, door: str, given: Any) -> tuple[int, str]:
    """Ask as eve, with settings; return the status (422 if a tool refuses) and what was said."""
    eve = team.people["eve"]
    thread = eve.post(f"{PIER}/threads", json={}).json()["id"] if "thread" in door else ""
    path, body = doors(QUESTION, given, at="pier", thread=thread)[door]
    answer = eve.post(path, content=json.dumps(body), headers=JSON_RPC | {"Content-Type": "application/json"})
    return 422 if '"isError":true' in answer.text else answer.status_code, answer.text


@pytest.mark.few(60)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", GIVEN)
def test_what_is_the_operators_is_refused_at_every_door(
    team: Team, tmp_path: Path, name: str, door: str
) -> None:
    text = json.dumps(GIVEN[name]).replace("FOLDER", str(tmp_path)).replace("STRANGER", "http://127.0.0.1:9")
    status, said = ask(team, door, json.loads(text))
    assert status in (400, 422), said[:500]
    assert len(said) < 3000 and "reference" not in said
    data = str(team.server.app.state.services.settings.data)
    assert data not in said and "Traceback" not in said


@pytest.mark.parametrize("door", DOORS)
def test_what_a_caller_may_set_is_taken_at_every_door(team: Team, door: str) -> None:
    status, said = ask(team, door, {"route": "factual", "k": 2, "retrieval": {"alpha": 0.5}})
    assert (status, "7:45" in said) == (200, True), said[:500]
