"""Documents by REST: uploaded safely, indexed by a job, shown, downloaded, and removed."""

import io
import itertools
import os
import sys
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from anyio import to_thread
from fastapi.testclient import TestClient
from sqlalchemy import Executable, delete, select, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from adaptive_rag.index import Index, IndexReport
from adaptive_rag.server import indexing
from adaptive_rag.server.api.uploads import KEYS_KEPT
from adaptive_rag.server.calls import Call
from adaptive_rag.server.folders import LONGEST_NAME, CollectionFolder
from adaptive_rag.server.tables import Collection, Document, Token, Upload, User
from benchmarks.made_badly import ARCHIVES, OFFICE, PDFS, WORD
from tests.server.conftest import Serve, add_user, do_after, work

URL = "/api/v1/collections/tides"
FERRY = "# Ferry\n\nThe ferry to Grauholm leaves at 7:45 from the east quay.\n"
LEAVES = "When does the ferry to Grauholm leave?"
TIDE = "# Tides\n\nThe highest tide of 1911 stood at 6.2 metres above the mark.\n"


@pytest.fixture
def client(serve: Serve) -> Iterator[TestClient]:
    """Serve with an empty collection."""
    with serve(max_upload_megabytes=1, max_collection_megabytes=2, collection="tides") as client:
        yield client


def upload(client: TestClient, files: dict[str, str | bytes], **headers: str) -> Any:
    form = [("files", (name, content)) for name, content in files.items()]
    return client.post(f"{URL}/documents", files=form, headers=headers)


def files_below(client: TestClient) -> list[str]:
    data = client.app.state.services.settings.data
    places = (data / "collections").rglob("documents/**/*")
    return sorted(place.name for place in places if place.is_file())


