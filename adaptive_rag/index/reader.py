"""The reader of one complete table version, which searches it by vector and by words."""

from __future__ import annotations

import math
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from adaptive_rag.errors import IndexDamagedError
from adaptive_rag.index import neighbours
from adaptive_rag.index.faults import reading
from adaptive_rag.index.fields import Fields
from adaptive_rag.index.manifest import Manifest, repair_hint
from adaptive_rag.index.memory_table import IN_MEMORY_UP_TO, Cosines, MemoryTable, WordScores
from adaptive_rag.index.neighbours import VECTOR, Ids
from adaptive_rag.index.opened import Choice
from adaptive_rag.index.shared_cache import SharedCache
from adaptive_rag.index.table import (
    CHUNK_COLUMNS,
    ID,
    SENTENCE_COLUMNS,
    SENTENCE_DIMENSION,
    TEXT,
    VIEWS,
    StoredChunk,
    connect,
    read_chunk,
    unpack_sentences,
    unpack_views,
)
from adaptive_rag.index.vectorize import embed_sentences
from adaptive_rag.ingest.archives import owners_of
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Chunk
from adaptive_rag.text.vectors import Vectors
from adaptive_rag.where import Where

if TYPE_CHECKING:
    import pyarrow as pa

    from adaptive_rag.index.disk_cache import Copy

READ_COLUMNS = [*CHUNK_COLUMNS, VECTOR, VIEWS]
ROWS_KEPT = 4096
ROWS_PER_READ = 1024
# Least number of hits by words: with them, most chunks found by vector already have their BM25.
WORD_HITS = 300
IDS_PER_QUERY = 500
# Cache sizes: conditions whose rows are kept, and rows whose vectors are kept.
CONDITIONS_KEPT, NARROWED_ROWS = 64, 2 * neighbours.EXACT_UP_TO
# A search among up to NAMED_ROWS rows lists each of them in the query. Among more rows, it filters its hits,
# and searches DEEPER times as deep if too few remain.
NAMED_ROWS, DEEPER = 2_000, 4
# Among less than this share of the chunks, hits by words are read only as deep as needed.
SIFTED_SHARE = 0.1
# Indexes in a bucket of up to this many bytes in total are read whole when it is opened. Read piece by piece,
# they take a request for each word and several for each cell. Those of 100,000 chunks have 36 MB.
INDEXES_READ_WHOLE = 64 * 2**20
# For words spelt like another: the chunks read, and the words of the word index compared. That index holds
# stems, so an ending counts as a difference too; three letters of a long word may differ. From 12 letters
# on, the search allows two at most, and from 50 on it finds nothing.
ROWS_SPELT, WORDS_COMPARED, LONG_WORD, VERY_LONG_WORD, LONGEST_SPELT = 20, 200, 6, 11, 40
# A pasted page as a query has thousands of words; only the first distinct ones are used.
WORDS_PER_QUERY = 128
# For each query, the rows found, and the BM25 of those that contain its words.
Hits = tuple[list[list[int]], list[dict[int, float]]]


class _KeptChunks(LRUCache[int, StoredChunk]):
    """A cache of recent chunks by row, which also maps their ids to rows."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.row_of: dict[str, int] = {}

    def popitem(self) -> tuple[int, StoredChunk]:
        row, stored = super().popitem()
        self.row_of.pop(stored.chunk["id"])
        return row, stored


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the thread pool for parallel searches; all states of all indexes share it."""
    return ThreadPoolExecutor(8, thread_name_prefix="search")


