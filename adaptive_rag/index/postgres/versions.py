"""Holds states of an index in PostgreSQL, so that running questions can read them after later writes."""

from __future__ import annotations

import time
import weakref

from adaptive_rag.index.postgres.database import Database

# The server keeps removed rows while an open transaction may see them. So each transaction ends after
# HELD_SECONDS; questions that start more than RENEWED_AFTER seconds after its start get a new one.
HELD_SECONDS, RENEWED_AFTER = 600, 300
# Each version takes a connection.
VERSIONS_HELD = 3


class HeldVersion:
    """A transaction that stays open, so that other connections can read its snapshot."""

    def __init__(self, database: Database) -> None:
        from psycopg import IsolationLevel

        connection = database.connect()
        weakref.finalize(self, connection.close)
        connection.autocommit, connection.read_only = False, True
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        with database.translating_errors():
            connection.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{HELD_SECONDS}s'")
            [self.snapshot] = connection.execute("SELECT pg_export_snapshot()").fetchone() or [""]
        self.began = time.monotonic()

    @property
    def is_fresh(self) -> bool:
        """Return whether the version will be held long enough for a new question."""
        return time.monotonic() - self.began < RENEWED_AFTER
