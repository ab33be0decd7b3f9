"""One shard of an index: counts its words, and searches with the word counts of all shards."""

from __future__ import annotations

import math
import re
import threading
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.index.disk_cache import DiskCache
from adaptive_rag.index.fields import Fields
from adaptive_rag.index.index import Index
from adaptive_rag.index.neighbours import Ids
from adaptive_rag.index.reader import TableReader
from adaptive_rag.index.shared_cache import SharedCache
from adaptive_rag.index.table import TEXT, connect, words_config
from adaptive_rag.index.vectorize import refuse_other_model
from adaptive_rag.state import Candidate, Chunk
from adaptive_rag.text.bm25 import K1, B, idf
from adaptive_rag.text.vectors import Vectors
from adaptive_rag.text.words import STOP_WORDS
from adaptive_rag.where import Columns, Kind, Mask, Where

Scores = NDArray[np.float64]
# Chunks sampled to find the mean length of chunks, and words tried for it.
SAMPLED, WORDS_TRIED = 64, 50
# Extra hits by words, since the last ones may change places when their scores are computed exactly.
MARGIN = 20
# Cached hits of one state, 16 bytes each: 64 MB.
HITS_KEPT = 4_000_000
CHUNKS_KEPT = 65_536
# How far the number of occurrences of a word may be from its estimate, as a factor, and the largest number
# that is tried.
FAR, MOST_TIMES = 1.25, 256
# How far a length in words, computed from scores of 24 bits, may be from a whole number.
NEARLY_WHOLE = 0.01
WORD = re.compile(r"[^\W_]+")
# Words that no text contains.
MARK, OTHER = "qzxmarkqzx", "qzxotherqzx"


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts that BM25 needs."""

    chunks: int
    length: float
    """Mean number of words of a chunk, without stop words."""
    words: Mapping[str, int]
    """How many chunks contain each word."""

    def idf(self, word: str) -> float:
        """Return the weight of a word."""
        return idf(self.chunks, self.words[word])

    def norm(self, lengths: Scores) -> Scores:
        """Return the BM25 norm of each length: how often a word must occur for half of its highest score."""
        return K1 * (1 - B + B * lengths / self.length)

    def length_of(self, norms: Scores) -> Scores:
        """Return the lengths of these norms, as the inverse of `norm`."""
        return (norms / K1 - (1 - B)) / B * self.length


def sum_counts(counts: Sequence[Counts]) -> Counts:
    """Add up the counts of all shards."""
    chunks = sum(shard.chunks for shard in counts)
    length = sum(shard.chunks * shard.length for shard in counts) / max(1, chunks)
    words = Counter[str]()
    for shard in counts:
        words.update(shard.words)
    return Counts(chunks, length or 1.0, {word: words[word] for shard in counts for word in shard.words})


@dataclass(frozen=True)
class Condition(Where):
    """A condition, with the kind of each field's values over all shards."""

    kinds: tuple[tuple[str, Kind], ...] = ()
    prefix: str = ""
    """The prefix that the condition expects before the names of this shard's documents."""

    def keep(self, columns: Columns) -> Mask:
        """Return a mask of the passages that fulfil the condition."""
        return super().keep(_ShardColumns(columns, self.kinds, self.prefix))


Restrictions = tuple[frozenset[str] | Condition, ...]


@dataclass(frozen=True, slots=True)
class _ShardColumns:
    """The fields of a shard's chunks; fields that only other shards have are empty here."""

    columns: Columns
    all_kinds: tuple[tuple[str, Kind], ...]
    prefix: str

    def __len__(self) -> int:
        return len(self.columns)

    def kinds(self) -> Mapping[str, Kind]:
        return dict(self.all_kinds)

    def values(self, field: str) -> list[Any]:
        if field not in self.columns.kinds():
            return [None] * len(self)
        values = self.columns.values(field)
        if field != "source" or not self.prefix:
            return values
        return [
            [self.prefix + name for name in value] if isinstance(value, list) else self.prefix + value
            for value in values
        ]


class _State:
    """The caches for one state of a shard."""

    def __init__(self) -> None:
        self.length: float | None = None
        self.share = 1.0
        self.hits: SharedCache[str, tuple[Ids, Scores]] = SharedCache(
            HITS_KEPT, lambda hits: 1 + len(hits[0])
        )


