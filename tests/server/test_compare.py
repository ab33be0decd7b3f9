"""Two routes side by side: each as it would answer by itself, within what a caller may set."""

import pytest
from fastapi.testclient import TestClient

URL = "/api/v1/collections/samples/compare"
QUESTION = {"question": "What is the highest water level ever recorded at Pellhythe?", "settings": {"k": 3}}


def test_two_routes_stand_side_by_side_as_each_would_answer(client: TestClient) -> None:
    found = client.post(URL, json={**QUESTION, "routes": ["factual", "opinion"]}).json()
    assert [column["name"] for column in found["columns"]] == ["factual", "opinion"]
    for column in found["columns"]:
        asked = {**QUESTION, "settings": {"k": 3, "route": column["name"]}}
        alone = client.post(URL.replace("compare", "ask"), json=asked).json()
        assert column["answer"] | {"trace": []} == alone | {"trace": []}
        assert len(alone["documents"]) <= 3
    only = found["passages"]["only"]
    assert sorted(found["places"]) == sorted(found["passages"]["in_all"] + only["factual"] + only["opinion"])
    assert client.app.state.services.answering.gate.in_progress == 0


def test_without_routes_the_way_by_itself_stands_beside_the_second_likeliest(client: TestClient) -> None:
    first, second = client.post(URL, json=QUESTION).json()["columns"]
    likely = first["answer"]["analysis"]["probabilities"]
    assert (first["name"], second["name"]) == ("by itself", sorted(likely, key=lambda name: -likely[name])[1])


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "given",
    [{"routes": ["sideways"]}, {"routes": ["factual"] * 3}, {"settings": {"k": 1000}}, {"recipes": ["x"]}],
)
def test_what_a_caller_may_not_compare_is_refused(client: TestClient, given: dict[str, object]) -> None:
    assert client.post(URL, json={**QUESTION, **given}).status_code == 422
