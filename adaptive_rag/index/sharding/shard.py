"""One shard of an index: counts its words, and searches with the word counts of all shards."""

from __future__ import annotations

import math
import re
import threading
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
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
from adaptive_rag.state import Candidate, Chunk
from adaptive_rag.text.bm25 import K1, B, idf
from adaptive_rag.text.vectors import Vectors
from adaptive_rag.text.words import STOP_WORDS
from adaptive_rag.where import Columns, Kind, Mask, Where

Scores = NDArray[np.float64]
# Chunks sampled to find the mean length of chunks, and words tried for it.
SAMPLED, WORDS_TRIED = 64, 50
# Extra hits by words: the last ones may change places when their scores are computed exactly.
MARGIN = 20
# Cached hits of one state, 16 bytes each: 64 MB.
HITS_KEPT = 4_000_000
CHUNKS_KEPT = 65_536
# How far the number of times that a chunk contains a word may be from the estimate, as a factor, and the
# largest number that is tried.
FAR, MOST_TIMES = 1.25, 256
# How far a computed length, in words, may be from a whole number: scores have 24 bits.
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
        """Return the BM25 norms of lengths: a word that occurs so often gets half of its highest score."""
        return K1 * (1 - B + B * lengths / self.length)

    def length_of(self, norms: Scores) -> Scores:
        """Return the lengths of these norms, as the inverse of `norm`."""
        return (norms / K1 - (1 - B)) / B * self.length


def total(counts: Sequence[Counts]) -> Counts:
    """Add up the counts of all shards."""
    chunks = sum(each.chunks for each in counts)
    length = sum(each.chunks * each.length for each in counts) / max(1, chunks)
    words = Counter[str]()
    for each in counts:
        words.update(each.words)
    return Counts(chunks, length or 1.0, {word: words[word] for each in counts for word in each.words})


@dataclass(frozen=True)
class Condition(Where):
    """A condition, with the kind of each field's values over all shards."""

    kinds: tuple[tuple[str, Kind], ...] = ()
    prefix: str = ""
    """What the names of this shard's documents begin with, as the condition knows them."""

    def keep(self, columns: Columns) -> Mask:
        """Return a mask of the passages that fulfil the condition."""
        return super().keep(_Columns(columns, self.kinds, self.prefix))


Chosen = tuple[frozenset[str] | Condition, ...]


