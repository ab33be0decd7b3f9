"""Searches one published version of the table, by vector and by words."""

from __future__ import annotations

import math
import re
import unicodedata
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.index import neighbours
from adaptive_rag.index.fields import Fields
from adaptive_rag.index.manifest import Manifest
from adaptive_rag.index.memory_table import Cosines, MemoryTable, WordScores
from adaptive_rag.index.neighbours import VECTOR, Ids
from adaptive_rag.index.open_index import Restriction
from adaptive_rag.index.row_reader import RowReader
from adaptive_rag.index.shared_cache import SharedCache
from adaptive_rag.index.store_errors import explain_read_errors
from adaptive_rag.index.table import ID, TEXT, sql_in
from adaptive_rag.ingest.archives import owners_of
from adaptive_rag.state import Candidate
from adaptive_rag.text.vectors import Vectors
from adaptive_rag.where import Where

if TYPE_CHECKING:
    import pyarrow as pa

    from adaptive_rag.index.row_reader import Copy

# Minimum number of hits by words; among so many, most chunks found by vector have their BM25 already.
WORD_HITS = 300
# A search by words reads all hits with the same score as the last one that it needs, up to about this many.
MOST_TIES = 10_000
# Cache sizes: the number of restrictions with their rows, and the number of rows with their vectors.
CONDITIONS_KEPT, NARROWED_ROWS = 64, 2 * neighbours.EXACT_UP_TO
# A search that is restricted to up to NAMED_ROWS rows lists them in the query. With more rows, it filters its
# hits instead, and searches DEEPER times as deep if too few remain.
NAMED_ROWS, DEEPER = 2_000, 4
# If less than this share of the chunks is selected, hits by words are read only as deep as needed.
SIFTED_SHARE = 0.1
# Search indexes of up to this many bytes in total are read whole when an index in a bucket is opened. Read
# piece by piece, they take a request for each word and several for each cell. Those of 100,000 chunks have
# 36 MB.
INDEXES_READ_WHOLE = 64 * 2**20
# For words spelt like another: how many chunks are read, and how many words of the word index are compared.
# That index stores stems, so an ending counts as a difference too: three letters of a long word may differ.
# From 12 letters on, LanceDB allows two at most, and from 50 on it finds nothing.
ROWS_SPELT, WORDS_COMPARED, LONG_WORD, VERY_LONG_WORD, LONGEST_SPELT = 20, 200, 6, 11, 40
# The edge of a word in Arrow's regular expressions, whose \b knows ASCII letters only.
WORD_EDGE = r"(^|[^\pL\pM\pN_]|$)"
# A pasted page as a query has thousands of words; only the first distinct ones are used.
WORDS_PER_QUERY = 128
# The combining classes of marks at which LanceDB divides a word: nukta and virama.
DIVIDING_MARKS = (7, 9)
# For each query, the rows found, and the BM25 of the rows that contain its words.
Hits = tuple[list[list[int]], list[dict[int, float]]]


@cache
def _thread_pool() -> ThreadPoolExecutor:
    """Return the thread pool for parallel searches; all states of all indexes share it."""
    return ThreadPoolExecutor(8, thread_name_prefix="search")


