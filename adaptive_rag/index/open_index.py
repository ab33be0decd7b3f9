"""The base class of open indexes, with the methods that all of them share."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Self, TypeAlias

from langchain_core.embeddings import Embeddings

from adaptive_rag.index.manifest import SourceRecord
from adaptive_rag.models.embeddings import embed_queries
from adaptive_rag.text.vectors import Vectors, cosines
from adaptive_rag.where import Where

# A restriction of an index: source names, or a condition.
Restriction: TypeAlias = frozenset[str] | Where


class OpenedIndex(ABC):
    """An index that is open for searching, whole or restricted to some of its chunks."""

    def __init__(self, uri: str, embeddings: Embeddings | None) -> None:
        self.uri = uri
        self._embeddings = embeddings
        self._restrictions: tuple[Restriction, ...] = ()
        self._base: Self | None = None

    @property
    def embeddings(self) -> Embeddings:
        """The embedding model."""
        assert self._embeddings is not None, "opened without its embedding model"
        return self._embeddings

    def embed(self, queries: Sequence[str]) -> Vectors:
        """Return the vectors of queries, shape (len(queries), dimension); recent ones are cached."""
        return embed_queries(self.embeddings, queries)

    @property
    @abstractmethod
    def version(self) -> str:
        """The name of the current state; chunks of a state of another name may no longer exist."""

    @abstractmethod
    def at(self, version: str) -> Self:
        """Return the index pinned to the named state, or to the current one if that is no longer known."""

    @abstractmethod
    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks, shape (len(ids), dimension), unit length."""

    def similarities(self, texts: Sequence[str], ids: Sequence[str]) -> Vectors:
        """Return the cosine of each text with each chunk, shape (len(texts), len(ids))."""
        return cosines(self.embed(texts), self.vectors(ids))

    def where(self, condition: Where) -> Self:
        """Return a view of the chunks that meet a condition; it follows later changes of the index."""
        return self.restrict(condition)

    def only(self, sources: Collection[str]) -> Self:
        """Return a view of the chunks of some sources; it follows later changes of the index."""
        return self.restrict(frozenset(sources))

    def restrict(self, *restrictions: Restriction) -> Self:
        """Return a view of the chunks that also meet these restrictions."""
        view = copy.copy(self)
        view._restrictions = (*self._restrictions, *restrictions)
        view._base = self.base
        return view

    @property
    def base(self) -> Self:
        """The whole index behind this view; the index itself if it is no view."""
        return self if self._base is None else self._base

    @abstractmethod
    def record(self, source: str) -> SourceRecord | None:
        """Return the record of a document; None if no document has this name."""

    def notes(self, source: str) -> Sequence[str]:
        """Return notes on what could not be read in a document, or had to be guessed."""
        record = self.record(source)
        return record.notes if record else ()

    def file_of(self, source: str) -> str | None:
        """Return the full path of the file that a document was read from; None if there was no file."""
        record = self.record(source)
        return record.path if record else None

    def __repr__(self) -> str:
        # The view is included, since this text is part of the cache key of a question.
        return f"{type(self).__name__}({self.uri!r}, {self._restrictions!r})"
