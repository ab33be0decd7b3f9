"""A small table held in memory: searched exactly, and read without asking LanceDB row by row."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adaptive_rag.index.neighbours import Ids
from adaptive_rag.models.onnx import Vectors

if TYPE_CHECKING:
    import pyarrow as pa

# Up to this many chunks a table is held; a chunk takes about 5 kB, half of it the vectors of its sentences.
HELD_UP_TO = 20_000
QUERIES_KEPT = 128
# Rows compared at once: of a larger product BLAS makes several threads, which mostly wait for each other.
ROWS_AT_ONCE = 128

Words = tuple[str, ...]
Match = Callable[[Words], tuple[Ids, Vectors]]


@dataclass(frozen=True, eq=False)
class HeldTable:
    """The columns of a table, its rows in ascending order of their ids."""

    rows: Ids
    columns: pa.Table

    @classmethod
    def of(cls, table: pa.Table) -> HeldTable:
        """Hold what was read, a table with its row ids."""
        rows = table["_rowid"].to_numpy().astype(np.int64)
        order = np.argsort(rows)
        return cls(rows[order], table.take(order).combine_chunks())

    def take(self, rows: Sequence[int]) -> pa.Table:
        """Return the columns of some rows."""
        return self.columns.take(np.searchsorted(self.rows, np.asarray(rows, dtype=np.int64)))


class Cosines:
    """The cosines of every row with the vectors last compared: several steps search for the same ones."""

    def __init__(self, matrix: Vectors) -> None:
        self._matrix = matrix
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, Vectors] = OrderedDict()

    def of(self, vectors: Vectors) -> list[Vectors]:
        """Return the cosines of all rows with each vector."""
        keys = [vector.tobytes() for vector in vectors]
        # One at a time: the branches of a question wait for the pass that compares all their vectors.
        with self._lock:
            new = {key: row for row, key in enumerate(keys) if key not in self._known}
            if new:
                self._known.update(zip(new, self._compare(vectors[list(new.values())]), strict=True))
            cosines = [self._known[key] for key in keys]
            for key in keys:
                self._known.move_to_end(key)
            while len(self._known) > QUERIES_KEPT:
                self._known.popitem(last=False)
        return cosines

    def _compare(self, vectors: Vectors) -> Vectors:
        if len(vectors) == 1:
            return np.asarray(np.einsum("ij,kj->ki", self._matrix, vectors), dtype=np.float32)
        found = np.empty((len(vectors), len(self._matrix)), dtype=np.float32)
        columns = np.ascontiguousarray(vectors.T)
        for start in range(0, len(self._matrix), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            found[:, rows] = (self._matrix[rows] @ columns).T
        return found


class WordScores:
    """The BM25 of every row for the queries last asked.

    BM25 is a sum over words, so a query that begins with another one, as a branch begins with its
    question, is asked only for the words that it adds.
    """

    def __init__(self, rows: Ids, match: Match) -> None:
        self._rows = rows
        self._match = match
        self._lock = threading.Lock()
        self._known: OrderedDict[Words, Vectors] = OrderedDict()

    def of(self, words: Words) -> Vectors:
        """Return the BM25 of each row, in the order of the rows, 0.0 where no word matches."""
        # What is known is given at once: a question need not wait while its branches' words are looked up.
        known = self._known.get(words)
        if known is not None:
            return known
        # One query at a time: the branches of a question wait for the words that they share.
        with self._lock:
            known = self._known.get(words)
            if known is None:
                known = self._joined(words)
            return known

    def _joined(self, words: Words) -> Vectors:
        begun = next((n for n in range(len(words) - 1, 0, -1) if words[:n] in self._known), 0)
        scores = self._asked(words[begun:])
        if begun:
            self._known.move_to_end(words[:begun])
            scores = self._keep(words, self._known[words[:begun]] + scores)
        return scores

    def _asked(self, words: Words) -> Vectors:
        if words in self._known:
            self._known.move_to_end(words)
            return self._known[words]
        scores = np.zeros(len(self._rows), dtype=np.float32)
        found, bm25 = self._match(words)
        scores[np.searchsorted(self._rows, found)] = bm25
        return self._keep(words, scores)

    def _keep(self, words: Words, scores: Vectors) -> Vectors:
        self._known[words] = scores
        while len(self._known) > QUERIES_KEPT:
            self._known.popitem(last=False)
        return scores
