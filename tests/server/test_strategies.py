"""The strategies as they are drawn: what the server lists is what its answers pass through."""

import json

from fastapi.testclient import TestClient

from adaptive_rag.graph.strategies import STRATEGIES
from tests.server.conftest import Serve

API = "/api/v1"


def test_the_steps_of_every_strategy_are_those_that_its_questions_take(client: TestClient) -> None:
    graph = client.get(f"{API}/strategies").json()
    assert [each["name"] for each in graph["strategies"]] == list(STRATEGIES)
    for each in graph["strategies"]:
        asked = {"question": "Why a wall?", "settings": {"route": each["name"]}}
        trace = client.post(f"{API}/collections/samples/ask", json=asked).json()["trace"]
        assert [record["step"] for record in trace] == [graph["first"], *each["steps"], graph["last"]]
        assert each["colour"] == STRATEGIES[each["name"]].colour and each["purpose"]
        assert each["shows_views"] == STRATEGIES[each["name"]].style.views
    assert [each["name"] for each in graph["strategies"] if each["uses_situation"]] == ["contextual"]


def test_both_strategies_of_an_unsure_question_are_joined_by_the_listed_step(serve_samples: Serve) -> None:
    with serve_samples({"routing": {"threshold": 1.0}}) as client:
        graph = client.get(f"{API}/strategies").json()
        asked = {"question": "How high should the wall be?"}
        text = client.post(f"{API}/collections/samples/ask/events", json=asked).text
        told = [json.loads(line[6:]) for line in text.splitlines() if line.startswith('data: {"id"')]
        steps = {(each["strategy"], each["name"]) for each in told if "state" in each}
        lanes = {each["name"]: each["steps"] for each in graph["strategies"]}
        taken = {lane for lane, _ in steps} & set(lanes)
        assert len(taken) == 2 and ("hedge", graph["join"]) in steps
        assert all((lane, step) in steps for lane in taken for step in lanes[lane])
