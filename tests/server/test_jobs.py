"""Jobs: taken up again where a worker died, given up after some attempts, cancelled, followed."""

import asyncio
import json
import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack
from io import StringIO
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event, select
from sqlalchemy.orm import Session

from adaptive_rag.context import make_context
from adaptive_rag.index import Index, IndexReport, Progress
from adaptive_rag.index.plan import Work
from adaptive_rag.ingest import Failure, SourceFile
from adaptive_rag.ingest.documents import Note
from adaptive_rag.server import folders, indexing, workers
from adaptive_rag.server.folders import CollectionFolder
from adaptive_rag.server.followers import MOST_PER_PERSON, POLL_SECONDS
from adaptive_rag.server.indexing import make_indexing_settings
from adaptive_rag.server.requests import log_as_json, log_as_text
from adaptive_rag.server.roles import Role
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Collection, Document, Job, JobState
from tests.server.conftest import Serve, add_user, do_after, work
from tests.server.processes import wait_for
from tests.server.test_documents import FERRY, TIDE, URL, archive, upload


@pytest.fixture
def client(serve: Serve) -> Iterator[TestClient]:
    """Serve with an empty collection."""
    with serve(collection="tides") as client:
        yield client


def job_of(client: TestClient, job_id: str) -> Any:
    return client.get(f"{URL}/jobs/{job_id}").json()


def change(client: TestClient, job_id: str, **values: Any) -> None:
    with Session(client.app.state.services.engine) as db:
        for name, value in values.items():
            setattr(db.get(Job, job_id), name, value)
        db.commit()


def test_a_job_whose_worker_died_is_taken_up_again(client: TestClient) -> None:
    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    change(client, job["id"], state=JobState.RUNNING, attempts=1)
    work(client)
    assert (job_of(client, job["id"])["state"], job_of(client, job["id"])["attempts"]) == ("done", 2)


def test_a_worker_that_cannot_be_started_is_started_in_a_later_round(monkeypatch: pytest.MonkeyPatch) -> None:
    def start() -> Any:
        tries.append(None)
        if len(tries) == 1:
            raise OSError("Cannot allocate memory")
        return SimpleNamespace(is_alive=lambda: True)

    async def watch() -> None:
        crew: list[Any] = [SimpleNamespace(is_alive=lambda: False, exitcode=-9)]
        replacing = asyncio.ensure_future(workers._replace_dead_workers(crew, start))
        while not (crew[0].is_alive() or replacing.done()):
            await asyncio.sleep(0.01)
        assert crew[0].is_alive()
        replacing.cancel()

    tries = list[None]()
    monkeypatch.setattr(workers, "_WATCH_SECONDS", 0.01)
    asyncio.run(watch())


def test_the_workers_of_a_server_log_as_it_does(monkeypatch: pytest.MonkeyPatch, log: StringIO) -> None:
    async def supervise() -> None:
        async with workers.supervise_workers(settings, make_indexing_settings(settings, make_context({}))):
            pass

    def make_process(*, args: tuple[Any, ...], **_: Any) -> SimpleNamespace:
        set_ups.append(args[-1])
        return SimpleNamespace(start=int, terminate=int, join=int, is_alive=lambda: False)

    set_ups, settings = list[Any](), ServerSettings(workers=1)
    monkeypatch.setattr(
        workers.multiprocessing, "get_context", lambda _: SimpleNamespace(Process=make_process)
    )
    asyncio.run(supervise())
    logging.root.handlers.clear()
    asyncio.run(supervise())
    assert set_ups == [log_as_json, log_as_text]


def test_a_folder_that_cannot_be_used_holds_up_no_other_collection(client: TestClient) -> None:
    client.post("/api/v1/collections", json={"name": "older"}).raise_for_status()
    services = client.app.state.services
    with Session(services.engine) as db:
        row = db.scalars(select(Collection).filter_by(name="older")).one()
        db.add(Job(collection_id=row.id, kind="rebuild"))
        db.commit()
        services.folder_of(row).path.parent.mkdir(exist_ok=True)
        services.folder_of(row).path.write_text("a file where the folder should be")
    job = upload(client, {"ferry.md": FERRY}).json()["job"]["id"]
    with pytest.raises(FileExistsError):
        work(client)
    assert job_of(client, job)["state"] == "done"


