"""A view of an index that searches some of its sources alone: the documents that a person named."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from adaptive_rag.index.neighbours import VECTOR
from adaptive_rag.models.embeddings import embed_queries
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate

if TYPE_CHECKING:
    from adaptive_rag.index.index import Index
    from adaptive_rag.index.neighbours import Ids
    from adaptive_rag.index.reader import TableReader


class NarrowedIndex:
    """Searches some sources of an index, exactly; it follows what is written to the index as that does."""

    def __init__(self, index: Index, sources: Collection[str]) -> None:
        self.index = index
        self.sources = frozenset(sources)
        self._lock = threading.Lock()
        self._loaded: tuple[TableReader, Ids, Vectors] | None = None

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return the union of the best `limit` chunks by vector and by words, for each query."""
        if not queries:
            return []
        reader, rows, matrix = self._load()
        vectors = embed_queries(self.index.embeddings, queries)
        return [
            self._search(reader, rows, matrix, *pair, limit) for pair in zip(queries, vectors, strict=True)
        ]

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

    def _search(
        self, reader: TableReader, rows: Ids, matrix: Vectors, query: str, vector: Vectors, limit: int
    ) -> list[Candidate]:
        by_vector = rows[np.argsort(-(matrix @ vector), kind="stable")[:limit]].tolist()
        matched, bm25 = reader.match(query, max(1, len(rows)), among=rows.tolist())
        scores = dict(zip(matched.tolist(), bm25.tolist(), strict=True))
        union = list(dict.fromkeys([*by_vector, *matched[:limit].tolist()]))
        found = reader._fetch(union)
        return [reader._candidate(found[row], vector, scores.get(row, 0.0)) for row in union]

    def _load(self) -> tuple[TableReader, Ids, Vectors]:
        """Return the reader of the last complete state with the rows and vectors of the sources."""
        reader = self.index._current()
        with self._lock:
            if self._loaded is None or self._loaded[0] is not reader:
                quoted = ", ".join("'" + source.replace("'", "''") + "'" for source in sorted(self.sources))
                query = reader.table.search().where(f"source IN ({quoted})").select([VECTOR])
                table = query.with_row_id(True).limit(max(1, reader.manifest.chunks)).to_arrow()
                rows = table["_rowid"].to_numpy().astype(np.int64)
                flat = table[VECTOR].combine_chunks().flatten().to_numpy()
                width = reader.manifest.settings.dimension
                self._loaded = reader, rows, np.ascontiguousarray(flat.reshape(-1, width))
            return self._loaded