def archive(**texts: str) -> bytes:
    """Return a ZIP archive of Markdown files by their names without the suffix."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, text in texts.items():
            file.writestr(f"{name}.md", text)
    return packed.getvalue()


def ask(client: TestClient, question: str) -> Any:
    return client.post(f"{URL}/ask", json={"question": question}).json()


def test_documents_are_uploaded_indexed_and_cited_by_their_names(client: TestClient) -> None:
    accepted = upload(client, {"plans/Fähre.md": FERRY, "tides.md": TIDE})
    assert accepted.status_code == 202, accepted.json()
    assert [row["state"] for row in accepted.json()["documents"]] == ["waiting", "waiting"]
    assert accepted.json()["job"]["state"] == "queued"
    work(client)
    listed = client.get(f"{URL}/documents").json()
    assert [(row["name"], row["state"], row["chunks"]) for row in listed["items"]] == [
        ("plans/Fähre.md", "indexed", 1),
        ("tides.md", "indexed", 1),
    ]
    answer = ask(client, LEAVES)
    assert "7:45" in answer["answer"]
    assert answer["citations"][0]["source"] == "plans/Fähre.md"
    assert client.get(URL).json()["documents"] == 2
    found = client.get(f"{URL}/documents", params={"search": "FÄHRE", "state": "indexed"}).json()
    assert [row["name"] for row in found["items"]] == ["plans/Fähre.md"]
    assert client.get(f"{URL}/documents", params={"state": "failed"}).json()["total"] == 0


def test_a_text_is_what_citations_count_in_and_says_where_its_sections_and_passages_lie(
    client: TestClient,
) -> None:
    upload(client, {"both.md": FERRY + "\n" + TIDE + "\nA line of the tides. " * 200})
    work(client)
    row = client.get(f"{URL}/documents").json()["items"][0]["id"]
    text = client.get(f"{URL}/documents/{row}/text").json()
    outline = client.get(f"{URL}/documents/{row}/outline").json()
    assert (outline["stretches"], outline["length"]) == (text["stretches"], len(text["text"]))
    cited = ask(client, LEAVES)["citations"][0]
    assert text["text"][cited["start"] :].startswith(cited["quote"])
    ferry, tides = outline["stretches"]
    assert (ferry["section"], ferry["start"], tides["section"]) == ("Ferry", 0, "Tides")
    assert text["text"][tides["start"] :].startswith("# Tides")
    assert (ferry["end"], tides["end"]) == (tides["start"], text["length"])
    part = client.get(f"{URL}/documents/{row}/text", params={"start": tides["start"] + 5, "length": 9}).json()
    assert [(each["start"], each["end"]) for each in part["stretches"]] == [(part["start"], part["end"])]
    assert [each["number"] for each in text["passages"]] == list(range(1, len(text["passages"]) + 1))
    assert len(text["passages"]) > len(part["passages"]) > 0


def test_a_document_is_downloaded_and_never_opened(client: TestClient) -> None:
    page = "<h1>Hi</h1><script>alert(1)</script>"
    row = upload(client, {'odd "name".html': page}).json()["documents"][0]
    file = client.get(f"{URL}/documents/{row['id']}/file")
    assert file.text == page
    assert file.headers["content-disposition"].startswith("attachment")
    assert file.headers["content-type"] == "application/octet-stream"
    assert file.headers["x-content-type-options"] == "nosniff"


def test_a_document_of_the_same_name_is_replaced(client: TestClient) -> None:
    first = upload(client, {"ferry.md": FERRY}).json()["documents"][0]
    work(client)
    second = upload(client, {"ferry.md": FERRY.replace("7:45", "9:15")}).json()["documents"][0]
    assert (second["id"], second["state"]) == (first["id"], "waiting")
    work(client)
    assert "9:15" in ask(client, LEAVES)["answer"]
    assert files_below(client) == ["ferry.md"]


def test_a_deleted_document_is_out_of_sight_before_its_job_has_run(client: TestClient) -> None:
    rows = upload(client, {"ferry.md": FERRY, "tides.md": TIDE}).json()["documents"]
    work(client)
    deleted = client.delete(f"{URL}/documents/{rows[0]['id']}")
    assert (deleted.status_code, deleted.json()["kind"]) == (202, "remove")
    for _ in range(2):
        answer = ask(client, LEAVES)
        assert "7:45" not in str(answer)
        assert {cited["source"] for cited in answer["documents"]} <= {"tides.md"}
        for path in ("", "/text", "/file"):
            assert client.get(f"{URL}/documents/{rows[0]['id']}{path}").status_code == 404
        work(client)
    assert files_below(client) == ["tides.md"]
    assert client.get(f"{URL}/documents").json()["total"] == 1


def test_several_documents_are_deleted_by_one_job(client: TestClient) -> None:
    rows = upload(client, {"a.md": FERRY, "b.md": TIDE, "c.md": "# Pier\n\nThe pier is long.\n"}).json()
    work(client)
    ids = [row["id"] for row in rows["documents"][:2]]
    for given, status in (([], 422), (["x" * 33], 422), (["0" * 32], 404)):
        assert client.post(f"{URL}/documents/delete", json={"documents": given}).status_code == status
    deleted = client.post(f"{URL}/documents/delete", json={"documents": [*ids, "0" * 32]})
    assert (deleted.status_code, deleted.json()["kind"]) == (202, "remove")
    assert "7:45" not in str(ask(client, LEAVES))
    work(client)
    assert files_below(client) == ["c.md"]
    assert client.get(f"{URL}/jobs").json()["total"] == 2
    assert client.post(f"{URL}/documents/delete", json={"documents": ids}).status_code == 404


def test_it_is_told_what_may_be_uploaded(client: TestClient) -> None:
    told = client.get(f"{URL}/documents/uploadable").json()
    assert {".pdf", ".md"} <= set(told["suffixes"])
    assert told["megabytes"] == 1


def test_a_deleted_document_that_comes_back_is_found_again(client: TestClient) -> None:
    row = upload(client, {"ferry.md": FERRY, "tides.md": TIDE}).json()["documents"][0]
    work(client)
    client.delete(f"{URL}/documents/{row['id']}")
    row = upload(client, {"ferry.md": FERRY}).json()["documents"][0]
    shown = client.get(f"{URL}/documents/{row['id']}/text")
    assert shown.status_code == 409, "the index has the deleted text alone"
    work(client)
    assert "7:45" in ask(client, LEAVES)["answer"]
    client.delete(f"{URL}/documents/{client.get(f'{URL}/documents').json()['items'][0]['id']}")
    work(client)
    client.delete(f"{URL}/documents/{client.get(f'{URL}/documents').json()['items'][0]['id']}")
    work(client)
    assert client.get(f"{URL}/documents").json()["total"] == 0
    assert "7:45" not in str(ask(client, LEAVES))


def test_an_archive_is_one_document_with_the_sources_in_it(client: TestClient) -> None:
    packed = archive(**{"ferry": FERRY, "old/tides": TIDE})
    row = upload(client, {"all.zip": packed}).json()["documents"][0]
    work(client)
    shown = client.get(f"{URL}/documents/{row['id']}").json()
    assert (shown["sources"], shown["chunks"]) == (["all.zip/ferry.md", "all.zip/old/tides.md"], 2)
    upload(client, {"tides.md": TIDE})
    for source, names in (
        ("all.zip/old/tides.md", ["all.zip"]),
        ("all.zip", ["all.zip"]),
        ("tides.md", ["tides.md"]),
        ("old/tides.md", []),
    ):
        listed = client.get(f"{URL}/documents", params={"source": source}).json()["items"]
        assert [each["name"] for each in listed] == names
    text = client.get(f"{URL}/documents/{row['id']}/text", params={"source": "all.zip/old/tides.md"})
    assert "6.2 metres" in text.json()["text"]
    elsewhere = client.get(f"{URL}/documents/{row['id']}/text", params={"source": "/etc/passwd"})
    assert elsewhere.status_code == 404
    client.delete(f"{URL}/documents/{row['id']}")
    assert "7:45" not in str(ask(client, LEAVES))


def test_names_in_an_archive_are_escaped_where_the_door_refuses_them_and_the_document_says_so(
    client: TestClient,
) -> None:
    row = upload(client, {"all.zip": archive(**{"exe\u202efdp": FERRY})}).json()["documents"][0]
    work(client)
    shown = client.get(f"{URL}/documents/{row['id']}").json()
    source = r"all.zip/exe\u202efdp.md"
    assert (shown["sources"], shown["state"], shown["problem"]) == ([source], "indexed", None)
    assert shown["notes"] == [f"contains names with invisible characters. They are escaped: {source}"]
    cited = ask(client, LEAVES)["citations"]
    assert {citation["source"] for citation in cited} == {source}
    text = client.get(f"{URL}/documents/{row['id']}/text", params={"source": source})
    assert "7:45" in text.json()["text"]


def test_a_document_that_is_deleted_while_its_first_job_runs_answers_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete_and_ask(report: IndexReport) -> None:
        if "all.zip/ferry.md" in report.sources:
            client.delete(f"{URL}/documents/{rows[0]['id']}")
            told.append({cited["source"] for cited in ask(client, LEAVES)["documents"]})

    rows = upload(client, {"all.zip": archive(ferry=FERRY), "tides.md": TIDE}).json()["documents"]
    told = list[set[str]]()
    do_after(monkeypatch, Index, "build", delete_and_ask)
    work(client)
    assert told == [{"tides.md"}]


def test_a_document_that_is_deleted_twice_answers_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = upload(client, {"ferry.md": FERRY, "tides.md": TIDE}).json()["documents"][0]
    work(client)
    job = client.delete(f"{URL}/documents/{row['id']}").json()
    client.post(f"{URL}/jobs/{job['id']}/cancel").raise_for_status()
    row = upload(client, {"ferry.md": FERRY}).json()["documents"][0]
    begin, answers, document = indexing._start_next_job, list[str](), f"{URL}/documents/{row['id']}"

    def ask_then_begin(*given: Any) -> Any:
        answers.append(str(ask(client, LEAVES)))
        return begin(*given)

    do_after(monkeypatch, Index, "build", lambda _: client.delete(document).raise_for_status())
    monkeypatch.setattr(indexing, "_start_next_job", ask_then_begin)
    work(client)
    assert len(answers) > 1 and not any("7:45" in answer for answer in answers)


def test_uploads_that_wait_for_their_collection_hold_up_no_others(client: TestClient) -> None:
    services = client.app.state.services
    with Session(services.engine) as db:
        folder = services.folder_of(db.scalars(select(Collection)).one())
    client.portal.call(leave_two_threads)
    with ThreadPoolExecutor() as pool:
        with folder.lock_documents():
            waiting = [pool.submit(upload, client, {f"{at}.md": TIDE}) for at in range(3)]
            time.sleep(1)
            assert pool.submit(client.get, URL).result(20).status_code == 200
            assert not any(each.done() for each in waiting)
        assert {each.result().status_code for each in waiting} == {202}


async def leave_two_threads() -> None:
    to_thread.current_default_thread_limiter().total_tokens = 2


@pytest.mark.few(1)
@pytest.mark.parametrize("deleted", ["a.md", "b.md"])
def test_a_copy_of_a_deleted_document_answers_under_its_own_name(client: TestClient, deleted: str) -> None:
    rows = upload(client, {"a.md": FERRY, "b.md": FERRY, "tides.md": TIDE}).json()["documents"]
    work(client)
    [row] = [row for row in rows if row["name"] == deleted]
    client.delete(f"{URL}/documents/{row['id']}")
    for _ in range(2):
        answer = ask(client, LEAVES)
        assert "7:45" in answer["answer"] and deleted not in str(answer)
        work(client)


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_indexed(client: TestClient) -> None:
    job = upload(client, {"bad.pdf": b"%PDF-1.4 no more", "ferry.md": FERRY}).json()["job"]
    work(client)
    job = client.get(f"{URL}/jobs/{job['id']}").json()
    assert (job["state"], [each["document"] for each in job["problems"]]) == ("done", ["bad.pdf"])
    failed = client.get(f"{URL}/documents", params={"state": "failed"}).json()["items"]
    assert [row["name"] for row in failed] == ["bad.pdf"]
    assert "bad.pdf" in failed[0]["problem"]


def test_a_key_gives_the_same_answer_once_more_and_is_for_one_upload(client: TestClient) -> None:
    first = upload(client, {"ferry.md": FERRY}, **{"Idempotency-Key": "k1"})
    again = upload(client, {"ferry.md": FERRY}, **{"Idempotency-Key": "k1"})
    assert (again.status_code, again.json()) == (202, first.json())
    assert client.get(f"{URL}/jobs").json()["total"] == 1
    other = upload(client, {"ferry.md": TIDE}, **{"Idempotency-Key": "k1"})
    assert other.status_code == 422
    assert files_below(client) == ["ferry.md"]
    services = client.app.state.services
    with Session(services.engine) as db:
        db.scalars(select(Upload)).one().created -= 2 * KEYS_KEPT
        db.commit()
    # a day later it is any other key
    assert upload(client, {"ferry.md": TIDE}, **{"Idempotency-Key": "k1"}).status_code == 202
    work(client)
    assert files_below(client) == ["ferry.md"]


HIDDEN = "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u202e\u2066\u2028\u3164\ufe0f\ufeff\U000e0041"
LEADING_ELSEWHERE = [
    "../ferry.md", "a/../../ferry.md", "/etc/ferry.md", "a//ferry.md", "a\\ferry.md", ".md",
    ".hidden/ferry.md", "ferry.exe", "ferry", " ferry.md", "a/ ferry.md", "fer\x1bry.md",
    "fer\u202ery.md", "fer\u200bry.md", "x" * 300 + ".md", "/".join(["long"] * 300) + "/ferry.md",
    "/".join(["長" * 60] * 12) + "/ferry.md",
    "a.zip/ferry.md", "fer\u00adry.md", "fer\u3164ry.md", "fer\ufe0fry.md", "fer\u200dry.md",
    "fer\U000e0041ry.md", "fer\u180ery.md", "fer\u2028ry.md",
]  # fmt: skip


def test_a_name_that_leads_elsewhere_is_refused(client: TestClient) -> None:
    for name in LEADING_ELSEWHERE:
        refused = upload(client, {"good.md": FERRY, name: FERRY})
        assert (refused.status_code, bool(refused.json()["detail"])) == (422, True), ascii(name)
    assert files_below(client) == []
    assert client.get(f"{URL}/documents").json()["total"] == 0
    # The joiners of a script, and of an emoji, are seen.
    names = ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.md", "\u2764\ufe0f.md"]
    assert upload(client, dict.fromkeys(names, FERRY)).status_code == 202


def test_no_person_and_no_collection_has_a_name_that_is_not_what_it_seems(client: TestClient) -> None:
    for letter, noun in product([*HIDDEN, "\n", "\x1b", "\u0430"], ("collections", "users")):
        for name in (f"ti{letter}des", f"{letter}tides", f"tides{letter}"):
            refused = client.post(f"/api/v1/{noun}", json={"name": name})
            assert refused.status_code == 422, (noun, ascii(name))


def test_what_is_no_upload_is_refused(client: TestClient) -> None:
    assert client.post(f"{URL}/documents", json={"name": "x"}).status_code == 415
    assert client.post(f"{URL}/documents", files={}).status_code in (415, 422)
    broken = {"content-type": "multipart/form-data; boundary=x"}
    assert client.post(f"{URL}/documents", content=b"--y\r\nnonsense", headers=broken).status_code == 400
    twice = [("files", ("a.md", FERRY)), ("files", ("a.md", TIDE))]
    assert client.post(f"{URL}/documents", files=twice).status_code == 422
    fields = client.post(f"{URL}/documents", files={"f": ("a.md", FERRY)}, data={"path": "/etc"})
    assert (fields.status_code, "must hold files" in fields.json()["detail"]) == (400, True)
    charset = {"content-type": "multipart/form-data; boundary=x; charset=undefined"}
    part = '--x\r\ncontent-disposition: form-data; name="files"; filename="fähre.md"\r\n\r\n\r\n--x--\r\n'
    refused = client.post(f"{URL}/documents", content=part.encode(), headers=charset)
    assert (refused.status_code, "charset" in refused.json()["detail"]) == (400, True)
    assert files_below(client) == []


def test_an_upload_that_is_too_large_is_refused_and_leaves_nothing(client: TestClient) -> None:
    refused = upload(client, {"a.txt": b"a" * 2_100_000})
    assert (refused.status_code, "1 MB" in refused.json()["detail"]) == (413, True)
    assert files_below(client) == []


def stream(client: TestClient, parts: Iterator[bytes | None]) -> tuple[int, str]:
    """Send a form part by part, as long as it is read; None is a caller who goes away."""
    head = b'--x\r\ncontent-disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
    answer = list[Any]()

    async def receive() -> dict[str, Any]:
        part = next(sent)
        gone = {"type": "http.disconnect"}
        return gone if part is None else {"type": "http.request", "body": part, "more_body": True}

    async def send(message: Any) -> None:
        answer.append(message)

    sent = itertools.chain([head], parts)
    headers = [(b"host", b"localhost"), (b"content-type", b"multipart/form-data; boundary=x")]
    scope = {
        "type": "http", "method": "POST", "path": f"{URL}/documents", "query_string": b"", "headers": headers,
        "client": ("127.0.0.1", 1), "server": ("localhost", 80), "scheme": "http", "http_version": "1.1",
    }  # fmt: skip
    client.portal.call(client.app, scope, receive, send)
    return answer[0]["status"], answer[1]["body"].decode()


def test_an_endless_upload_is_read_up_to_the_limit_and_leaves_nothing(client: TestClient) -> None:
    megabytes = itertools.count()
    status, said = stream(client, (b"a" * 1_000_000 for _ in megabytes))
    assert (status, "1 MB" in said) == (413, True)
    assert next(megabytes) < 5
    assert files_below(client) == []


def test_an_upload_that_breaks_off_leaves_nothing(client: TestClient) -> None:
    status, said = stream(client, iter([b"a" * 900_000, None]))
    assert (status, "interrupted" in said) == (400, True)
    assert files_below(client) == []
    assert client.get(f"{URL}/documents").json()["total"] == 0


LOST = {
    "role": (update(User).values(is_admin=False), 404),
    "token": (delete(Token), 401),
}


@pytest.mark.parametrize(("loss", "status"), LOST.values(), ids=LOST)
def test_whoever_loses_the_right_while_an_upload_comes_in_adds_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, loss: Executable, status: int
) -> None:
    def lose(_: object) -> None:
        with Session(client.app.state.services.engine) as db:
            db.execute(loss)
            db.commit()

    eve = add_user(client, "eve", is_admin=True)
    do_after(monkeypatch, CollectionFolder, "write", lose)
    assert upload(eve, {"ferry.md": FERRY}).status_code == status
    assert files_below(client) == []
    with Session(client.app.state.services.engine) as db:
        assert db.scalars(select(Document)).all() == []


def test_a_collection_that_is_deleted_during_a_change_of_its_files_leaves_no_folder(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete_then_lock(folder: CollectionFolder) -> Any:
        monkeypatch.undo()
        assert root.delete(URL).status_code == 204
        return folder.lock_documents()

    def write_while_deleted(*given: Any) -> Any:
        deletions.append(pool.submit(root.delete, URL))
        wait(deletions, 0.3)
        return write(*given)

    eve, root = (add_user(client, name, is_admin=True) for name in ("eve", "root"))
    write, deletions = CollectionFolder.write, list[Any]()
    folders = client.app.state.services.settings.data / "collections"
    with ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(CollectionFolder, "write", write_while_deleted)
        row = upload(eve, {"ferry.md": FERRY}).json()["documents"][0]
    assert deletions[0].result().status_code == 204
    monkeypatch.undo()
    for change in (
        lambda: upload(eve, {"tides.md": TIDE}),
        lambda: eve.post(f"{URL}/documents/delete", json={"documents": [row["id"]]}),
    ):
        root.post("/api/v1/collections", json={"name": URL.rpartition("/")[2]}).raise_for_status()
        monkeypatch.setattr(CollectionFolder, "lock_documents", delete_then_lock)
        assert change().status_code == 404
        assert os.listdir(folders) == []


def test_the_audit_log_has_the_whole_name_of_each_document(client: TestClient) -> None:
    longest = f"{'a' * 199}/" * 4 + f"{'b' * 197}.md"
    assert len(longest) == LONGEST_NAME
    upload(client, {longest: FERRY, "tides.md": TIDE})
    events = client.get("/api/v1/events").json()["items"]
    subjects = [event["subject"] for event in events if event["action"] == "document.upload"]
    assert sorted(subjects) == sorted([f"tides: {longest}", "tides: tides.md"])


@pytest.mark.nightly
def test_bombs_are_named_and_leave_nothing_beside_themselves(client: TestClient, tmp_path: Path) -> None:
    bombs = [
        "a bomb.zip",
        "claims a terabyte.zip",
        "entities in entities.xlsx",
        "entities in entities.odt",
        "entities in entities.docx",
        "unpacks to 300 megabytes.docx",
        "unpacks to a gigabyte.pdf",
    ]
    harmless = ["climbing.zip", "archives in archives.zip", "a file of the host.xlsx"]
    contents = dict[str, str | bytes]()
    for name in [*bombs, *harmless]:
        (ARCHIVES | OFFICE | WORD | PDFS)[name](tmp_path / name)
        contents[name] = (tmp_path / name).read_bytes()
    assert upload(client, {**contents, "ferry.md": FERRY}).status_code == 202
    work(client)
    listed = {row["name"]: row for row in client.get(f"{URL}/documents").json()["items"]}
    for name in bombs:
        assert (listed[name]["state"], name in listed[name]["problem"]) == ("failed", True), listed[name]
    assert listed["ferry.md"]["state"] == "indexed"
    for name in harmless:
        assert listed[name]["state"] != "waiting"
        assert "root:" not in client.get(f"{URL}/documents/{listed[name]['id']}/text").text
    assert files_below(client) == sorted(listed)
    data = client.app.state.services.settings.data
    held = sum(file.stat().st_size for file in data.rglob("*") if file.is_file())
    assert held < 5_000_000


def test_a_disk_that_is_full_is_said_and_leaves_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device", "/secret/place")

    monkeypatch.setattr(os, "fsync", full)
    refused = upload(client, {"ferry.md": FERRY})
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "30")
    assert "disk is full" in refused.text and "secret" not in refused.text
    assert files_below(client) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there a process has no such limit")
def test_no_room_for_an_upload_that_comes_in_is_said_and_leaves_nothing(serve: Serve) -> None:
    import resource

    with serve(collection="tides") as client:
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, most))  # no file grows beyond it
        try:
            refused = upload(client, {"ferry.txt": b"a" * 1_900_000})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "30")
        assert "no room" in refused.json()["detail"]
        assert files_below(client) == []


def test_an_upload_that_the_database_does_not_keep_leaves_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OperationalError("INSERT", {}, Exception("disk I/O error"))

    upload(client, {"ferry.md": FERRY})
    before = files_below(client)
    monkeypatch.setattr(Call, "record_event", broken)
    for text in (b"another text", FERRY):
        assert upload(client, {"ferry.md": text, "new.md": b"new"}).status_code == 503
    monkeypatch.undo()
    assert upload(client, {"last.md": b"last"}).status_code == 202
    work(client)
    assert len(files_below(client)) == len(before) + 1


def test_a_page_that_cannot_be_fetched_is_a_document_with_a_problem(client: TestClient) -> None:
    accepted = client.post(f"{URL}/documents/address", json={"address": "http://127.0.0.1:9/x#top"})
    row = accepted.json()["documents"][0]
    assert (accepted.status_code, row["name"]) == (202, "http://127.0.0.1:9/x")
    work(client)
    shown = client.get(f"{URL}/documents/{row['id']}").json()
    assert (shown["state"], shown["sources"]) == ("failed", [])
    assert client.get(f"{URL}/documents/{row['id']}/file").status_code == 404
    too_long = f"http://example.org/{'ä' * 300}"  # when it is encoded
    for address in ("http://ann:secret@example.org/", "http://", too_long):
        refused = client.post(f"{URL}/documents/address", json={"address": address})
        assert refused.status_code == 422, refused.json()


def test_a_page_is_read_by_a_job_and_cited_by_its_address(serve: Serve) -> None:
    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page.encode() if self.path == "/ferry" else b""
            self.send_response(200 if body else 404)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    page = "<html><body><p>The ferry to Grauholm leaves at 7:45 from the east quay.</p></body></html>"
    with HTTPServer(("127.0.0.1", 0), Site) as site, serve({"web": {"private_networks": True}}) as client:
        Thread(target=site.serve_forever, daemon=True).start()
        client.post("/api/v1/collections", json={"name": "tides"})
        address = f"http://127.0.0.1:{site.server_port}/ferry"
        row = client.post(f"{URL}/documents/address", json={"address": address}).json()["documents"][0]
        work(client)
        assert ask(client, LEAVES)["citations"][0]["source"] == address
        page = page.replace("7:45", "9:15")
        client.post(f"{URL}/documents/{row['id']}/reindex")
        work(client)
        assert "9:15" in ask(client, LEAVES)["answer"]
        client.delete(f"{URL}/documents/{row['id']}")
        assert "9:15" not in str(ask(client, LEAVES))
        work(client)
        assert client.get(URL).json()["chunks"] == 0
        site.shutdown()


def test_an_index_is_made_anew_from_the_documents(client: TestClient) -> None:
    upload(client, {"ferry.md": FERRY, "tides.md": TIDE})
    work(client)
    job = client.post(f"{URL}/documents/reindex").json()
    work(client)
    shown = client.get(f"{URL}/jobs/{job['id']}").json()
    assert (shown["kind"], shown["state"], shown["done"]) == ("rebuild", "done", 2)
    assert "7:45" in ask(client, LEAVES)["answer"]


def test_files_that_an_interruption_left_are_cleared_or_named_at_the_start(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    with serve(collection="tides") as client:
        upload(client, {"ferry.md": FERRY})
        services = client.app.state.services
        [place] = (services.settings.data / "collections").iterdir()
        folder = services.folder_of(Collection(id=place.name))
        for place in (folder.documents / "1.partial" / "a.md", folder.path.parent / "gone.deleted" / "b.md"):
            place.parent.mkdir()
            place.write_text("left")
        (folder.documents / "unknown").mkdir()
        (folder.documents / "unknown" / "c.md").write_text("left")
        assert folder.leftover_bytes() == 0, "no job removes it"
    with serve() as client:
        assert files_below(client) == ["c.md", "ferry.md"]
        assert not (folder.path.parent / "gone.deleted").exists()
    assert "1 of the folders" in caplog.text and "move-aside" in caplog.text


def test_a_document_that_is_replaced_by_one_without_text_is_quoted_no_more(fresh: TestClient) -> None:
    fresh.post("/api/v1/collections", json={"name": "tides"})
    upload(fresh, {"ferry.md": FERRY, "tides.md": TIDE})
    work(fresh)
    upload(fresh, {"ferry.md": "!!!"})
    work(fresh)
    rows = {row["name"]: row for row in fresh.get(f"{URL}/documents").json()["items"]}
    assert (rows["ferry.md"]["state"], rows["ferry.md"]["chunks"]) == ("failed", None)
    assert "holds no text" in rows["ferry.md"]["problem"]
    found = fresh.post(f"{URL}/ask", json={"question": LEAVES})
    assert "ferry.md" not in found.text
    assert rows["tides.md"]["state"] == "indexed"
