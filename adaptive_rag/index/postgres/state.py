"""One state of an index in PostgreSQL: its manifest, cached statistics, and what holds it for questions."""

from __future__ import annotations

import time
import weakref
from array import array
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from adaptive_rag.index.fields import Fields
from adaptive_rag.index.manifest import Manifest
from adaptive_rag.index.postgres.database import Database, Selection
from adaptive_rag.index.shared_cache import SharedCache
from adaptive_rag.text.bm25 import idf
from adaptive_rag.where import Kind

if TYPE_CHECKING:
    from psycopg import Cursor

WORDS_KEPT, CONDITIONS_KEPT = 10_000, 64
# Up to this many selected chunks are searched by number; sending more takes longer than testing a condition.
FEW = 10_000
# The server keeps removed rows while an open transaction may see them. So each transaction ends after
# HELD_SECONDS; questions that start more than RENEWED_AFTER seconds after its start get a new one.
HELD_SECONDS, RENEWED_AFTER = 600, 300
# Each version takes a connection.
VERSIONS_HELD = 3


class DatabaseState:
    """One state of the index with its statistics; safe to share between threads."""

    def __init__(self, stamp: Hashable, manifest: Manifest, database: Database) -> None:
        self.stamp, self.manifest, self.copies = stamp, manifest, manifest.copies()
        self.name = str(manifest.committed)
        self.table, self.words = database.chunks_of(manifest.table), database.words_of(manifest.table)
        self.owners = sorted(manifest.owners(manifest.sources))
        none: list[Any] = [None] * len(self.owners)
        self.source_fields = Fields(self.owners, none, none, [{} for _ in none], self.copies)
        self._mean: float | None = None
        self._kinds: dict[str, Kind] | None = None
        self._weights: SharedCache[str, float] = SharedCache(WORDS_KEPT)
        self._few: SharedCache[str, array[int]] = SharedCache(CONDITIONS_KEPT)

    def mean_words(self, cursor: Cursor[Any]) -> float:
        """Return the mean number of words of a chunk, without stop words."""
        if self._mean is None:
            [mean] = cursor.execute(f"SELECT avg(words)::float8 FROM {self.table}").fetchone() or [None]
            self._mean = float(mean or 1.0)
        return self._mean

    def weights(self, cursor: Cursor[Any], lexemes: Sequence[str]) -> list[float]:
        """Return the weight of each word in BM25 (idf), which is higher for words that are rarer."""

        def compute(missing: list[str]) -> dict[str, float]:
            sql = f"SELECT lexeme, count(*) FROM {self.words} WHERE lexeme = ANY(%s) GROUP BY lexeme"
            chunk_counts = dict.fromkeys(missing, 0) | dict(cursor.execute(sql, [missing]).fetchall())
            return {word: idf(self.manifest.chunks, number) for word, number in chunk_counts.items()}

        weight_of = self._weights.get_all(lexemes, compute)
        return [weight_of[word] for word in lexemes]

    def select_few(self, cursor: Cursor[Any], name: str, selection: Selection) -> list[int] | None:
        """Return the numbers of the selected chunks; None if there are more than `FEW`.

        The result is cached under `name`, which identifies the condition.
        """
        condition, values = selection
        sql = f"SELECT number FROM {self.table} WHERE {condition} LIMIT {FEW + 1}"
        numbers = self._few.get(name, lambda: array("i", [n for [n] in cursor.execute(sql, values)]))
        return numbers.tolist() if len(numbers) <= FEW else None

    def kinds(self, cursor: Cursor[Any]) -> dict[str, Kind]:
        """Return each field and the kind of its values; fields with values of several kinds are text."""
        if self._kinds is None:
            kinds: dict[str, Kind] = {}
            cursor.execute(f"SELECT DISTINCT key, value FROM {self.table}, jsonb_each_text(kinds)")
            for field, kind in cursor:
                kinds[field] = kind if kinds.get(field, kind) == kind else "text"
            self._kinds = {**self.source_fields.kinds(), **dict(sorted(kinds.items()))}
        return self._kinds


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
