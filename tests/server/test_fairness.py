"""One person does not take the places of all others."""

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from adaptive_rag import Index
from adaptive_rag.index import IndexReport
from adaptive_rag.ingest import SourceFile
from adaptive_rag.server import indexing
from adaptive_rag.server.gate import Turns
from adaptive_rag.server.roles import Role
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Document, Job, JobState
from adaptive_rag.testing import ScriptedChatModel
from tests.server.conftest import SAMPLES, Serve, add_user, work
from tests.server.test_documents import FERRY, URL, upload
from tests.server.test_mcp import call

QUESTION = {"question": "What is the highest water level ever recorded?"}
ASK = f"/api/v1/collections/{SAMPLES}/ask"
CHAT = {"model": SAMPLES, "messages": [{"role": "user", "content": QUESTION["question"]}]}


@pytest.mark.few(1)
@pytest.mark.parametrize("door", ["ask", "ask/events", "/v1/chat/completions"])
def test_one_more_question_of_a_person_is_refused_and_others_are_answered(
    serve_samples: Serve, door: str
) -> None:
    with serve_samples({"model": ScriptedChatModel(seconds=1)}, max_per_person=2) as client:
        ada, bob = (add_user(client, name, samples=Role.READER) for name in ("ada", "bob"))
        together = threading.Barrier(4)

        def send(_: int) -> tuple[int, str | None]:
            together.wait(10)
            chat = door.startswith("/v1")
            url, body = (door, CHAT) if chat else (ASK.replace("ask", door), QUESTION)
            answer = ada.post(url, json=body)
            return answer.status_code, answer.headers.get("retry-after")

        with ThreadPoolExecutor(5) as pool:
            asked = pool.map(send, range(4))
            other = pool.submit(bob.post, ASK, json=QUESTION)
            assert sorted(asked) == [(200, None), (200, None), (429, "5"), (429, "5")]
            assert other.result().status_code == 200
        assert ada.post(ASK, json=QUESTION).status_code == 200


def test_a_caller_has_one_turn_at_a_time_and_all_callers_together_have_so_many() -> None:
    running, seen, lock, are_two = Counter[str](), list[Counter[str]](), threading.Lock(), threading.Event()

    def read(name: str) -> str:
        with lock:
            running[name] += 1
            seen.append(running.copy())
            if running.total() == 2:
                are_two.set()
        assert are_two.wait(60)
        with lock:
            running[name] -= 1
        return name

    async def read_all() -> None:
        reads, names = Turns(2), ["ada"] * 4 + ["bob", "eve"]
        assert await asyncio.gather(*(reads.run(name, read, name) for name in names)) == names

    asyncio.run(read_all())
    assert max(each.total() for each in seen) == 2
    assert max(max(each.values()) for each in seen) == 1


