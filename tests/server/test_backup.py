"""Everything in one file: written while the server works, and restored elsewhere."""

import hashlib
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from langchain_core.documents import Document
from sqlalchemy import create_engine, inspect, make_url, select
from sqlalchemy.orm import Session

from adaptive_rag import Index
from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError
from adaptive_rag.server import archive, backup
from adaptive_rag.server.backup import BackupError, back_up, restore
from adaptive_rag.server.database import open_database
from adaptive_rag.server.roles import Role
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tables import Collection, Job
from tests.postgres_server import empty_database
from tests.server.conftest import Serve, add_user, do_after, work

URL = "/api/v1/collections/tides"
FERRY = "# Ferry\n\nThe ferry to Grauholm leaves at 7:45 from the east quay.\n"
QUESTION = "When does the ferry to Grauholm leave?"
NOTE = {"source": "ferry.md", "start": 2, "end": 7, "text": "Too early?"}


def upload(client: TestClient, name: str, content: str) -> str:
    answer = client.post(f"{URL}/documents", files=[("files", (name, content))])
    assert answer.status_code == 202, answer.text
    return name


def listed(client: TestClient) -> dict[str, Any]:
    return {row["name"]: row for row in client.get(f"{URL}/documents?limit=500").json()["items"]}


def notes_of(client: TestClient) -> str:
    return f"{URL}/documents/{listed(client)['ferry.md']['id']}/notes"


def turns(client: TestClient, thread: str) -> list[str]:
    shown = client.get(f"/api/v1/threads/{thread}").json()
    return [turn["answer"] for turn in shown["turns"]]


@pytest.fixture
def full(serve: Serve) -> Iterator[tuple[TestClient, str]]:
    """Serve a collection with a document and a shared thread with an answer; give the client of its owner."""
    with serve(collection="tides") as here:
        client = add_user(here, "ann", is_admin=True)
        upload(client, "ferry.md", FERRY)
        work(here)
        thread = client.post(f"{URL}/threads", json={}).json()["id"]
        answer = client.post(f"/api/v1/threads/{thread}/ask", json={"question": QUESTION})
        assert "7:45" in answer.json()["answer"], answer.text
        client.put("/api/v1/me/profile", json={"text": "I live at the quay."})
        add_user(here, "ben", tides=Role.READER)
        client.put(f"/api/v1/threads/{thread}/sharing/ben").raise_for_status()
        client.post(notes_of(client), json=NOTE).raise_for_status()
        yield client, thread


def settings_of(client: TestClient) -> Any:
    return client.app.state.services.settings


def empty(client: TestClient, data: Path, **given: Any) -> Any:
    """Return the settings of a server without data that has the key of another one."""
    return read_server_settings(data=data, backup_key=settings_of(client).data / "backup.key", **given)


def test_a_backup_during_uploads_and_questions_holds_what_was_acknowledged(
    full: tuple[TestClient, str], serve: Serve, tmp_path: Path
) -> None:
    client, thread = full
    acknowledged = ["ferry.md"]

    def go_on(number: int) -> None:
        acknowledged.append(upload(client, f"{number}.md", f"The mark stands at {number} metres.\n"))
        client.post(f"{URL}/ask", json={"question": QUESTION})

    with ThreadPoolExecutor(1) as others:
        for number in range(20):
            others.submit(go_on, number)
        while len(acknowledged) < 4:
            pass
        before = list(acknowledged)
        counts = back_up(settings_of(client), tmp_path / "all.tar")
        assert len(acknowledged) < 21, "the backup was made while nothing else went on"
        others.shutdown(cancel_futures=True)
    kinds = ("users", "conversations", "turns", "shares", "notes")
    assert [counts[kind] for kind in kinds] == [3, 1, 1, 1, 1]

    elsewhere = empty(client, tmp_path / "elsewhere")
    assert restore(elsewhere, tmp_path / "all.tar") == counts
    with serve(data=elsewhere.data) as there:
        there.headers["Authorization"] = client.headers["Authorization"]
        documents = listed(there)
        assert documents.keys() >= set(before)
        for name, row in documents.items():
            there_is = there.get(f"{URL}/documents/{row['id']}/file").content
            assert there_is == client.get(f"{URL}/documents/{row['id']}/file").content, name
        assert turns(there, thread) == turns(client, thread)
        assert [row["id"] for row in there.get("/api/v1/threads?search=7:45").json()["items"]] == [thread]
        assert there.get(notes_of(there)).json() == client.get(notes_of(client)).json()
        assert there.get("/api/v1/me/profile").json() == {"text": "I live at the quay."}
        assert "7:45" in there.post(f"{URL}/ask", json={"question": QUESTION}).json()["answer"]
        work(there)  # what waited for its job when the backup was made
        assert {row["state"] for row in listed(there).values()} == {"indexed"}


