"""Threads as the page needs them: begun anew in the middle, and taken along under their own name."""

import pytest
from fastapi.testclient import TestClient

from adaptive_rag.server.conversations import TurnShown
from adaptive_rag.server.exports import format_markdown
from adaptive_rag.server.tables import now
from tests.server.test_threads import API, ASKED, begin


def test_a_branch_begins_as_its_thread_did_and_leaves_it_whole(client: TestClient) -> None:
    thread = begin(client)
    for question in ASKED:
        client.post(f"{thread}/ask", json={"question": question}).raise_for_status()
    made = client.post(f"{thread}/branches", json={"turns": 1})
    assert made.status_code == 201 and made.json()["title"] == ""
    branch = f"{API}/threads/{made.json()['id']}"
    client.post(f"{branch}/ask", json={"question": "How long was that?"}).raise_for_status()
    shown, kept = client.get(branch).json(), client.get(thread).json()
    assert [turn["question"] for turn in shown["turns"]] == [ASKED[0], "How long was that?"]
    assert shown["turns"][0] == kept["turns"][0]
    assert [turn["question"] for turn in kept["turns"]] == list(ASKED)
    assert client.post(f"{thread}/branches", json={"turns": 3}).status_code == 422
    assert client.get(f"{API}/threads").json()["total"] == 2


@pytest.mark.parametrize(
    ("title", "name"), [("Höhe: 4/5?", "H%C3%B6he%204%205.md"), ("../..\n", "thread.md"), ("", "thread.md")]
)
def test_an_export_bears_the_name_of_its_thread(client: TestClient, title: str, name: str) -> None:
    exported = client.get(f"{begin(client, title=title)}/export")
    assert exported.headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"


def test_the_marks_of_an_export_count_from_1_in_the_order_of_the_text() -> None:
    place = {"source": "wall.md", "page": None, "place": {}, "start": 0, "end": 4}
    citations = [{**place, "marker": marker, "quote": f"quote {marker}"} for marker in (3, 7)]
    turn = {"id": "1", "number": 1, "question": "Why?", "answer": "One [7]. Two [3][7]. `rows[3]` [2024]"}
    turn |= {
        "parts": [],
        "route": "factual",
        "user_context": "",
        "abstained": False,
        "decisions": [],
        "only": {},
        "asked": now(),
    }
    text = format_markdown("Wall", [TurnShown.model_validate({**turn, "citations": citations})])
    assert (
        "One [1]. Two [2][1]. `rows[3]` [2024]\n\n- [1] wall.md: “quote 7”\n- [2] wall.md: “quote 3”" in text
    )
