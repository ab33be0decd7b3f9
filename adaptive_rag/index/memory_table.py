"""A small table in memory, which is searched exactly, and whose rows are read without LanceDB."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from cachetools import LRUCache

from adaptive_rag.index.neighbours import Ids
from adaptive_rag.text.vectors import Vectors

if TYPE_CHECKING:
    import pyarrow as pa

# A table of up to this many chunks is read into memory; a chunk takes about 5 kB, half of it for sentences.
IN_MEMORY_UP_TO = 20_000
QUERIES_KEPT = 128
# Rows compared at once. BLAS splits a larger product over several threads, which mostly wait for each other.
ROWS_AT_ONCE = 128

Words = tuple[str, ...]
Match = Callable[[Words], tuple[Ids, Vectors]]


@dataclass(frozen=True, eq=False)
class MemoryTable:
    """The columns of a table, with its rows in ascending order of row id."""

    rows: Ids
    columns: pa.Table

    @classmethod
    def from_arrow(cls, table: pa.Table) -> MemoryTable:
        """Build from an Arrow table that has row ids."""
        rows = table["_rowid"].to_numpy().astype(np.int64)
        order = np.argsort(rows)
        return cls(rows[order], table.take(order).combine_chunks())

    def take(self, rows: Sequence[int] | Ids) -> pa.Table:
        """Return the columns of some rows."""
        return self.columns.take(np.searchsorted(self.rows, np.asarray(rows, dtype=np.int64)))


class Cosines:
    """Cosines of all rows with recent query vectors, cached since several steps search for the same ones."""

    def __init__(self, matrix: Vectors) -> None:
        self._matrix = matrix
        self._lock = threading.Lock()
        self._recent: LRUCache[bytes, Vectors] = LRUCache(QUERIES_KEPT)

    def get(self, vectors: Vectors) -> list[Vectors]:
        """Return the cosines of all rows with each vector."""
        keys = [vector.tobytes() for vector in vectors]
        # One thread at a time: the other branches of a question wait for the pass that has their vectors too.
        with self._lock:
            cached = {key: cosines for key in keys if (cosines := self._recent.get(key)) is not None}
            missing = {key: row for row, key in enumerate(keys) if key not in cached}
            if missing:
                cached.update(zip(missing, self._compare(vectors[list(missing.values())]), strict=True))
                self._recent.update((key, cached[key]) for key in missing)
        return [cached[key] for key in keys]

    def _compare(self, vectors: Vectors) -> Vectors:
        if len(vectors) == 1:
            return np.asarray(np.einsum("ij,kj->ki", self._matrix, vectors), dtype=np.float32)
        cosines = np.empty((len(vectors), len(self._matrix)), dtype=np.float32)
        columns = np.ascontiguousarray(vectors.T)
        for start in range(0, len(self._matrix), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            cosines[:, rows] = (self._matrix[rows] @ columns).T
        return cosines


class WordScores:
    """BM25 scores of all rows for recent queries, cached.

    BM25 is a sum over words. So when a query begins with an earlier one, as a branch begins with its
    question, only the added words are looked up.
    """

    def __init__(self, rows: Ids, match: Match) -> None:
        self._rows = rows
        self._match = match
        self._recent: LRUCache[Words, Vectors] = LRUCache(QUERIES_KEPT)
        self._lock = threading.Lock()  # held while `_recent` is read or written
        self._looking_up = threading.Lock()

    def get(self, words: Words) -> Vectors:
        """Return the BM25 of each row, in the order of the rows, 0.0 where no word matches."""
        # A cached result is returned without waiting for lookups of other threads.
        if (cached := self._find_cached(words)) is not None:
            return cached
        # One lookup at a time: the branches of a question share words, and find them in the cache afterwards.
        with self._looking_up:
            for count in range(len(words), 0, -1):
                if (cached := self._find_cached(words[:count])) is not None:
                    added = words[count:]
                    return self._cache(words, cached + self._look_up(added)) if added else cached
            return self._look_up(words)

    def _look_up(self, words: Words) -> Vectors:
        if (cached := self._find_cached(words)) is not None:
            return cached
        scores = np.zeros(len(self._rows), dtype=np.float32)
        rows, bm25 = self._match(words)
        scores[np.searchsorted(self._rows, rows)] = bm25
        return self._cache(words, scores)

    def _find_cached(self, words: Words) -> Vectors | None:
        with self._lock:
            return self._recent.get(words)

    def _cache(self, words: Words, scores: Vectors) -> Vectors:
        with self._lock:
            self._recent[words] = scores
        return scores
