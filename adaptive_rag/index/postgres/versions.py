"""States of an index in PostgreSQL that running questions can keep reading, whatever is written meanwhile."""

from __future__ import annotations

import threading
import time
import weakref

from cachetools import LRUCache

from adaptive_rag.index.postgres.database import Database
from adaptive_rag.index.postgres.state import DatabaseState

# The server keeps removed rows while a transaction is open that may see them. So it ends each transaction
# after HELD_SECONDS; questions that start later than RENEWED_AFTER get a new one.
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
        with database.asking():
            connection.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{HELD_SECONDS}s'")
            [self.snapshot] = connection.execute("SELECT pg_export_snapshot()").fetchone() or [""]
        self._began = time.monotonic()

    @property
    def age(self) -> float:
        """Return how many seconds the transaction has been open."""
        return time.monotonic() - self._began


class HeldVersions:
    """The versions of one index that were asked for last, by name; safe to share between threads."""

    def __init__(self) -> None:
        self._held: LRUCache[str, tuple[DatabaseState, HeldVersion]] = LRUCache(VERSIONS_HELD)
        self._lock = threading.Lock()

    def find(self, name: str) -> tuple[DatabaseState, str] | None:
        """Return a version and the name of its snapshot; None if it is no longer held."""
        with self._lock:
            state, held = self._held.get(name, (None, None))
        return None if state is None or held is None else (state, held.snapshot)

    def hold(self, state: DatabaseState, held: HeldVersion) -> None:
        """Hold a version, and release the one that was not asked for longest."""
        with self._lock:
            self._held[state.name] = state, held

    def is_fresh(self, state: DatabaseState) -> bool:
        """Tell whether a version will be held long enough for a new question."""
        with self._lock:
            held = self._held.get(state.name)
        return held is not None and held[1].age < RENEWED_AFTER
