"""The server's database: its migrations make the tables that the code expects."""

import sqlite3
import traceback
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import event, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from adaptive_rag import Index
from adaptive_rag.errors import ConfigurationError, IndexUnreachableError
from adaptive_rag.server.access import this_machine_user
from adaptive_rag.server.database import known_revisions, open_database, revision_of
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tables import Base


def test_the_migrations_make_the_tables_of_the_code(tmp_path: Path) -> None:
    engine = open_database(read_server_settings(data=tmp_path / "data"))
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    open_database(read_server_settings(data=tmp_path / "data"))


def test_an_error_of_a_statement_holds_nothing_that_was_to_be_stored(tmp_path: Path) -> None:
    engine = open_database(read_server_settings(data=tmp_path / "data"))
    with engine.connect() as connection, pytest.raises(SQLAlchemyError) as failed:
        connection.execute(text("INSERT INTO nowhere VALUES (:asked)"), {"asked": "Am I ill?"})
    assert "INSERT INTO nowhere" in str(failed.value) and "ill" not in str(failed.value)


def test_the_first_two_requests_of_this_machine_find_one_user(tmp_path: Path) -> None:
    engine = open_database(read_server_settings(data=tmp_path / "data"))
    with Session(engine) as first, Session(engine) as second:

        @event.listens_for(first, "before_flush", once=True)
        def _(*_: object) -> None:
            this_machine_user(second)

        assert this_machine_user(first).id == this_machine_user(second).id


def test_an_interrupted_migration_leaves_nothing_and_is_done_by_the_next_start(tmp_path: Path) -> None:
    settings = read_server_settings(data=tmp_path / "data")

    def break_off(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    event.listen(Base.metadata.tables["jobs"], "before_create", break_off)
    with pytest.raises(KeyboardInterrupt):
        open_database(settings)
    event.remove(Base.metadata.tables["jobs"], "before_create", break_off)
    with sqlite3.connect(settings.data / "server.sqlite") as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == []
    assert revision_of(open_database(settings)) == known_revisions()[0]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(ConfigurationError, match=r"data.* cannot be opened"):
        open_database(read_server_settings(data=tmp_path / "data"))


@pytest.mark.parametrize("password", ["SECRET@pass99", "SECRET%40pass99", "SEC/RET@pass99", "S@pass99:x@y"])
def test_no_part_of_a_password_with_an_at_sign_is_told(
    password: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    address = f"postgresql://rag:{password}@127.0.0.1:9/rag"
    with pytest.raises(ConfigurationError) as refused:
        open_database(read_server_settings(data=tmp_path / "data", database=address))
    with pytest.raises((ConfigurationError, IndexUnreachableError)) as unreachable:
        Index.open(address)
    for error in (refused.value, unreachable.value):
        assert "pass99" not in "".join(traceback.format_exception(error))
    assert "pass99" not in "".join(capfd.readouterr())
    if "/" not in password:  # the server that was meant is asked
        assert "refused" in str(refused.value)
