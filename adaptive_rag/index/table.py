"""The table of chunks in LanceDB: its columns, its indexes, and its writer."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.index import neighbours
from adaptive_rag.index.manifest import concurrent_write_error
from adaptive_rag.index.neighbours import VECTOR
from adaptive_rag.ingest.chunking import chunk_id
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Chunk, to_candidate
from adaptive_rag.text.vectors import Vectors
from adaptive_rag.text.visible import without_surrogates

if TYPE_CHECKING:
    import pyarrow as pa
    from lancedb._lancedb import AddResult, DeleteResult
    from lancedb.table import Table

TEXT, ID, DOC = "text", "id", "doc"
CHUNK_COLUMNS = ["id", "source", "page", "section", "start", "end", "text", "metadata"]
SENTENCE_COLUMNS = ["sentence_spans", "sentence_vectors"]
SENTENCE_DIMENSION = 384
VIEWS = "views"

# A table of up to this many chunks is optimized after every run.
SMALL = 5_000
# Joining files may rewrite all rows. That is not worth it for a few small files, nor for fewer than one file
# per CHUNKS_A_FRAGMENT chunks of a large table. So on average, the cost of a change depends on its size.
FRAGMENTS_LEFT_ALONE, CHUNKS_A_FRAGMENT = 8, 5_000
CLOCK_MARGIN_S = 60
# The least number of chunks that are joined in a second, by a slow disk. Set by hand.
JOINED_A_SECOND = 5_000
# In a bucket, a suspended writer, such as a laptop that slept, does not know at once that another one took
# over. So it may remove only old data.
KEPT_IN_BUCKET, NEVER = timedelta(hours=1), timedelta(days=36_500)
# How much of the search indexes LanceDB may cache in memory, per process.
INDEX_CACHE_BYTES = 768 * 2**20
METADATA_CACHE_BYTES = 64 * 2**20
CONNECTIONS_KEPT = 64
# LanceDB fetches as many cells of a vector index at once as it has compute threads: by default two fewer than
# cores, which is slow from a bucket. With 16 threads on two cores, searches in a folder were not slower. A
# word index is written in as many parts as there are threads; for it, the default number is kept.
LOADS_AT_ONCE, CORES_LEFT = 16, 2
DOCS_PER_QUERY, ROWS_PER_COPY = 500, 1024


@dataclass(frozen=True, slots=True)
class TableRow:
    """One chunk to be written to the table."""

    chunk: Chunk
    doc: str
    vector: Vectors
    views: Vectors | None = None
    """For a question-answer pair, the vectors of the question and of the answer; shape (2, dimension)."""
    sentence_spans: bytes | None = None
    sentence_vectors: bytes | None = None


@dataclass(slots=True)
class StoredChunk:
    """A chunk that was read from the table; its sentences are read on first use."""

    chunk: Chunk
    vector: Vectors
    views: Vectors | None
    sentences: Sentences | None = None
    row: int = -1
    """The row id in the LanceDB table."""

    def scored(self, query: Vectors, bm25: float) -> Candidate:
        """Return the chunk as a candidate for a query, given its BM25."""
        scores = {"dense": float(self.vector @ query), "sparse": bm25}
        if self.views is not None:
            scores["dense_question"], scores["dense_answer"] = (self.views @ query).tolist()
        return to_candidate(self.chunk, scores)


@lru_cache(maxsize=CONNECTIONS_KEPT)
def connect(uri: str) -> Any:
    """Open the database of an index; a process has one connection for each."""
    # LanceDB warns about its own defaults, which users cannot change
    os.environ.setdefault("LANCEDB_LOG", "error")
    if in_bucket := "://" in uri:
        # LanceDB reads both variables once per process, when it is first used
        threads = max(1, (os.cpu_count() or 1) - CORES_LEFT)
        os.environ.setdefault("LANCE_FTS_NUM_SHARDS", os.environ.get("LANCE_CPU_THREADS", str(threads)))
        os.environ.setdefault("LANCE_CPU_THREADS", str(max(LOADS_AT_ONCE, threads)))
    import lancedb

    options = {"allow_http": "true"} if in_bucket else None
    return lancedb.connect(uri, session=_session(), storage_options=options)


@cache
def _session() -> Any:
    """Return the session whose memory caches all connections share."""
    import lancedb

    return lancedb.Session(
        index_cache_size_bytes=INDEX_CACHE_BYTES, metadata_cache_size_bytes=METADATA_CACHE_BYTES
    )


def schema(dimension: int) -> pa.Schema:
    """Return the columns of the table."""
    import pyarrow as pa

    types = {
        "id": pa.string(),
        "doc": pa.string(),
        "source": pa.string(),
        "page": pa.int32(),
        "section": pa.string(),
        "start": pa.int64(),
        "end": pa.int64(),
        "text": pa.string(),
        "metadata": pa.string(),
        VECTOR: pa.list_(pa.float32(), dimension),
        VIEWS: pa.binary(),
        **dict.fromkeys(SENTENCE_COLUMNS, pa.binary()),
    }
    required = (ID, DOC, "source")
    return pa.schema([pa.field(name, type_, nullable=name not in required) for name, type_ in types.items()])


def to_arrow(rows: Sequence[TableRow], dimension: int) -> pa.Table:
    """Convert rows to an Arrow table."""
    import pyarrow as pa

    columns: dict[str, Any] = {name: [row.chunk[name] for row in rows] for name in CHUNK_COLUMNS}  # type: ignore[literal-required]
    # nulls instead of "{}": reading single rows of a column that repeats a few bytes is slow
    columns["metadata"] = [
        json.dumps(metadata, ensure_ascii=False, default=str) if metadata else None
        for metadata in columns["metadata"]
    ]
    # a lone surrogate cannot be stored as UTF-8
    columns["text"] = [without_surrogates(text) for text in columns["text"]]
    columns["doc"] = [row.doc for row in rows]
    vectors = np.concatenate([row.vector for row in rows]).astype(np.float32)
    columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors), dimension)
    columns["views"] = [None if row.views is None else row.views.tobytes() for row in rows]
    columns["sentence_spans"] = [row.sentence_spans for row in rows]
    columns["sentence_vectors"] = [row.sentence_vectors for row in rows]
    table_schema = schema(dimension)
    return pa.table({name: columns[name] for name in table_schema.names}, schema=table_schema)


def from_arrow(table: pa.Table) -> list[TableRow]:
    """Convert an Arrow table to rows."""
    rows = []
    for row in table.to_pylist():
        vector, sentences = np.array(row[VECTOR], dtype=np.float32), (row[name] for name in SENTENCE_COLUMNS)
        rows.append(TableRow(read_chunk(row), row[DOC], vector, unpack_views(row[VIEWS]), *sentences))
    return rows


def read_chunk(row: dict[str, Any]) -> Chunk:
    """Return the chunk in a row of the table."""
    chunk = {name: row[name] for name in CHUNK_COLUMNS}
    chunk["metadata"] = json.loads(row["metadata"] or "{}")
    return cast(Chunk, chunk)


def unpack_views(stored: bytes | None) -> Vectors | None:
    """Return the vectors of a question and its answer; None if the chunk is not such a pair."""
    return None if stored is None else np.frombuffer(stored, dtype=np.float32).reshape(2, -1)


def pack_sentences(sentences: Sentences) -> tuple[bytes, bytes]:
    """Pack sentences: spans as pairs of 64-bit integers, unit vectors as int8, one byte per dimension.

    Each vector is scaled by its own largest component. The scale is not stored, since the direction alone
    determines a unit vector. The cosine between a vector and its stored form is above 0.999.
    """
    peaks = np.abs(sentences.vectors).max(axis=1, keepdims=True, initial=1e-12)
    scaled: NDArray[np.int8] = np.rint(sentences.vectors * (127.0 / peaks)).astype(np.int8)
    return sentences.spans.astype(np.int64).tobytes(), scaled.tobytes()


def unpack_sentences(spans: Sequence[bytes | None], vectors: Sequence[bytes | None]) -> list[Sentences]:
    """Return the stored sentences of each chunk; empty where the index stores none."""
    pairs = [np.frombuffer(stored or b"", dtype=np.int64).reshape(-1, 2) for stored in spans]
    # all chunks together, because several numpy calls for the few sentences of each chunk are slow
    values = np.frombuffer(b"".join(stored or b"" for stored in vectors), dtype=np.int8)
    values = values.reshape(-1, SENTENCE_DIMENSION).astype(np.float32)
    lengths = np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12)
    unit_vectors = np.asarray(values / lengths, np.float32)
    ends = np.cumsum([len(stored or b"") // SENTENCE_DIMENSION for stored in vectors])
    return [
        Sentences(chunk_spans, chunk_vectors)
        for chunk_spans, chunk_vectors in zip(pairs, np.split(unit_vectors, ends[:-1]), strict=True)
    ]


class TableWriter:
    """Appends and removes rows; readers do not see them change until a manifest names the new version."""

    def __init__(self, uri: str, name: str, version: int | None, dimension: int) -> None:
        self.name = name
        self._uri = uri
        self._dimension = dimension
        self._changed = False
        database = connect(uri)
        if version is None:
            # overwrites the table of an interrupted first run, which no manifest refers to
            create_table = partial(database.create_table, name, schema=schema(dimension), mode="overwrite")
            try:
                self._table: Table = create_table()
            except (OSError, RuntimeError, ValueError):
                # LanceDB does not overwrite a table that it cannot read
                database.drop_table(name, ignore_missing=True)
                self._table = create_table()
            return
        self._table = database.open_table(name)
        if self._table.version != version:
            # discard rows of a run that was interrupted before its manifest was written
            self._table.checkout(version)
            self._table.restore()

    @property
    def version(self) -> int:
        """Return the version of the table after the last write."""
        return int(self._table.version)

    def add(self, rows: Sequence[TableRow]) -> None:
        """Append rows."""
        self.copy(to_arrow(rows, self._dimension))

    def copy(self, rows: pa.Table) -> None:
        """Append the rows of an Arrow table."""
        self._commit(lambda: self._table.add(rows))
        self._changed = True

    def copy_renamed(self, names: Mapping[str, tuple[str, str]]) -> None:
        """Append copies of chunks under another source; `names` maps old keys to (source, new key)."""
        import pyarrow as pa

        keys, total, table_schema = list(names), self._table.count_rows(), schema(self._dimension)
        for start in range(0, len(keys), DOCS_PER_QUERY):
            query = self._table.search().where(sql_in(DOC, keys[start : start + DOCS_PER_QUERY]))
            for batch in query.limit(max(1, total)).to_batches(ROWS_PER_COPY):
                rows = pa.Table.from_batches([batch])
                new_names = [names[doc] for doc in rows[DOC].to_pylist()]
                sources, docs = [source for source, _ in new_names], [doc for _, doc in new_names]
                places = (rows[name].to_pylist() for name in ("start", "end", TEXT))
                changed = {ID: [*map(chunk_id, sources, *places)], "source": sources, DOC: docs}
                columns = {name: changed.get(name, rows[name]) for name in table_schema.names}
                self.copy(pa.table(columns, schema=table_schema))

    def remove(self, docs: Sequence[str]) -> None:
        """Remove the chunks of sources, by key."""
        for start in range(0, len(docs), DOCS_PER_QUERY):
            condition = sql_in(DOC, docs[start : start + DOCS_PER_QUERY])
            self._commit(partial(self._table.delete, condition))
        self._changed |= bool(docs)

    def count(self) -> int:
        """Return the number of rows after the last write."""
        return self._table.count_rows()

    def _commit(self, write: Callable[[], AddResult | DeleteResult]) -> None:
        """Commit a write, and raise an error if it is not based on this writer's last version."""
        before = self.version
        # LanceDB merges the writes of two processes, which must not happen
        if write().version != before + 1:
            raise concurrent_write_error(self._uri)

    def index_words(self) -> None:
        """Build the word index and the id index if missing; rebuild the former for a small, changed table."""
        from lancedb.index import BTree

        present = {column for index in self._table.list_indices() for column in index.columns}
        # without a rebuild, the index still counts the words of removed chunks, which shifts every BM25
        if TEXT not in present or (self._changed and self._table.count_rows() <= SMALL):
            self._table.create_index(TEXT, config=words_config(), replace=True)
            self._changed = False
        if ID not in present:
            self._table.create_index(ID, config=BTree())

    def optimize(self, keep_since: float) -> None:
        """Add new rows to the indexes and join small files, if it is worth it.

        Also remove versions that were replaced before the time `keep_since`, and files that interrupted runs
        left, which are unused because nobody else writes. In a bucket, both are kept for longer.
        """
        stats: Any = self._table.stats()  # a mapping, despite its annotation
        fragments = int(stats["fragment_stats"]["num_fragments"])
        word_stats = self._index_stats(TEXT)
        unindexed = int(word_stats.num_unindexed_rows) if word_stats is not None else 0
        total = self._table.count_rows()
        few_fragments = max(FRAGMENTS_LEFT_ALONE, total // CHUNKS_A_FRAGMENT)
        if total > SMALL and fragments <= few_fragments and unindexed <= SMALL:
            return
        # LanceDB compares the creation times of versions; the one current at `keep_since` may be far older
        times = (version["timestamp"].timestamp() for version in self._table.list_versions())
        oldest = max((time_ for time_ in times if time_ <= keep_since), default=keep_since)
        # LanceDB counts the age from the end of the joining
        joining = total / JOINED_A_SECOND
        age = timedelta(seconds=max(0.0, time.time() - oldest) + CLOCK_MARGIN_S + joining)
        if "://" in self._uri:
            self._table.optimize(cleanup_older_than=max(age, KEPT_IN_BUCKET))
        else:
            self._table.optimize(cleanup_older_than=age, delete_unverified=True)

    def remove_replaced(self) -> None:
        """Remove the versions before the current one, unless that also creates a new version.

        The caller makes sure that nobody reads them.
        """
        before, stats = self.version, map(self._index_stats, (TEXT, ID, VECTOR))
        if any(index_stats is not None and index_stats.num_unindexed_rows for index_stats in stats):
            return
        # this call may create a new version, which nobody has published; then the published one must stay
        self._table.optimize(cleanup_older_than=NEVER)
        if self.version == before:
            min_age = KEPT_IN_BUCKET if "://" in self._uri else timedelta(seconds=CLOCK_MARGIN_S)
            self._table.optimize(cleanup_older_than=min_age, delete_unverified="://" not in self._uri)

    def drop_other_tables(self) -> None:
        """Drop the tables of earlier rebuilds, except the last one, which may still be read."""
        number = int(self.name.rpartition("-")[2])
        database = connect(self._uri)
        for old_number in range(number - 2, 0, -1):
            if f"chunks-{old_number}" not in database.table_names():
                break
            database.drop_table(f"chunks-{old_number}")

    def index_vectors(self) -> dict[str, float] | None:
        """Build or rebuild the vector index of a large table if needed, and return its recall, else None."""
        total, stats = self._table.count_rows(), self._index_stats(VECTOR)
        trained_on = int(stats.num_indexed_rows) if stats else 0
        if total <= neighbours.EXACT_UP_TO or (trained_on and total < neighbours.RETRAIN_AT * trained_on):
            return None
        build_index = partial(self._table.create_index, VECTOR, replace=True)
        try:
            build_index(config=neighbours.index_config(total, self._dimension))
        except RuntimeError as error:
            if "IVF partitions" not in str(error):
                raise
            # too few vectors differ for the usual number of cells
            most_cells = neighbours.CELLS_AT_ONCE
            build_index(config=neighbours.index_config(total, self._dimension, most_cells))
        # drop empty cells now, which the next run would do otherwise
        self._table.optimize(cleanup_older_than=NEVER)
        return neighbours.measure_recall(self._table, total)

    def _index_stats(self, column: str) -> Any:
        names = [index.name for index in self._table.list_indices() if column in index.columns]
        return self._table.index_stats(names[0]) if names else None


def words_config() -> Any:
    """Return the configuration of the full-text index."""
    from lancedb.index import FTS

    # by default, words of more than 40 bytes are left out: a checksum, or twenty letters of Russian
    return FTS(stem=True, remove_stop_words=True, lower_case=True, max_token_length=None)


def sql_in(column: str, values: Sequence[int] | Sequence[str]) -> str:
    """Return an SQL condition that a column has one of these values."""
    quoted = ["'" + v.replace("'", "''") + "'" if isinstance(v, str) else str(v) for v in values]
    return f"{column} IN ({', '.join(quoted)})"