def test_what_takes_much_time_or_memory_waits_for_the_callers_turn(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def record(reads: Turns, caller_id: str, read: Any, *arguments: Any) -> Any:
        ran.append(caller_id)
        return await run(reads, caller_id, read, *arguments)

    def took_one_turn(answer: Any) -> Any:
        assert (answer.is_success, len(ran)) == (True, 1), answer.url
        ran.clear()
        return answer

    ran, run = list[str](), Turns.run
    monkeypatch.setattr(Turns, "run", record)
    with serve(collection="tides") as client:
        took_one_turn(upload(client, {"ferry.md": FERRY}))
        work(client)
        [row] = client.get(f"{URL}/documents").json()["items"]
        document = f"{URL}/documents/{row['id']}"
        for path in (
            f"{document}/text", f"{document}/outline", f"{document}/notes", f"{URL}/questions",
            "/api/v1/threads?search=a", "/api/v1/fields?collection=tides",
        ):  # fmt: skip
            took_one_turn(client.get(path))
        note = {"source": "ferry.md", "start": 0, "end": 5, "text": "Too early?"}
        written = took_one_turn(client.post(f"{document}/notes", json=note)).json()["id"]
        took_one_turn(client.patch(f"{document}/notes/{written}", json={"text": "Too late."}))
        assert "7:45" in call(client, "read_document", document="ferry.md")["structuredContent"]["text"]
        assert len(ran) == 1
        ran.clear()
        took_one_turn(client.delete(document))


@pytest.mark.nightly
def test_ones_many_files_are_indexed_in_turn_with_others_uploads(serve: Serve) -> None:
    with serve() as client:
        for name in ("shared", "other"):
            client.post("/api/v1/collections", json={"name": name})
        ada = add_user(client, "ada", shared=Role.WRITER)
        bob = add_user(client, "bob", other=Role.WRITER)
        eve = add_user(client, "eve", shared=Role.WRITER)

        def upload(person: TestClient, collection: str, name: str) -> None:
            form = {"files": (name, f"# {name}\n\nThe ferry {name} leaves at 7:45.\n")}
            answer = person.post(f"/api/v1/collections/{collection}/documents", files=form)
            assert answer.status_code == 202, answer.text

        for number in range(8):
            upload(ada, "shared", f"ada{number}.md")
        upload(bob, "other", "bob0.md")
        upload(eve, "shared", "eve0.md")
        upload(bob, "other", "bob1.md")
        work(client)
        with Session(client.app.state.services.engine) as db:
            jobs = db.scalars(select(Job).order_by(Job.started)).all()
            names = [db.get_one(Document, job.details["documents"][0]).name for job in jobs]
            assert {job.state for job in jobs} == {JobState.DONE}
    assert names == [
        "ada0.md", "bob0.md", "eve0.md", "ada1.md", "bob1.md", *(f"ada{number}.md" for number in range(2, 8)),
    ]  # fmt: skip


def test_many_files_of_one_upload_are_indexed_in_turns(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "DOCUMENTS_PER_TURN", 3)
    turns = list[list[str]]()
    build = Index.build

    def note_turn(documents: list[SourceFile], *args: Any, **given: Any) -> IndexReport:
        turns.append([document.source for document in documents])
        if len(turns) == 3:
            raise OperationalError("", None, Exception("the database is gone for a moment"))
        return build(documents, *args, **given)

    monkeypatch.setattr(Index, "build", note_turn)
    with serve() as client:
        for name in ("shared", "other"):
            client.post("/api/v1/collections", json={"name": name})
        ada = add_user(client, "ada", shared=Role.WRITER)
        bob = add_user(client, "bob", other=Role.WRITER)
        texts = {f"{number}.md": f"# {number}\n\nThe ferry {number} leaves at 7:45.\n" for number in range(8)}
        bad = ("bad.pdf", "no.pdf")
        no_pdf = dict.fromkeys(bad, "x" * len(texts["0.md"]))
        files = [("files", (name, text)) for name, text in (texts | no_pdf).items()]
        job = ada.post("/api/v1/collections/shared/documents", files=files).json()["job"]["id"]
        bob.post("/api/v1/collections/other/documents", files=[("files", ("bob.md", "The quay."))])
        with pytest.raises(OperationalError):
            work(client)
        shown = ada.get(f"/api/v1/collections/shared/jobs/{job}").json()
        assert (shown["state"], shown["done"], shown["total"]) == ("running", 3, 10)
        started = shown["started"]
        work(client)  # as who takes it up again
        shown = ada.get(f"/api/v1/collections/shared/jobs/{job}").json()
        assert (shown["state"], shown["done"], shown["total"], shown["attempts"]) == ("done", 8, 8, 1)
        assert shown["started"] == started
        assert sorted(problem["document"] for problem in shown["problems"]) == ["bad.pdf", "no.pdf"]
        listed = client_items(ada, "/api/v1/collections/shared/documents")
        states = {row["name"]: (row["state"], row["chunks"]) for row in listed}
    assert states == dict.fromkeys(texts, ("indexed", 1)) | dict.fromkeys(bad, ("failed", None))
    assert sorted(map(len, turns)) == [1, 1, 3, 3, 3, 3]
    assert turns[1] == ["bob.md"] and turns[2] == turns[3]


def test_small_files_of_an_upload_are_done_before_a_large_one(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "BYTES_PER_TURN", 100)
    turns, build = list[list[str]](), Index.build

    def note_turn(documents: list[SourceFile], *args: Any, **given: Any) -> IndexReport:
        turns.append([document.source for document in documents])
        return build(documents, *args, **given)

    monkeypatch.setattr(Index, "build", note_turn)
    with serve() as client:
        client.post("/api/v1/collections", json={"name": "tides"})
        upload(client, {"log.md": FERRY * 20, "first.md": "The quay.", "second.md": "The pier."})
        work(client)
        [job] = client_items(client, f"{URL}/jobs")
    assert [sorted(turn) for turn in turns] == [["first.md", "second.md"], ["log.md"]]
    assert job["state"] == "done"


def test_the_workers_index_different_collections_side_by_side(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, build = threading.Barrier(2), Index.build

    def meet(*args: Any, **given: Any) -> IndexReport:
        both.wait(60)
        return build(*args, **given)

    monkeypatch.setattr(Index, "build", meet)
    with serve() as client, ThreadPoolExecutor() as pool:
        for collection in ("tides", "other"):
            client.post("/api/v1/collections", json={"name": collection})
            files = {"files": ("ferry.md", FERRY)}
            client.post(f"/api/v1/collections/{collection}/documents", files=files).raise_for_status()
        for _ in pool.map(work, [client] * ServerSettings.model_fields["workers"].default):
            pass
        with Session(client.app.state.services.engine) as db:
            assert [job.state for job in db.scalars(select(Job))] == [JobState.DONE] * 2


def test_a_collections_bound_holds_while_no_worker_runs(serve: Serve) -> None:
    with serve(max_collection_megabytes=2, collection="samples") as client:
        writer = add_user(client, "writer", samples=Role.WRITER)
        documents = "/api/v1/collections/samples/documents"

        def upload(number: int) -> httpx.Response:
            text = f"Number {number}. " + "The ferry leaves at 7:45. " * 50_000  # 1.3 MB
            return writer.post(documents, files={"files": ("ferry.txt", text)})

        answers = [upload(number) for number in range(6)]
        assert [answer.status_code for answer in answers] == [202, 202, 413, 413, 413, 413]
        assert "1.3 MB of them were replaced or deleted" in answers[-1].json()["detail"]
        kept = (client.app.state.services.settings.data / "collections").rglob("ferry.txt")
        assert sum(path.stat().st_size for path in kept) < 3_000_000
        # deleted and not cleared yet: still on the disk
        [row] = client_items(writer, documents)
        writer.delete(f"{documents}/{row['id']}").raise_for_status()
        assert upload(6).status_code == 413
        work(client)
        assert upload(7).status_code == 202


def client_items(client: TestClient, path: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = client.get(path).json()["items"]
    return items


@pytest.mark.nightly
def test_everybody_at_this_machine_is_not_one_person(serve_samples: Serve) -> None:
    slow = {"model": ScriptedChatModel(seconds=1)}
    with serve_samples(slow, max_per_person=1) as client, ThreadPoolExecutor(3) as pool:
        answers = pool.map(lambda _: client.post(ASK, json=QUESTION).status_code, range(3))
        assert list(answers) == [200, 200, 200]
