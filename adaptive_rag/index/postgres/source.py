"""An open index in PostgreSQL: the server does vector search, BM25 and filters."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from cachetools import LRUCache
from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import IndexMismatchError
from adaptive_rag.index.fields import Fields
from adaptive_rag.index.manifest import MANIFEST, SourceRecord, complete_manifest
from adaptive_rag.index.opened import OpenedIndex
from adaptive_rag.index.postgres.conditions import Conditions
from adaptive_rag.index.postgres.database import Database, SnapshotGoneError
from adaptive_rag.index.postgres.neighbours import nearest_exactly, nearest_roughly
from adaptive_rag.index.postgres.spelling import holds, spelt_like
from adaptive_rag.index.postgres.state import DatabaseState
from adaptive_rag.index.postgres.versions import HeldVersion, HeldVersions
from adaptive_rag.index.postgres.writer import LANGUAGE
from adaptive_rag.index.reader import WORDS_PER_QUERY
from adaptive_rag.index.table import SENTENCE_DIMENSION, StoredChunk, unpack_sentences, unpack_views
from adaptive_rag.index.vectorize import embed_sentences, load_model_of, refuse_dimension
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Chunk
from adaptive_rag.text.bm25 import K1, B
from adaptive_rag.text.vectors import Vectors

if TYPE_CHECKING:
    from psycopg import Cursor

CHUNKS_KEPT, ROWS_PER_READ = 4096, 1000
CHUNK = "langchain_id, source, page, section, start_index, end_index, content, langchain_metadata"
# Word weights are those of all chunks, whatever is selected.
SEARCH = f"""
WITH asked AS (
    SELECT unnest(%(lexemes)s::text[]) AS lexeme, unnest(%(weights)s::float8[]) AS weight
), bm25 AS (
    SELECT number,
        sum(weight * times * {K1 + 1} / (times + {K1} * ({1 - B} + {B} * words / %(mean)s))) AS score
    FROM asked JOIN {{words}} USING (lexeme) GROUP BY number
), named AS (
    SELECT number, score FROM bm25 {{among}} ORDER BY score DESC, number LIMIT %(limit)s
), picked AS (
    SELECT number, max(score) AS score FROM (
        SELECT unnest(%(near)s::integer[]) AS number, 0 AS score
        UNION ALL SELECT number, score FROM bm25 WHERE number = ANY(%(near)s::integer[])
        UNION ALL SELECT number, score FROM named
    ) AS found GROUP BY number
)
SELECT {{chunk}}, embedding, views, score::float8 FROM picked JOIN {{table}} USING (number)
"""


class PostgresIndex(OpenedIndex):
    """An index in PostgreSQL that is open for searching.

    It follows what other processes write: each search sees one complete state, and a question keeps the one
    that it started with. Its methods may be called from several threads at once. Those that take ids raise
    KeyError if a chunk is not in the index, and all raise IndexUnreachableError if the server does not
    answer.
    """

    def __init__(self, database: Database, embeddings: Embeddings | None = None) -> None:
        super().__init__(database.uri, embeddings)
        self._database = database
        self._lock = threading.Lock()
        self._found: LRUCache[str, StoredChunk] = LRUCache(CHUNKS_KEPT)
        self._versions, self._pinned = HeldVersions(), ""
        self._state = self._last_state()

    @classmethod
    def open(cls, uri: str | Path, embeddings: str | Embeddings | None = None) -> PostgresIndex:
        """Open an index; unless a model is passed, the one it was made with is loaded.

        Raises:
            IndexMismatchError: there is no index, or another model was passed.
            IndexUnreachableError: the server does not answer, or denies access.
            ConfigurationError: the model cannot be loaded by name and was not passed.
        """
        database = Database(str(uri))
        made_with = complete_manifest(database).settings.embeddings
        return cls(database, load_model_of(database.uri, made_with, embeddings))

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return, for each query, the union of its best `limit` chunks by vector and by words.

        `scores` holds "dense" (cosine) and "sparse" (BM25, 0.0 where no word matches); chunks that are
        question-answer pairs also have "dense_question" and "dense_answer".
        """
        if not queries:
            return []
        vectors = self.embed(queries)
        with self._asking() as (cursor, state):
            refuse_dimension(self.uri, state.manifest.settings.dimension, vectors, self.embeddings)
            chosen, values, many = self._narrow(cursor, state)
            among = f"JOIN {state.table} USING (number) WHERE {chosen}" if self._chosen else ""
            find = nearest_roughly if many and state.manifest.recall else nearest_exactly
            sql = SEARCH.format(table=state.table, words=state.words, chunk=CHUNK, among=among)
            same = {**values, "mean": state.mean_words(cursor), "limit": max(1, limit)}
            found = []
            for words, vector in zip(to_lexemes(cursor, queries), vectors, strict=True):
                near = find(cursor, state.table, vector, max(1, limit), chosen, values)
                own = {"near": near, "lexemes": words, "weights": state.weights(cursor, words)}
                rows = cursor.execute(sql, {**same, **own}).fetchall()
                kept = self._keep([row[:-1] for row in rows], state)
                hits = [each.scored(vector, row[-1]) for each, row in zip(kept, rows, strict=True)]
                found.append(sorted(hits, key=lambda hit: (-hit["scores"]["dense"], hit["id"])))
        return found

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks, shape (len(ids), dimension), unit length."""
        found = [each.vector for each in self._with_ids(ids)]
        dimension = self._last_known.manifest.settings.dimension
        return np.stack(found) if found else np.zeros((0, dimension), dtype=np.float32)

    @property
    def stores_sentences(self) -> bool:
        """Tell whether the index was made with sentence vectors."""
        return bool(self._last_known.manifest.settings.sentence_vectors)

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk with their vectors.

        If none are stored, or a chunk was replaced since it was found, its sentences are embedded.
        """
        found = self._with_ids(ids)
        bare = {each.chunk["id"]: each for each in found if each.sentences is None}
        if bare and self.stores_sentences:
            with self._asking() as (cursor, state):
                columns = f"langchain_id, sentence_spans, sentence_vectors FROM {state.table}"
                cursor.execute(f"SELECT {columns} WHERE langchain_id = ANY(%s)", [list(bare)])
                rows = [row for row in cursor if row[1] is not None]
            if rows:
                stored, spans, vectors = zip(*rows, strict=True)
                unpacked = unpack_sentences(spans, vectors, SENTENCE_DIMENSION)
                for id_, sentences in zip(stored, unpacked, strict=True):
                    bare[id_].sentences = sentences
        late = [each for each in bare.values() if each.sentences is None]
        for each, made in zip(late, embed_sentences([each.chunk for each in late]), strict=True):
            each.sentences = made
        return [each.sentences for each in found if each.sentences is not None]

    def spelt_like(self, word: str) -> list[str]:
        """Return words of the chunks that are spelt almost like this one; none if a chunk contains it."""
        with self._asking() as (cursor, state):
            chosen, values, _ = self._narrow(cursor, state)
            return spelt_like(cursor, state, word, to_lexemes(cursor, [word])[0], chosen, values)

    def holds(self, word: str) -> bool:
        """Tell whether a chunk contains a word as it is, ignoring case."""
        with self._asking() as (cursor, state):
            chosen, values, _ = self._narrow(cursor, state)
            return holds(cursor, state, word, to_lexemes(cursor, [word])[0], chosen, values)

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over all chunks."""
        with self._asking() as (cursor, state):
            conditions = Conditions(state)
            chosen = conditions.of(self._chosen, cursor)
            with cursor.connection.cursor("chunks", binary=True) as rows:
                rows.itersize = ROWS_PER_READ
                rows.execute(f"SELECT {CHUNK} FROM {state.table} WHERE {chosen}", conditions.values)
                for row in rows:
                    yield _chunk(row, state)

    def sources(self) -> dict[str, int]:
        """Return the indexed sources and the number of chunks of each."""
        with self._asking() as (cursor, state):
            if not self._chosen:
                return {name: record.chunks for name, record in state.manifest.sources.items()}
            return dict(self._select(cursor, state, "source, count(*)", "GROUP BY source"))

    def fields(self) -> dict[str, str]:
        """Return the fields that a condition can use, each with its kind and its range or examples."""
        with self._asking() as (cursor, state):
            rows = self._select(cursor, state, "source, page, section, langchain_metadata")
            sources, pages, sections, metadata = ([row[n] for row in rows] for n in range(4))
            return Fields(sources, pages, sections, metadata, state.copies).describe()

    def info(self) -> dict[str, Any]:
        """Return what the index contains and how it was made."""
        with self._asking() as (_, state):
            return state.manifest.describe(self._database)

    @property
    def version(self) -> str:
        """The name of the current state, which is held for some minutes from now."""
        whole = self.whole
        if self._pinned and whole._versions.find(self._pinned):
            return self._pinned
        while True:
            with whole._asking() as (_, state):
                if whole._versions.is_fresh(state):
                    return state.name
            held = HeldVersion(self._database)
            # the index may have been written meanwhile
            with self._database.reading(held.snapshot) as cursor:
                if self._database.stamped(cursor, MANIFEST) == state.stamp:
                    whole._versions.hold(state, held)

    def at(self, version: str) -> PostgresIndex:
        """Return the index pinned to the named state, or to the current one if that is no longer held."""
        pinned = copy.copy(self)
        known = self.whole._versions.find(version)
        pinned._whole, pinned._pinned = self.whole, version if known else self.version
        return pinned

    def __len__(self) -> int:
        with self._asking() as (cursor, state):
            [[number]] = self._select(cursor, state, "count(*)")
            return int(number)

    @property
    def _last_known(self) -> DatabaseState:
        """Return the pinned state, or the one that was last read."""
        whole = self.whole
        pinned = whole._versions.find(self._pinned)
        return pinned[0] if pinned else whole._state

    def record(self, source: str) -> SourceRecord | None:
        """Return the record of a document; None if no document has this name."""
        return self._last_known.manifest.sources.get(source)

    @contextmanager
    def _asking(self) -> Iterator[tuple[Cursor[Any], DatabaseState]]:
        """Yield a cursor, and the state of the index that all its statements see."""
        whole = self.whole
        with ExitStack() as stack:
            if pinned := whole._versions.find(self._pinned):
                try:
                    cursor = stack.enter_context(self._database.reading(pinned[1]))
                except SnapshotGoneError:
                    pass  # the version is no longer held: use the current state
                else:
                    yield cursor, pinned[0]
                    return
        while True:
            with self._database.reading() as cursor:
                state = whole._state
                if self._database.stamped(cursor, MANIFEST) == state.stamp:
                    yield cursor, state
                    return
            whole._follow()

    def _follow(self) -> None:
        state = self._last_state()
        made, known = state.manifest.settings.embeddings, self._state.manifest.settings.embeddings
        if made != known:
            raise IndexMismatchError(
                f"The index {self.uri} was made anew with {made!r} since it was opened with {known!r}. "
                "Open it again."
            )
        self._state = state

    def _last_state(self) -> DatabaseState:
        stamp = self._database.stamp(MANIFEST)
        return DatabaseState(stamp, complete_manifest(self._database), self._database)

    def _select(self, cursor: Cursor[Any], state: DatabaseState, what: str, after: str = "") -> list[Any]:
        """Return columns of the selected chunks."""
        conditions = Conditions(state)
        sql = f"SELECT {what} FROM {state.table} WHERE {conditions.of(self._chosen, cursor)} {after}"
        return cursor.execute(sql, conditions.values).fetchall()

    def _narrow(self, cursor: Cursor[Any], state: DatabaseState) -> tuple[str, dict[str, Any], bool]:
        """Return the restriction of a search as SQL with its values, and whether many chunks remain."""
        conditions = Conditions(state)
        chosen = conditions.of(self._chosen, cursor)
        few = state.few(cursor, repr(self._chosen), chosen, conditions.values) if self._chosen else None
        if few is None:
            return chosen, conditions.values, True
        return "number = ANY(%(few)s::integer[])", {"few": few}, False

    def _with_ids(self, ids: Sequence[str]) -> list[StoredChunk]:
        with self._lock:
            found = {id_: each for id_ in ids if (each := self._found.get(id_)) is not None}
        if missing := [id_ for id_ in dict.fromkeys(ids) if id_ not in found]:
            with self._asking() as (cursor, state):
                sql = f"SELECT {CHUNK}, embedding, views FROM {state.table} WHERE langchain_id = ANY(%s)"
                read = self._keep(cursor.execute(sql, [missing]).fetchall(), state)
            found.update({each.chunk["id"]: each for each in read})
        if absent := [id_ for id_ in ids if id_ not in found]:
            raise KeyError(f"No chunk has the id {absent[0]!r}.")
        return [found[id_] for id_ in ids]

    def _keep(self, rows: Sequence[Any], state: DatabaseState) -> list[StoredChunk]:
        """Unpack rows that were read, and cache them."""
        kept = []
        for *row, vector, views in rows:
            found = np.asarray(vector, dtype=np.float32)
            kept.append(StoredChunk(_chunk(row, state), found, unpack_views(views)))
        with self._lock:
            for each in kept:
                known = self._found.get(each.chunk["id"])
                each.sentences = known.sentences if known else None
                self._found[each.chunk["id"]] = each
        return kept


def _chunk(row: Sequence[Any], state: DatabaseState) -> Chunk:
    """Return the chunk of a row; its metadata name the other files with the same content."""
    id_, source, page, section, start, end, text, metadata = row
    if names := state.copies.get(source):
        metadata["also_as"] = names
    place = {"id": id_, "source": source, "page": page, "section": section, "start": start, "end": end}
    return cast(Chunk, {**place, "text": text, "metadata": metadata})


def to_lexemes(cursor: Cursor[Any], queries: Sequence[str]) -> list[list[str]]:
    """Return the first words of each query as they are stored: stemmed and without stop words."""
    texts = [query.replace("\0", " ").encode(errors="replace").decode() for query in queries]
    cursor.execute(
        f"SELECT array(SELECT lexeme FROM unnest(to_tsvector('{LANGUAGE}', query)) ORDER BY positions[1]) "
        "FROM unnest(%s::text[]) WITH ORDINALITY AS asked (query, number) ORDER BY number",
        [texts],
    )
    return [row[0][:WORDS_PER_QUERY] for row in cursor]