class TableReader:
    """Searches one table version; safe to share between threads."""

    def __init__(self, uri: str, manifest: Manifest, copy: Copy | None = None) -> None:
        self.manifest = manifest
        self.copy = copy
        """The local copy of a version in a bucket; it may be set while the reader is in use."""
        self._dimension = manifest.settings.dimension
        self._lock = threading.Lock()
        self._kept = _KeptChunks(ROWS_KEPT)
        self._chosen: SharedCache[tuple[Any, ...], Ids] = SharedCache(CONDITIONS_KEPT)
        self._names: SharedCache[frozenset[str], dict[str, list[str]]] = SharedCache(CONDITIONS_KEPT)
        self._narrowed: SharedCache[bytes, Vectors] = SharedCache(NARROWED_ROWS, len)
        self._uri = uri
        self._tables: dict[str, Any] = {}
        _ = self.table
        self._indexes: Future[None] | None = None

    @property
    def table(self) -> Any:
        """The table at this version, in its local copy if there is one."""
        place = str(self.copy.folder) if self.copy and self.copy.folder.exists() else self._uri
        if (known := self._tables.get(place)) is not None:
            return known
        with reading(self._uri, f"its table {self.manifest.table!r}, version {self.manifest.version},"):
            table = connect(place).open_table(self.manifest.table)
            table.checkout(self.manifest.version)
            found = table.count_rows()
        if found != self.manifest.chunks:
            raise IndexDamagedError(
                f"The index {self._uri} is damaged: its manifest speaks of {self.manifest.chunks} chunks, "
                f"its table holds {found}. Mend it with: {repair_hint(self._uri)}"
            )
        self._tables[place] = table
        return table

    def begin_to_read_indexes(self) -> None:
        """Start reading the indexes whole, unless they are large; searches wait until they are read."""
        sizes = (seal.size for name, seal in self.manifest.files.items() if "/_indices/" in name)
        if sum(sizes) <= INDEXES_READ_WHOLE:
            self._indexes = _pool().submit(_read_indexes, self.table)

    def _await_indexes(self) -> None:
        if self._indexes is not None:
            wait([self._indexes])  # an error will occur again in the search, which reports it

    def search(
        self, queries: Sequence[str], vectors: Vectors, limit: int, among: Ids | None = None
    ) -> list[list[Candidate]]:
        """Return the union of the best `limit` chunks by vector and by words, for each query.

        `among` restricts the search to rows, given in ascending order. The result is that of the whole
        search with all other rows skipped.
        """
        held = self.manifest.chunks if among is None else len(among)
        limit = min(max(1, limit), max(1, held))
        if not held:
            return [[] for _ in queries]
        find = self._find_in_memory if self._in_memory else self._find
        rows, bm25 = find(queries, vectors, limit, among)
        found = self._fetch([row for union in rows for row in union])
        each = zip(rows, vectors, bm25, strict=True)
        return [
            [found[row].scored(vector, known.get(row, 0.0)) for row in union] for union, vector, known in each
        ]

    def begin(self, work: Callable[[], object]) -> None:
        """Run some work in another thread, to fill caches for later."""
        _pool().submit(work)

    def look_up_words(self, queries: Sequence[str]) -> None:
        """Look up the words of upcoming queries, if the table is in memory and the scores can be cached."""
        if self._in_memory:
            for query in queries:
                self._word_scores.of(tuple(split_words(query)))

    def compare(self, vectors: Vectors) -> None:
        """Compare upcoming query vectors with all chunks and cache the cosines, if the table is in memory."""
        # the search itself rejects vectors of another dimension
        if self._in_memory and vectors.shape[1] == self._dimension:
            self._cosines.of(vectors)

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks by id."""
        found = self._with_ids(ids)
        if not found:
            return np.zeros((0, self._dimension), dtype=np.float32)
        return np.stack([stored.vector for stored in found])

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of chunks by id; if the index stores none, they are embedded now."""
        found = self._with_ids(ids)
        bare = {stored.row: stored for stored in found if stored.sentences is None}
        if bare and self.manifest.settings.sentence_vectors:
            taken = self._take(list(bare), SENTENCE_COLUMNS)
            with reading(self._uri, "its sentences"):
                spans, vectors = (taken[name].to_pylist() for name in SENTENCE_COLUMNS)
                unpacked = unpack_sentences(spans, vectors, SENTENCE_DIMENSION)
            for row, sentences in zip(taken["_rowid"].to_pylist(), unpacked, strict=True):
                bare[row].sentences = sentences
        elif bare:
            embedded = embed_sentences([stored.chunk for stored in bare.values()])
            for stored, sentences in zip(bare.values(), embedded, strict=True):
                stored.sentences = sentences
        return [stored.sentences for stored in found if stored.sentences is not None]

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id."""
        return [stored.chunk for stored in self._with_ids(ids)]

    def chunks(self, among: Ids | None = None) -> Iterator[Chunk]:
        """Yield all chunks, or those of some rows; they are read in batches."""
        if among is not None:
            for start in range(0, len(among), ROWS_PER_READ):
                with reading(self._uri, "its table"):
                    taken = self._take(among[start : start + ROWS_PER_READ].tolist(), CHUNK_COLUMNS)
                    found = [self._chunk(row) for row in taken.select(CHUNK_COLUMNS).to_pylist()]
                yield from found
            return
        query = self.table.search().select(CHUNK_COLUMNS).limit(self.manifest.chunks or 1)
        batches = query.to_batches(ROWS_PER_READ)
        while True:
            with reading(self._uri, "its table"):
                batch = next(batches, None)
                found = [] if batch is None else [self._chunk(row) for row in batch.to_pylist()]
            if batch is None:
                return
            yield from found

    def match(
        self, query: str, limit: int, among: Ids | Sequence[int] | Sequence[str] | None = None
    ) -> tuple[Ids, Vectors]:
        """Return the rows that contain words of the query and their BM25, best first.

        `among` restricts them to rows (an array or a list) or to chunk ids. A long array filters the hits;
        otherwise the query lists the rows or ids.
        """
        from lancedb.query import MatchQuery

        words = split_words(query)
        nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        if not words or (among is not None and not len(among)):
            return nothing
        if isinstance(among, np.ndarray):
            return self._match_among(query, limit, among)
        match: Any = MatchQuery
        self._await_indexes()
        with reading(self._uri, "its word index"):
            search = self.table.search(match(" ".join(words), TEXT), query_type="fts")
            if among is not None:
                column = ID if isinstance(among[0], str) else "_rowid"
                search = search.where(_one_of(column, among), prefilter=True)
            hits = search.select(["_score"]).with_row_id(True).limit(limit).to_arrow()
        return hits["_rowid"].to_numpy().astype(np.int64), hits["_score"].to_numpy().astype(np.float32)

    def _match_among(self, query: str, limit: int, among: Ids) -> tuple[Ids, Vectors]:
        """Return the matches among rows: few rows are listed in the query, many filter its hits."""
        if len(among) <= NAMED_ROWS:
            return self.match(query, limit, among.tolist())
        for depth in self._depths(limit, among):
            rows, bm25 = self.match(query, depth)
            kept = np.flatnonzero(_held(rows, among))[:limit]
            if len(kept) == limit or len(rows) < depth:
                break
        return rows[kept], bm25[kept]

    def spelt_like(self, word: str, among: Ids | None = None) -> list[str]:
        """Return the words of chunks that contain a word spelt like this one; none if a chunk contains it.

        Only words with the same first letter are compared. `among` restricts the chunks to rows.
        """
        held = self.manifest.chunks if among is None else len(among)
        if len(word) > LONGEST_SPELT or not held or self.contains(word, among):
            return []
        hits = self._spelt_within(3 if LONG_WORD <= len(word) <= VERY_LONG_WORD else 2, word, among)
        if among is not None:
            hits = hits.filter(_held(hits["_rowid"].to_numpy().astype(np.int64), among)).slice(0, ROWS_SPELT)
        texts = " ".join(hits[TEXT].to_pylist()).lower()
        return list(dict.fromkeys(re.findall(r"[^\W\d_]+", texts)))

    def _spelt_within(self, letters: int, word: str, among: Ids | None) -> pa.Table:
        """Return the chunks with a word at most `letters` apart, or fewer if that is too much for LanceDB.

        Its automaton may have at most 10,000 states; "repatriated" with three letters apart exceeds that.
        The number of states depends on which letters of a word repeat.
        """
        from lancedb.query import MatchQuery

        fuzzy: Any = MatchQuery
        query = fuzzy(word, TEXT, fuzziness=letters, prefix_length=1, max_expansions=WORDS_COMPARED)
        with reading(self._uri, "its word index"):
            search, depth = self.table.search(query, query_type="fts"), ROWS_SPELT
            if among is not None and len(among) <= NAMED_ROWS:
                search = search.where(_one_of("_rowid", among.tolist()), prefilter=True)
            elif among is not None:  # the caller filters the hits
                depth = next(self._depths(ROWS_SPELT, among))
            try:
                return search.select([TEXT, "_score"]).with_row_id(True).limit(depth).to_arrow()
            except RuntimeError as error:
                if letters == 1 or "automaton exceeds" not in str(error):
                    raise
        return self._spelt_within(letters - 1, word, among)

    def holds(self, word: str, among: Ids | None = None) -> bool:
        """Tell whether a chunk contains a word as it is, ignoring case; `among` restricts the rows."""
        return self._has(word, rf"\b{re.escape(word)}\b", among)

    def contains(self, word: str, among: Ids | None) -> bool:
        """Tell whether a chunk contains a word; if the chunks are in memory, also inside another word."""
        return self._has(word, re.escape(word), among)

    def _has(self, word: str, pattern: str, among: Ids | None) -> bool:
        """Tell whether a chunk contains a word or, if the chunks are in memory, matches a pattern."""
        import pyarrow.compute as pc

        if not self._in_memory:
            return len(self.match(word, 1, among)[0]) > 0
        columns = self._chunk_columns.columns if among is None else self._chunk_columns.take(among)
        found = pc.match_substring_regex(columns[TEXT], pattern=pattern, ignore_case=True)
        return bool(pc.any(found).as_py())

    def candidates(self, rows: Sequence[int], query: Vectors, bm25: Mapping[int, float]) -> list[Candidate]:
        """Return rows as candidates of a query; `bm25` has the rows that contain its words."""
        found = self._fetch(rows)
        return [found[row].scored(query, bm25.get(row, 0.0)) for row in dict.fromkeys(rows)]

    def rows(self, chosen: Sequence[Choice], left_out: frozenset[str] = frozenset()) -> Ids | None:
        """Return the rows that meet all restrictions, in ascending order; None if all rows do.

        `left_out` names documents whose chunks are left out. Recent results are cached.

        Raises:
            InputError: a field is unknown, or is compared with a value of another kind.
        """
        if not chosen and not left_out:
            return None
        found = self._chosen.get((*chosen, left_out), lambda: self._choose(chosen, left_out))
        return found if len(found) < self.manifest.chunks else None

    def _choose(self, chosen: Sequence[Choice], left_out: frozenset[str]) -> Ids:
        rows, fields = self.fields
        kept = np.ones(len(rows), dtype=np.bool_)
        for one in chosen:
            if isinstance(one, Where):
                kept &= one.keep(fields)
            else:
                owners = self._owners(one)
                kept &= np.array([source in owners for source in fields.sources], dtype=np.bool_)
        if left_out:
            names = self.names_without(left_out)
            kept &= np.array([source in names for source in fields.sources], dtype=np.bool_)
        return rows[kept]

    def _owners(self, sources: frozenset[str]) -> set[str]:
        """Return the sources that hold the chunks of these sources."""
        held = self.manifest.sources
        return {(held[source].copy_of or source) if source in held else source for source in sources}

    def names_without(self, documents: frozenset[str]) -> Mapping[str, Sequence[str]]:
        """Return the remaining names of each stored source and its copies, without some documents."""

        def find() -> dict[str, list[str]]:
            found: dict[str, list[str]] = {}
            held = self.manifest.sources.items()
            for source, record in sorted(held, key=lambda item: (item[1].copy_of is not None, item[0])):
                if documents.isdisjoint(owners_of(source, record.start)):
                    found.setdefault(record.copy_of or source, []).append(source)
            return found

        return self._names.get(documents, find)

    def sources_of(self, rows: Ids) -> list[str]:
        """Return the source of each row."""
        every, fields = self.fields
        return [fields.sources[at] for at in np.searchsorted(every, rows)]

    @cached_property
    def fields(self) -> tuple[Ids, Fields]:
        """The row ids, ascending, and the fields of each row."""
        table = MemoryTable.of(self._read(["source", "page", "section", "metadata"]))
        with reading(self._uri, "its metadata"):
            sources, pages, sections, metadata = (
                table.columns[name].to_pylist() for name in ("source", "page", "section", "metadata")
            )
            return table.rows, Fields.of_rows(sources, pages, sections, metadata, self._copies)

    @property
    def _in_memory(self) -> bool:
        return 0 < self.manifest.chunks <= IN_MEMORY_UP_TO

    @cached_property
    def _rows_and_vectors(self) -> tuple[Ids, Vectors]:
        """The row ids, ascending, and the vectors, for an exact search."""
        table = MemoryTable.of(self._read([VECTOR]))
        return table.rows, self._matrix(table.columns)

    @cached_property
    def _cosines(self) -> Cosines:
        return Cosines(self._rows_and_vectors[1])

    @cached_property
    def _word_scores(self) -> WordScores:
        rows, _ = self._rows_and_vectors
        # A reader that referred to itself would keep all its chunks in memory until a garbage collection.
        reader = weakref.proxy(self)
        return WordScores(rows, lambda words: reader.match(" ".join(words), reader.manifest.chunks))

    @cached_property
    def _chunk_columns(self) -> MemoryTable:
        return MemoryTable.of(self._read(READ_COLUMNS))

    @cached_property
    def _sentence_columns(self) -> MemoryTable:
        return MemoryTable.of(self._read(SENTENCE_COLUMNS))

    def _find_in_memory(
        self, queries: Sequence[str], vectors: Vectors, limit: int, among: Ids | None
    ) -> Hits:
        """Search a table in memory: exactly, by vector and by words."""
        rows, _ = self._rows_and_vectors
        unions, found = [], []
        near = self._cosines.of(vectors)
        scores = [self._word_scores.of(tuple(split_words(query))) for query in queries]
        if among is not None:
            kept = np.searchsorted(rows, among)
            rows, near, scores = among, [each[kept] for each in near], [each[kept] for each in scores]
        for cosines, bm25 in zip(near, scores, strict=True):
            by_words = _best(bm25, limit)
            union = dict.fromkeys([*_best(cosines, limit).tolist(), *by_words[bm25[by_words] > 0].tolist()])
            unions.append(rows[list(union)].tolist())
            found.append(dict(zip(unions[-1], bm25[list(union)].tolist(), strict=True)))
        return unions, found

    def _find(self, queries: Sequence[str], vectors: Vectors, limit: int, among: Ids | None) -> Hits:
        """Search a larger table: exactly or approximately by vector, and with LanceDB by words."""
        # filtering many hits is expensive: the BM25 of the other chunks is looked up by their ids instead
        sifted = among is not None and NAMED_ROWS < len(among) < self.manifest.chunks * SIFTED_SHARE
        depth = limit if sifted else max(limit, WORD_HITS)
        near = _pool().submit(self.nearest, vectors, limit, among)
        matched = self._map(lambda query: self.match(query, depth, among), queries)
        unions, scores, lacking = [], [], []
        for by_vector, (by_words, bm25) in zip(near.result(), matched, strict=True):
            known = dict(zip(by_words.tolist(), bm25.tolist(), strict=True))
            union = list(dict.fromkeys([*by_vector.tolist(), *by_words[:limit].tolist()]))
            unions.append(union)
            scores.append(known)
            # fewer hits than asked for: these are all
            lacking.append([row for row in union if row not in known] if len(by_words) == depth else [])
        # chunks found only by vector may still contain words of the query, further down the ranking; all
        # chunks are read while these are looked up
        fetched = _pool().submit(self._fetch, [row for union in unions for row in union])
        ids = self._ids([row for rows in lacking for row in rows])
        late = self._map(
            lambda item: self.match(item[0], len(item[1]), among=[ids[row] for row in item[1]]),
            list(zip(queries, lacking, strict=True)),
        )
        for known, (rows, bm25) in zip(scores, late, strict=True):
            known.update(zip(rows.tolist(), bm25.tolist(), strict=True))
        fetched.result()
        return unions, scores

    def nearest(self, vectors: Vectors, limit: int, among: Ids | None = None) -> list[Ids]:
        """Return, for each vector, the rows nearest to it, best first; `among` restricts them to rows."""
        chunks = self.manifest.chunks
        held = chunks if among is None else len(among)
        if held > neighbours.EXACT_UP_TO:
            with reading(self._uri, "its vector index"):
                return [self._nearly_nearest(vector, limit, among) for vector in vectors]
        if among is None:
            rows, matrix = self._rows_and_vectors
        elif chunks <= neighbours.EXACT_UP_TO:
            every, whole = self._rows_and_vectors
            rows, matrix = among, whole[np.searchsorted(every, among)]
        else:
            rows, matrix = among, self._vectors_of(among)
        # On one thread: at this size a threaded product mostly waits for a second core, for long on a busy
        # machine.
        return [rows[_best(cosines, limit)] for cosines in np.einsum("ij,kj->ki", matrix, vectors)]

    def _nearly_nearest(self, vector: Vectors, limit: int, among: Ids | None) -> Ids:
        """Return the rows nearest to a vector by the approximate index; `among` filters its hits."""
        self._await_indexes()
        if among is None:
            return neighbours.nearest(self.table, vector, limit, self.manifest.chunks)
        for depth in self._depths(limit, among):
            rows = neighbours.nearest(self.table, vector, depth, self.manifest.chunks)
            kept = rows[_held(rows, among)][:limit]
            if len(kept) == limit:
                break
        return kept

    def _depths(self, limit: int, among: Ids) -> Iterator[int]:
        """Yield search depths for filtered hits: first where they would mostly lie by chance, then deeper.

        Two standard deviations above the mean cost less than a second search.
        """
        chunks = self.manifest.chunks
        depth = math.ceil((limit + 2 * math.sqrt(limit)) * chunks / len(among))
        while depth < chunks:
            yield depth
            depth *= DEEPER
        yield chunks

    def _vectors_of(self, rows: Ids) -> Vectors:
        """Return the vectors of rows of a large table; recent results are cached."""

        def read() -> Vectors:
            with reading(self._uri, "its table"):
                taken = self.table.take_row_ids(rows.tolist()).select([VECTOR]).with_row_id().to_arrow()
            return self._matrix(MemoryTable.of(taken).columns)

        return self._narrowed.get(rows.tobytes(), read)

    def _map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Apply a function to each item, in parallel if there are several."""
        return [function(items[0])] if len(items) == 1 else list(_pool().map(function, items))

    def _fetch(self, rows: Sequence[int]) -> dict[int, StoredChunk]:
        """Return stored chunks by row number; recent ones are cached."""
        wanted = dict.fromkeys(rows)
        with self._lock:
            found = {row: stored for row in wanted if (stored := self._kept.get(row)) is not None}
        if missing := [row for row in wanted if row not in found]:
            found.update({stored.row: stored for stored in self._keep(self._take(missing, READ_COLUMNS))})
        return found

    def _ids(self, rows: Sequence[int]) -> dict[int, str]:
        """Return chunk ids by row number."""
        with self._lock:
            ids = {row: stored.chunk["id"] for row in rows if (stored := self._kept.get(row)) is not None}
        if missing := [row for row in dict.fromkeys(rows) if row not in ids]:
            taken = self._take(missing, [ID])
            ids.update(zip(taken["_rowid"].to_pylist(), taken[ID].to_pylist(), strict=True))
        return ids

    def _with_ids(self, ids: Sequence[str]) -> list[StoredChunk]:
        with self._lock:
            rows = ((id_, self._kept.row_of.get(id_)) for id_ in ids)
            found = {id_: self._kept[row] for id_, row in rows if row is not None}
        missing = [id_ for id_ in dict.fromkeys(ids) if id_ not in found]
        for start in range(0, len(missing), IDS_PER_QUERY):
            taken = self._read(READ_COLUMNS, _one_of(ID, missing[start : start + IDS_PER_QUERY]))
            found.update({stored.chunk["id"]: stored for stored in self._keep(taken)})
        if absent := [id_ for id_ in ids if id_ not in found]:
            raise KeyError(f"No chunk has the id {absent[0]!r}.")
        return [found[id_] for id_ in ids]

    @cached_property
    def _copies(self) -> dict[str, list[str]]:
        return self.manifest.copies()

    def _chunk(self, row: dict[str, Any]) -> Chunk:
        """Return the chunk of a row; its metadata name the other files with the same content."""
        chunk = read_chunk(row)
        if names := self._copies.get(chunk["source"]):
            chunk["metadata"]["also_as"] = names
        return chunk

    def _keep(self, taken: pa.Table) -> list[StoredChunk]:
        """Unpack rows that were read, and cache them."""
        kept = []
        with reading(self._uri, "its table"):
            rows = taken.drop_columns([VECTOR]).to_pylist()
            for row, vector in zip(rows, self._matrix(taken), strict=True):
                views = unpack_views(row[VIEWS])
                kept.append(StoredChunk(self._chunk(row), vector, views, row=row["_rowid"]))
        with self._lock:
            for stored in kept:
                self._kept[stored.row] = stored
                self._kept.row_of[stored.chunk["id"]] = stored.row
        return kept

    def _take(self, rows: list[int], columns: list[str]) -> pa.Table:
        """Return some columns of rows, with the row ids, in any order."""
        if not self._in_memory:
            with reading(self._uri, "its table"):
                return self.table.take_row_ids(rows).select(columns).with_row_id().to_arrow()
        return (self._sentence_columns if columns == SENTENCE_COLUMNS else self._chunk_columns).take(rows)

    def _read(self, columns: list[str], where: str | None = None) -> pa.Table:
        """Return some columns of all rows, or of those that meet a condition, with the row ids."""
        with reading(self._uri, "its table"):
            query = self.table.search().where(where) if where else self.table.search()
            return query.select(columns).with_row_id(True).limit(max(1, self.manifest.chunks)).to_arrow()

    def _matrix(self, table: pa.Table) -> Vectors:
        matrix: Vectors = table[VECTOR].combine_chunks().flatten().to_numpy().reshape(-1, self._dimension)
        return matrix


