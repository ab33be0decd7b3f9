"""Notes at the words of documents: each person's own, found again by their words."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from adaptive_rag.server import quotas
from adaptive_rag.server.quotes import Quote, find_quotes
from adaptive_rag.server.roles import Role
from adaptive_rag.server.tables import Note
from adaptive_rag.state import Chunk
from tests.server.conftest import Serve, add_user, work

URL = "/api/v1/collections/tides/documents"
FERRY = "# Ferry\n\nThe ferry to Grauholm leaves at 7:45 from the east quay.\n\n## Fares\n\n4 euros.\n"
WORDS = "leaves at 7:45"


def upload(client: TestClient, content: str, name: str = "ferry.md") -> str:
    client.post(URL, files=[("files", (name, content))]).raise_for_status()
    work(client)
    [row] = client.get(URL, params={"source": name}).json()["items"]
    return str(row["id"])


def note(words: str, text: str, content: str = FERRY) -> dict[str, Any]:
    start = content.index(words)
    return {"source": "ferry.md", "start": start, "end": start + len(words), "text": text}


def kept(client: TestClient) -> int:
    engine = client.app.state.services.engine
    with Session(engine) as db:
        return db.scalar(select(func.count()).select_from(Note)) or 0


def test_a_note_is_written_changed_and_deleted_by_its_writer_alone(fresh: TestClient) -> None:
    fresh.post("/api/v1/collections", json={"name": "tides"})
    notes = f"{URL}/{upload(fresh, FERRY)}/notes"
    ann, ben = (add_user(fresh, name, tides=Role.READER) for name in ("ann", "ben"))
    written = ann.post(notes, json=note(f" {WORDS} ", "Too early?"))
    assert written.status_code == 201, written.text
    mine = written.json()
    assert (mine["quote"], mine["place"]["section"]) == (WORDS, "Ferry")
    assert FERRY[mine["start"] : mine["end"]] == WORDS
    assert ann.get(notes).json() == {"items": [mine], "total": 1}
    # Nobody else has it, whatever their role, and nobody finds the document by it.
    root = add_user(fresh, "root", is_admin=True)
    for other in (ben, root):
        assert other.get(notes).json()["total"] == 0
        assert other.patch(f"{notes}/{mine['id']}", json={"text": "Mine"}).status_code == 404
        assert other.delete(f"{notes}/{mine['id']}").status_code == 404
        assert other.get(URL, params={"search": "early"}).json()["total"] == 0
    [found] = ann.get(URL, params={"search": "EARLY"}).json()["items"]
    assert (found["name"], found["found_note"]) == ("ferry.md", "Too early?")
    assert ann.get(URL, params={"search": "ferry"}).json()["items"][0]["found_note"] is None
    changed = ann.patch(f"{notes}/{mine['id']}", json={"text": " Too late. "}).json()
    assert (changed["text"], changed["start"]) == ("Too late.", mine["start"])
    assert ann.delete(f"{notes}/{mine['id']}").status_code == 204
    assert ann.get(notes).json()["total"] == kept(fresh) == 0


def test_a_note_is_found_again_by_its_words_and_says_when_they_are_gone(fresh: TestClient) -> None:
    fresh.post("/api/v1/collections", json={"name": "tides"})
    notes = f"{URL}/{upload(fresh, FERRY)}/notes"
    for words in (WORDS, "4 euros"):
        assert fresh.post(notes, json=note(words, words)).status_code == 201
    # Words as a page shows them, with what stands between their letters left out.
    shown = {"source": "ferry.md", "start": 0, "end": 0, "quote": "east   QUAY. Fares", "text": "?"}
    assert fresh.post(notes, json=shown).json()["quote"] == "east quay.\n\n## Fares"
    for wrong in ({"quote": "west quay"}, {"start": 7, "end": 9}, {"start": 999}, {"source": "x.md"}):
        assert fresh.post(notes, json=shown | {"quote": ""} | wrong).status_code in (404, 422)
    # Whether there is the document comes before what is wrong with the note, as with all that a path names.
    assert fresh.post(f"{URL}/{'0' * 32}/notes", json={"text": ""}).status_code == 404
    assert fresh.post(notes, json={"text": ""}).status_code == 422
    moved = "# Boats\n\nThere are two boats.\n\n# Ferry\n\nIt leaves\nat 7:45, as ever. A ride is free.\n"
    assert notes == f"{URL}/{upload(fresh, moved)}/notes"
    first, second, third = fresh.get(notes).json()["items"]
    assert moved[first["start"] : first["end"]] == "leaves\nat 7:45"
    assert first["quote"] == WORDS
    assert (second["start"], second["place"]) == (third["start"], third["end"]) == (None, None)
    assert second["quote"] == "east quay.\n\n## Fares"


def test_notes_go_with_their_document_collection_and_writer(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(quotas.QUOTAS, "notes", quotas.QUOTAS["notes"]._replace(most=3))
    with serve() as here:
        root = add_user(here, "root", is_admin=True)
        for name in ("tides", "other"):
            root.post("/api/v1/collections", json={"name": name})
        ids = [upload(root, FERRY), upload(root, FERRY, "copy.md")]
        ann = add_user(here, "ann", tides=Role.READER)
        for document, source in zip(ids, ("ferry.md", "copy.md"), strict=True):
            for person in (root, ann):
                written = person.post(f"{URL}/{document}/notes", json=note(WORDS, "!") | {"source": source})
                assert written.status_code == 201, written.text
        assert ann.post(f"{URL}/{ids[0]}/notes", json=note(WORDS, "!")).status_code == 201
        refused = ann.post(f"{URL}/{ids[0]}/notes", json=note(WORDS, "!"))
        assert refused.status_code == 413 and refused.json()["detail"].startswith("A person may keep 3 notes")
        assert kept(here) == 5
        root.delete(f"{URL}/{ids[0]}").raise_for_status()
        assert kept(here) == 2
        root.delete("/api/v1/users/ann").raise_for_status()
        assert kept(here) == 1
        root.delete("/api/v1/collections/tides").raise_for_status()
        assert kept(here) == 0


def chunk(start: int, text: str) -> Chunk:
    return {"id": str(start), "text": text, "source": "a.md", "page": None, "section": None, "start": start,
            "end": start + len(text), "metadata": {}}  # fmt: skip


def test_of_several_places_the_nearest_is_found() -> None:
    chunks = [chunk(0, "The İ mark. The ma-\nrk."), chunk(30, "THE MARK!")]
    quotes = [Quote("the mark", near) for near in (0, 20, 40)] + [Quote("…", 0), Quote("the marks", 0)]
    spans = find_quotes(chunks, [*quotes, Quote("the mark", 14, is_after=True)])
    assert spans == [(12, 22), (12, 22), (30, 38), None, None, (30, 38)]
