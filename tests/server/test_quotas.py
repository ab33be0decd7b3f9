"""What somebody may write has bounds: of each field, of each minute, and of all that they keep."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from limits import parse
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.server import quotas, rates
from adaptive_rag.server.roles import Role
from adaptive_rag.server.tables import Collection, Document
from tests.server.conftest import SAMPLES, Serve, add_samples, add_user
from tests.server.test_access import ROUTES, filled

API = "/api/v1"
URL = f"{API}/collections/{SAMPLES}"
OPINION = {"question": "When?", "route": "factual", "is_good": True}
NOTE = {"source": "a.md", "start": 0, "end": 1, "text": "a"}
# Writers and owners also have no rate for these.
UNCOUNTED = {
    "POST /api/v1/collections/{collection}/documents",  # one at a time, up to the size of a collection
    "DELETE /api/v1/collections/{collection}",  # only once
}
# Whatever may be sent by others than admins of the server that could keep something, or a job.
WRITES = [
    route
    for route, (door, _, _) in ROUTES.items()
    if (route.split()[0] in ("POST", "PUT", "PATCH") and door != "root")
    or (route.split()[0] == "DELETE" and door in ("writer", "writer of nothing", "owner"))
    if route not in UNCOUNTED
]


def reader_of(client: TestClient, sample_index: Path) -> TestClient:
    add_samples(client, sample_index)
    return add_user(client, "reader", samples=Role.READER)


def test_whatever_somebody_writes_is_told_to_come_later_when_it_is_too_often(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "RATES", dict.fromkeys(rates.RATES, parse("1/minute")))
    with serve(rate="1/minute", collection=SAMPLES) as client:
        owner = add_user(client, "owner", samples=Role.ADMIN)
        thread = owner.post(f"{URL}/threads", json={}).json()["id"]
        counts = client.app.state.services.rates
        for route in WRITES:
            monkeypatch.setattr(counts, "_windows", rates.Windows())
            method, path = filled(route, thread=thread)
            first = answer = owner.request(method, path, json=ROUTES[route][1])
            for _ in range(11):
                if answer.status_code != 429:
                    answer = owner.request(method, path, json=ROUTES[route][1])
            assert first.status_code != 429, route
            assert answer.status_code == 429, f"{route}: {answer.text}"
            assert int(answer.headers["Retry-After"]) > 0


@pytest.mark.parametrize("path", ["threads?search=tide", "collections/samples/questions"])
def test_who_reads_many_passages_too_often_is_told_to_come_later_and_may_still_list_threads(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setitem(rates.RATES, "heavy read", parse("2/minute"))
    reader = add_user(client, "reader", samples=Role.READER)
    searched = [reader.get(f"{API}/{path}") for _ in range(3)]
    assert [answer.status_code for answer in searched] == [200, 200, 429]
    assert reader.get(f"{API}/threads").status_code == 200


DOCUMENT = "0" * 32
LONG: list[tuple[str, dict[str, Any]]] = [
    ("feedback", OPINION | {"comment": "a" * 2001}),
    ("feedback", OPINION | {"question": "a" * 20_001}),
    ("feedback", OPINION | {"user_context": "a" * 20_001}),
    ("threads", {"title": "a" * 201}),
    (f"documents/{DOCUMENT}/notes", NOTE | {"text": "a" * 4001}),
    (f"documents/{DOCUMENT}/notes", NOTE | {"quote": "a" * 4001}),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("noun", "body"), LONG)
def test_each_field_has_a_bound(serve: Serve, sample_index: Path, noun: str, body: dict[str, Any]) -> None:
    with serve() as client:
        reader = reader_of(client, sample_index)
        with Session(client.app.state.services.engine) as db:
            [collection_id] = db.scalars(select(Collection.id))
            db.add(Document(id=DOCUMENT, collection_id=collection_id, name="a.md", size=1, digest="0"))
            db.commit()
        refused = reader.post(f"{URL}/{noun}", json=body)
    assert refused.status_code == 422
    assert "must have at most" in refused.json()["detail"]


def test_threads_opinions_and_tokens_have_an_end_for_each_person(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {kind: quota._replace(most=3) for kind, quota in quotas.QUOTAS.items()}
    monkeypatch.setattr(quotas, "QUOTAS", few)
    reader = add_user(client, "reader", samples=Role.READER)
    other = add_user(client, "other", samples=Role.READER)
    for path, body, kept in (
        (f"{URL}/threads", {}, 3),
        (f"{URL}/feedback", OPINION, 3),
        (f"{API}/tokens", {"name": "x"}, 2),  # one is that of the reader
    ):
        answers = [reader.post(path, json=body) for _ in range(kept + 1)]
        assert [answer.status_code for answer in answers] == [201] * kept + [413]
        assert answers[-1].json()["detail"].startswith("A person may keep 3 ")
        assert other.post(path, json=body).status_code == 201
    thread = reader.get(f"{API}/threads").json()["items"][0]["id"]
    reader.delete(f"{API}/threads/{thread}")
    assert reader.post(f"{URL}/threads", json={}).status_code == 201


@pytest.mark.nightly
def test_the_texts_of_opinions_have_an_end_for_each_person(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotas, "MOST_CHARACTERS_OF_OPINIONS", 60_000)
    long = OPINION | {"question": "a" * 20_000}
    reader = add_user(client, "reader", samples=Role.READER)
    statuses = [reader.post(f"{URL}/feedback", json=long).status_code for _ in range(4)]
    assert statuses == [201, 201, 413, 413]  # a row has a few characters beside its texts
    data = client.app.state.services.settings.data
    assert sum(path.stat().st_size for path in data.glob("server.sqlite*")) < 3_000_000
    assert reader.post(f"{URL}/feedback", json=OPINION).status_code == 201


def test_a_thread_has_an_end(serve: Serve, sample_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "MOST_TURNS", 1)
    question = {"question": "What is the highest water level ever recorded?"}
    with serve() as client:
        reader = reader_of(client, sample_index)
        thread = reader.post(f"{URL}/threads", json={}).json()["id"]
        assert reader.post(f"{API}/threads/{thread}/ask", json=question).status_code == 200
        refused = reader.post(f"{API}/threads/{thread}/ask", json=question)
        streamed = reader.post(f"{API}/threads/{thread}/ask/events", json=question)
    assert refused.status_code == streamed.status_code == 413
    assert refused.json()["detail"].endswith("Begin another one.")


def test_everybody_at_this_machine_keeps_what_they_like(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = "opinions on answers"
    monkeypatch.setitem(quotas.QUOTAS, kind, quotas.QUOTAS[kind]._replace(most=1))
    monkeypatch.setitem(rates.RATES, "change", parse("1/minute"))
    assert [client.post(f"{URL}/feedback", json=OPINION).status_code for _ in range(3)] == [201] * 3