def _read_indexes(table: Any) -> None:
    names = [index.name for index in table.list_indices()]
    with ThreadPoolExecutor(len(names) or 1, thread_name_prefix="indexes") as pool:
        list(pool.map(table.prewarm_index, names))


def _best(scores: Vectors, limit: int) -> Ids:
    """Return the positions of the highest scores, best first; ties in order of position."""
    few = limit < len(scores)
    top = np.argpartition(-scores, limit - 1)[:limit] if few else np.arange(len(scores))
    return np.asarray(top[np.lexsort((top, -scores[top]))], dtype=np.int64)


def _held(rows: Ids, among: Ids) -> NDArray[np.bool_]:
    """Return for each row whether it is in `among`, which is in ascending order; fast for few rows."""
    at = np.searchsorted(among, rows)
    return np.asarray(among.take(at, mode="clip") == rows)


def split_words(query: str) -> list[str]:
    """Return the distinct words of a query, up to `WORDS_PER_QUERY`."""
    # A match query has no syntax: quotes and operators are treated as words or ignored.
    return list(dict.fromkeys(re.findall(r"\w+", query)))[:WORDS_PER_QUERY]


def _one_of(column: str, values: Sequence[int] | Sequence[str]) -> str:
    """Return an SQL condition that a column has one of these values."""
    quoted = ["'" + v.replace("'", "''") + "'" if isinstance(v, str) else str(v) for v in values]
    return f"{column} IN ({', '.join(quoted)})"
