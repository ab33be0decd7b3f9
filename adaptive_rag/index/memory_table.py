"""A small table in memory, which is searched exactly, and whose rows are read without LanceDB."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from adaptive_rag.index.neighbours import Ids
from adaptive_rag.index.shared_cache import SharedCache
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
        self._comparing = threading.Lock()
        self._recent: SharedCache[bytes, Vectors] = SharedCache(QUERIES_KEPT)

    def get(self, vectors: Vectors) -> list[Vectors]:
        """Return the cosines of all rows with each vector."""
        keys = [vector.tobytes() for vector in vectors]
        row_of = {key: row for row, key in enumerate(keys)}

        def compare(missing: list[bytes]) -> dict[bytes, Vectors]:
            cosines = self._compare(vectors[[row_of[key] for key in missing]])
            return dict(zip(missing, cosines, strict=True))

        # One thread at a time: the other branches of a question wait for the pass that has their vectors too.
        with self._comparing:
            cosines_of = self._recent.get_all(keys, compare)
        return [cosines_of[key] for key in keys]

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
        self._recent: SharedCache[Words, Vectors] = SharedCache(QUERIES_KEPT)
        self._looking_up = threading.Lock()

    def get(self, words: Words) -> Vectors:
        """Return the BM25 of each row, in the order of the rows, 0.0 where no word matches."""
        # A cached result is returned without waiting for lookups of other threads.
        if (cached := self._recent.find(words)) is not None:
            return cached
        # One lookup at a time: the branches of a question share words, and find them in the cache afterwards.
        with self._looking_up:
            for count in range(len(words), 0, -1):
                if (cached := self._recent.find(words[:count])) is not None:
                    if added := words[count:]:
                        cached = cached + self._recent.get(added, partial(self._look_up, added))
                        self._recent.update({words: cached})
                    return cached
            return self._recent.get(words, partial(self._look_up, words))

    def _look_up(self, words: Words) -> Vectors:
        scores = np.zeros(len(self._rows), dtype=np.float32)
        rows, bm25 = self._match(words)
        scores[np.searchsorted(self._rows, rows)] = bm25
        return scores
