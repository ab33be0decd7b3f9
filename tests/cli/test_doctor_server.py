"""`adaptive-rag doctor --server` names each fault of a server with what mends it, and changes nothing."""

import json
import sqlite3
import sys
from pathlib import Path

import pytest
from filelock import FileLock
from sqlalchemy import text
from sqlalchemy.orm import Session

from adaptive_rag.server.database import known_revisions, open_database
from adaptive_rag.server.process import LOCK
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tables import Collection, Job
from tests.cli.conftest import Run


def findings(run: Run) -> dict[str, tuple[str, str]]:
    report = json.loads(run("doctor", "--server", "--json").stdout)["findings"]
    return {each["what"]: (each["state"], f"{each['found']} {each['mend']}") for each in report}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ADAPTIVE_RAG_SERVER__DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_before_the_first_start_nothing_is_wrong_and_nothing_is_made(run: Run, data: Path) -> None:
    found = findings(run)
    assert found["data"][0] == "ok"
    assert "not made yet" in found["data"][1]
    assert found["database"][0] == found["users"][0] == "note"
    assert "index" not in found
    assert not data.exists()


def test_an_empty_database_is_not_an_old_one(run: Run, data: Path) -> None:
    data.mkdir()
    (data / "server.sqlite").touch()
    assert findings(run)["database"] == ("note", "sqlite, empty The first start fills it.")


def test_a_name_of_a_folder_that_no_disk_takes_is_no_folder(run: Run) -> None:
    assert run("doctor", "--server", "--data", "x" * 300).exit_code == 0


def test_a_server_that_works_shows_its_migration_its_users_and_its_jobs(run: Run, data: Path) -> None:
    engine = open_database(read_server_settings())
    with Session(engine) as db:
        collection = Collection(name="tides")
        db.add(collection)
        db.flush()
        db.add(Job(collection_id=collection.id, kind="index"))
        db.commit()
    with FileLock(data / LOCK):
        found = findings(run)
    assert found["data"] == ("ok", found["data"][1])
    assert "a server is running" in found["data"][1]
    assert found["database"] == ("ok", f"sqlite, at migration {known_revisions()[0]} ")
    assert "1 job to do" in found["workers"][1]
    assert "whoever is at this machine" in found["users"][1]
    assert found["documents"][0] == "ok"
    (data / "collections" / "another").mkdir(parents=True)
    assert "do not belong together" in findings(run)["documents"][1]
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    newer = f"sqlite, at migration 9999; this version has {known_revisions()[0]}"
    assert findings(run)["database"] == ("fault", f"{newer} Install the newer version that made it.")


def test_an_admin_without_a_password_cannot_sign_in_to_the_page(run: Run, data: Path) -> None:
    added = " ".join(run("users", "add", "alice", "--admin", stdin="").stderr.split())
    assert "adaptive-rag users password alice" in added and "adaptive-rag users token alice" in added
    state, found = findings(run)["users"]
    assert state == "note" and "no admin can sign in to the page" in found and "users password NAME" in found
    run("users", "password", "alice", "--password-stdin", stdin="a password of some length\n")
    assert findings(run)["users"] == ("ok", "sign in ")
    run("users", "add", "ada", "--admin", stdin="")
    run("users", "disable", "alice")
    assert findings(run)["users"][0] == "note"


def test_a_server_that_others_reach_needs_users_tls_and_a_proxy_it_trusts(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_SERVER__HOST", "0.0.0.0")
    found = findings(run)
    assert found["users"][0] == found["reached"][0] == "fault"
    assert "adaptive-rag users add" in found["users"][1]
    assert found["names"][0] == "note"
    monkeypatch.setenv("ADAPTIVE_RAG_SERVER__TLS", "true")
    found = findings(run)
    assert (found["reached"][0], found["proxy"][0]) == ("ok", "fault")


def test_a_database_that_does_not_answer_is_a_fault_without_its_password(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    monkeypatch.setenv("ADAPTIVE_RAG_SERVER__DATABASE", "postgresql://rag:hidden-word@127.0.0.1:9/rag")
    state, text = findings(run)["database"]
    assert state == "fault"
    assert "hidden-word" not in text


def test_a_database_whose_extra_is_missing_is_named(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_SERVER__DATABASE", "postgresql://rag@127.0.0.1:9/rag")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert "adaptive-rag[postgres]" in findings(run)["server"][1]
    for command in (["users", "list"], ["worker"]):
        assert "adaptive-rag[postgres]" in run(*command).stderr
    monkeypatch.setenv("ADAPTIVE_RAG_SERVER__DATABASE", "mysql://rag@127.0.0.1:9/rag")
    assert "begins with postgresql://" in findings(run)["server"][1]


def test_a_backup_says_in_proper_numbers_what_it_holds(run: Run, data: Path) -> None:
    engine = open_database(read_server_settings())
    with Session(engine) as db:
        db.add(Collection(name="tides"))
        db.commit()
    engine.dispose()
    kept = run("backup", "kept.zip")
    said = "kept.zip holds 0 users, 1 collection, 0 documents, 0 threads, 0 jobs.\n"
    key = f"Its key is {data / 'backup.key'}. Keep a copy elsewhere: it is not in the backup.\n"
    assert (kept.exit_code, kept.stdout) == (0, said + key)
    assert "The folder 'usb' does not exist. Create it first." in run("backup", "usb/kept.zip").stderr


def test_a_database_that_fails_is_an_error_without_what_was_to_be_stored(run: Run, data: Path) -> None:
    run("users", "add", "ada", "--admin", stdin="")
    (data / "conversations.sqlite").write_bytes(b"damaged" * 1000)
    assert "cannot be written: file is not a database. There is no backup." in run("backup", "kept").stderr
    with sqlite3.connect(data / "server.sqlite") as connection:
        connection.execute("ALTER TABLE users RENAME TO persons")
    added = run("users", "add", "bob", "--password-stdin", stdin="a password of some length\n")
    assert added.exit_code == 1 and "no such table: users" in added.stderr and "argon2" not in added.stderr


@pytest.mark.parametrize("arguments", [("--server", "--data", "other"), ("--data", "far/../other")])
def test_another_data_folder_is_checked_by_its_name(
    run: Run, data: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    assert f"{tmp_path / 'other'}: not made yet" in run("doctor", *arguments, "--json").stdout


def test_an_unknown_setting_of_the_server_names_the_nearest(run: Run) -> None:
    Path("adaptive-rag.toml").write_text("[server]\nprot = 80\n")
    assert "'server.prot' is not a setting. Did you mean 'port'?" in findings(run)["server"][1]


def test_a_wrong_setting_of_the_server_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADAPTIVE_RAG_SERVER__PORT", "many")
    assert "server.port is not usable: expected a valid integer" in findings(run)["server"][1]
