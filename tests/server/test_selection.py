"""Which documents are asked: some by name, folders, a condition; in one collection or in several at once."""

from typing import Any
from unittest import mock

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.errors import IndexMismatchError, InputError
from adaptive_rag.server import answering
from adaptive_rag.server.roles import Role
from adaptive_rag.server.selection import Selection
from adaptive_rag.server.tables import Feedback, Thread, ThreadCollection
from adaptive_rag.where import LONGEST, read_where
from tests.server.conftest import Serve, add_user, work

API = "/api/v1"
FERRY = "# Ferry\n\nThe ferry to Grauholm leaves at {time} from the east quay.\n"
FERRIES = {
    "summer/ferry.md": FERRY.format(time="7:45"),
    "winter/ferry.md": "---\nauthor: Ann Lee\n---\n" + FERRY.format(time="9:15"),
    "winter/old/ferry.md": FERRY.format(time="5:30"),
    "winters.md": FERRY.format(time="3:20"),
}
QUESTION = "When does the ferry to Grauholm leave?"


def add(client: TestClient, name: str, files: dict[str, str]) -> None:
    """Make a collection of these files."""
    assert client.post(f"{API}/collections", json={"name": name}).status_code == 201
    sent = [("files", (path, text)) for path, text in files.items()]
    assert client.post(f"{API}/collections/{name}/documents", files=sent).status_code == 202
    work(client)


def sources(answer: dict[str, Any]) -> set[str]:
    return {passage["source"] for passage in answer["documents"]}


def size(number: int) -> dict[str, Any]:
    """Return what is said of so many documents of a passage each."""
    return {"documents": number, "passages": number, "problem": None}


@pytest.mark.parametrize(
    "names",
    [
        ["a b.md", 'the "best" of.md', "it's.md", """both "of' them.md"""],
        ['x" or kind = "pdf', "') or (kind = pdf", "[a]*?.md"],
    ],
)
def test_a_condition_selects_the_named_documents_and_no_others(names: list[str]) -> None:
    others = ["b.md", "of them.md", "a].md", "kind", "pdf", "aXX.md"]

    class Sources:
        def __len__(self) -> int:
            return len(names + others)

        def kinds(self) -> Any:
            return {"source": "text"}

        def values(self, field: str) -> list[Any]:
            return [*names, *others]

    for only in (Selection(documents=names), Selection(documents=names, where="source is known")):
        kept = read_where(only.condition()).keep(Sources())
        assert kept.tolist() == [True] * len(names) + [False] * len(others)
    inside = Selection(folders=["[a]"], documents=["old.zip"]).condition()
    assert inside == 'source in ("old.zip") or source like "old.zip/*" or source like "[[]a[]]/*"'