class Shard:
    """One shard that is open for searching, in this process or in a Ray actor."""

    def __init__(self, uri: str, disk_cache: DiskCache | None = None, model: str | None = None) -> None:
        """Set the location; with `model`, the name of an embedding model, an index of another is refused."""
        self._uri, self._disk_cache, self._model = uri, disk_cache, model
        self._index: Index | None = None
        self._lock = threading.Lock()
        self._states: WeakKeyDictionary[TableReader, _State] = WeakKeyDictionary()
        self._lengths: SharedCache[str, int] = SharedCache(CHUNKS_KEPT)

    def call(self, version: str | None, restrictions: Restrictions, method: str, *args: Any) -> Any:
        """Call a method on the selected chunks, in the named state or the current one."""
        with self._lock:
            if self._index is None:
                index = Index.open_rows(self._uri, self._disk_cache)
                new_model = index.reader().manifest.settings.embeddings
                refuse_other_model(self._uri, self._model or new_model, new_model)
                self._index = index
        return self.call_on(self._index, version, restrictions, method, *args)

    def call_on(
        self, index: Index, version: str | None, restrictions: Restrictions, method: str, *args: Any
    ) -> Any:
        """Call a method of this class, or else of the index, on the selected chunks of the index."""
        view = index.restrict(*restrictions)
        view = view if version is None else view.at(version)
        function = getattr(self, method, None)
        return function(view, *args) if function is not None else getattr(view, method)(*args)

    # The following methods are called by name.

    def version(self, index: Index) -> str:
        """Return the name of the state."""
        return index.version

    def counts(self, index: Index, words: Sequence[str]) -> Counts:
        """Return the counts of words in all chunks, even if only some are selected."""
        return self._count_words(index.reader(), words)

    def search(
        self, index: Index, queries: Sequence[Sequence[str]], vectors: Vectors, limit: int, counts: Counts
    ) -> list[list[Candidate]]:
        """Return, for each query, the union of its best `limit` chunks by vector and by words.

        Each query is a list of words. BM25 uses `counts`, the word counts of all shards.
        """
        reader, selection = index.select_rows()
        selected_count = reader.manifest.chunks if selection is None else len(selection)
        if not selected_count:
            return [[] for _ in queries]
        limit = min(limit, selected_count)
        own_counts = self._count_words(reader, list(counts.words))
        results = []
        nearest_rows = reader.nearest(vectors, limit, selection)
        for words, vector, nearest in zip(queries, vectors, nearest_rows, strict=True):
            by_words = self._rank_by_words(reader, selection, words, own_counts, counts)[: limit + MARGIN]
            rows = np.array(list(dict.fromkeys([*nearest.tolist(), *by_words.tolist()])), dtype=np.int64)
            hits = reader.candidates(rows.tolist(), vector)
            scores = self._bm25(reader, rows, hits, words, own_counts, counts)
            for hit, score in zip(hits, scores.tolist(), strict=True):
                hit["scores"]["sparse"] = score
            best = {*range(len(nearest)), *np.argsort(-scores, kind="stable")[:limit].tolist()}
            results.append([index.rename(hit, reader) for at, hit in enumerate(hits) if at in best])
        return results

    def has(self, index: Index, ids: Sequence[str]) -> list[str]:
        """Return those of the ids that belong to chunks of this shard."""
        return list(index.reader().rows_of(ids))

    def chunks(self, index: Index) -> list[Chunk]:
        """Return all chunks."""
        return list(index.chunks())

    def spelt_like(self, index: Index, word: str) -> list[str] | None:
        """Return words of the chunks that are spelt almost like this one; None if a chunk contains it."""
        reader, selection = index.select_rows()
        return None if reader.contains(word, selection) else reader.spelt_like(word, selection)

    def fields(self, index: Index) -> Fields:
        """Return the fields of all chunks."""
        return index.reader().rows_and_fields[1]

    def kinds(self, index: Index) -> dict[str, Kind]:
        """Return the fields that at least one chunk has, and the kind of their values."""
        fields = self.fields(index)
        return {name: kind for name, kind in fields.kinds().items() if next(fields.known_values(name), None)}

    # End of the methods that are called by name.

    def _count_words(self, reader: TableReader, words: Sequence[str]) -> Counts:
        chunks_with = {word: len(self._hits(reader, word)[0]) for word in words}
        return Counts(reader.manifest.chunks, self._mean_length(reader), chunks_with)

    def _state(self, reader: TableReader) -> _State:
        with self._lock:
            return self._states.setdefault(reader, _State())

    def _hits(self, reader: TableReader, word: str) -> tuple[Ids, Scores]:
        """Return all rows that contain a word, in ascending order, and their BM25 for this word alone."""

        def find() -> tuple[Ids, Scores]:
            rows, scores = reader.match(word, max(1, reader.manifest.chunks))
            order = np.argsort(rows)
            return rows[order], scores[order].astype(np.float64)

        return self._state(reader).hits.get(word, find)

    def _ratios(self, reader: TableReader, word: str, own_counts: Counts) -> tuple[Ids, Scores]:
        """Return the rows that contain a word, and for each its norm divided by the occurrences of the word.

        Follows from the BM25 of one word: idf * (K1 + 1) / (1 + norm / occurrences).
        """
        rows, scores = self._hits(reader, word)
        return rows, np.maximum(own_counts.idf(word) * (K1 + 1) / scores - 1, 1e-9)

    def _rank_by_words(
        self,
        reader: TableReader,
        selection: Ids | None,
        words: Sequence[str],
        own_counts: Counts,
        counts: Counts,
    ) -> Ids:
        """Return the rows that contain words, best first by an approximation of their BM25 over all shards.

        The approximation assumes that a word occurs once in a chunk. Its error is small if the shards have
        similar chunks.
        """
        rows_of_words, scores_of_words = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        shift = own_counts.length / counts.length
        for word, times in Counter(words).items():
            rows, ratios = self._ratios(reader, word, own_counts)
            rows_of_words.append(rows)
            weight = times * counts.idf(word) * (K1 + 1)
            scores_of_words.append(weight / (1 + shift * ratios + (1 - shift) * K1 * (1 - B)))
        rows, positions = np.unique(np.concatenate(rows_of_words), return_inverse=True)
        sums = np.bincount(positions, np.concatenate(scores_of_words), len(rows))
        if selection is not None:
            is_selected = np.isin(rows, selection, assume_unique=True)
            rows, sums = rows[is_selected], sums[is_selected]
        return np.asarray(rows[np.lexsort((rows, -sums))], dtype=np.int64)

    def _bm25(
        self,
        reader: TableReader,
        rows: Ids,
        chunks: Sequence[Chunk],
        words: Sequence[str],
        own_counts: Counts,
        counts: Counts,
    ) -> Scores:
        """Return the BM25 of rows with the word counts of all shards."""
        # LanceDB's own lengths are close to those that follow from our count of words
        content_words = np.array([self._count_content_words(chunk) for chunk in chunks], dtype=np.float64)
        estimated_norms = own_counts.norm(content_words * self._state(reader).share)
        sums = np.zeros(len(rows))
        for word, repetitions in Counter(words).items():
            hits, ratios = self._ratios(reader, word, own_counts)
            if not len(hits):
                continue
            positions = np.searchsorted(hits, rows)
            matching = np.flatnonzero(hits.take(positions, mode="clip") == rows)
            ratios = ratios[positions[matching]]
            times = _times(ratios, estimated_norms[matching], own_counts)
            lengths = own_counts.length_of(ratios * times)
            rounded = np.rint(lengths)
            norms = counts.norm(np.where(np.abs(lengths - rounded) < NEARLY_WHOLE, rounded, lengths))
            sums[matching] += repetitions * counts.idf(word) * (K1 + 1) * times / (times + norms)
        return sums

    def _count_content_words(self, chunk: Chunk) -> int:
        """Return how many words of a chunk are no stop words, by our own count; recent counts are cached."""
        return self._lengths.get(chunk["id"], lambda: _count_text(chunk["text"]))

    def _mean_length(self, reader: TableReader) -> float:
        """Return the mean chunk length that LanceDB uses, derived from its scores for a word."""
        state = self._state(reader)
        if state.length is None:
            state.length, state.share = self._measure_length(reader)
        return state.length

    def _measure_length(self, reader: TableReader) -> tuple[float, float]:
        """Return LanceDB's mean chunk length, and the ratio of its lengths to the counts of `_count_text`."""
        chunks = reader.manifest.chunks
        sample = [chunk["text"] for chunk in islice(reader.chunks(), SAMPLED)]
        common = Counter(word for text in sample for word in set(re.findall(r"[^\W\d_]+", text.lower())))
        chunks_with = {word: len(self._hits(reader, word)[0]) for word, _ in common.most_common(WORDS_TRIED)}
        # the score of a word that nearly all chunks contain is too small to be exact
        most_chunks = max(SAMPLED, chunks // 2)
        usable = {word: number for word, number in chunks_with.items() if 0 < number <= most_chunks}
        if not usable:
            return 1.0, 1.0
        word = max(usable, key=lambda word: usable[word])
        rows, ratios = self._ratios(reader, word, Counts(chunks, 1.0, chunks_with))
        rows, ratios = rows[:SAMPLED], ratios[:SAMPLED]
        zero_vector = np.zeros(reader.manifest.settings.dimension, dtype=np.float32)
        texts = [hit["text"] for hit in reader.candidates(rows.tolist(), zero_vector)]
        lengths, times = count_words(texts, word)
        # ratios * times are the norms of the lengths, relative to the unknown mean length
        estimates = lengths / Counts(chunks, 1.0, chunks_with).length_of(ratios * times)
        return float(np.median(estimates)), float(lengths.sum() / max(1, sum(map(_count_text, texts))))


def _count_text(text: str) -> int:
    return sum(word not in STOP_WORDS for word in WORD.findall(text.lower()))


def _times(ratios: Scores, estimates: Scores, counts: Counts) -> Scores:
    """Return how often each chunk contains a word, given its norm / occurrences and an estimate of its norm.

    Occurrences and length are whole numbers, and only one pair near the estimate fits.
    """
    expected = estimates / ratios
    highest = max(1, math.ceil(FAR * expected.max(initial=1.0)))
    candidates = np.arange(1, min(highest, MOST_TIMES) + 1, dtype=np.float64)
    lengths = counts.length_of(ratios[:, None] * candidates)
    misfit = np.abs(lengths - np.rint(lengths))
    misfit[(candidates > FAR * expected[:, None]) | (candidates * FAR < expected[:, None])] = 1.0
    best = candidates[np.argmin(misfit, axis=1)]
    fits = misfit.min(axis=1, initial=1.0) < 1.0
    return np.where(fits, best, np.maximum(1.0, np.rint(expected)))


def count_words(texts: Sequence[str], word: str) -> tuple[Scores, Scores]:
    """Return the number of words that LanceDB counts in each text, and of `word`, which all texts contain.

    LanceDB does not report these counts, but the score of a word added once to each text reveals its length.
    """
    import pyarrow as pa
    from lancedb.query import MatchQuery

    text_count = len(texts)
    # only half of the rows have the added word, so that its weight is not too small
    rows = [*(f"{text} {MARK}" for text in texts), MARK, *[OTHER] * (text_count + 1)]
    match: Any = MatchQuery
    database, name = connect("memory://"), uuid.uuid4().hex
    table = database.create_table(name, pa.table({TEXT: rows, "at": range(len(rows))}))
    try:
        table.create_index(TEXT, config=words_config())
        ratios = []
        for query in (MARK, word):
            hits = table.search(match(query, TEXT), query_type="fts").select(["at", "_score"])
            matches = hits.limit(len(rows)).to_arrow().sort_by("at")
            ratios.append(
                idf(len(rows), len(matches)) * (K1 + 1) / matches["_score"].to_numpy().astype(np.float64) - 1
            )
    finally:
        database.drop_table(name)
    norm_of_none = K1 * (1 - B)
    mark_ratios, word_ratios = ratios
    # the last text is the added word alone, of length 1
    lengths = np.rint((mark_ratios[:-1] - norm_of_none) / (mark_ratios[-1] - norm_of_none))
    return lengths - 1, np.rint(mark_ratios[:-1] / word_ratios)
