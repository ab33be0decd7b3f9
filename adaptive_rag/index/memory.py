"""An index in memory that is searched exactly, for tests and benchmarks with up to a few hundred passages."""

from __future__ import annotations

import copy
import difflib
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Self, cast

import numpy as np
from rank_bm25 import BM25Okapi

from adaptive_rag.index.fields import Fields
from adaptive_rag.index.vectorize import embed_sentences
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Chunk, to_candidate
from adaptive_rag.text.vectors import Vectors
from adaptive_rag.text.words import stem, words
from adaptive_rag.where import Where


class MemoryIndex:
    """A ChunkSource over chunks held in memory."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = list(chunks)
        self._row = {chunk["id"]: row for row, chunk in enumerate(self._chunks)}
        self._vectors = load_minilm().encode([chunk["text"] for chunk in self._chunks])
        self._sentences: dict[str, Sentences] = {}
        self._is_selected = np.ones(len(self._chunks), dtype=np.bool_)  # which chunks a search may find
        self._bm25 = BM25Okapi([_words(chunk["text"]) or [""] for chunk in self._chunks]) if chunks else None

    @classmethod
    def from_texts(cls, texts: Sequence[str], *, source: str = "memory") -> Self:
        """Build an index with one chunk per text; the texts follow each other in one source."""
        chunks: list[Chunk] = []
        start = 0
        for number, text in enumerate(texts):
            span = {"start": start, "end": start + len(text), "text": text}
            chunk = {"id": f"{source}-{number}", "source": source, "page": None, "section": None, **span}
            chunks.append(cast(Chunk, {**chunk, "metadata": {}}))
            start += len(text) + 1
        return cls(chunks)

    def where(self, condition: Where) -> Self:
        """Return a view of the chunks that meet a condition; word weights remain those of all chunks."""
        view = copy.copy(self)
        view._is_selected = self._is_selected & condition.keep(Fields.of_chunks(self._chunks))
        return view

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return, for each query, the union of its best `limit` chunks by vector and by words."""
        vectors = load_minilm().encode(queries)
        return [self._search(*pair, limit) for pair in zip(queries, vectors, strict=True)]

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks."""
        return self._vectors[[self._row[id_] for id_ in ids]]

    def similarities(self, texts: Sequence[str], ids: Sequence[str]) -> Vectors:
        """Return the cosine of each text with each chunk."""
        return np.asarray(load_minilm().encode(texts) @ self.vectors(ids).T, dtype=np.float32)

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk; they are embedded on first use."""
        missing = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._sentences]
        embedded = embed_sentences([self._chunks[self._row[id_]] for id_ in missing])
        self._sentences.update(zip(missing, embedded, strict=True))
        return [self._sentences[id_] for id_ in ids]

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over all chunks."""
        return itertools.compress(self._chunks, self._is_selected)

    def spelt_like(self, word: str) -> list[str]:
        """Return words of the chunks that are spelt almost like this one; none if a chunk contains it."""
        all_words = {other for chunk in self.chunks() for other in words(chunk["text"])}
        if stem(word) in map(stem, all_words):
            return []
        return difflib.get_close_matches(word, sorted(all_words), n=8)

    def holds(self, word: str) -> bool:
        """Return whether a chunk contains exactly this word, ignoring case."""
        return any(word in words(chunk["text"]) for chunk in self.chunks())

    def sources(self) -> dict[str, int]:
        """Return the sources and the number of chunks of each."""
        return dict(Counter(chunk["source"] for chunk in self.chunks()))

    def __len__(self) -> int:
        return int(self._is_selected.sum())

    def _search(self, query: str, vector: Vectors, limit: int) -> list[Candidate]:
        if self._bm25 is None:
            return []
        dense, sparse = self._vectors @ vector, self._bm25.get_scores(_words(query))
        by_vector, by_words = (
            [row for row in np.argsort(-scores) if self._is_selected[row]][:limit]
            for scores in (dense, sparse)
        )
        rows = dict.fromkeys([*by_vector, *(row for row in by_words if sparse[row] > 0)])
        return [
            to_candidate(self._chunks[row], {"dense": float(dense[row]), "sparse": float(sparse[row])})
            for row in rows
        ]


def _words(text: str) -> list[str]:
    return "".join(c.lower() if c.isalnum() else " " for c in text).split()