def test_a_conversation_begun_during_a_backup_is_in_none_of_its_parts(
    full: tuple[TestClient, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin_a_thread(_: object) -> None:
        thread = client.post(f"{URL}/threads", json={}).json()["id"]
        client.post(f"/api/v1/threads/{thread}/ask", json={"question": QUESTION}).raise_for_status()

    client = full[0]
    do_after(monkeypatch, backup, "_take_snapshot", begin_a_thread)
    counts = back_up(settings_of(client), tmp_path / "all.tar")
    assert counts["threads"] == counts["conversations"] == 1


def test_a_backup_holds_one_state_of_an_index_that_is_written_meanwhile(
    full: tuple[TestClient, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, _ = full
    [index] = (settings_of(client).data / "collections").glob("*/index")
    link = backup._link

    def link_then_index(file: Path, place: Path) -> None:
        link(file, place)
        if index in file.parents and not indexed:
            indexed.append(Index.build([Document("The tide turns.", metadata={"source": "tide"})], index))

    indexed = list[object]()
    monkeypatch.setattr(backup, "_link", link_then_index)
    back_up(settings_of(client), tmp_path / "all.tar")
    elsewhere = empty(client, tmp_path / "elsewhere")
    restore(elsewhere, tmp_path / "all.tar")
    [index] = (elsewhere.data / "collections").glob("*/index")
    assert indexed and Index.check(index, deep=True).healthy


@pytest.mark.nightly
def test_a_backup_moves_from_sqlite_to_postgresql_and_back(
    full: tuple[TestClient, str], serve: Serve, tmp_path: Path, postgres: Any
) -> None:
    client, thread = full
    counts = back_up(settings_of(client), tmp_path / "sqlite.tar")
    address = empty_database(postgres)
    middle = empty(client, tmp_path / "middle", database=address)
    assert restore(middle, tmp_path / "sqlite.tar") == counts
    with serve(data=middle.data, database=address) as there:
        there.headers["Authorization"] = client.headers["Authorization"]
        there.post("/api/v1/collections", json={"name": "more"})  # an event after those restored
        assert turns(there, thread) == turns(client, thread)
        back_up(middle, tmp_path / "postgres.tar")
    with pytest.raises(ConfigurationError, match=r"holds tables of a server already: .*users"):
        restore(middle.model_copy(update={"data": tmp_path / "other"}), tmp_path / "postgres.tar")
    assert not (tmp_path / "other").exists()
    restore(empty(client, tmp_path / "end"), tmp_path / "postgres.tar")
    with serve(data=tmp_path / "end") as there:
        there.headers["Authorization"] = client.headers["Authorization"]
        assert turns(there, thread) == turns(client, thread)
        assert [row["name"] for row in there.get("/api/v1/collections").json()["items"]] == ["more", "tides"]
        assert there.get("/api/v1/me/profile").json() == {"text": "I live at the quay."}


def test_what_is_not_a_whole_backup_is_refused_by_name_and_leaves_nothing(
    full: tuple[TestClient, str], tmp_path: Path
) -> None:
    whole = tmp_path / "all.tar"
    back_up(settings_of(full[0]), whole)
    content = whole.read_bytes()
    at = content.index(b"Grauholm leaves at 7:45")
    damaged, cut, foreign = tmp_path / "damaged.tar", tmp_path / "cut.tar", tmp_path / "foreign.tar"
    damaged.write_bytes(content[:at] + b"g" + content[at + 1 :])
    cut.write_bytes(content[: len(content) // 2])
    with tarfile.open(foreign, "w", format=tarfile.GNU_FORMAT) as tar:
        tar.add(__file__, "readme")
    nowhere = empty(full[0], tmp_path / "empty")
    for file, message in (
        (damaged, r"damaged at conversations/\w+.msgpack"),
        (cut, r"not a whole|damaged at"),
        (foreign, r"it holds 'readme'"),
    ):
        with pytest.raises(BackupError, match=message):
            restore(nowhere, file)
    with pytest.raises(BackupError, match="missing"):
        restore(nowhere, tmp_path / "missing.tar")
    assert not list(tmp_path.glob("empty*"))


BACKED_UP = """
import resource, sys
from pathlib import Path
from adaptive_rag.server.backup import back_up
from adaptive_rag.server.settings import read_server_settings
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
print(back_up(read_server_settings(data=Path(sys.argv[1])), Path(sys.argv[2]))["collections"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there a process may open as many files as it likes")
def test_a_backup_takes_more_collections_than_a_process_may_open_files_at_first(tmp_path: Path) -> None:
    engine = open_database(read_server_settings(data=tmp_path / "data"))
    with Session(engine) as db:
        db.add_all(Collection(name=f"c{number}") for number in range(300))
        db.commit()
    engine.dispose()
    called = [sys.executable, "-c", BACKED_UP, tmp_path / "data", tmp_path / "all.tar"]
    assert subprocess.run(called, check=True, capture_output=True, text=True).stdout == "300\n"


def test_a_row_that_is_too_long_for_a_backup_is_named_with_its_collection_and_what_to_do(
    full: tuple[TestClient, str], tmp_path: Path
) -> None:
    client, _ = full
    with Session(client.app.state.services.engine) as db:  # type: ignore[attr-defined]
        job = db.scalars(select(Job)).one()
        job.problems = [{"document": "a.zip", "problem": "x" * archive.LONGEST_LINE}]
        db.commit()
        named = f"The row with id '{job.id}' of the table jobs, of the collection 'tides', has"
    with pytest.raises(BackupError, match=named) as refused:
        back_up(settings_of(client), tmp_path / "all.tar")
    assert "Delete that collection, or stop the server and delete this row." in str(refused.value)


def test_an_interrupted_backup_leaves_the_one_before(
    full: tuple[TestClient, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "all.tar"
    back_up(settings_of(full[0]), file)
    first = file.read_bytes()

    def fail(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive, "_digest", fail)
    with pytest.raises(BackupError, match="No space left"):
        back_up(settings_of(full[0]), file)
    assert file.read_bytes() == first
    assert not file.with_name("all.tar.partial").exists()
    assert not (settings_of(full[0]).data / ".backup").exists()


@pytest.mark.nightly
def test_another_servers_backup_comes_without_its_conversations(
    full: tuple[TestClient, str], serve: Serve, tmp_path: Path
) -> None:
    client, thread = full
    told = client.post(f"/api/v1/threads/{thread}/turns/1/feedback", json={"is_good": True})
    assert told.status_code == 201, told.text
    client.post("/api/v1/collections", json={"name": "quays"})
    both = client.post("/api/v1/threads", json={"collections": ["tides", "quays"]})
    assert both.status_code == 201, both.text
    back_up(settings_of(client), tmp_path / "all.tar")
    assert restore(empty(client, tmp_path / "own"), tmp_path / "all.tar")["thread_collections"] == 1
    elsewhere = read_server_settings(data=tmp_path / "elsewhere")
    counts = restore(elsewhere, tmp_path / "all.tar", foreign=True)
    kinds = ("users", "documents", "feedback", "threads", "conversations", "left_out")
    assert [counts[kind] for kind in kinds] == [3, 1, 1, 0, 0, 2]
    assert not (elsewhere.data / "backup.key").exists()
    with serve(data=elsewhere.data) as there:
        there.headers["Authorization"] = client.headers["Authorization"]
        assert "7:45" in there.post(f"{URL}/ask", json={"question": QUESTION}).json()["answer"]
        assert there.get("/api/v1/me/profile").json() == {"text": "I live at the quay."}
        assert there.get(f"/api/v1/threads/{thread}").status_code == 404
        assert there.get("/api/v1/threads").json()["items"] == []


def test_the_key_is_made_once_for_its_owner_alone_and_moves_beside_the_backup(
    full: tuple[TestClient, str], tmp_path: Path
) -> None:
    settings = settings_of(full[0])
    back_up(settings, tmp_path / "first.tar")
    key = settings.data / "backup.key"
    content = key.read_text()
    back_up(settings, tmp_path / "second.tar")
    assert key.read_text() == content
    assert key.stat().st_mode & 0o777 == 0o600
    for file in ("first.tar", "second.tar"):
        assert content.strip().encode() not in (tmp_path / file).read_bytes()
        elsewhere = empty(full[0], tmp_path / f"of {file}")
        restore(elsewhere, tmp_path / file)
        assert (elsewhere.data / "backup.key").read_text() == content
        assert (elsewhere.data / "backup.key").stat().st_mode & 0o777 == 0o600
    missing = settings.model_copy(update={"backup_key": tmp_path / "missing.key"})
    with pytest.raises(ConfigurationError, match=r"--key FILE or server\.backup_key"):
        back_up(missing, tmp_path / "third.tar")
    assert not list(tmp_path.glob("third*")) and not list(tmp_path.glob("missing*"))


def tables(address: str) -> list[str]:
    engine = create_engine(address.replace("postgresql://", "postgresql+psycopg://", 1))
    found = inspect(engine).get_table_names()
    engine.dispose()
    return found


@pytest.mark.nightly
def test_a_restore_whose_last_step_fails_leaves_nothing(
    full: tuple[TestClient, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: Any
) -> None:
    back_up(settings_of(full[0]), tmp_path / "all.tar")
    address = empty_database(postgres)
    there = tmp_path / "there"
    there.mkdir()

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def end_connections(_: object) -> None:
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        postgres.psql(f"{ended} AND datname = '{make_url(address).database}';")

    for given in ({}, {"database": address}):
        settings = empty(full[0], there, **given)
        for step in ("os.replace", "_load_conversations", "migrate"):
            with monkeypatch.context() as patched:
                patched.setattr(f"adaptive_rag.server.backup.{step}", full_disk)
                with pytest.raises(BackupError, match=r"No space left on device. Nothing was restored"):
                    restore(settings, tmp_path / "all.tar")
            assert list(there.iterdir()) == [], step
        with monkeypatch.context() as patched:
            do_after(patched, backup, "_move", end_connections if given else full_disk)
            with pytest.raises(AdaptiveRAGError, match=r"No space|terminat|clos"):
                restore(settings, tmp_path / "all.tar")
        assert list(there.iterdir()) == []
        assert not list(tmp_path.glob("there.*"))
        assert tables(address) == []
    assert restore(settings, tmp_path / "all.tar")["conversations"] == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from adaptive_rag.server import backup
from adaptive_rag.server.settings import read_server_settings
move = backup._move
backup._move = lambda *places: (move(*places), os.kill(os.getpid(), signal.SIGKILL))
settings = read_server_settings(data=Path(sys.argv[1]), backup_key=Path(sys.argv[2]), database=sys.argv[3])
backup.restore(settings, Path(sys.argv[4]))
"""


def test_a_restore_that_is_killed_before_its_database_has_the_rows_is_done_once_more(
    full: tuple[TestClient, str], serve: Serve, tmp_path: Path, postgres: Any
) -> None:
    client, thread = full
    file, there, address = tmp_path / "all.tar", tmp_path / "there", empty_database(postgres)
    back_up(settings_of(client), file)
    settings = empty(client, there, database=address)
    called = [sys.executable, "-c", KILLED, there, settings.backup_key, address, file]
    assert subprocess.run(called, check=False).returncode == -9
    assert tables(address) == []
    with pytest.raises(ConfigurationError, match="not empty"):
        restore(settings, file)
    with pytest.raises(ConfigurationError, match="not belong"), serve(data=there, database=address):
        pass
    assert list(there.rglob("ferry.md"))
    other = empty_database(postgres)  # the start has made tables in the first
    restore(empty(client, tmp_path / "new", database=other), file)
    with serve(data=tmp_path / "new", database=other) as here:
        here.headers["Authorization"] = client.headers["Authorization"]
        assert turns(here, thread) == turns(client, thread)
        assert here.get(f"{URL}/documents/{listed(here)['ferry.md']['id']}/file").status_code == 200


def test_nothing_that_is_there_is_overwritten_or_deleted(
    full: tuple[TestClient, str], tmp_path: Path, postgres: Any
) -> None:
    file = tmp_path / "all.tar"
    back_up(settings_of(full[0]), file)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").write_text("mine")
    with pytest.raises(ConfigurationError, match="not empty"):
        restore(empty(full[0], tmp_path / "there"), file)
    assert (tmp_path / "there" / "mine").read_text() == "mine"
    # A server without users, whose database holds but empty tables.
    address = empty_database(postgres)
    open_database(read_server_settings(data=tmp_path / "other", database=address)).dispose()
    before = tables(address)
    with pytest.raises(ConfigurationError, match="holds tables of a server already: alembic_version"):
        restore(empty(full[0], tmp_path / "fresh", database=address), file)
    assert tables(address) == before
    assert not list(tmp_path.glob("fresh*"))


MEASURED = """
import json, sys
from pathlib import Path
from adaptive_rag.errors import AdaptiveRAGError
from adaptive_rag.server.backup import restore
from adaptive_rag.server.settings import read_server_settings
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
before = peak()
try:
    restore(read_server_settings(data=Path(sys.argv[1])), Path(sys.argv[2]), foreign=True)
except AdaptiveRAGError as error:
    print(json.dumps([str(error), peak() - before]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
@pytest.mark.parametrize(
    ("member", "size"),
    [
        ("tables/users.jsonl", 2**28),
        *(
            pytest.param(member, 2**30, marks=pytest.mark.nightly)
            for member in ("tables/users.jsonl", "manifest.jsonl", "profiles.jsonl")
        ),
    ],
)
def test_a_line_of_a_gigabyte_takes_little_memory(member: str, size: int, tmp_path: Path) -> None:
    digest = hashlib.sha256()
    for _ in range(size >> 20):
        digest.update(bytes(2**20))
    nothing = {"name": "tables/events.jsonl", "size": 0, "sha256": hashlib.sha256().hexdigest()}
    large = {"name": member, "size": size, "sha256": digest.hexdigest()}
    lines = ({"format": 3, "revision": "0001"}, nothing, large)
    manifest = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    with (tmp_path / "evil.tar").open("wb") as file:
        files = {"manifest.jsonl": manifest, "tables/events.jsonl": b"", member: None}
        for name, content in files.items():
            header = tarfile.TarInfo(name)
            header.size = size if content is None else len(content)
            file.write(header.tobuf(tarfile.GNU_FORMAT))
            if content is None:  # zeros that take no place on the disk
                file.truncate(file.seek(size, 1))
                if member == "manifest.jsonl":
                    break
            else:
                file.write(content.ljust(-(-len(content) // 512) * 512, b"\0"))
        file.write(bytes(1024))
    call = [sys.executable, "-c", MEASURED, str(tmp_path / "new"), str(tmp_path / "evil.tar")]
    ran = subprocess.run(call, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    said, kilobytes = json.loads(ran.stdout)
    assert "a line of more than 33,554,432 bytes" in said
    print(f"{member}: {kilobytes / 1000:.0f} MB")
    assert kilobytes < 200_000
    assert not list(tmp_path.glob("new*"))
