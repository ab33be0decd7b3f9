"""Word scores computed in memory: BM25Okapi over all chunks of a source, and TF-IDF to add to any BM25."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np
from cachetools import LRUCache
from rank_bm25 import BM25Okapi

from adaptive_rag.context import Context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.open_index import OpenedIndex
from adaptive_rag.search.fusion import with_scores
from adaptive_rag.source import ListsChunks, SearchesChunks
from adaptive_rag.state import Candidate, Chunk, Query
from adaptive_rag.text.vectors import Scores, min_max

# Most chunks for BM25Okapi, which scores every chunk for every question. This many chunks of 760 characters
# take 1.4 s to read and 180 MB of memory, 2.9 s and 85 MB more for TF-IDF, and 0.6 s per search; a tenth of
# them takes a tenth of that.
OKAPI_UP_TO = 20_000
# A pasted page as a query would take seconds; only its first words are used.
WORDS_PER_QUERY = 128


class OkapiWords:
    """BM25Okapi of rank-bm25 over the words of all chunks, in lower case and split at blanks.

    Robertson et al., Okapi at TREC-3 (1994), in the variant of Trotman et al. (2014): the idf of a word that
    over half of the chunks contain is a quarter of the mean idf. The constants are the package's defaults.
    """

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        texts = {chunk["id"]: chunk["text"] for chunk in chunks}
        self._texts = texts
        self._row = {id_: row for row, id_ in enumerate(texts)}
        # an empty text becomes one empty word: BM25Okapi divides by the number of words
        words = [text.lower().split() or [""] for text in texts.values()]
        self._bm25 = BM25Okapi(words) if words else None

    def __len__(self) -> int:
        return len(self._row)

    def score(self, query: str, ids: Sequence[str]) -> Scores:
        """Return the BM25 of chunks for a query."""
        if self._bm25 is None:
            return np.zeros(len(ids))
        scores = np.asarray(self._bm25.get_scores(query.lower().split()[:WORDS_PER_QUERY]))
        # a chunk that another process has added meanwhile is scored from the next question on
        return np.array([scores[self._row[id_]] if id_ in self._row else 0.0 for id_ in ids])

    @cached_property
    def tfidf(self) -> TfidfWords:
        """The TF-IDF of all chunks."""
        return TfidfWords(self._texts)


class TfidfWords:
    """TF-IDF of some texts by id, with scikit-learn's TfidfVectorizer; the idf is that of these texts."""

    def __init__(self, texts: dict[str, str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._row = {id_: row for row, id_ in enumerate(texts)}
        self._vectorizer = TfidfVectorizer()
        words = self._vectorizer.build_analyzer()
        # texts without any word cannot be fitted
        self._matrix = (
            self._vectorizer.fit_transform(texts.values()) if any(map(words, texts.values())) else None
        )

    def cosines(self, queries: Sequence[str], ids: Sequence[str]) -> Scores:
        """Return the cosine of each query with each text, shape (len(queries), len(ids))."""
        cosines = np.zeros((len(queries), len(ids)))
        known = [(column, self._row[id_]) for column, id_ in enumerate(ids) if id_ in self._row]
        if self._matrix is not None and known:
            columns, rows = map(list, zip(*known, strict=True))
            # both have unit length
            cosines[:, columns] = (self._vectorizer.transform(queries) @ self._matrix[rows].T).toarray()
        return cosines


class EveryChunk:
    """Searches a source with every chunk as a candidate, and BM25Okapi in place of the source's BM25."""

    def __init__(self, source: object) -> None:
        """Read the words of a source, or take them from the cache if its version has not changed."""
        self._source = _check_source(source)
        self.words = _words_of(self._source)

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return all chunks for each query, whatever the limit."""
        if not len(self.words):
            return [[] for _ in queries]
        results = cast(SearchesChunks, self._source).search(queries, limit=len(self.words))
        return [self._score(query, candidates) for query, candidates in zip(queries, results, strict=True)]

    def _score(self, query: str, candidates: Sequence[Candidate]) -> list[Candidate]:
        scores = self.words.score(query, [candidate["id"] for candidate in candidates])
        return [with_scores(c, sparse=float(score)) for c, score in zip(candidates, scores, strict=True)]


def check_lexical(source: object, context: Context) -> None:
    """Raise an error for a source that BM25Okapi cannot score, before any chat model is called."""
    if context.retrieval.lexical == "okapi" and context.uses("fusion"):
        _check_source(source)


def add_tfidf(
    candidates: Sequence[Candidate], queries: Sequence[Query], share: float, tfidf: TfidfWords | None = None
) -> list[Candidate]:
    """Return the candidates with `scores["words"]` = (1 - share) * BM25 + share * TF-IDF cosine.

    Each is min-max scaled over the candidates. Without `tfidf`, the vectorizer is fitted on the candidates,
    whatever the size of the index: about 14 ms for 100 of 590 characters. All of them share words with the
    query, so these words weigh less than they would among all chunks. With lexical = "okapi" it is fitted on
    all chunks, once for each version of the index, like BM25Okapi.
    """
    if not candidates:
        return []
    texts = {candidate["id"]: candidate["text"] for candidate in candidates}
    weights = np.array([query.get("sparse", 1.0) for query in queries])
    cosines = weights @ (tfidf or TfidfWords(texts)).cosines(
        [query["text"] for query in queries], list(texts)
    )
    bm25 = np.array([candidate["scores"]["sparse"] for candidate in candidates])
    words = (1 - share) * min_max(bm25) + share * min_max(cosines)
    rows = zip(candidates, cosines.tolist(), words.tolist(), strict=True)
    return [with_scores(candidate, tfidf=cosine, words=score) for candidate, cosine, score in rows]


# The words of each open index, by the part of it that is searched and the version that they were read from.
_CACHE: WeakKeyDictionary[object, LRUCache[tuple[str, object], OkapiWords]] = WeakKeyDictionary()
_LOCK = threading.Lock()


def _words_of(source: ListsChunks) -> OkapiWords:
    # A step searches a view of the index that is pinned to a version, which is a new object each time.
    index = source.base if isinstance(source, OpenedIndex) else source
    key = repr(source), getattr(source, "version", None)
    # one thread at a time: the branches of a question wait for the one that reads the words
    with _LOCK:
        # twice the limit, since an index may grow while it is read
        cached = _CACHE.setdefault(index, LRUCache(2 * OKAPI_UP_TO, getsizeof=len))
        if (words := cached.get(key)) is None:
            cached[key] = words = OkapiWords(source.chunks())
        return words


def _check_source(source: object) -> ListsChunks:
    if not isinstance(source, ListsChunks):
        raise ConfigurationError(
            f"retrieval.lexical = 'okapi' scores every chunk, and a {type(source).__name__} cannot list its "
            "chunks: expected an index. Index the documents, or set retrieval.lexical to 'index'."
        )
    if len(source) > OKAPI_UP_TO:
        raise ConfigurationError(
            f"retrieval.lexical = 'okapi' scores every chunk of the index in memory, and it holds "
            f"{len(source):,}: expected at most {OKAPI_UP_TO:,}. Set retrieval.lexical to 'index', whose own "
            "BM25 reads only the chunks that hold words of the question."
        )
    return source
