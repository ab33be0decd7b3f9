"""A question by REST: answered with citations, within what a caller may set."""

from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import Manifest, Settings
from adaptive_rag.server.tables import Collection
from adaptive_rag.testing import ScriptedChatModel
from tests.server.conftest import Serve

URL = "/api/v1/collections/samples/ask"
QUESTION = {"question": "What is the highest water level ever recorded at Pellhythe?"}


def test_an_answer_has_citations_and_says_which_way_it_went(client: TestClient) -> None:
    answer = client.post(URL, json={**QUESTION, "settings": {"k": 3}}).json()
    assert "[1]" in answer["answer"]
    assert answer["query_type"] == "factual"
    assert answer["citations"][0]["quote"]
    assert len(answer["documents"]) <= 3
    assert answer["trace"][0]["step"] == "classify"


def test_an_empty_collection_says_that_it_is_empty(fresh: TestClient) -> None:
    fresh.post("/api/v1/collections", json={"name": "samples"})
    refused = fresh.post(URL, json=QUESTION)
    assert (refused.status_code, refused.json()["title"]) == (409, "Conflict")
    assert "no documents" in refused.json()["detail"]


def test_a_collection_whose_first_documents_are_being_indexed_says_so(fresh: TestClient) -> None:
    fresh.post("/api/v1/collections", json={"name": "samples"})
    services = fresh.app.state.services
    with Session(services.engine) as db:
        place = services.folder_of(db.scalars(select(Collection)).one()).index
    place.mkdir(parents=True)
    made_with = Settings("local:all-MiniLM-L6-v2", 384, 1000, 200, sentence_vectors=True)
    Manifest(made_with, table="chunks-1").publish(open_location(place))
    assert "no documents" in fresh.post(URL, json=QUESTION).json()["detail"]
    fresh.post("/api/v1/collections/samples/documents", files=[("files", ("a.md", "# A\n\nOne."))])
    refused = fresh.post(URL, json=QUESTION)
    assert (refused.status_code, refused.json()["type"]) == (409, "being_indexed")
    assert "1 document of this collection is still being indexed" in refused.json()["detail"]


def test_a_collection_whose_documents_all_wait_says_how_many(fresh: TestClient) -> None:
    fresh.post("/api/v1/collections", json={"name": "samples"})
    files = [("files", (f"{name}.md", f"# {name}\n\nOne.")) for name in "ab"]
    fresh.post("/api/v1/collections/samples/documents", files=files)
    refused = fresh.post(URL, json=QUESTION).json()
    assert refused["type"] == "being_indexed"
    assert refused["detail"].startswith("2 documents of this collection are still being indexed.")


def test_a_question_that_comes_while_the_server_stops_is_refused_at_once(client: TestClient) -> None:
    client.app.state.services.answering.stop()
    refused = client.post(URL, json={"question": "When?"})
    assert (refused.status_code, refused.json()["detail"]) == (
        503,
        "The server is being stopped. Ask again in a minute.",
    )


def test_what_a_models_server_says_is_read_in_the_log_alone(serve_samples: Serve) -> None:
    model = ScriptedChatModel(script={"generate": RuntimeError("10.0.0.5 refused the key XYZ-1")})
    with serve_samples({"model": model}) as client:
        for way in (URL, f"{URL}/events"):
            answer = client.post(way, json=QUESTION)
            assert answer.status_code == 200 and "the server's log says why" in answer.text
            assert "10.0.0.5" not in answer.text and "XYZ-1" not in answer.text
