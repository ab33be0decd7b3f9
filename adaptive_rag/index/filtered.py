"""A view of an index that searches some of its sources alone: the documents that a person named."""

from __future__ import annotations

import copy
import threading
from collections.abc import Collection, Iterator, Sequence
from weakref import WeakKeyDictionary

import numpy as np
from langchain_core.embeddings import Embeddings

from adaptive_rag.index.build import IndexReport, nothing_read
from adaptive_rag.index.index import Index, open_source
from adaptive_rag.index.neighbours import Ids
from adaptive_rag.index.reader import TableReader
from adaptive_rag.source import ChunkSource, Sentences
from adaptive_rag.state import Candidate, Chunk
from adaptive_rag.text.vectors import Vectors


class FilteredIndex:
    """Searches some sources of an index, exactly; it follows what is written to the index as that does."""

    def __init__(self, index: Index, sources: Collection[str]) -> None:
        self.index = index
        self._names = frozenset(sources)
        self._lock = threading.Lock()
        # They go with the state of the index that they were read from.
        self._loaded: WeakKeyDictionary[TableReader, tuple[Ids, Vectors]] = WeakKeyDictionary()

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return the union of the best `limit` chunks by vector and by words, for each query."""
        if not queries:
            return []
        reader, rows, matrix = self._load()
        found = []
        for query, vector in zip(queries, self.index.embed(queries), strict=True):
            near = rows[np.argsort(-(matrix @ vector), kind="stable")[:limit]]
            matched, bm25 = reader.match(query, max(1, len(rows)), among=rows.tolist())
            scores = dict(zip(matched.tolist(), bm25.tolist(), strict=True))
            found.append(reader.candidates([*near.tolist(), *matched[:limit].tolist()], vector, scores))
        return found

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks."""
        return self.index.vectors(ids)

    @property
    def stores_sentences(self) -> bool:
        """Tell whether the index was made with sentence vectors."""
        return self.index.stores_sentences

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk."""
        return self.index.sentences(ids)

    def spelt_like(self, word: str) -> list[str]:
        """Return words of chunks that are spelt nearly like one; none where a chunk holds it."""
        reader, rows, _ = self._load()
        return reader.spelt_like(word, rows.tolist())

    def holds(self, word: str) -> bool:
        """Tell whether a chunk holds a word as it is, in either case."""
        reader, rows, _ = self._load()
        return reader.holds(word, rows.tolist())

    def sources(self) -> dict[str, int]:
        """Return the indexed sources and how many chunks each has."""
        return {name: count for name, count in self.index.sources().items() if name in self._names}

    def chunks(self) -> Iterator[Chunk]:
        """Go through all chunks of the sources."""
        return (chunk for chunk in self.index.chunks() if chunk["source"] in self._names)

    def file_of(self, source: str) -> str | None:
        """Return the whole path of the file that a document was read from; None where there was none."""
        return self.index.file_of(source)

    def __len__(self) -> int:
        return sum(self.sources().values())

    def __repr__(self) -> str:
        return f"FilteredIndex({self.index.uri!r}, {sorted(self._names)})"

    @property
    def version(self) -> str:
        """Name the state of the index; what was found under another name may not be found now."""
        return self.index.version

    def at(self, version: str) -> FilteredIndex:
        """Return the view as it was under a name, if that is still known, else as it is; it stays so."""
        pinned = copy.copy(self)
        pinned.index = self.index.at(version)
        return pinned

    def _load(self) -> tuple[TableReader, Ids, Vectors]:
        """Return the reader of the last complete state with the rows and vectors of the sources."""
        reader = self.index.reader()
        with self._lock:
            if reader not in self._loaded:
                self._loaded[reader] = reader.vectors_of_sources(self._names)
            return reader, *self._loaded[reader]


def narrow_to(report: IndexReport, uri: str, embeddings: str | Embeddings | None) -> str | ChunkSource:
    """Return the place that holds the documents of an indexing run alone: an index gathers many runs.

    The index that is opened here is the one that `source_of` gives to the first question.

    Raises:
        IndexingError: none of the documents could be read.
    """
    named = set(report.sources)
    if not named:
        raise nothing_read(report.failed)
    index = open_source(uri, embeddings)
    if not isinstance(index, Index):
        return uri
    # The name instead of the open index, where it makes no difference, keeps settings plain data.
    return uri if named >= index.sources().keys() and embeddings is None else FilteredIndex(index, named)
