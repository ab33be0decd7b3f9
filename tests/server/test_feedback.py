"""Feedback: given on one's own answers, read by admins of the collection, exported for the router."""

from pathlib import Path

from fastapi.testclient import TestClient

from adaptive_rag.analysis.learning import read_questions
from adaptive_rag.server.roles import Role
from tests.server.conftest import add_user
from tests.server.test_threads import ASKED, begin

API = "/api/v1"
URL = f"{API}/collections/samples/feedback"


def test_feedback_is_given_listed_exported_and_taken_back(client: TestClient, tmp_path: Path) -> None:
    thread = begin(client)
    for question in ASKED:
        client.post(f"{thread}/ask", json={"question": question, "user_context": "I live at the pier."})
    turn = client.post(f"{thread}/turns/2/feedback", json={"is_good": True, "comment": "Right."})
    assert turn.status_code == 201 and turn.json()["question"] == ASKED[1]
    plain = {"question": "Is the wall worth it?", "route": "factual", "user_context": "I live there."}
    better = client.post(URL, json={**plain, "better_route": "opinion"}).json()
    client.post(URL, json={"question": "Why?", "route": "factual", "is_good": False})
    listed = client.get(URL).json()
    assert listed["total"] == 3 and listed["items"][1] == better
    file = tmp_path / "questions.jsonl"
    file.write_text(client.get(f"{API}/feedback/export").text)
    in_thread, outside = read_questions(file, labelled=True)
    assert (in_thread.text, in_thread.type) == (ASKED[1], turn.json()["route"])
    assert in_thread.user_context == "I live at the pier."
    assert [told["role"] for told in in_thread.history] == ["user", "agent"]
    assert outside == ("Is the wall worth it?", "I live there.", [], "opinion")
    client.post(URL, json={**plain, "is_good": True})
    assert '"Is the wall worth it?", "type": "factual"' in client.get(f"{API}/feedback/export").text
    assert client.delete(f"{API}/feedback/{better['id']}").status_code == 204
    assert client.get(URL).json()["total"] == 3


def test_a_thread_tells_what_its_owner_thinks_of_each_answer_until_it_is_taken_back(
    client: TestClient,
) -> None:
    thread = begin(client)
    for question in ASKED:
        client.post(f"{thread}/ask", json={"question": question})
    first, last = (
        client.post(f"{thread}/turns/2/feedback", json=opinion).json()
        for opinion in ({"is_good": True}, {"better_route": "opinion"})
    )
    client.post(URL, json={"question": ASKED[0], "route": "factual", "is_good": False})  # of no thread

    def told() -> list[dict[str, object] | None]:
        return [turn["feedback"] for turn in client.get(thread).json()["turns"]]

    assert told() == [None, last]
    client.delete(f"{API}/feedback/{last['id']}")
    assert told() == [None, first]


def test_feedback_is_on_an_answer_that_is_there_and_is_read_by_admins_alone(client: TestClient) -> None:
    ada = add_user(client, "ada", samples=Role.READER)
    thread = begin(ada)
    ada.post(f"{thread}/ask", json={"question": ASKED[0]})
    statuses = [ada.post(f"{thread}/turns/{n}/feedback", json={"is_good": True}).status_code for n in (1, 2)]
    assert statuses == [201, 404] and ada.get(URL).status_code == 403
