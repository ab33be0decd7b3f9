"""What retrieval needs of a place that holds chunks: the index is one, a LangChain retriever another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.models.onnx import Vectors
from adaptive_rag.state import Candidate


@dataclass(frozen=True)
class Sentences:
    """The sentences of one chunk: their spans in the source, and one unit vector each."""

    spans: NDArray[np.int64]  # (n, 2): start and end, counted as the chunk's own span is
    vectors: Vectors  # (n, dimension) of the embedded model


@runtime_checkable
class ChunkSource(Protocol):
    """A searchable collection of chunks."""

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return, for each query, the union of its best `limit` chunks by vector and by words.

        Every candidate carries `scores["dense"]` (cosine) and `scores["sparse"]` (BM25, 0.0 where
        no word matches), both raw; joining them is the caller's business.
        """
        ...

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks, shape (len(ids), dimension), unit length."""
        ...

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk with their vectors."""
        ...


@runtime_checkable
class KnowsItsSentences(Protocol):
    """A source that tells whether it stores sentence vectors or embeds sentences when asked for them."""

    @property
    def stores_sentences(self) -> bool:
        """Tell whether `sentences` only reads."""
        ...
