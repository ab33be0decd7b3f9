"""Holds states of an index in PostgreSQL, so that running questions can read them after later writes."""

from __future__ import annotations

import time
import weakref

from adaptive_rag.index.postgres.database import Database
from adaptive_rag.index.postgres.state import DatabaseState
from adaptive_rag.index.shared_cache import SharedCache

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


class HeldVersions:
    """The most recently used versions of one index, by name; safe to share between threads."""

    def __init__(self) -> None:
        self._versions: SharedCache[str, tuple[DatabaseState, HeldVersion]] = SharedCache(VERSIONS_HELD)

    def find(self, name: str) -> tuple[DatabaseState, str] | None:
        """Return a version and the name of its snapshot; None if it is no longer held."""
        held = self._versions.find(name)
        return None if held is None else (held[0], held[1].snapshot)

    def hold(self, state: DatabaseState, version: HeldVersion) -> None:
        """Hold a version, and release the least recently used one if there are too many."""
        self._versions.update({state.name: (state, version)})

    def is_fresh(self, state: DatabaseState) -> bool:
        """Return whether a version will be held long enough for a new question."""
        held = self._versions.find(state.name)
        return held is not None and time.monotonic() - held[1].began < RENEWED_AFTER
