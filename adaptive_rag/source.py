"""The protocols of a source of chunks, such as an index or a LangChain retriever."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.state import Candidate, Chunk
from adaptive_rag.where import Where

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Sentences:
    """The sentences of one chunk: their spans in the source, and one unit vector each."""

    spans: NDArray[np.int64]  # (n, 2): start and end, counted as the chunk's own span is
    vectors: Vectors  # (n, dimension) of the embedded model


class SearchesChunks(Protocol):
    """A source that can be searched."""

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return, for each query, the union of its best `limit` chunks by vector and by words.

        Every candidate carries `scores["dense"]` (cosine) and `scores["sparse"]` (BM25, 0.0 if
        no word matches), both raw; the caller combines them.
        """
        ...


@runtime_checkable
class ChunkSource(SearchesChunks, Protocol):
    """A searchable collection of chunks. A store needs only these methods."""

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks, shape (len(ids), dimension), unit length."""
        ...

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk with their vectors."""
        ...


# The protocols below are optional. A step checks for them with isinstance, and works without them.


@runtime_checkable
class StoresSentences(Protocol):
    """A source that knows whether it stores sentence vectors; sources without this method are assumed to."""

    @property
    def stores_sentences(self) -> bool:
        """Return whether `sentences` only reads; otherwise it embeds, some milliseconds for each chunk."""
        ...


@runtime_checkable
class ComparesTexts(Protocol):
    """A source that can also compare any text with any of its chunks."""

    def similarities(self, texts: Sequence[str], ids: Sequence[str]) -> Vectors:
        """Return the cosine of each text with each chunk, shape (len(texts), len(ids))."""
        ...


@runtime_checkable
class KeepsVersions(Protocol):
    """A source that may change while questions are answered; each question uses one version of it."""

    @property
    def version(self) -> str:
        """The name of the current version; chunks of another version may no longer exist."""
        ...

    def at(self, version: str) -> ChunkSource:
        """Return the source fixed at a version, or at the current one if that version is no longer known."""
        ...


@runtime_checkable
class ListsChunks(Protocol):
    """A source that can list its chunks."""

    def __len__(self) -> int:
        """Return the number of chunks."""
        ...

    def chunks(self) -> Iterator[Chunk]:
        """Yield all chunks."""
        ...


@runtime_checkable
class PreparesSearch(Protocol):
    """A source that can start the work of a search ahead of time."""

    def prepare(self, texts: Sequence[str], also_compared: Sequence[str] = ()) -> None:
        """Start what a search for `texts` will need, and embed `also_compared`; return at once."""
        ...


@runtime_checkable
class KnowsFiles(Protocol):
    """A source that knows the files that its documents were read from."""

    def file_of(self, source: str) -> str | None:
        """Return the full path of a document's file, by the document's name; None if there is none."""
        ...


@runtime_checkable
class KnowsNotes(Protocol):
    """A source with notes on what could not be read from its documents, or had to be guessed."""

    def notes(self, source: str) -> Sequence[str]:
        """Return the notes on a document, by its name."""
        ...


@runtime_checkable
class SpellsWords(Protocol):
    """A source that knows the words of its chunks."""

    def spelt_like(self, word: str) -> Sequence[str]:
        """Return words of the chunks spelt almost like `word`, in lower case; none if a chunk contains it."""
        ...

    def holds(self, word: str) -> bool:
        """Return whether a chunk contains exactly this word, ignoring case."""
        ...


@runtime_checkable
class ListsSources(Protocol):
    """A source that can list its documents."""

    def sources(self) -> Mapping[str, int]:
        """Return the number of chunks of each document, by its name."""
        ...


@runtime_checkable
class ChoosesSources(ListsSources, Protocol):
    """A source that can be narrowed to some of its documents."""

    def only(self, sources: Collection[str]) -> ChunkSource:
        """Return a source with the chunks of these documents only."""
        ...


@runtime_checkable
class FiltersChunks(Protocol):
    """A source that can be narrowed to the chunks that fulfil a condition."""

    def where(self, condition: Where) -> ChunkSource:
        """Return a source with the chunks that fulfil a condition.

        It finds what a search of the whole source would find if all other chunks were removed.
        """
        ...