class TableReader(RowReader):
    """Searches one table version; safe to share between threads."""

    def __init__(self, uri: str, manifest: Manifest, copy: Copy | None = None) -> None:
        super().__init__(uri, manifest, copy)
        self._selections: SharedCache[tuple[Any, ...], Ids] = SharedCache(CONDITIONS_KEPT)
        self._names_cache: SharedCache[frozenset[str], dict[str, list[str]]] = SharedCache(CONDITIONS_KEPT)
        self._vectors_cache: SharedCache[bytes, Vectors] = SharedCache(NARROWED_ROWS, len)
        self._indexes: Future[None] | None = None

    def begin_to_read_indexes(self) -> None:
        """Start reading the search indexes whole, unless they are large; searches wait for it."""
        sizes = (seal.size for name, seal in self.manifest.files.items() if "/_indices/" in name)
        if sum(sizes) <= INDEXES_READ_WHOLE:
            self._indexes = _thread_pool().submit(_read_indexes, self.table)

    def _await_indexes(self) -> None:
        if self._indexes is not None:
            wait([self._indexes])  # an error would occur again in the search, which reports it

    def search(
        self, queries: Sequence[str], vectors: Vectors, limit: int, selection: Ids | None = None
    ) -> list[list[Candidate]]:
        """Return, for each query, the union of its best `limit` chunks by vector and by words.

        `selection` restricts the search to some rows, given in ascending order. Scores are those of a search
        of all rows.
        """
        selected_count = self.manifest.chunks if selection is None else len(selection)
        limit = min(max(1, limit), max(1, selected_count))
        if not selected_count:
            return [[] for _ in queries]
        find = self._find_in_memory if self._in_memory else self._find
        rows, bm25 = find(queries, vectors, limit, selection)
        stored = self._fetch([row for union in rows for row in union])
        return [
            [stored[row].scored(vector, scores.get(row, 0.0)) for row in union]
            for union, vector, scores in zip(rows, vectors, bm25, strict=True)
        ]

    def begin(self, work: Callable[[], object]) -> None:
        """Run work that fills caches in another thread."""
        _thread_pool().submit(work)

    def look_up_words(self, queries: Sequence[str]) -> None:
        """Compute and cache the word scores of upcoming queries, if the table is in memory."""
        if self._in_memory:
            for query in queries:
                self._word_scores.get(tuple(split_words(query)))

    def compare(self, vectors: Vectors) -> None:
        """Compute and cache the cosines of upcoming query vectors, if the table is in memory."""
        # the search itself rejects vectors of another dimension
        if self._in_memory and vectors.shape[1] == self._dimension:
            self._cosines.get(vectors)

    def match(
        self, query: str, limit: int, selection: Ids | Sequence[int] | Sequence[str] | None = None
    ) -> tuple[Ids, Vectors]:
        """Return the rows that contain words of the query and their BM25, best first; ties in order of row.

        `selection` restricts them to some rows (an array or a list) or to chunk ids. A long array filters
        the hits; otherwise the query lists the rows or ids.
        """
        from lancedb.query import MatchQuery

        words = split_words(query)
        nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        if not words or (selection is not None and not len(selection)):
            return nothing
        if isinstance(selection, np.ndarray):
            return self._match_selected(query, limit, selection)
        match: Any = MatchQuery
        self._await_indexes()
        with explain_read_errors(self._uri, "its word index"):
            search = self.table.search(match(" ".join(words), TEXT), query_type="fts")
            if selection is not None:
                column = ID if isinstance(selection[0], str) else "_rowid"
                search = search.where(sql_in(column, selection), prefilter=True)
            depth = limit + 1
            hits = search.select(["_score"]).with_row_id(True).limit(depth).to_arrow()
            # of rows with equal scores, LanceDB returns other ones each time, so all of them are read
            while len(hits) == depth < MOST_TIES and hits["_score"][-1] == hits["_score"][limit - 1]:
                depth *= DEEPER
                hits = search.limit(depth).to_arrow()
        rows, bm25 = hits["_rowid"].to_numpy().astype(np.int64), hits["_score"].to_numpy().astype(np.float32)
        best = np.lexsort((rows, -bm25))[:limit]
        return rows[best], bm25[best]

    def _match_selected(self, query: str, limit: int, selection: Ids) -> tuple[Ids, Vectors]:
        """Return the matches among the selected rows: few are listed in the query, many filter its hits."""
        if len(selection) <= NAMED_ROWS:
            return self.match(query, limit, selection.tolist())
        for depth in self._search_depths(limit, selection):
            rows, bm25 = self.match(query, depth)
            positions = np.flatnonzero(_contains(rows, selection))[:limit]
            if len(positions) == limit or len(rows) < depth:
                break
        return rows[positions], bm25[positions]

    def spelt_like(self, word: str, selection: Ids | None = None) -> list[str]:
        """Return the words of chunks with a word spelt like this one; none if a chunk contains the word.

        Only words with the same first letter are compared. `selection` restricts the rows.
        """
        selected_count = self.manifest.chunks if selection is None else len(selection)
        if len(word) > LONGEST_SPELT or not selected_count or self.contains(word, selection):
            return []
        hits = self._find_similar(3 if LONG_WORD <= len(word) <= VERY_LONG_WORD else 2, word, selection)
        if selection is not None:
            is_selected = _contains(hits["_rowid"].to_numpy().astype(np.int64), selection)
            hits = hits.filter(is_selected).slice(0, ROWS_SPELT)
        texts = " ".join(hits[TEXT].to_pylist()).lower()
        return list(dict.fromkeys(re.findall(r"[^\W\d_]+", texts)))

    def _find_similar(self, letters: int, word: str, selection: Ids | None) -> pa.Table:
        """Return the texts of chunks with a word that differs in at most `letters` letters.

        LanceDB's automaton may have at most 10,000 states, whose number depends on which letters of a word
        repeat: "repatriated" with three letters exceeds it. Fewer letters are tried then.
        """
        from lancedb.query import MatchQuery

        fuzzy: Any = MatchQuery
        query = fuzzy(word, TEXT, fuzziness=letters, prefix_length=1, max_expansions=WORDS_COMPARED)
        with explain_read_errors(self._uri, "its word index"):
            search, depth = self.table.search(query, query_type="fts"), ROWS_SPELT
            if selection is not None and len(selection) <= NAMED_ROWS:
                search = search.where(sql_in("_rowid", selection.tolist()), prefilter=True)
            elif selection is not None:  # the caller filters the hits
                depth = next(self._search_depths(ROWS_SPELT, selection))
            try:
                return search.select([TEXT, "_score"]).with_row_id(True).limit(depth).to_arrow()
            except RuntimeError as error:
                if letters == 1 or "automaton exceeds" not in str(error):
                    raise
        return self._find_similar(letters - 1, word, selection)

    def holds(self, word: str, selection: Ids | None = None) -> bool:
        """Return whether a chunk contains exactly this word, ignoring case."""
        return self._has_word(word, f"{WORD_EDGE}{re.escape(word)}{WORD_EDGE}", selection)

    def contains(self, word: str, selection: Ids | None) -> bool:
        """Return whether a chunk contains a word; if the chunks are in memory, also inside another word."""
        return self._has_word(word, re.escape(word), selection)

    def _has_word(self, word: str, pattern: str, selection: Ids | None) -> bool:
        """Return whether a chunk contains a word or, if the chunks are in memory, matches a pattern."""
        import pyarrow.compute as pc

        if not self._in_memory:
            return len(self.match(word, 1, selection)[0]) > 0
        columns = self._chunk_columns.columns if selection is None else self._chunk_columns.take(selection)
        matches = pc.match_substring_regex(columns[TEXT], pattern=pattern, ignore_case=True)
        return bool(pc.any(matches).as_py())

    def candidates(self, rows: Sequence[int], query: Vectors) -> list[Candidate]:
        """Return rows as candidates of a query, without their BM25."""
        stored = self._fetch(rows)
        return [stored[row].scored(query, 0.0) for row in rows]

    def select_rows(
        self, restrictions: Sequence[Restriction], excluded: frozenset[str] = frozenset()
    ) -> Ids | None:
        """Return the rows that meet all restrictions, in ascending order; None if all rows do.

        `excluded` names documents whose chunks are left out. Recent results are cached.
        """
        # A list of all documents restricts nothing, and the fields of the chunks need not be read for it.
        sources = self.manifest.sources.keys()
        restrictions = [each for each in restrictions if isinstance(each, Where) or not each >= sources]
        if not restrictions and not excluded:
            return None
        key = (*restrictions, excluded)
        rows = self._selections.get(key, lambda: self._select_rows(restrictions, excluded))
        return rows if len(rows) < self.manifest.chunks else None

    def _select_rows(self, restrictions: Sequence[Restriction], excluded: frozenset[str]) -> Ids:
        rows, fields = self.rows_and_fields
        is_selected = np.ones(len(rows), dtype=np.bool_)
        for restriction in restrictions:
            if isinstance(restriction, Where):
                is_selected &= restriction.keep(fields)
            else:
                owners = self.manifest.owners(restriction)
                is_selected &= np.array([source in owners for source in fields.sources], dtype=np.bool_)
        if excluded:
            names = self.names_without(excluded)
            is_selected &= np.array([source in names for source in fields.sources], dtype=np.bool_)
        return rows[is_selected]

    def names_without(self, excluded: frozenset[str]) -> Mapping[str, Sequence[str]]:
        """Return the names of each stored source and its copies, without those of excluded documents."""

        def find_names() -> dict[str, list[str]]:
            names: dict[str, list[str]] = {}
            records = self.manifest.sources.items()
            for source, record in sorted(records, key=lambda item: (item[1].copy_of is not None, item[0])):
                if excluded.isdisjoint(owners_of(source, record.start)):
                    names.setdefault(record.copy_of or source, []).append(source)
            return names

        return self._names_cache.get(excluded, find_names)

    def sources_of(self, rows: Ids) -> list[str]:
        """Return the source of each row."""
        all_rows, fields = self.rows_and_fields
        return [fields.sources[position] for position in np.searchsorted(all_rows, rows)]

    @cached_property
    def rows_and_fields(self) -> tuple[Ids, Fields]:
        """The row ids, ascending, and the fields of each row."""
        table = MemoryTable.from_arrow(self._read(["source", "page", "section", "metadata"]))
        with explain_read_errors(self._uri, "its metadata"):
            sources, pages, sections, metadata = (
                table.columns[name].to_pylist() for name in ("source", "page", "section", "metadata")
            )
            return table.rows, Fields.of_rows(sources, pages, sections, metadata, self._copies_of)

    @cached_property
    def _rows_and_vectors(self) -> tuple[Ids, Vectors]:
        """The row ids, ascending, and the vectors, for an exact search."""
        table = MemoryTable.from_arrow(self._read([VECTOR]))
        return table.rows, self._matrix(table.columns)

    @cached_property
    def _cosines(self) -> Cosines:
        return Cosines(self._rows_and_vectors[1])

    @cached_property
    def _word_scores(self) -> WordScores:
        rows, _ = self._rows_and_vectors
        # A reference cycle would keep all chunks of the reader in memory until a garbage collection.
        reader = weakref.proxy(self)
        return WordScores(rows, lambda words: reader.match(" ".join(words), reader.manifest.chunks))

    def _find_in_memory(
        self, queries: Sequence[str], vectors: Vectors, limit: int, selection: Ids | None
    ) -> Hits:
        """Search a table in memory: exactly, by vector and by words."""
        rows, _ = self._rows_and_vectors
        cosines = self._cosines.get(vectors)
        bm25 = [self._word_scores.get(tuple(split_words(query))) for query in queries]
        if selection is not None:
            positions = np.searchsorted(rows, selection)
            rows = selection
            cosines = [scores[positions] for scores in cosines]
            bm25 = [scores[positions] for scores in bm25]
        unions, word_scores = [], []
        for dense, sparse in zip(cosines, bm25, strict=True):
            by_words = _top_positions(sparse, limit)
            by_words = by_words[sparse[by_words] > 0]
            union = list(dict.fromkeys([*_top_positions(dense, limit).tolist(), *by_words.tolist()]))
            unions.append(rows[union].tolist())
            word_scores.append(dict(zip(unions[-1], sparse[union].tolist(), strict=True)))
        return unions, word_scores

    def _find(self, queries: Sequence[str], vectors: Vectors, limit: int, selection: Ids | None) -> Hits:
        """Search a larger table: exactly or approximately by vector, and with LanceDB by words."""
        # If many hits would have to be filtered, the BM25 of chunks found by vector is looked up below.
        few = self.manifest.chunks * SIFTED_SHARE
        is_small_share = selection is not None and NAMED_ROWS < len(selection) < few
        depth = limit if is_small_share else max(limit, WORD_HITS)
        nearest = _thread_pool().submit(self.nearest, vectors, limit, selection)
        matched = self._map(lambda query: self.match(query, depth, selection), queries)
        unions, word_scores, unscored = [], [], []
        for by_vector, (by_words, bm25) in zip(nearest.result(), matched, strict=True):
            scores = dict(zip(by_words.tolist(), bm25.tolist(), strict=True))
            union = list(dict.fromkeys([*by_vector.tolist(), *by_words[:limit].tolist()]))
            unions.append(union)
            word_scores.append(scores)
            # with fewer than `depth` hits, no other chunk contains a word
            unscored.append([row for row in union if row not in scores] if len(by_words) == depth else [])
        # Chunks found only by vector may still contain words of the query, further down the ranking. While
        # their BM25 is looked up, another thread reads all chunks into the cache.
        fetching = _thread_pool().submit(self._fetch, [row for union in unions for row in union])
        ids = self._ids([row for rows in unscored for row in rows])
        late_matches = self._map(
            lambda item: self.match(item[0], len(item[1]), [ids[row] for row in item[1]]),
            list(zip(queries, unscored, strict=True)),
        )
        for scores, (rows, bm25) in zip(word_scores, late_matches, strict=True):
            scores.update(zip(rows.tolist(), bm25.tolist(), strict=True))
        fetching.result()
        return unions, word_scores

    def nearest(self, vectors: Vectors, limit: int, selection: Ids | None = None) -> list[Ids]:
        """Return, for each vector, its nearest rows, best first; `selection` restricts the rows."""
        chunks = self.manifest.chunks
        selected_count = chunks if selection is None else len(selection)
        if selected_count > neighbours.EXACT_UP_TO:
            with explain_read_errors(self._uri, "its vector index"):
                return [self._nearest_by_index(vector, limit, selection) for vector in vectors]
        if selection is None:
            rows, matrix = self._rows_and_vectors
        elif chunks <= neighbours.EXACT_UP_TO:
            all_rows, all_vectors = self._rows_and_vectors
            rows, matrix = selection, all_vectors[np.searchsorted(all_rows, selection)]
        else:
            rows, matrix = selection, self._vectors_of(selection)
        # einsum runs on one thread: at this size, a threaded product mostly waits for a second core.
        return [rows[_top_positions(cosines, limit)] for cosines in np.einsum("ij,kj->ki", matrix, vectors)]

    def _nearest_by_index(self, vector: Vectors, limit: int, selection: Ids | None) -> Ids:
        """Return the rows nearest to a vector by the approximate index; `selection` filters its hits."""
        self._await_indexes()
        if selection is None:
            return neighbours.nearest(self.table, vector, limit, self.manifest.chunks)
        for depth in self._search_depths(limit, selection):
            rows = neighbours.nearest(self.table, vector, depth, self.manifest.chunks)
            selected = rows[_contains(rows, selection)][:limit]
            if len(selected) == limit:
                break
        return selected

    def _search_depths(self, limit: int, selection: Ids) -> Iterator[int]:
        """Yield growing search depths at which enough hits may remain after filtering.

        The first is two standard deviations above the mean for randomly spread hits, which costs less than
        a second search.
        """
        chunks = self.manifest.chunks
        depth = math.ceil((limit + 2 * math.sqrt(limit)) * chunks / len(selection))
        while depth < chunks:
            yield depth
            depth *= DEEPER
        yield chunks

    def _vectors_of(self, rows: Ids) -> Vectors:
        """Return the vectors of rows of a large table; recent results are cached."""

        def read() -> Vectors:
            with explain_read_errors(self._uri, "its table"):
                table = self.table.take_row_ids(rows.tolist()).select([VECTOR]).with_row_id().to_arrow()
            return self._matrix(MemoryTable.from_arrow(table).columns)

        return self._vectors_cache.get(rows.tobytes(), read)

    def _map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Apply a function to each item, in parallel if there are several."""
        return [function(items[0])] if len(items) == 1 else list(_thread_pool().map(function, items))


def _read_indexes(table: Any) -> None:
    names = [index.name for index in table.list_indices()]
    with ThreadPoolExecutor(len(names) or 1, thread_name_prefix="indexes") as pool:
        list(pool.map(table.prewarm_index, names))


def _top_positions(scores: Vectors, limit: int) -> Ids:
    """Return the positions of the highest scores, best first; ties in order of position."""
    count = len(scores)
    top = np.argpartition(-scores, limit - 1)[:limit] if limit < count else np.arange(count)
    return np.asarray(top[np.lexsort((top, -scores[top]))], dtype=np.int64)


def _contains(rows: Ids, selection: Ids) -> NDArray[np.bool_]:
    """Return a mask of the rows that are in `selection`, which is in ascending order; fast for few rows."""
    positions = np.searchsorted(selection, rows)
    return np.asarray(selection.take(positions, mode="clip") == rows)


def split_words(query: str) -> list[str]:
    """Return the distinct words of a query, up to `WORDS_PER_QUERY`."""
    # A match query has no syntax, so quotes and operators would only be treated as words or ignored.
    text = "".join(c if _is_in_word(c) else " " for c in unicodedata.normalize("NFC", query))
    return list(dict.fromkeys(text.split()))[:WORDS_PER_QUERY]


def _is_in_word(character: str) -> bool:
    """Return whether LanceDB divides no word at a character: a letter, a digit, or a vowel sign of Hindi."""
    if unicodedata.category(character).startswith("M"):
        return unicodedata.combining(character) not in DIVIDING_MARKS
    return character.isalnum()
