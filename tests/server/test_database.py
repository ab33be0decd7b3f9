"""The server's database: its migrations make the tables that the code expects."""

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server.database import open_database
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tables import Base


def test_the_migrations_make_the_tables_of_the_code(tmp_path: Path) -> None:
    engine = open_database(read_server_settings(data=tmp_path / "data"))
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    open_database(read_server_settings(data=tmp_path / "data"))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(ConfigurationError, match=r"data.* cannot be opened"):
        open_database(read_server_settings(data=tmp_path / "data"))
