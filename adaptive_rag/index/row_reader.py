"""Opens one published version of the table, and reads its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from adaptive_rag.errors import IndexDamagedError
from adaptive_rag.index.manifest import Manifest, repair_hint
from adaptive_rag.index.memory_table import IN_MEMORY_UP_TO, MemoryTable
from adaptive_rag.index.neighbours import VECTOR, Ids
from adaptive_rag.index.shared_cache import SharedCache
from adaptive_rag.index.store_errors import explain_read_errors
from adaptive_rag.index.table import (
    CHUNK_COLUMNS,
    ID,
    SENTENCE_COLUMNS,
    VIEWS,
    StoredChunk,
    connect,
    read_chunk,
    sql_in,
    unpack_sentences,
    unpack_views,
)
from adaptive_rag.index.vectorize import embed_sentences
from adaptive_rag.source import Sentences
from adaptive_rag.state import Chunk
from adaptive_rag.text.vectors import Vectors

if TYPE_CHECKING:
    import pyarrow as pa


READ_COLUMNS = [*CHUNK_COLUMNS, VECTOR, VIEWS]
# Number of chunks in the cache.
ROWS_KEPT = 4096
ROWS_PER_READ = 1024
IDS_PER_QUERY = 500


@dataclass(frozen=True, eq=False)
class Copy:
    """A complete version of an index on this machine, which is kept while this object exists."""

    folder: Path
    _lock: IO[bytes]


class RowReader:
    """Reads the rows of one table version, and caches recent ones; safe to share between threads."""

    def __init__(self, uri: str, manifest: Manifest, copy: Copy | None = None) -> None:
        self.manifest = manifest
        self.copy = copy
        """The local copy of a version in a bucket; it may be set while the reader is in use."""
        self._dimension = manifest.settings.dimension
        self._chunks: SharedCache[int, StoredChunk] = SharedCache(ROWS_KEPT)
        self._row_of_id: SharedCache[str, int] = SharedCache(ROWS_KEPT)
        self._uri = uri
        self._tables: dict[str, Any] = {}
        _ = self.table

    @property
    def table(self) -> Any:
        """The table at this version, in its local copy if there is one."""
        folder = str(self.copy.folder) if self.copy and self.copy.folder.exists() else self._uri
        if (opened := self._tables.get(folder)) is not None:
            return opened
        with explain_read_errors(
            self._uri, f"its table {self.manifest.table!r}, version {self.manifest.version},"
        ):
            table = connect(folder).open_table(self.manifest.table)
            table.checkout(self.manifest.version)
            count = table.count_rows()
        if count != self.manifest.chunks:
            raise IndexDamagedError(
                f"The index {self._uri} is damaged: its manifest lists {self.manifest.chunks} chunks, its "
                f"table has {count}. Repair it with: {repair_hint(self._uri)}"
            )
        self._tables[folder] = table
        return table

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks by id, shape (len(ids), dimension)."""
        vectors = [stored.vector for stored in self._with_ids(ids)]
        return np.array(vectors, dtype=np.float32).reshape(-1, self._dimension)

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of chunks by id; if the index stores none, they are embedded now."""
        stored_chunks = self._with_ids(ids)
        unread = {stored.row: stored for stored in stored_chunks if stored.sentences is None}
        if unread and self.manifest.settings.sentence_vectors:
            columns = self._take(list(unread), SENTENCE_COLUMNS)
            with explain_read_errors(self._uri, "its sentences"):
                spans, vectors = (columns[name].to_pylist() for name in SENTENCE_COLUMNS)
                unpacked = unpack_sentences(spans, vectors)
            for row, sentences in zip(columns["_rowid"].to_pylist(), unpacked, strict=True):
                unread[row].sentences = sentences
        elif unread:
            embedded = embed_sentences([stored.chunk for stored in unread.values()])
            for stored, sentences in zip(unread.values(), embedded, strict=True):
                stored.sentences = sentences
        return [stored.sentences for stored in stored_chunks if stored.sentences is not None]

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id."""
        return [stored.chunk for stored in self._with_ids(ids)]

    def chunks(self, selection: Ids | None = None) -> Iterator[Chunk]:
        """Yield all chunks, or those of the selected rows; they are read in batches."""
        if selection is None:
            query = self.table.search().select(CHUNK_COLUMNS).limit(self.manifest.chunks or 1)
            batches = query.to_batches(ROWS_PER_READ)
        else:
            starts = range(0, len(selection), ROWS_PER_READ)
            parts = (selection[start : start + ROWS_PER_READ].tolist() for start in starts)
            batches = (self._take(rows, CHUNK_COLUMNS).select(CHUNK_COLUMNS) for rows in parts)
        while True:
            with explain_read_errors(self._uri, "its table"):
                if (batch := next(batches, None)) is None:
                    return
                chunks = [self._chunk(row) for row in batch.to_pylist()]
            yield from chunks

    @property
    def _in_memory(self) -> bool:
        return 0 < self.manifest.chunks <= IN_MEMORY_UP_TO

    @cached_property
    def _chunk_columns(self) -> MemoryTable:
        return MemoryTable.from_arrow(self._read(READ_COLUMNS))

    @cached_property
    def _sentence_columns(self) -> MemoryTable:
        return MemoryTable.from_arrow(self._read(SENTENCE_COLUMNS))

    def _fetch(self, rows: Sequence[int]) -> dict[int, StoredChunk]:
        """Return stored chunks by row number; recent ones are cached."""
        return self._chunks.get_all(rows, lambda missing: self._unpack(self._take(missing, READ_COLUMNS)))

    def _ids(self, rows: Sequence[int]) -> dict[int, str]:
        """Return chunk ids by row number."""
        ids = {row: stored.chunk["id"] for row in rows if (stored := self._chunks.find(row)) is not None}
        if missing := [row for row in dict.fromkeys(rows) if row not in ids]:
            table = self._take(missing, [ID])
            ids.update(zip(table["_rowid"].to_pylist(), table[ID].to_pylist(), strict=True))
        return ids

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return row numbers by chunk id, without ids that no chunk has."""
        return self._row_of_id.get_all(ids, self._find_rows)

    def _with_ids(self, ids: Sequence[str]) -> list[StoredChunk]:
        row_of = self.rows_of(ids)
        if unknown := [id_ for id_ in ids if id_ not in row_of]:
            raise KeyError(f"No chunk has the id {unknown[0]!r}.")
        stored_chunks = self._fetch([*row_of.values()])
        return [stored_chunks[row_of[id_]] for id_ in ids]

    def _find_rows(self, ids: list[str]) -> dict[str, int]:
        """Return row numbers by chunk id; the chunks that are read for it are cached."""
        row_of: dict[str, int] = {}
        for start in range(0, len(ids), IDS_PER_QUERY):
            chunks = self._unpack(self._read(READ_COLUMNS, sql_in(ID, ids[start : start + IDS_PER_QUERY])))
            self._chunks.update(chunks)
            row_of |= {stored.chunk["id"]: row for row, stored in chunks.items()}
        return row_of

    @cached_property
    def _copies_of(self) -> dict[str, list[str]]:
        return self.manifest.copies()

    def _chunk(self, row: dict[str, Any]) -> Chunk:
        """Return the chunk of a row; `also_as` in its metadata lists other files with the same content."""
        chunk = read_chunk(row)
        if names := self._copies_of.get(chunk["source"]):
            chunk["metadata"]["also_as"] = names
        return chunk

    def _unpack(self, table: pa.Table) -> dict[int, StoredChunk]:
        """Return the chunks of rows of the table by row number, and cache the numbers by chunk id."""
        with explain_read_errors(self._uri, "its table"):
            rows = table.drop_columns([VECTOR]).to_pylist()
            stored_chunks = dict[int, StoredChunk]()
            for row, vector in zip(rows, self._matrix(table), strict=True):
                number, views = row["_rowid"], unpack_views(row[VIEWS])
                stored_chunks[number] = StoredChunk(self._chunk(row), vector, views, row=number)
        self._row_of_id.update({stored.chunk["id"]: row for row, stored in stored_chunks.items()})
        return stored_chunks

    def _take(self, rows: list[int], columns: list[str]) -> pa.Table:
        """Return some columns of some rows, with the row ids, in any order."""
        if not self._in_memory:
            with explain_read_errors(self._uri, "its table"):
                return self.table.take_row_ids(rows).select(columns).with_row_id().to_arrow()
        return (self._sentence_columns if columns == SENTENCE_COLUMNS else self._chunk_columns).take(rows)

    def _read(self, columns: list[str], where: str | None = None) -> pa.Table:
        """Return some columns of all rows, or of those that meet a condition, with the row ids."""
        with explain_read_errors(self._uri, "its table"):
            query = self.table.search().where(where) if where else self.table.search()
            return query.select(columns).with_row_id(True).limit(max(1, self.manifest.chunks)).to_arrow()

    def _matrix(self, table: pa.Table) -> Vectors:
        matrix: Vectors = table[VECTOR].combine_chunks().flatten().to_numpy().reshape(-1, self._dimension)
        return matrix