def test_a_selection_that_cannot_be_a_condition_says_why() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Selection(documents=["a.md"], where="page > 1) or (page > 0").condition()
    with pytest.raises(InputError, match="Choose fewer, or their folder"):
        Selection(documents=["x" * (LONGEST // 2)] * 2).condition()


def test_folders_and_conditions_are_asked_alone_counted_and_kept_with_the_thread(fresh: TestClient) -> None:
    add(fresh, "pier", FERRIES)
    folders = fresh.get(f"{API}/collections/pier/folders").json()
    assert folders == [{"name": "summer", "documents": 1}, {"name": "winter", "documents": 2}]
    inside = fresh.get(f"{API}/collections/pier/folders?folder=winter").json()
    assert inside == [{"name": "winter/old", "documents": 1}]
    below = fresh.get(f"{API}/collections/pier/documents?folder=winter").json()["items"]
    assert [row["name"] for row in below] == ["winter/ferry.md", "winter/old/ferry.md"]
    assert fresh.get(f"{API}/collections/pier/folders?folder=Winter").json() == []
    assert fresh.get(f"{API}/collections/pier/documents?folder=Winter").json()["items"] == []

    fields = {each["name"]: each for each in fresh.get(f"{API}/fields?collection=pier").json()}
    assert fields["author"] == {"name": "author", "kind": "text", "values": ["Ann Lee"]}
    assert fields["source"]["values"] == sorted(FERRIES)

    only: dict[str, Any] = {"folders": ["winter"], "documents": ["winters.md"]}
    asked = {"collections": ["pier"], "only": only}
    assert fresh.post(f"{API}/selection", json=asked).json() == size(3)
    only["where"] = 'author = "ann lee"'
    assert fresh.post(f"{API}/selection", json=asked).json()["documents"] == 1
    for where, why in (("writer =", "cannot be read at its end"), ("writer = x", "The fields are: source")):
        wrong = {"collections": ["pier"], "only": {"where": where}}
        assert why in fresh.post(f"{API}/selection", json=wrong).json()["problem"]
        refused = fresh.post(f"{API}/ask", json={"question": QUESTION, **wrong})
        assert refused.status_code == 422 and why in refused.json()["detail"]

    thread = fresh.post(f"{API}/threads", json={"collections": ["pier"]}).json()
    url = f"{API}/threads/{thread['id']}"
    answer = fresh.post(f"{url}/ask", json={"question": QUESTION, "only": only}).json()
    assert sources(answer) == {"winter/ferry.md"} and "9:15" in answer["answer"]
    settings = {"where": "source like 'winter/old/*'"}
    again = {"question": QUESTION, "only": {"folders": ["winter"]}, "settings": settings}
    assert sources(fresh.post(f"{url}/ask", json=again).json()) == {"winter/old/ferry.md"}
    assert "summer/ferry.md" in sources(fresh.post(f"{url}/ask", json={"question": QUESTION}).json())
    kept = [turn["only"] for turn in fresh.get(url).json()["turns"]]
    empty = {"documents": [], "folders": [], "where": ""}
    assert kept == [empty | only, empty | {"folders": ["winter"]}, empty]
    branch = fresh.post(f"{url}/branches", json={"turns": 1}).json()
    assert fresh.get(f"{API}/threads/{branch['id']}").json()["turns"][0]["only"] == empty | only


def test_no_caller_lifts_the_operators_condition(serve: Serve) -> None:
    hidden = {"winter/ferry.md", "winter/old/ferry.md"}
    with serve({"where": "not (source like 'winter/*' or author = 'x')"}) as client:
        add(client, "pier", FERRIES)
        for asked in (
            {},
            {"settings": {"where": " "}},
            {"settings": {"where": "source like 'winter/*' or source is known"}},
            {"only": {"documents": ["winter/ferry.md"]}},
            {"only": {"folders": ["winter"], "where": "source is known"}},
        ):
            body = {"question": QUESTION, "collections": ["pier"], **asked}
            found = sources(client.post(f"{API}/ask", json=body).json())
            assert not found & hidden and bool(found) is ("only" not in asked)
        assert client.post(f"{API}/selection", json={"collections": ["pier"]}).json() == size(2)
        add(client, "museum", {name: text for name, text in FERRIES.items() if "author" not in text})
        both = {"collections": ["pier", "museum"]}
        assert client.post(f"{API}/selection", json=both).json() == size(4)
        found = sources(client.post(f"{API}/ask", json={"question": QUESTION, **both}).json())
        assert found and not [source for source in found if "/winter/" in source]


def test_several_collections_are_searched_as_one_and_cited_by_their_names(fresh: TestClient) -> None:
    add(fresh, "pier", FERRIES)
    add(fresh, "museum", {"hours.md": "# Hours\n\nThe museum of Grauholm opens at 10:30.\n"} | FERRIES)
    both = {"collections": ["pier", "museum", "pier"]}
    found = fresh.post(f"{API}/ask", json={"question": QUESTION, **both}).json()
    assert {source.partition("/")[0] for source in sources(found)} == {"pier", "museum"}
    assert all(each["source"].startswith(("pier/", "museum/")) for each in found["citations"])
    only = {"folders": ["museum"], "where": "source like '*hours*' or author = 'ann lee'"}
    found_size = fresh.post(f"{API}/selection", json={**both, "only": only}).json()
    assert found_size == size(2)
    opens = {"question": "When does the museum open?", "only": only, **both}
    told = fresh.post(f"{API}/ask", json=opens).json()
    assert told["citations"][0]["source"] == "museum/hours.md" and "10:30" in told["answer"]
    assert "event: answer" in fresh.post(f"{API}/ask/events", json=opens).text
    columns = fresh.post(f"{API}/compare", json={**opens, "routes": ["factual", "opinion"]}).json()
    assert {place["source"] for place in columns["places"].values()} <= {
        "museum/hours.md",
        "museum/winter/ferry.md",
    }
    named = {
        each["name"]: each["values"]
        for each in fresh.get(f"{API}/fields?collection=pier&collection=museum").json()
    }
    assert named["author"] == ["Ann Lee"] and {"pier/winters.md", "museum/hours.md"} <= {*named["source"]}
    # A deleted document is out of sight at once, and its copy in the other collection is not.
    rows = fresh.get(f"{API}/collections/museum/documents?search=winters").json()["items"]
    fresh.delete(f"{API}/collections/museum/documents/{rows[0]['id']}")
    left = fresh.post(f"{API}/ask", json={"question": QUESTION, **both, "settings": {"k": 20}}).json()
    assert "pier/winters.md" in sources(left) and "museum/winters.md" not in sources(left)


def test_a_thread_of_several_collections_is_open_to_who_may_read_them_all(fresh: TestClient) -> None:
    add(fresh, "pier", FERRIES)
    add(fresh, "museum", {"hours.md": "# Hours\n\nThe museum of Grauholm opens at 10:30.\n"})
    fresh.post(f"{API}/collections", json={"name": "empty"})
    root = add_user(fresh, "root", is_admin=True)
    ada = add_user(fresh, "ada", pier=Role.READER, museum=Role.READER, empty=Role.READER)
    eve = add_user(fresh, "eve", pier=Role.READER)
    both = {"collections": ["pier", "museum"]}
    refused = eve.post(f"{API}/ask", json={"question": QUESTION, **both})
    made_up = eve.post(f"{API}/ask", json={"question": QUESTION, "collections": ["pier", "none"]})
    assert refused.status_code == 404 and refused.content == made_up.content
    for path in ("threads", "selection", "compare"):
        body = both if path != "compare" else {"question": QUESTION, **both}
        assert eve.post(f"{API}/{path}", json=body).status_code == 404
    assert eve.get(f"{API}/fields?collection=pier&collection=museum").status_code == 404
    many = {"collections": [f"c{number}" for number in range(9)]}
    assert ada.post(f"{API}/threads", json=many).status_code == 422
    none_yet = ada.post(f"{API}/ask", json={"question": QUESTION, "collections": ["pier", "empty"]})
    assert none_yet.status_code == 409 and none_yet.json()["detail"].startswith("empty has no documents")

    made = ada.post(f"{API}/threads", json=both).json()
    assert made["collections"] == ["pier", "museum"]
    url = f"{API}/threads/{made['id']}"
    assert "10:30" in ada.post(f"{url}/ask", json={"question": "When does the museum open?"}).json()["answer"]
    ada.post(f"{url}/turns/1/feedback", json={"is_good": True})
    branch = ada.post(f"{url}/branches", json={"turns": 1}).json()
    assert branch["collections"] == ["pier", "museum"]
    for name in ("pier", "museum"):
        assert ada.get(f"{API}/threads?collection={name}").json()["total"] == 2
    assert ada.get(f"{API}/threads?collection=empty").json()["total"] == 0

    root.delete(f"{API}/collections/museum/members/ada")
    assert ada.get(url).status_code == 404 and ada.get(f"{API}/threads").json()["total"] == 0
    assert ada.post(f"{url}/ask", json={"question": QUESTION}).status_code == 404
    root.put(f"{API}/collections/museum/members/ada", json={"role": "reader"})
    assert ada.get(url).status_code == 200
    root.delete(f"{API}/collections/museum")
    assert ada.get(url).status_code == 404
    with Session(fresh.app.state.services.engine) as db:
        assert [*db.scalars(select(Thread)), *db.scalars(select(ThreadCollection))] == []
        assert db.scalars(select(Feedback)).all() == []


def test_collections_of_different_embedding_models_are_not_asked_together(
    fresh: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pier", "museum"):
        add(fresh, name, FERRIES)
    monkeypatch.setattr(answering, "UnitedIndex", mock.Mock(side_effect=IndexMismatchError("the names")))
    asked = {"question": QUESTION, "collections": ["pier", "museum"]}
    refused = fresh.post(f"{API}/ask", json=asked)
    assert (refused.status_code, refused.json()["type"]) == (409, "models_differ")
    assert "Ask them one at a time" in refused.json()["detail"]
