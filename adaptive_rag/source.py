"""What retrieval needs of a place that holds chunks: the index is one, a LangChain retriever another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.state import Candidate, Chunk
from adaptive_rag.where import Where

Vectors = NDArray[np.float32]
# How an index gets vectors of sentences: each embedded by itself, all from the run of their chunk, or not.
SentenceVectors = Literal["apart", "pooled", "none"]


@dataclass(frozen=True)
class Sentences:
    """The sentences of one chunk: their spans in the source, and one unit vector each."""

    spans: NDArray[np.int64]  # (n, 2): start and end, counted as the chunk's own span is
    vectors: Vectors  # (n, dimension) of the embedded model


class SearchesChunks(Protocol):
    """What one search asks of a source."""

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return, for each query, the union of its best `limit` chunks by vector and by words.

        Every candidate carries `scores["dense"]` (cosine) and `scores["sparse"]` (BM25, 0.0 where
        no word matches), both raw; joining them is the caller's business.
        """
        ...


@runtime_checkable
class ChunkSource(SearchesChunks, Protocol):
    """A searchable collection of chunks. This is all that a store must do."""

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks, shape (len(ids), dimension), unit length."""
        ...

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk with their vectors."""
        ...


# What follows is optional. A step looks for it with isinstance, and works without it.


@runtime_checkable
class StoresSentences(Protocol):
    """A source that says whether its sentence vectors are stored; without it they are taken to be."""

    @property
    def stores_sentences(self) -> bool:
        """Tell whether `sentences` only reads. If not, it embeds, which takes some milliseconds a chunk."""
        ...


@runtime_checkable
class ComparesTexts(Protocol):
    """A source that can also compare any text with any of its chunks."""

    def similarities(self, texts: Sequence[str], ids: Sequence[str]) -> Vectors:
        """Return the cosine of each text with each chunk, shape (len(texts), len(ids))."""
        ...


@runtime_checkable
class KeepsVersions(Protocol):
    """A source that is written to while questions are answered, each from one state of it."""

    @property
    def version(self) -> str:
        """Name the state; what was found under another name may not be found now."""
        ...

    def at(self, version: str) -> ChunkSource:
        """Return the source as it was under a name, if that is still known, else as it is; it stays so."""
        ...


@runtime_checkable
class ListsChunks(Protocol):
    """A source that can list its chunks."""

    def __len__(self) -> int:
        """Return how many chunks there are."""
        ...

    def chunks(self) -> Iterator[Chunk]:
        """Go through all chunks."""
        ...


@runtime_checkable
class PreparesSearch(Protocol):
    """A source that can begin a search before it is asked for it."""

    def prepare(self, texts: Sequence[str], also_compared: Sequence[str] = ()) -> None:
        """Begin what a search for these texts will need, and embed the others; return at once."""
        ...


@runtime_checkable
class KnowsFiles(Protocol):
    """A source that knows the files that its documents were read from."""

    def file_of(self, source: str) -> str | None:
        """Return the whole path of a document's file, by the document's name; None where there is none."""
        ...


@runtime_checkable
class KnowsNotes(Protocol):
    """A source that knows what its documents' readers could not read, or had to guess."""

    def notes(self, source: str) -> Sequence[str]:
        """Return the notes on a document, by its name."""
        ...


@runtime_checkable
class SpellsWords(Protocol):
    """A source that knows the words of its chunks."""

    def spelt_like(self, word: str) -> Sequence[str]:
        """Return words of chunks spelt nearly like one, in lower case; none where a chunk holds it."""
        ...


@runtime_checkable
class HoldsWords(Protocol):
    """A source that can tell whether a word stands in its chunks."""

    def holds(self, word: str) -> bool:
        """Tell whether a chunk holds a word as it is, in either case."""
        ...


@runtime_checkable
class ListsSources(Protocol):
    """A source that can list its documents."""

    def sources(self) -> Mapping[str, int]:
        """Return the documents by name, and how many chunks each has."""
        ...


@runtime_checkable
class ChoosesSources(ListsSources, Protocol):
    """A source that can be narrowed to some of its documents."""

    def only(self, sources: Collection[str]) -> ChunkSource:
        """Return the chunks of some documents, as a source."""
        ...


@runtime_checkable
class FiltersChunks(Protocol):
    """A source that can be narrowed to the chunks that fulfil a condition."""

    def where(self, condition: Where) -> ChunkSource:
        """Return the chunks that fulfil a condition, as a source: it finds what a search of all would, if
        everything else were taken away.
        """
        ...