def test_a_job_that_kills_its_workers_is_given_up_and_says_so(client: TestClient) -> None:
    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    change(client, job["id"], state=JobState.RUNNING, attempts=indexing.MOST_ATTEMPTS)
    work(client)
    shown = job_of(client, job["id"])
    assert (shown["state"], "5 times" in shown["error"]) == ("failed", True)
    [row] = client.get(f"{URL}/documents").json()["items"]
    assert (row["state"], "given up" in row["problem"]) == ("failed", True)
    client.post(f"{URL}/documents/{row['id']}/reindex")
    work(client)
    assert client.get(f"{URL}/documents/{row['id']}").json()["state"] == "indexed"


def test_a_job_is_cancelled_before_and_while_it_runs(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = upload(client, {"ferry.md": FERRY}).json()["job"]
    assert client.post(f"{URL}/jobs/{first['id']}/cancel").json()["is_cancelled"]
    second = upload(client, {"tides.md": TIDE}).json()["job"]
    monkeypatch.setattr(indexing, "PROGRESS_SECONDS", 0)
    seen = []

    def cancel_it(run: Any, progress: Progress) -> None:
        if progress.done:  # not while it waits for the file
            seen.append(progress)
            client.post(f"{URL}/jobs/{second['id']}/cancel")
        real(run, progress)

    real = indexing._JobTurn._report_progress
    monkeypatch.setattr(indexing._JobTurn, "_report_progress", cancel_it)
    work(client)
    assert seen
    assert [job_of(client, job["id"])["state"] for job in (first, second)] == ["cancelled", "cancelled"]
    states = [row["state"] for row in client.get(f"{URL}/documents").json()["items"]]
    assert states == ["failed", "indexed"]  # what was complete when the second was cancelled stays


def test_a_job_is_cancelled_while_it_reads_a_long_file(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    stopped = list[bool]()

    def read(item: Work, stop: Event) -> Failure:
        change(client, job["id"], is_cancelled=True)
        stopped.append(stop.wait(20))
        return Failure(item.source, "was not read")

    monkeypatch.setattr(Work, "read", read)
    work(client)
    assert (stopped, job_of(client, job["id"])["state"]) == ([True], "cancelled")


def test_a_collection_that_is_deleted_while_its_job_runs_is_no_fault(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def delete_it(run: Any, progress: Progress) -> None:
        client.delete(URL)
        real(run, progress)

    upload(client, {"ferry.md": FERRY})
    real = indexing._JobTurn._report_progress
    monkeypatch.setattr(indexing._JobTurn, "_report_progress", delete_it)
    work(client)
    assert client.get(URL).status_code == 404
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_list_says_which_documents_a_job_is_reading(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(client, {"ferry.md": FERRY})
    listed = list[dict[str, Any]]()

    def look(run: Any, progress: Progress) -> None:
        if not listed:
            upload(client, {"tides.md": TIDE})
            listed.extend(client.get(f"{URL}/documents").json()["items"])

    monkeypatch.setattr(indexing._JobTurn, "_report_progress", look)
    work(client)
    assert [(row["name"], row["state"], row["is_being_indexed"]) for row in listed] == [
        ("ferry.md", "waiting", True),
        ("tides.md", "waiting", False),
    ]
    assert not any(row["is_being_indexed"] for row in client.get(f"{URL}/documents").json()["items"])


def index_of(client: TestClient) -> set[str]:
    services = client.app.state.services
    with Session(services.engine) as db:
        collection = db.scalars(select(Collection)).one()
        assert collection.hidden == []
        return set(indexing.indexed_sources(services.folder_of(collection).index))


def test_a_very_long_reason_or_note_is_cut_before_it_is_stored(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "long" * 1000
    report = IndexReport(failed=[Failure("a.zip/tide.md", long)], notes=[Note("a.zip", long)])
    monkeypatch.setattr(indexing.Index, "build", lambda *_, **__: report)
    job = upload(client, {"a.zip": archive(tide=TIDE)}).json()["job"]
    work(client)
    [problem] = job_of(client, job["id"])["problems"]
    [row] = client.get(f"{URL}/documents").json()["items"]
    stored = [problem["problem"], row["problem"], *row["notes"]]
    assert [len(text) for text in stored] == [2000, 2000, 2000]


@pytest.mark.parametrize(("error", "state"), [(indexing.Cancelled, "cancelled"), (OSError, "failed")])
def test_a_job_that_ends_early_records_what_it_has_indexed_and_removes_replaced_text(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], state: str
) -> None:
    def build_part(files: list[SourceFile], *args: Any, **options: Any) -> None:
        real([file for file in files if file.source in ("ferry.md", "read.zip")], *args, **options)
        raise error("/secret/place")

    old = archive(old=TIDE)
    upload(client, {"ferry.md": FERRY, "tides.md": TIDE, "unread.zip": old})
    work(client)
    real = Index.build
    monkeypatch.setattr(indexing.Index, "build", build_part)
    new = archive(new=FERRY + TIDE)
    files: dict[str, str | bytes] = {"ferry.md": FERRY + TIDE, "tides.md": TIDE + FERRY, "new.md": FERRY}
    job = upload(client, {**files, "read.zip": new, "unread.zip": new}).json()["job"]
    work(client)
    shown = job_of(client, job["id"])
    assert (shown["state"], "secret" in json.dumps(shown)) == (state, False)
    assert ("reference" in str(shown["error"])) == (state == "failed")
    rows = {row["name"]: row for row in client.get(f"{URL}/documents").json()["items"]}
    assert {name for name, row in rows.items() if row["state"] == "indexed"} == {"ferry.md", "read.zip"}
    assert rows["ferry.md"]["problem"] is None
    assert "in part" in rows["read.zip"]["problem"] and "not indexed" in rows["tides.md"]["problem"]
    assert index_of(client) == {"ferry.md", "read.zip/new.md"}
    monkeypatch.setattr(indexing.Index, "build", real)
    for row in rows.values():
        client.post(f"{URL}/documents/{row['id']}/reindex")
    work(client)
    rows = {row["name"]: row for row in client.get(f"{URL}/documents").json()["items"]}
    assert {row["problem"] for row in rows.values()} == {None}
    assert index_of(client) == {*files, "read.zip/new.md", "unread.zip/new.md"}


@pytest.mark.parametrize("values", [{"is_cancelled": True}, {"attempts": indexing.MOST_ATTEMPTS}])
def test_replaced_text_is_hidden_once_its_job_is_ended_before_it_has_begun(
    client: TestClient, values: dict[str, Any]
) -> None:
    upload(client, {"ferry.md": FERRY})
    work(client)
    job = upload(client, {"ferry.md": "# Ferry\n\nIt is closed.\n"}).json()["job"]
    change(client, job["id"], **values)
    services = client.app.state.services
    with Session(services.engine) as db:
        folder = services.folder_of(db.scalars(select(Collection)).one())
        person = db.get_one(Job, job["id"]).asked_by
    assert indexing._start_next_job(services.engine, folder, person) is None
    with Session(services.engine) as db:
        assert db.scalars(select(Collection)).one().hidden == ["ferry.md"]
        assert {row.kind for row in db.scalars(select(Job))} == {"index", "remove"}
    assert not client.post(f"{URL}/ask", json={"question": "When does the ferry leave?"}).json()["citations"]
    work(client)
    assert index_of(client) == set()


def test_a_job_whose_collection_is_being_changed_for_long_is_done_afterwards(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change_for_long() -> None:
        [place] = (client.app.state.services.settings.data / "collections").iterdir()
        with CollectionFolder(place).lock_documents():
            begun.set()
            time.sleep(0.5)

    def change_meanwhile(_: object) -> None:
        Thread(target=change_for_long).start()
        assert begun.wait(60)

    job, begun = upload(client, {"ferry.md": FERRY}).json()["job"], Event()
    monkeypatch.setattr(folders, "LOCK_SECONDS", 0)
    do_after(monkeypatch, Index, "build", change_meanwhile)
    work(client)
    assert job_of(client, job["id"])["state"] == "done"


def test_a_document_that_another_job_will_read_waits_for_it(client: TestClient) -> None:
    upload(client, {"ferry.md": FERRY})
    work(client)
    first = upload(client, {"ferry.md": TIDE}).json()["job"]
    upload(client, {"ferry.md": TIDE + FERRY})
    client.post(f"{URL}/jobs/{first['id']}/cancel")
    work(client)
    assert [job["kind"] for job in client.get(f"{URL}/jobs").json()["items"]] == ["index"] * 3
    [row] = client.get(f"{URL}/documents").json()["items"]
    assert (row["state"], row["problem"]) == ("indexed", None)


def test_of_many_jobs_of_a_person_only_the_next_is_loaded(client: TestClient) -> None:
    engine = client.app.state.services.engine
    with Session(engine) as db:
        [row] = db.scalars(select(Collection))
        details: dict[str, Any] = {"documents": []}
        db.add_all(Job(collection_id=row.id, kind="index", details=details) for _ in range(300))
        db.commit()
        folder = folders.folder_of(client.app.state.services.settings.data, row.id)
    loaded = list[Job]()

    def note(job: Job, _: Any) -> None:
        loaded.append(job)

    event.listen(Job, "load", note)
    assert indexing._start_next_job(engine, folder, None)
    event.remove(Job, "load", note)
    assert len(loaded) == 1


def test_a_worker_that_is_stopped_hands_its_job_back(client: TestClient) -> None:
    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    services = client.app.state.services
    asked = iter([False])
    workshop = indexing.make_indexing_settings(services.settings, services.operator)
    indexing.run_waiting_jobs(workshop, services.engine, lambda: next(asked, True))
    assert (job_of(client, job["id"])["state"], job_of(client, job["id"])["attempts"]) == ("queued", 0)
    work(client)
    assert job_of(client, job["id"])["state"] == "done"


def test_a_job_is_followed_to_its_end(client: TestClient) -> None:
    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    with client.stream("GET", f"{URL}/jobs/{job['id']}/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.iter_lines()
        assert next(lines) == "event: progress"
        work(client)
        rest = [line for line in lines if line]
    assert rest[-2] == "event: end"
    assert json.loads(rest[-1].removeprefix("data: "))["state"] == "done"


def test_who_is_put_out_of_a_collection_follows_its_jobs_no_longer(client: TestClient) -> None:
    root = add_user(client, "root", is_admin=True)
    bob = add_user(client, "bob", tides=Role.READER)
    job = root.post(f"{URL}/documents", files=[("files", ("ferry.md", FERRY))]).json()["job"]
    stream = f"{URL}/jobs/{job['id']}/events"
    with bob.stream("GET", stream) as gone, root.stream("GET", stream) as stays:
        lines, others = gone.iter_lines(), stays.iter_lines()
        assert next(lines) == next(others) == "event: progress"
        assert root.delete(f"{URL}/members/bob").status_code == 204
        work(client)
        assert [line for line in lines if line][-2:] == ["event: end", "data: {}"]
        assert '"state":"done"' in [line for line in others if line][-1].replace(" ", "")
    assert bob.get(stream).status_code == 404


@pytest.mark.nightly
def test_a_job_is_looked_at_once_for_all_who_follow_it_and_one_follows_so_many(client: TestClient) -> None:
    job = upload(client, {"ferry.md": FERRY}).json()["job"]
    stream = f"{URL}/jobs/{job['id']}/events"
    asked: list[str] = []
    with ExitStack() as streams:
        opened = [streams.enter_context(client.stream("GET", stream)) for _ in range(MOST_PER_PERSON)]
        followed = [response.iter_lines() for response in opened]
        assert {next(lines) for lines in followed} == {"event: progress"}
        refused = client.get(stream)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "10")
        time.sleep(2 * POLL_SECONDS)  # until each was looked at for the first time
        event.listen(
            client.app.state.services.engine,
            "before_cursor_execute",
            lambda connection, cursor, statement, *_: asked.append(statement),
        )
        time.sleep(5 * POLL_SECONDS)
        assert 2 <= len(asked) <= 6
        client.post(f"{URL}/jobs/{job['id']}/cancel")
        work(client)
        assert '"state":"cancelled"' in [line for line in followed[0] if line][-1].replace(" ", "")
    wait_for(lambda: client.get(stream).status_code == 200, "the streams are closed", 10)


def test_a_list_of_jobs_leaves_out_their_problems_which_may_have_megabytes(client: TestClient) -> None:
    job = upload(client, {"bad.pdf": "no PDF"}).json()["job"]
    work(client)
    assert [problem["document"] for problem in job_of(client, job["id"])["problems"]] == ["bad.pdf"]
    [listed] = client.get(f"{URL}/jobs").json()["items"]
    assert listed == {**job_of(client, job["id"]), "problems": []}


def test_jobs_are_listed_newest_first(client: TestClient) -> None:
    for name in ("a.md", "b.md"):
        upload(client, {name: FERRY})
    listed = client.get(f"{URL}/jobs").json()
    assert listed["total"] == 2
    assert listed["items"][0]["created"] > listed["items"][1]["created"]
    assert client.get(f"{URL}/jobs", params={"state": "done"}).json()["total"] == 0
    assert client.get(f"{URL}/jobs/none").status_code == 404


def test_the_files_of_archives_that_cannot_be_read_are_recorded_in_linear_time() -> None:
    archives = [Document(id=str(i), name=f"{i}.zip", digest="") for i in range(50)]
    failed = [Failure(f"{i % 50}.zip/{'letters/' * 100}{i}.pdf", "is empty") for i in range(4_000)]
    db: Any = SimpleNamespace(get=lambda _, row_id: archives[int(row_id)])
    started = time.process_time()
    problems = indexing._record_documents(db, archives, IndexReport(failed=failed), {})
    assert len(problems) == 4_000 and all(row.problem.startswith(f"{row.name}/") for row in archives)
    assert time.process_time() - started < 3
