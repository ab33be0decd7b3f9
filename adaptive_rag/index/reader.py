"""One complete version of the table, ready to be searched by vector and by words."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from adaptive_rag.errors import IndexMismatchError
from adaptive_rag.index import neighbours
from adaptive_rag.index.held import HELD_UP_TO, Cosines, HeldTable, WordScores
from adaptive_rag.index.manifest import Manifest, rebuild_hint
from adaptive_rag.index.neighbours import VECTOR, Ids
from adaptive_rag.index.sentences import embed_sentences, unpack_sentences
from adaptive_rag.index.table import (
    CHUNK_COLUMNS,
    ID,
    SENTENCE_COLUMNS,
    TEXT,
    VIEWS,
    connect,
    read_chunk,
)
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Chunk

ROWS_KEPT = 4096
# Hits by words read at least: with them most chunks that the vector finds have their BM25 at once.
WORD_HITS = 300
SENTENCE_DIMENSION = 384
IDS_PER_QUERY = 500
# A pasted page as a query would ask for thousands of words; the first distinct ones decide.
WORDS_PER_QUERY = 128

Item = TypeVar("Item")
Result = TypeVar("Result")

_word = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Hits:
    """What one query found: rows in order, the BM25 known so far, and the rows whose BM25 is not."""

    union: list[int]
    bm25: dict[int, float]
    lacking: list[int]


class TableReader:
    """Searches one version of the table; safe to share between threads."""

    def __init__(self, uri: str, manifest: Manifest) -> None:
        self.manifest = manifest
        self._dimension = manifest.settings.dimension
        self._lock = threading.Lock()
        self._rows: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._row_of: dict[str, int] = {}
        self._pool = ThreadPoolExecutor(8, thread_name_prefix="search")
        try:
            self.table = connect(uri).open_table(manifest.table)
            self.table.checkout(manifest.version)
            found = self.table.count_rows()
        except (ValueError, RuntimeError, OSError) as error:
            raise IndexMismatchError(
                f"The index {uri} is damaged: its table {manifest.table!r}, version {manifest.version}, "
                f"cannot be opened ({str(error).splitlines()[0]}). Make it anew: {rebuild_hint(uri)}"
            ) from error
        if found != manifest.chunks:
            raise IndexMismatchError(
                f"The index {uri} is damaged: its manifest speaks of {manifest.chunks} chunks, its table "
                f"holds {found}. Make it anew: {rebuild_hint(uri)}"
            )

    def search(self, queries: Sequence[str], vectors: Vectors, limit: int) -> list[list[Candidate]]:
        """Return the union of the best `limit` chunks by vector and by words, for each query."""
        limit = min(max(1, limit), max(1, self.manifest.chunks))
        if not self.manifest.chunks:
            return [[] for _ in queries]
        if self.manifest.chunks <= HELD_UP_TO:
            return self._search_held(queries, vectors, limit)
        found = self._find(queries, vectors, limit)
        rows = self._fetch([row for hits in found for row in hits.union])
        # chunks that only the vector found may still hold words of the query, further down
        lacking = [[rows[row]["id"] for row in hits.lacking] for hits in found]
        more = self._map(
            lambda item: self.match(item[0], len(item[1]), among=item[1]),
            list(zip(queries, lacking, strict=True)),
        )
        results = []
        for hits, vector, (late, bm25) in zip(found, vectors, more, strict=True):
            sparse = {**hits.bm25, **dict(zip(late.tolist(), bm25.tolist(), strict=True))}
            results.append([self._candidate(rows[row], vector, sparse.get(row, 0.0)) for row in hits.union])
        return results

    def begin(self, work: Callable[[], object]) -> None:
        """Begin some work in another thread; who needs its result asks for it and finds it done."""
        self._pool.submit(work)

    def look_up_words(self, queries: Sequence[str]) -> None:
        """Look up the words of queries that will be searched, where what is found is kept."""
        if 0 < self.manifest.chunks <= HELD_UP_TO:
            for query in queries:
                self._word_scores.of(tuple(_words(query)))

    def compare(self, vectors: Vectors) -> None:
        """Compare vectors that will be searched with all chunks, where what is found is kept."""
        if 0 < self.manifest.chunks <= HELD_UP_TO:
            self._cosines.of(vectors)

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks by id."""
        rows = self._by_id(ids)
        if not rows:
            return np.zeros((0, self._dimension), dtype=np.float32)
        return np.stack([row[VECTOR] for row in rows])

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of chunks by id."""
        rows = self._by_id(ids)
        bare = list(dict.fromkeys(row["_rowid"] for row in rows if "sentences" not in row))
        if bare:
            taken = self._take(bare, SENTENCE_COLUMNS)
            spans, vectors = (taken[name].to_pylist() for name in SENTENCE_COLUMNS)
            found = unpack_sentences(spans, vectors, SENTENCE_DIMENSION)
            unpacked = dict(zip(taken["_rowid"].to_pylist(), found, strict=True))
            for row in rows:
                row.setdefault("sentences", unpacked.get(row["_rowid"]))
        return [row["sentences"] for row in rows]

    def embedded_sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of chunks by id, embedding those that were not asked for lately."""
        rows = self._by_id(ids)
        bare = list({row["id"]: row for row in rows if "sentences" not in row}.values())
        for row, sentences in zip(bare, embed_sentences([row["chunk"] for row in bare]), strict=True):
            row["sentences"] = sentences
        return [row["sentences"] for row in rows]

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id."""
        return [row["chunk"] for row in self._by_id(ids)]

    def chunks(self) -> Iterator[Chunk]:
        """Go through all chunks, a batch at a time."""
        query = self.table.search().select(CHUNK_COLUMNS).limit(self.manifest.chunks or 1)
        for batch in query.to_batches(1024):
            for row in batch.to_pylist():
                yield read_chunk(row)

    def match(
        self, query: str, limit: int, among: Sequence[int] | Sequence[str] | None = None
    ) -> tuple[Ids, Vectors]:
        """Return the rows that hold words of the query and their BM25, best first.

        `among` narrows them to rows, or to chunk ids; ids are looked up, rows are gone through.
        """
        from lancedb.query import MatchQuery

        words = _words(query)
        nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        if not words or (among is not None and not len(among)):
            return nothing
        match: Any = MatchQuery
        search = self.table.search(match(" ".join(words), TEXT), query_type="fts")
        if among is not None:
            search = search.where(_one_of(among), prefilter=True)
        hits = search.select(["_score"]).with_row_id(True).limit(limit).to_arrow()
        return hits["_rowid"].to_numpy().astype(np.int64), hits["_score"].to_numpy().astype(np.float32)

    @cached_property
    def _resident(self) -> tuple[Ids, Vectors]:
        """The row ids, ascending, and the vectors of a table that is searched exactly."""
        held = self._hold([VECTOR])
        flat = held.columns[VECTOR].combine_chunks().flatten().to_numpy()
        return held.rows, flat.reshape(-1, self._dimension)

    @cached_property
    def _cosines(self) -> Cosines:
        return Cosines(self._resident[1])

    @cached_property
    def _chunks(self) -> HeldTable:
        return self._hold([*CHUNK_COLUMNS, VECTOR, VIEWS])

    @cached_property
    def _sentences(self) -> HeldTable:
        return self._hold(SENTENCE_COLUMNS)

    @cached_property
    def _word_scores(self) -> WordScores:
        return WordScores(self._resident[0], lambda words: self.match(" ".join(words), self.manifest.chunks))

    def _hold(self, columns: list[str]) -> HeldTable:
        query = self.table.search().select(columns).with_row_id(True).limit(self.manifest.chunks)
        return HeldTable.of(query.to_arrow())

    def _take(self, rows: list[int], columns: list[str]) -> Any:
        """Return some columns of rows, with the row ids; in any order."""
        if self.manifest.chunks > HELD_UP_TO:
            return self.table.take_row_ids(rows).select(columns).with_row_id().to_arrow()
        held = self._sentences if columns == SENTENCE_COLUMNS else self._chunks
        return held.take(rows)

    def _search_held(self, queries: Sequence[str], vectors: Vectors, limit: int) -> list[list[Candidate]]:
        """Search a table that is held in memory: exactly, by vector and by words."""
        numbers, _ = self._resident
        by_vector = [numbers[_best(cosines, limit)] for cosines in self._cosines.of(vectors)]
        scores = [self._word_scores.of(tuple(_words(query))) for query in queries]
        by_words = [numbers[best[bm25[best] > 0]] for bm25 in scores if len(best := _best(bm25, limit))]
        unions = [
            list(dict.fromkeys([*near.tolist(), *matched.tolist()]))
            for near, matched in zip(by_vector, by_words, strict=True)
        ]
        rows = self._fetch([row for union in unions for row in union])
        return [
            [
                self._candidate(rows[row], vector, float(score))
                for row, score in zip(union, bm25[np.searchsorted(numbers, union)], strict=True)
            ]
            for union, vector, bm25 in zip(unions, vectors, scores, strict=True)
        ]

    def _find(self, queries: Sequence[str], vectors: Vectors, limit: int) -> list[_Hits]:
        """Return the union of each query's best rows by vector and by words."""
        small = self.manifest.chunks <= neighbours.EXACT_UP_TO
        nearest = self._nearest_exactly if small else self._nearest_roughly
        depth = max(limit, WORD_HITS)
        near = self._pool.submit(nearest, vectors, limit)
        matched = self._map(lambda query: self.match(query, depth), queries)
        found = []
        for by_vector, (by_words, bm25) in zip(near.result(), matched, strict=True):
            scores = dict(zip(by_words.tolist(), bm25.tolist(), strict=True))
            union = list(dict.fromkeys([*by_vector.tolist(), *by_words[:limit].tolist()]))
            # fewer hits than asked for are all there are
            lacking = [row for row in union if row not in scores] if len(by_words) == depth else []
            found.append(_Hits(union, scores, lacking))
        return found

    def _nearest_exactly(self, vectors: Vectors, limit: int) -> list[Ids]:
        rows, matrix = self._resident
        # On one thread: at this size a threaded product mostly waits for a second core, and on a busy
        # machine for long.
        cosines = np.einsum("ij,kj->ki", matrix, vectors)
        return [rows[_best(row, limit)] for row in cosines]

    def _nearest_roughly(self, vectors: Vectors, limit: int) -> list[Ids]:
        return [neighbours.nearest(self.table, vector, limit, self.manifest.chunks) for vector in vectors]

    def _map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Apply a function to each item, side by side where there are several."""
        if len(items) == 1:
            return [function(items[0])]
        return list(self._pool.map(function, items))

    def _candidate(self, row: dict[str, Any], query: Vectors, sparse: float) -> Candidate:
        scores = {"dense": float(row[VECTOR] @ query), "sparse": sparse}
        if row[VIEWS] is not None:
            scores["dense_question"], scores["dense_answer"] = (row[VIEWS] @ query).tolist()
        chunk: Chunk = row["chunk"]
        metadata = dict(chunk["metadata"])
        return cast(Candidate, {**chunk, "metadata": metadata, "scores": scores, "labels": []})

    def _fetch(self, row_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        wanted = dict.fromkeys(row_ids)
        with self._lock:
            held = {row: self._rows[row] for row in wanted if row in self._rows}
            for row in held:
                self._rows.move_to_end(row)
        missing = [row for row in wanted if row not in held]
        if missing:
            columns = [*CHUNK_COLUMNS, VECTOR, VIEWS]
            held.update(self._keep(self._take(missing, columns)))
        return held

    def _by_id(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        with self._lock:
            held = {i: self._rows[self._row_of[i]] for i in ids if i in self._row_of}
        missing = [i for i in dict.fromkeys(ids) if i not in held]
        for start in range(0, len(missing), IDS_PER_QUERY):
            batch = missing[start : start + IDS_PER_QUERY]
            query = self.table.search().where(_one_of(batch))
            columns = [*CHUNK_COLUMNS, VECTOR, VIEWS]
            taken = query.select(columns).with_row_id(True).limit(len(batch)).to_arrow()
            held.update({row["id"]: row for row in self._keep(taken).values()})
        absent = [i for i in ids if i not in held]
        if absent:
            raise KeyError(f"No chunk has the id {absent[0]!r}.")
        return [held[i] for i in ids]

    def _keep(self, taken: Any) -> dict[int, dict[str, Any]]:
        matrix = taken[VECTOR].combine_chunks().flatten().to_numpy().reshape(-1, self._dimension)
        kept: dict[int, dict[str, Any]] = {}
        for raw, vector in zip(taken.drop_columns([VECTOR]).to_pylist(), matrix, strict=True):
            views = raw[VIEWS]
            if views is not None:
                views = np.frombuffer(views, dtype=np.float32).reshape(2, -1)
            row = {"_rowid": raw["_rowid"], "id": raw["id"], "chunk": read_chunk(raw)}
            kept[raw["_rowid"]] = {**row, VECTOR: vector, VIEWS: views}
        with self._lock:
            for number, row in kept.items():
                self._rows[number] = row
                self._row_of[row["id"]] = number
            while len(self._rows) > ROWS_KEPT:
                _, dropped = self._rows.popitem(last=False)
                self._row_of.pop(dropped["id"], None)
        return kept


def _best(scores: Vectors, limit: int) -> Ids:
    """Return the positions of the highest scores, best first; ties in order of position."""
    few = limit < len(scores)
    top = np.argpartition(-scores, limit - 1)[:limit] if few else np.arange(len(scores))
    return np.asarray(top[np.lexsort((top, -scores[top]))], dtype=np.int64)


def _words(query: str) -> list[str]:
    # A match query has no syntax: quotes and operators are words or nothing.
    return list(dict.fromkeys(_word.findall(query)))[:WORDS_PER_QUERY]


def _one_of(chunks: Sequence[int] | Sequence[str]) -> str:
    """Return the SQL condition that a row is one of these rows or chunk ids."""
    column = ID if isinstance(chunks[0], str) else "_rowid"
    values = ["'" + c.replace("'", "''") + "'" if isinstance(c, str) else str(c) for c in chunks]
    return f"{column} IN ({', '.join(values)})"