@dataclass(frozen=True, slots=True)
class _Columns:
    """The fields of a shard's chunks; fields that only other shards have are empty here."""

    own: Columns
    of_all: tuple[tuple[str, Kind], ...]
    prefix: str

    def __len__(self) -> int:
        return len(self.own)

    def kinds(self) -> Mapping[str, Kind]:
        return dict(self.of_all)

    def values(self, field: str) -> list[Any]:
        found: list[Any] = self.own.values(field) if field in self.own.kinds() else [None] * len(self)
        if field != "source" or not self.prefix:
            return found
        return [[self.prefix + n for n in v] if isinstance(v, list) else self.prefix + v for v in found]


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

    def __init__(self, uri: str, copies: DiskCache | None = None) -> None:
        self._uri, self._copies = uri, copies
        self._index: Index | None = None
        self._lock = threading.Lock()
        self._states: WeakKeyDictionary[TableReader, _State] = WeakKeyDictionary()
        self._counted: SharedCache[str, int] = SharedCache(CHUNKS_KEPT)

    def call(self, version: str | None, chosen: Chosen, method: str, *args: Any) -> Any:
        """Call a method on the selected chunks, in the named state or the current one."""
        with self._lock:
            if self._index is None:
                self._index = Index.open_rows(self._uri, self._copies)
        return self.call_on(self._index, version, chosen, method, *args)

    def call_on(self, index: Index, version: str | None, chosen: Chosen, method: str, *args: Any) -> Any:
        """Call a method of this class, or else of the index, on the selected chunks of the index."""
        view = index.narrowed_by(*chosen)
        view = view if version is None else view.at(version)
        own = getattr(self, method, None)
        return own(view, *args) if own is not None else getattr(view, method)(*args)

    # The following methods are called by name.

    def version(self, index: Index) -> str:
        """Return the name of the state."""
        return index.version

    def counts(self, index: Index, words: Sequence[str]) -> Counts:
        """Count words in all chunks, whatever is selected."""
        return self._counts(index.reader(), words)

    def search(
        self,
        index: Index,
        queries: Sequence[Sequence[str]],
        vectors: Vectors,
        limit: int,
        counts: Counts,
    ) -> list[list[Candidate]]:
        """Return the best chunks by vector and by words for each query, given by its words and its vector.

        BM25 uses `counts`, which are those of all shards.
        """
        reader = index.reader()
        among = index.among(reader)
        held = reader.manifest.chunks if among is None else len(among)
        if not held:
            return [[] for _ in queries]
        limit = min(limit, held)
        own = self._counts(reader, list(counts.words))
        found = []
        for words, vector, near in zip(queries, vectors, reader.nearest(vectors, limit, among), strict=True):
            named = self._named(reader, among, words, own, counts)[: limit + MARGIN]
            rows = np.array(list(dict.fromkeys([*near.tolist(), *named.tolist()])), dtype=np.int64)
            hits = reader.candidates(rows.tolist(), vector, {})
            scores = self._bm25(reader, rows, hits, words, own, counts)
            for hit, score in zip(hits, scores.tolist(), strict=True):
                hit["scores"]["sparse"] = score
            best = set(np.argsort(-scores, kind="stable")[:limit].tolist())
            kept = [hit for at, hit in enumerate(hits) if at < len(near) or at in best]
            found.append([index.renamed(hit, reader) for hit in kept])
        return found

    def has(self, index: Index, ids: Sequence[str]) -> list[str]:
        """Return the ids that chunks of this shard have."""
        found = []
        for id_ in ids:
            with suppress(KeyError):
                index.get([id_])
                found.append(id_)
        return found

    def chunks(self, index: Index) -> list[Chunk]:
        """Return all chunks."""
        return list(index.chunks())

    def spelt_like(self, index: Index, word: str) -> list[str] | None:
        """Return words that are spelt almost like this one; None if a chunk contains it."""
        reader = index.reader()
        among = index.among(reader)
        return None if reader.contains(word, among) else reader.spelt_like(word, among)

    def fields(self, index: Index) -> Fields:
        """Return the fields of all chunks."""
        return index.reader().fields[1]

    def kinds(self, index: Index) -> dict[str, Kind]:
        """Return the fields that some chunk has, and the kind of their values."""
        fields = self.fields(index)
        known = fields.kinds().items()
        return {name: kind for name, kind in known if any(v is not None for v in fields.values(name))}

    # End of the methods that are called by name.

    def _counts(self, reader: TableReader, words: Sequence[str]) -> Counts:
        held = {word: len(self._hits(reader, word)[0]) for word in words}
        return Counts(reader.manifest.chunks, self._length(reader), held)

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

    def _ratios(self, reader: TableReader, word: str, own: Counts) -> tuple[Ids, Scores]:
        """Return the rows that contain a word, and for each its norm divided by the occurrences of the word.

        BM25 of one word is idf (K1 + 1) / (1 + norm / times).
        """
        rows, scores = self._hits(reader, word)
        return rows, np.maximum(own.idf(word) * (K1 + 1) / scores - 1, 1e-9)

    def _named(
        self, reader: TableReader, among: Ids | None, words: Sequence[str], own: Counts, counts: Counts
    ) -> Ids:
        """Return the rows that contain words, best first by an approximation of their BM25 over all shards.

        It assumes that each word occurs once in a chunk; the error is small if shards hold similar chunks.
        """
        every, scores = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        shift = own.length / counts.length
        for word, times in Counter(words).items():
            rows, ratios = self._ratios(reader, word, own)
            every.append(rows)
            weight = times * counts.idf(word) * (K1 + 1)
            scores.append(weight / (1 + shift * ratios + (1 - shift) * K1 * (1 - B)))
        rows, places = np.unique(np.concatenate(every), return_inverse=True)
        sums = np.bincount(places, np.concatenate(scores), len(rows))
        if among is not None:
            kept = np.isin(rows, among, assume_unique=True)
            rows, sums = rows[kept], sums[kept]
        return np.asarray(rows[np.lexsort((rows, -sums))], dtype=np.int64)

    def _bm25(
        self,
        reader: TableReader,
        rows: Ids,
        chunks: Sequence[Chunk],
        words: Sequence[str],
        own: Counts,
        counts: Counts,
    ) -> Scores:
        """Return the BM25 of rows with the counts of all shards."""
        # estimated norms: the true length is near
        counted = np.array([self._count(chunk) for chunk in chunks], dtype=np.float64)
        about = own.norm(counted * self._state(reader).share)
        sums = np.zeros(len(rows))
        for word, asked in Counter(words).items():
            hits, ratios = self._ratios(reader, word, own)
            if not len(hits):
                continue
            at = np.searchsorted(hits, rows)
            holding = np.flatnonzero(hits.take(at, mode="clip") == rows)
            ratios = ratios[at[holding]]
            times = _times(ratios, about[holding], own)
            lengths = own.length_of(ratios * times)
            whole = np.rint(lengths)
            norms = counts.norm(np.where(np.abs(lengths - whole) < NEARLY_WHOLE, whole, lengths))
            sums[holding] += asked * counts.idf(word) * (K1 + 1) * times / (times + norms)
        return sums

    def _count(self, chunk: Chunk) -> int:
        """Return how many words of a chunk are not stop words, by our own count; recent counts are cached."""
        return self._counted.get(chunk["id"], lambda: _content(chunk["text"]))

    def _length(self, reader: TableReader) -> float:
        """Return the mean chunk length that LanceDB uses, derived from its scores of a word."""
        state = self._state(reader)
        if state.length is None:
            state.length, state.share = self._find_length(reader)
        return state.length

    def _find_length(self, reader: TableReader) -> tuple[float, float]:
        """Return the mean chunk length, and the ratio of LanceDB's lengths to the counts of `_content`."""
        chunks = reader.manifest.chunks
        sample = [chunk["text"] for chunk in islice(reader.chunks(), SAMPLED)]
        common = Counter(word for text in sample for word in set(re.findall(r"[^\W\d_]+", text.lower())))
        held = {word: len(self._hits(reader, word)[0]) for word, _ in common.most_common(WORDS_TRIED)}
        # the score of a word that nearly all chunks contain is too small to be exact
        known = {word: number for word, number in held.items() if 0 < number <= max(SAMPLED, chunks // 2)}
        if not known:
            return 1.0, 1.0
        word = max(known, key=lambda word: known[word])
        rows, ratios = self._ratios(reader, word, Counts(chunks, 1.0, held))
        rows, ratios = rows[:SAMPLED], ratios[:SAMPLED]
        nothing = np.zeros(reader.manifest.settings.dimension, dtype=np.float32)
        texts = [hit["text"] for hit in reader.candidates(rows.tolist(), nothing, {})]
        lengths, times = count_words(texts, word)
        # ratios * times is the norm of a length, relative to the mean length to be found
        found = lengths / Counts(chunks, 1.0, held).length_of(ratios * times)
        return float(np.median(found)), float(lengths.sum() / max(1, sum(map(_content, texts))))


def _content(text: str) -> int:
    return sum(word not in STOP_WORDS for word in WORD.findall(text.lower()))


def _times(ratios: Scores, about: Scores, own: Counts) -> Scores:
    """Return how often chunks contain a word, given norm / times of each and an estimate of its norm.

    The number of times and the length are whole numbers, and only one pair near the estimate fits.
    """
    expected = about / ratios
    highest = max(1, math.ceil(FAR * expected.max(initial=1.0)))
    tried = np.arange(1, min(highest, MOST_TIMES) + 1, dtype=np.float64)
    lengths = own.length_of(ratios[:, None] * tried)
    misfit = np.abs(lengths - np.rint(lengths))
    misfit[(tried > FAR * expected[:, None]) | (tried * FAR < expected[:, None])] = 1.0
    best = tried[np.argmin(misfit, axis=1)]
    fits = misfit.min(axis=1, initial=1.0) < 1.0
    return np.where(fits, best, np.maximum(1.0, np.rint(expected)))


def count_words(texts: Sequence[str], word: str) -> tuple[Scores, Scores]:
    """Return how many words LanceDB counts in each text, and how often `word`, which all texts contain.

    LanceDB does not report these counts, but the score of a word added once to each text reveals its length.
    """
    import pyarrow as pa
    from lancedb.query import MatchQuery

    number = len(texts)
    # as many rows lack the added word as have it, so that its weight is not too small
    rows = [*(f"{text} {MARK}" for text in texts), MARK, *[OTHER] * (number + 1)]
    match: Any = MatchQuery
    database, name = connect("memory://"), uuid.uuid4().hex
    table = database.create_table(name, pa.table({TEXT: rows, "at": range(len(rows))}))
    try:
        table.create_index(TEXT, config=words_config())
        ratios = []
        for asked in (MARK, word):
            hits = table.search(match(asked, TEXT), query_type="fts").select(["at", "_score"])
            found = hits.limit(len(rows)).to_arrow().sort_by("at")
            ratios.append(
                idf(len(rows), len(found)) * (K1 + 1) / found["_score"].to_numpy().astype(np.float64) - 1
            )
    finally:
        database.drop_table(name)
    bare = K1 * (1 - B)
    marked, of_word = ratios
    # the last text is the added word alone, of length 1
    lengths = np.rint((marked[:-1] - bare) / (marked[-1] - bare))
    return lengths - 1, np.rint(marked[:-1] / of_word)
