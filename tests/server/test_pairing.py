"""A data folder and its database belong together; where they do not, nothing starts and nothing is lost."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import create_engine, delete, text
from sqlalchemy.orm import Session
from typer.testing import CliRunner

from adaptive_rag.cli.app import app
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server.api import uploads
from adaptive_rag.server.api.documents import Accepted, queue_documents
from adaptive_rag.server.backup import back_up, restore
from adaptive_rag.server.demo import add_samples
from adaptive_rag.server.indexing import clear_leftovers, make_indexing_settings
from adaptive_rag.server.pairing import move_aside
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Document
from tests.server.conftest import Serve, add_user, work

URL = "/api/v1/collections/tides"
DOCUMENTS = {"ferry.md": "The ferry leaves at 7:45.\n", "quay.md": "The quay is lit until ten.\n"}


def fill(client: TestClient, documents: dict[str, str] = DOCUMENTS) -> ServerSettings:
    client.post("/api/v1/collections", json={"name": "tides"})
    for name, content in documents.items():
        answer = client.post(f"{URL}/documents", files=[("files", (name, content))])
        assert answer.status_code == 202, answer.text
    work(client)
    settings: ServerSettings = client.app.state.services.settings
    return settings


def files_of(data: Path) -> dict[str, str]:
    """Return the documents below a folder, wherever they lie."""
    return {path.name: path.read_text() for path in data.rglob("*.md")}


def lose_database(data: Path, aside: Path) -> None:
    aside.mkdir(exist_ok=True)
    for path in data.glob("server.sqlite*"):
        shutil.move(path, aside / path.name)


def copy_database(data: Path, to: Path) -> None:
    for path in data.glob("server.sqlite*"):
        shutil.copy(path, to / path.name)


@pytest.fixture
def data(serve: Serve, tmp_path: Path) -> Path:
    """Make the data folder of a server with two documents, which has stopped."""
    with serve() as client:
        add_user(client, "ann", is_admin=True)
        fill(add_user(client, "ben", is_admin=True))
        return Path(client.app.state.services.settings.data)


def test_an_empty_database_does_not_start_over_the_documents_of_another(
    data: Path, serve: Serve, tmp_path: Path
) -> None:
    lose_database(data, tmp_path / "lost")
    with pytest.raises(ConfigurationError, match=r"do not belong together.*adaptive-rag move-aside"), serve():
        pass
    assert files_of(data) == DOCUMENTS
    copy_database(tmp_path / "lost", data)
    with serve() as client:
        assert client.get("/api/v1/collections").status_code == 401, "its users are asked for as before"


def test_a_worker_and_the_samples_do_not_begin_either(data: Path, tmp_path: Path) -> None:
    from adaptive_rag.context import make_context
    from adaptive_rag.server.workers import work as work_as_worker

    lose_database(data, tmp_path / "lost")
    settings, operator = ServerSettings(data=data), make_context({})
    with pytest.raises(ConfigurationError, match="do not belong together"):
        add_samples(settings, operator)
    with pytest.raises(ConfigurationError, match="do not belong together"):
        work_as_worker(settings, make_indexing_settings(settings, operator))
    assert files_of(data) == DOCUMENTS


@pytest.mark.nightly
def test_what_is_moved_aside_is_named_and_the_server_starts(data: Path, serve: Serve, tmp_path: Path) -> None:
    lose_database(data, tmp_path / "lost")
    result = CliRunner().invoke(app, ["move-aside", "--data", str(data)])
    assert result.exit_code == 0, result.output
    assert "now at" in result.stdout and "1 folder moved" in result.stdout
    assert files_of(data / "aside") == DOCUMENTS
    with serve() as client:
        assert client.get("/api/v1/collections").json()["items"] == []
        fill(client, {"new.md": "The new mark.\n"})
    assert files_of(data) == {**DOCUMENTS, "new.md": "The new mark.\n"}


def test_the_database_of_another_folder_is_refused_with_both_identifiers(
    data: Path, serve: Serve, tmp_path: Path
) -> None:
    with serve(data=tmp_path / "other") as client:
        fill(client, {"other.md": "Another.\n"})
    ours = (data / "installation").read_text().strip()
    theirs = (tmp_path / "other" / "installation").read_text().strip()
    lose_database(data, tmp_path / "lost")
    copy_database(tmp_path / "other", data)
    with pytest.raises(ConfigurationError, match=rf"{ours}.*{theirs}"), serve():
        pass
    assert files_of(data) == DOCUMENTS


def test_a_folder_without_its_documents_is_refused(data: Path, serve: Serve, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    copy_database(data, empty)
    with pytest.raises(ConfigurationError, match="documents of 1 collections"), serve(data=empty):
        pass


@pytest.mark.nightly
def test_an_older_copy_of_the_database_deletes_nothing_that_came_after(
    data: Path, serve: Serve, tmp_path: Path
) -> None:
    shutil.copytree(data, tmp_path / "copy")
    with serve() as client:
        ann = add_user(client, "eve", is_admin=True)
        ann.post(f"{URL}/documents", files=[("files", ("late.md", "It came late.\n"))])
        ann.post("/api/v1/collections", json={"name": "later"})
        ann.post("/api/v1/collections/later/documents", files=[("files", ("last.md", "The last.\n"))])
        work(client)
    everything = files_of(data)
    assert set(everything) == {*DOCUMENTS, "late.md", "last.md"}
    lose_database(data, tmp_path / "newer")
    copy_database(tmp_path / "copy", data)
    with serve() as client:
        services = client.app.state.services
        dan = add_user(client, "dan", is_admin=True)
        dan.post(f"{URL}/reindex")
        work(client)
        clear_leftovers(data, services.engine)
    assert files_of(data) == everything
    moved = CliRunner().invoke(app, ["move-aside", "--data", str(data)]).stdout
    assert f"2 folders moved. Start the server with: adaptive-rag serve --data {data}\n" in moved
    assert set(files_of(data / "aside")) == {"late.md", "last.md"}
    assert files_of(data) == everything


def test_what_somebody_replaced_or_deleted_goes_and_nothing_else(serve: Serve) -> None:
    with serve() as client:
        settings = fill(client)
        client.post(f"{URL}/documents", files=[("files", ("quay.md", "The quay is dark.\n"))])
        rows = client.get(f"{URL}/documents").json()["items"]
        ferry = next(row["id"] for row in rows if row["name"] == "ferry.md")
        assert client.delete(f"{URL}/documents/{ferry}").status_code == 202
        left = next(settings.data.glob("collections/*/documents")) / "left"
        left.mkdir()
        (left / "left.md").write_text("Of no row.\n")
        work(client)
    assert files_of(settings.data) == {"quay.md": "The quay is dark.\n", "left.md": "Of no row.\n"}
    assert len(list(settings.data.glob("collections/*/documents/*"))) == 2


def test_an_identifier_that_cannot_be_read_is_named_and_data_from_before_it_is_taken_for_a_pair(
    data: Path, serve: Serve
) -> None:
    (data / "installation").unlink()
    (data / "installation").mkdir()
    with pytest.raises(ConfigurationError, match="cannot be read"), serve():
        pass
    (data / "installation").rmdir()
    engine = create_engine(f"sqlite:///{data / 'server.sqlite'}")
    with engine.begin() as connection:
        connection.execute(text("delete from installation"))
    engine.dispose()
    with serve():
        pass
    assert (data / "installation").read_text().strip()
    assert files_of(data) == DOCUMENTS


@pytest.mark.nightly
def test_a_restored_backup_is_an_installation_of_its_own(data: Path, serve: Serve, tmp_path: Path) -> None:
    settings = ServerSettings(data=data)
    back_up(settings, tmp_path / "all.tar")
    there = ServerSettings(data=tmp_path / "there", backup_key=data / "backup.key")
    restore(there, tmp_path / "all.tar")
    identifiers = {(place / "installation").read_text() for place in (data, tmp_path / "there")}
    assert len(identifiers) == 2
    with serve(data=tmp_path / "there"):
        pass
    assert files_of(data) == files_of(tmp_path / "there") == DOCUMENTS


@pytest.mark.nightly
def test_what_is_being_uploaded_is_not_moved_aside(serve: Serve, tmp_path: Path) -> None:
    with serve() as client:
        settings = fill(client)
        engine = client.app.state.services.engine

        def upload(number: int) -> int:
            files = [("files", (f"{number}.md", f"The mark stands at {number} metres.\n"))]
            return int(client.post(f"{URL}/documents", files=files).status_code)

        with ThreadPoolExecutor(2) as others:
            uploads = [others.submit(upload, number) for number in range(12)]
            while not all(each.done() for each in uploads):
                assert move_aside(settings, engine) == []
        assert {each.result() for each in uploads} == {202}
    assert len(files_of(settings.data)) == 14
    assert not (settings.data / "aside").exists()


@pytest.mark.nightly
def test_an_upload_whose_rows_are_gone_before_it_is_kept_is_to_be_sent_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def accept_what_is_gone(call: Any, rows: Any) -> Accepted:
        accepted = queue_documents(call, rows)
        call.db.commit()
        with Session(call.db.get_bind()) as other:
            other.execute(delete(Document))
            other.commit()
        rows[0].size += 1
        return accepted

    with serve() as client:
        fill(client)
        monkeypatch.setattr(uploads, "queue_documents", accept_what_is_gone)
        response = client.post(f"{URL}/documents", files=[("files", ("late.md", "It came late.\n"))])
    assert response.status_code == 409
    assert response.json()["detail"] == "Another request changed this meanwhile. Send yours again."
