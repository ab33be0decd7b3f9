"""An open index in PostgreSQL, whose server does vector search, BM25 and filters."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from langchain_core.embeddings import Embeddings

from adaptive_rag.index.fields import Fields
from adaptive_rag.index.manifest import MANIFEST, SourceRecord, complete_manifest
from adaptive_rag.index.open_index import OpenedIndex
from adaptive_rag.index.postgres.conditions import to_selection
from adaptive_rag.index.postgres.database import Database, Selection, SnapshotGoneError
from adaptive_rag.index.postgres.neighbours import nearest_exactly, nearest_roughly
from adaptive_rag.index.postgres.spelling import holds, spelt_like
from adaptive_rag.index.postgres.state import VERSIONS_HELD, DatabaseState, HeldVersion
from adaptive_rag.index.postgres.writer import LANGUAGE, divide
from adaptive_rag.index.reader import WORDS_PER_QUERY
from adaptive_rag.index.shared_cache import SharedCache
from adaptive_rag.index.table import StoredChunk, unpack_sentences, unpack_views
from adaptive_rag.index.vectorize import embed_sentences, load_model_of, refuse_dimension, refuse_other_model
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Chunk
from adaptive_rag.text.bm25 import K1, B
from adaptive_rag.text.vectors import Vectors

if TYPE_CHECKING:
    from psycopg import Cursor

CHUNKS_KEPT, ROWS_PER_READ = 4096, 1000
CHUNK = "langchain_id, source, page, section, start_index, end_index, content, langchain_metadata"
# Word weights are those of all chunks, even if a search is restricted to some.
SEARCH = f"""
WITH query AS (
    SELECT unnest(%(lexemes)s::text[]) AS lexeme, unnest(%(weights)s::float8[]) AS weight
), bm25 AS (
    SELECT number,
        sum(weight * times * {K1 + 1} / (times + {K1} * ({1 - B} + {B} * words / %(mean)s))) AS score
    FROM query JOIN {{words}} USING (lexeme) GROUP BY number
), by_words AS (
    SELECT number, score FROM bm25 {{join}} ORDER BY score DESC, number LIMIT %(limit)s
), hits AS (
    SELECT number, max(score) AS score FROM (
        SELECT unnest(%(nearest)s::integer[]) AS number, 0 AS score
        UNION ALL SELECT number, score FROM bm25 WHERE number = ANY(%(nearest)s::integer[])
        UNION ALL SELECT number, score FROM by_words
    ) AS scored GROUP BY number
)
SELECT {{chunk}}, embedding, views, score::float8 FROM hits JOIN {{table}} USING (number)
"""


class PostgresIndex(OpenedIndex):
    """An index in PostgreSQL that is open for searching.

    It follows the writes of other processes: each search sees one complete state, and a question keeps the
    state that it started with. Its methods may be called from several threads at once. Those that take ids
    raise KeyError if a chunk is not in the index, and all raise IndexUnreachableError if the server does not
    answer.
    """

    def __init__(self, database: Database, embeddings: Embeddings | None = None) -> None:
        super().__init__(database.uri, embeddings)
        self._database = database
        self._chunks: SharedCache[str, StoredChunk] = SharedCache(CHUNKS_KEPT)
        self._versions: SharedCache[str, tuple[DatabaseState, HeldVersion]] = SharedCache(VERSIONS_HELD)
        self._pinned = ""
        self._state = self._read_state()

    @classmethod
    def open(cls, uri: str | Path, embeddings: str | Embeddings | None = None) -> PostgresIndex:
        """Open an index; unless a model is passed, the one it was made with is loaded.

        Raises:
            IndexMismatchError: there is no index, or another model was passed.
            IndexUnreachableError: the server does not answer, or denies access.
            ConfigurationError: the model cannot be loaded by name and was not passed.
        """
        database = Database(str(uri))
        model_name = complete_manifest(database).settings.embeddings
        return cls(database, load_model_of(database.uri, model_name, embeddings))

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return, for each query, the union of its best `limit` chunks by vector and by words.

        `scores` has "dense" (cosine) and "sparse" (BM25, 0.0 if no word matches); chunks that are
        question-answer pairs also have "dense_question" and "dense_answer".
        """
        if not queries:
            return []
        vectors = self.embed(queries)
        with self._open_state() as (cursor, state):
            refuse_dimension(self.uri, state.manifest.settings.dimension, vectors, self.embeddings)
            selection, is_large = self._build_filter(cursor, state)
            condition, values = selection
            join = f"JOIN {state.table} USING (number) WHERE {condition}" if self._restrictions else ""
            find_nearest = nearest_roughly if is_large and state.manifest.recall else nearest_exactly
            sql = SEARCH.format(table=state.table, words=state.words, chunk=CHUNK, join=join)
            shared_values = {**values, "mean": state.mean_words(cursor), "limit": max(1, limit)}
            results = []
            for lexemes, vector in zip(to_lexemes(cursor, queries), vectors, strict=True):
                nearest = find_nearest(cursor, state.table, vector, max(1, limit), selection)
                weights = state.weights(cursor, lexemes)
                query_values = {"nearest": nearest, "lexemes": lexemes, "weights": weights}
                rows = cursor.execute(sql, {**shared_values, **query_values}).fetchall()
                scored = zip(self._cache_rows([row[:-1] for row in rows], state), rows, strict=True)
                hits = [stored.scored(vector, row[-1]) for stored, row in scored]
                results.append(sorted(hits, key=lambda hit: (-hit["scores"]["dense"], hit["id"])))
        return results

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks, shape (len(ids), dimension), unit length."""
        vectors = [stored.vector for stored in self._with_ids(ids)]
        dimension = self._known_state.manifest.settings.dimension
        return np.array(vectors, dtype=np.float32).reshape(-1, dimension)

    @property
    def stores_sentences(self) -> bool:
        """Return whether the index was made with sentence vectors."""
        return self._known_state.manifest.settings.sentence_vectors

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk with their vectors.

        If none are stored, or a chunk was replaced after it was found, its sentences are embedded.
        """
        stored_chunks = self._with_ids(ids)
        unread = {stored.chunk["id"]: stored for stored in stored_chunks if stored.sentences is None}
        if unread and self.stores_sentences:
            with self._open_state() as (cursor, state):
                columns = f"langchain_id, sentence_spans, sentence_vectors FROM {state.table}"
                cursor.execute(f"SELECT {columns} WHERE langchain_id = ANY(%s)", [list(unread)])
                rows = [row for row in cursor if row[1] is not None]
            if rows:
                read_ids, spans, vectors = zip(*rows, strict=True)
                for id_, sentences in zip(read_ids, unpack_sentences(spans, vectors), strict=True):
                    unread[id_].sentences = sentences
        unstored = [stored for stored in unread.values() if stored.sentences is None]
        embedded = embed_sentences([stored.chunk for stored in unstored])
        for stored, sentences in zip(unstored, embedded, strict=True):
            stored.sentences = sentences
        return [stored.sentences for stored in stored_chunks if stored.sentences is not None]

    def spelt_like(self, word: str) -> list[str]:
        """Return words of the chunks that are spelt almost like this one; none if a chunk contains it."""
        with self._open_state() as (cursor, state):
            selection, _ = self._build_filter(cursor, state)
            return spelt_like(cursor, state, word, to_lexemes(cursor, [word])[0], selection)

    def holds(self, word: str) -> bool:
        """Return whether a chunk contains exactly this word, ignoring case."""
        with self._open_state() as (cursor, state):
            selection, _ = self._build_filter(cursor, state)
            return holds(cursor, state, word, to_lexemes(cursor, [word])[0], selection)

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over all chunks."""
        with self._open_state() as (cursor, state):
            condition, values = to_selection(self._restrictions, state, cursor)
            with cursor.connection.cursor("chunks", binary=True) as rows:
                rows.itersize = ROWS_PER_READ
                rows.execute(f"SELECT {CHUNK} FROM {state.table} WHERE {condition}", values)
                for row in rows:
                    yield _chunk(row, state)

    def sources(self) -> dict[str, int]:
        """Return the indexed sources and the number of chunks of each."""
        with self._open_state() as (cursor, state):
            if not self._restrictions:
                return {name: record.chunks for name, record in state.manifest.sources.items()}
            return dict(self._query_selected(cursor, state, "source, count(*)", "GROUP BY source"))

    def fields(self) -> dict[str, str]:
        """Return the fields that a condition can use, each with its kind and its range or examples."""
        with self._open_state() as (cursor, state):
            rows = self._query_selected(cursor, state, "source, page, section, langchain_metadata")
            sources, pages, sections, metadata = ([row[n] for row in rows] for n in range(4))
            return Fields(sources, pages, sections, metadata, state.copies).describe()

    def info(self) -> dict[str, Any]:
        """Return what the index contains and how it was made."""
        with self._open_state() as (_, state):
            return state.manifest.describe(self._database)

    @property
    def version(self) -> str:
        """The name of the current state, which is held for some minutes from the call on."""
        base = self.base
        if self._pinned and base._versions.find(self._pinned):
            return self._pinned
        while True:
            with base._open_state() as (_, state):
                held = base._versions.find(state.name)
                if held and held[1].is_fresh:
                    return state.name
            new_version = HeldVersion(self._database)
            # hold it only if the index has not been written meanwhile
            with self._database.reading(new_version.snapshot) as cursor:
                if self._database.stamp_in(cursor, MANIFEST) == state.stamp:
                    base._versions.update({state.name: (state, new_version)})

    def at(self, version: str) -> Self:
        """Return the index pinned to the named state, or to the current one if that is no longer held."""
        pinned = copy.copy(self)
        is_held = self.base._versions.find(version)
        pinned._base, pinned._pinned = self.base, version if is_held else self.version
        return pinned

    def __len__(self) -> int:
        with self._open_state() as (cursor, state):
            [[number]] = self._query_selected(cursor, state, "count(*)")
            return int(number)

    @property
    def _known_state(self) -> DatabaseState:
        """Return the pinned state, or else the one that was read last."""
        base = self.base
        pinned = base._versions.find(self._pinned)
        return pinned[0] if pinned else base._state

    def record(self, source: str) -> SourceRecord | None:
        """Return the record of a document; None if no document has this name."""
        return self._known_state.manifest.sources.get(source)

    @contextmanager
    def _open_state(self) -> Iterator[tuple[Cursor[Any], DatabaseState]]:
        """Yield a cursor, and the state of the index that all its statements see."""
        base = self.base
        with ExitStack() as stack:
            if pinned := base._versions.find(self._pinned):
                try:
                    cursor = stack.enter_context(self._database.reading(pinned[1].snapshot))
                except SnapshotGoneError:
                    pass  # the version is no longer held: use the current state
                else:
                    yield cursor, pinned[0]
                    return
        while True:
            with self._database.reading() as cursor:
                state = base._state
                if self._database.stamp_in(cursor, MANIFEST) == state.stamp:
                    yield cursor, state
                    return
            base._update_state()

    def _update_state(self) -> None:
        state = self._read_state()
        model, new_model = self._state.manifest.settings.embeddings, state.manifest.settings.embeddings
        refuse_other_model(self.uri, model, new_model)
        self._state = state

    def _read_state(self) -> DatabaseState:
        stamp = self._database.stamp(MANIFEST)
        return DatabaseState(stamp, complete_manifest(self._database), self._database)

    def _query_selected(
        self, cursor: Cursor[Any], state: DatabaseState, columns: str, suffix: str = ""
    ) -> list[Any]:
        """Return some columns of the selected chunks."""
        condition, values = to_selection(self._restrictions, state, cursor)
        sql = f"SELECT {columns} FROM {state.table} WHERE {condition} {suffix}"
        return cursor.execute(sql, values).fetchall()

    def _build_filter(self, cursor: Cursor[Any], state: DatabaseState) -> tuple[Selection, bool]:
        """Return the restrictions as SQL, and whether many chunks meet them."""
        selection = to_selection(self._restrictions, state, cursor)
        numbers = None
        if self._restrictions:
            numbers = state.select_few(cursor, repr(self._restrictions), selection)
        if numbers is None:
            return selection, True
        return ("number = ANY(%(few)s::integer[])", {"few": numbers}), False

    def _with_ids(self, ids: Sequence[str]) -> list[StoredChunk]:
        stored_chunks = self._chunks.get_all(ids, self._read_chunks)
        if unknown := [id_ for id_ in ids if id_ not in stored_chunks]:
            raise KeyError(f"No chunk has the id {unknown[0]!r}.")
        return [stored_chunks[id_] for id_ in ids]

    def _read_chunks(self, ids: list[str]) -> dict[str, StoredChunk]:
        with self._open_state() as (cursor, state):
            sql = f"SELECT {CHUNK}, embedding, views FROM {state.table} WHERE langchain_id = ANY(%s)"
            rows = cursor.execute(sql, [ids]).fetchall()
            return {stored.chunk["id"]: stored for stored in self._cache_rows(rows, state)}

    def _cache_rows(self, rows: Sequence[Any], state: DatabaseState) -> list[StoredChunk]:
        """Unpack rows of the table, and cache them."""
        stored_chunks = []
        for *row, vector, views in rows:
            unit_vector = np.asarray(vector, dtype=np.float32)
            stored_chunks.append(StoredChunk(_chunk(row, state), unit_vector, unpack_views(views)))
        for stored in stored_chunks:
            cached = self._chunks.find(stored.chunk["id"])
            stored.sentences = cached.sentences if cached else None
        self._chunks.update({stored.chunk["id"]: stored for stored in stored_chunks})
        return stored_chunks


def _chunk(row: Sequence[Any], state: DatabaseState) -> Chunk:
    """Return the chunk of a row; `also_as` in its metadata lists other files with the same content."""
    id_, source, page, section, start, end, text, metadata = row
    if names := state.copies.get(source):
        metadata["also_as"] = names
    place = {"id": id_, "source": source, "page": page, "section": section, "start": start, "end": end}
    return cast(Chunk, {**place, "text": text, "metadata": metadata})


def to_lexemes(cursor: Cursor[Any], queries: Sequence[str]) -> list[list[str]]:
    """Return the first words of each query as they are stored: stemmed and without stop words."""
    texts = [divide(query).replace("\0", " ").encode(errors="replace").decode() for query in queries]
    cursor.execute(
        f"SELECT array(SELECT lexeme FROM unnest(to_tsvector('{LANGUAGE}', query)) ORDER BY positions[1]) "
        "FROM unnest(%s::text[]) WITH ORDINALITY AS queries (query, number) ORDER BY number",
        [texts],
    )
    return [row[0][:WORDS_PER_QUERY] for row in cursor]
