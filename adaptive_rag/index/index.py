"""The index, which can be built, opened and searched, and the functions that open any source of chunks."""

from __future__ import annotations

import copy
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar

import numpy as np
from cachetools import LRUCache, TTLCache, cached
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from adaptive_rag.context import Context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.bucket import Bucket
from adaptive_rag.index.build import build_index
from adaptive_rag.index.check import check_index
from adaptive_rag.index.disk_cache import DiskCache, open_disk_cache
from adaptive_rag.index.fields import Fields
from adaptive_rag.index.files import refuse_damage
from adaptive_rag.index.location import Files, open_files, open_location
from adaptive_rag.index.manifest import MANIFEST, Manifest, SourceRecord, complete_manifest
from adaptive_rag.index.neighbours import Ids
from adaptive_rag.index.open_index import OpenedIndex, Restriction
from adaptive_rag.index.postgres.database import SCHEMES, Database
from adaptive_rag.index.postgres.source import PostgresIndex
from adaptive_rag.index.reader import TableReader
from adaptive_rag.index.repair import repair_index
from adaptive_rag.index.report import IndexReport, NothingReadError
from adaptive_rag.index.sharding.layout import join_facts, refuse_shards, shard_uris
from adaptive_rag.index.vectorize import (
    OtherModelError,
    load_model_of,
    refuse_dimension,
    refuse_other_model,
)
from adaptive_rag.models.onnx import OnnxEmbeddings
from adaptive_rag.source import (
    ChoosesSources,
    ChunkSource,
    FiltersChunks,
    KeepsVersions,
    ListsSources,
    Sentences,
)
from adaptive_rag.state import Candidate, Chunk
from adaptive_rag.text.vectors import Vectors
from adaptive_rag.where import Kind, read_where

MAX_OPEN = 16
# Limits on replaced states that running questions may still read: seconds, and chunks in total. Each state
# counts as FEWEST_CHUNKS more chunks than it has.
EARLIER_SECONDS = 600
EARLIER_CHUNKS = 100_000
FEWEST_CHUNKS = 5_000
# Maximum staleness of an index in a bucket, in seconds.
FOLLOWED_SECONDS = 5.0
# A chunk, or a candidate made from one.
AnyChunk = TypeVar("AnyChunk", bound=Chunk)


class Index(OpenedIndex):
    """An index that is open for searching.

    It follows the writes of other processes: each search sees the last complete state, in a bucket some
    seconds later. Its methods may be called from several threads at once. Those that take ids raise
    KeyError if a chunk is not in the index.
    """

    build = staticmethod(build_index)
    check = staticmethod(check_index)
    repair = staticmethod(repair_index)

    def __init__(
        self, location: Files, stamp: Hashable, manifest: Manifest, disk_cache: DiskCache | None
    ) -> None:
        super().__init__(location.uri, None)
        self._location = location
        self._disk_cache = disk_cache
        self._lock = threading.Lock()
        self._stamp, self._checked_at = stamp, time.monotonic()
        refuse_damage(location, manifest)
        self._reader = self._open_reader(manifest)
        self._earlier_readers: TTLCache[str, TableReader] = TTLCache(
            EARLIER_CHUNKS,
            EARLIER_SECONDS,
            getsizeof=lambda reader: min(EARLIER_CHUNKS, FEWEST_CHUNKS + reader.manifest.chunks),
        )
        self._pinned: TableReader | None = None
        # The documents that a view excludes.
        self._excluded = frozenset[str]()

    @classmethod
    def open(
        cls, uri: str | Path, embeddings: str | Embeddings | None = None, disk_cache: DiskCache | None = None
    ) -> Index:
        """Open an index; unless a model is passed, the one it was made with is loaded.

        The files of an index in a bucket are copied to `disk_cache`, and read there once all are copied.

        Raises:
            IndexDamagedError: files of the index are missing or were changed.
            IndexMismatchError: there is no index of this program, or another model was passed.
            ConfigurationError: the model cannot be loaded by name and was not passed.
        """
        location = open_files(uri, "Index.open")
        refuse_shards(location, "Index.open", "Open it with ShardedIndex.open.")
        index = cls.open_rows(uri, disk_cache)
        name = index._reader.manifest.settings.embeddings
        index._embeddings = load_model_of(location.uri, name, embeddings)
        return index

    @classmethod
    def open_rows(cls, uri: str | Path, disk_cache: DiskCache | None = None) -> Index:
        """Open an index without its embedding model, for callers that already have vectors."""
        location = open_files(uri, "Index.open")
        stamp, manifest = location.stamp(MANIFEST), complete_manifest(location)
        return cls(location, stamp, manifest, disk_cache)

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return, for each query, the union of its best `limit` chunks by vector and by words.

        `scores` has "dense" (cosine) and "sparse" (BM25, 0.0 if no word matches); chunks that are
        question-answer pairs also have "dense_question" and "dense_answer".
        """
        if not queries:
            return []
        (reader, rows), vectors = self.select_rows(), self.embed(queries)
        refuse_dimension(self.uri, reader.manifest.settings.dimension, vectors, self.embeddings)
        hits_by_query = reader.search(queries, vectors, limit, rows)
        return [[self.rename(hit, reader) for hit in hits] for hits in hits_by_query]

    def prepare(self, texts: Sequence[str], also_compared: Sequence[str] = ()) -> None:
        """Start the work of a search for these texts in other threads, and return at once.

        `also_compared` are texts that will be compared with chunks but not searched for; they are embedded
        too.
        """
        reader = self.reader()
        reader.begin(partial(reader.look_up_words, texts))
        # A remote model would charge for texts that may never be searched.
        if isinstance(self.embeddings, OnnxEmbeddings):
            reader.begin(lambda: reader.compare(self.embed([*texts, *also_compared])[: len(texts)]))

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks, shape (len(ids), dimension), unit length."""
        return self.reader().vectors(ids)

    @property
    def stores_sentences(self) -> bool:
        """Return whether the index was made with sentence vectors."""
        return self.reader().manifest.settings.sentence_vectors

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk with their vectors.

        An index made without sentence vectors embeds the sentences on first use, which takes some
        milliseconds each.
        """
        return self.reader().sentences(ids)

    def without(self, documents: Collection[str]) -> Self:
        """Return a view without some documents: files, archives with their contents, sites with their pages.

        If another document has the same content, the content is found under that name only. The view
        follows later changes of the index.
        """
        view = self.restrict()
        view._excluded |= frozenset(documents)
        return view

    def record(self, source: str) -> SourceRecord | None:
        """Return the record of a document; None if no document has this name."""
        return self.reader().manifest.sources.get(source)

    def rename(self, chunk: AnyChunk, reader: TableReader) -> AnyChunk:
        """Return a copy of a chunk under those of its names that this view does not exclude."""
        if not self._excluded:
            return chunk
        # A chunk that is looked up by id may belong to an excluded document; it keeps its name.
        source, *other_names = reader.names_without(self._excluded).get(chunk["source"], [chunk["source"]])
        metadata = {name: value for name, value in chunk["metadata"].items() if name != "also_as"}
        renamed = copy.copy(chunk)
        renamed["source"] = source
        renamed["metadata"] = {**metadata, "also_as": other_names} if other_names else metadata
        return renamed

    def select_rows(self) -> tuple[TableReader, Ids | None]:
        """Return the reader, and the rows that this view selects, in ascending order; None for all rows."""
        reader = self.reader()
        return reader, reader.select_rows(self._restrictions, self._excluded)

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id."""
        reader = self.reader()
        return [self.rename(chunk, reader) for chunk in reader.get(ids)]

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over all chunks."""
        reader, rows = self.select_rows()
        return (self.rename(chunk, reader) for chunk in reader.chunks(rows))

    def sources(self) -> dict[str, int]:
        """Return the indexed sources and the number of chunks of each."""
        reader, rows = self.select_rows()
        names = reader.names_without(self._excluded)
        if rows is not None:
            return dict(Counter(names[source][0] for source in reader.sources_of(rows)))
        records = reader.manifest.sources
        return {name: records[name].chunks for copies in names.values() for name in copies}

    def spelt_like(self, word: str) -> list[str]:
        """Return words of the chunks that are spelt almost like this one; none if a chunk contains it."""
        reader, rows = self.select_rows()
        return reader.spelt_like(word, rows)

    def holds(self, word: str) -> bool:
        """Return whether a chunk contains exactly this word, ignoring case."""
        reader, rows = self.select_rows()
        return reader.holds(word, rows)

    def fields(self) -> dict[str, str]:
        """Return the fields that a condition can use, each with its kind and its range or examples."""
        return self.reader().rows_and_fields[1].describe()

    def common_values(self, limit: int) -> dict[str, tuple[Kind, dict[Any, int]]]:
        """Return the kind of each field that a condition can use, and its most frequent values, counted.

        Only the selected chunks count. A view that excludes documents returns no values of `source` and
        `file`, since they could name an excluded document.
        """
        reader, rows = self.select_rows()
        all_rows, fields = reader.rows_and_fields
        values_of = fields.common(limit, None if rows is None else np.isin(all_rows, rows))
        if self._excluded:
            values_of |= {name: (values_of[name][0], {}) for name in values_of.keys() & {"source", "file"}}
        return values_of

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the location and the view; unpickling opens the index again, with its own model."""
        return _reopen, (self.uri, self._restrictions, self._excluded)

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {sorted(self._excluded)!r})"

    def __len__(self) -> int:
        reader, rows = self.select_rows()
        return reader.manifest.chunks if rows is None else len(rows)

    @property
    def version(self) -> str:
        """The name of the current state; chunks of a state of another name may no longer exist."""
        return str(self.reader().manifest.committed)

    def info(self) -> dict[str, Any]:
        """Return what the index contains and how it was made."""
        return self.reader().manifest.describe(self._location)

    def at(self, version: str) -> Self:
        """Return the index pinned to the named state, or to the current one if that is no longer known."""
        pinned, base = copy.copy(self), self.base
        with self._lock:
            self._earlier_readers.expire()
            is_current = str(base._reader.manifest.committed) == version
            reader = base._reader if is_current else self._earlier_readers.get(version)
        pinned._base, pinned._pinned = base, reader or base.reader()
        return pinned

    def reader(self) -> TableReader:
        """Return the reader of the last complete state; open a new one if another process published one."""
        if self._pinned is not None:
            return self._pinned
        if self._base is not None:
            return self._base.reader()
        # asking a bucket takes longer than a search
        if self._location.path is None and time.monotonic() - self._checked_at < FOLLOWED_SECONDS:
            return self._reader
        self._checked_at = time.monotonic()
        stamp = self._location.stamp(MANIFEST)
        if stamp == self._stamp:
            return self._reader
        with self._lock:
            if stamp != self._stamp:
                manifest = complete_manifest(self._location)
                current = self._reader.manifest
                refuse_other_model(self.uri, current.settings.embeddings, manifest.settings.embeddings)
                # Sources are compared too: copies of a document may come or go without a change of the table.
                published = (manifest.table, manifest.version, manifest.sources)
                if published != (current.table, current.version, current.sources):
                    refuse_damage(self._location, manifest, current.files)
                    reader = self._open_reader(manifest)
                    self._earlier_readers[str(current.committed)] = self._reader
                    self._reader = reader
                self._stamp = stamp
            return self._reader

    def _open_reader(self, manifest: Manifest) -> TableReader:
        """Open a state from its local copy; if there is none, from the bucket, and start copying it."""
        if not isinstance(self._location, Bucket):
            return TableReader(self.uri, manifest)
        local_copy = self._disk_cache.find(self._location, manifest) if self._disk_cache else None
        reader = TableReader(self.uri, manifest, local_copy)
        if local_copy is None:
            reader.begin_to_read_indexes()
            if self._disk_cache and manifest.files:
                self._disk_cache.begin(self._location, reader)
        return reader


def _reopen(uri: str, restrictions: Sequence[Restriction], excluded: frozenset[str]) -> Index:
    index = open_source(uri)
    assert isinstance(index, Index)
    return index.restrict(*restrictions).without(excluded)


def open_own_store(uri: str | Path) -> ChunkSource | None:
    """Open a store that only its row in `STORES` knows; None for an index in a folder, bucket or database."""
    scheme = _scheme_of(str(uri))
    is_own = scheme and STORES.get(scheme, Index.open) not in (Index.open, PostgresIndex.open)
    return open_source(str(uri)) if is_own else None


def describe(uri: str | Path) -> dict[str, Any]:
    """Return what an index contains and how it was made, without loading its embedding model."""
    if (store := open_own_store(uri)) is not None:
        counts = store.sources() if isinstance(store, ListsSources) else {}
        return {"index": uri, "chunks": sum(counts.values()), "sources": len(counts), "notes": []}
    location = open_location(uri)
    if uris := shard_uris(location):
        return join_facts(location.uri, [describe(each) for each in uris])
    return complete_manifest(location).describe(location)


def describe_fields(uri: str | Path) -> dict[str, str]:
    """Return `Index.fields` of an index without loading its model; none for an own store."""
    if open_own_store(uri) is not None:
        return {}
    location = open_location(uri)
    if isinstance(location, Database):
        return PostgresIndex(location).fields()
    if uris := shard_uris(location):
        return Fields.joined([Index.open_rows(uri).reader().rows_and_fields[1] for uri in uris]).describe()
    return TableReader(location.uri, complete_manifest(location)).rows_and_fields[1].describe()


# The functions that open a store (a ChunkSource), by the scheme of its address; "" is for paths and buckets.
STORES: dict[str, Callable[[str, str | Embeddings | None], ChunkSource]] = {
    "": Index.open,
    **dict.fromkeys(SCHEMES, PostgresIndex.open),
}


# The function that opens an index of shards. Its module imports this one, and so registers it here.
SHARD_OPENERS: dict[
    str, Callable[[str, str | Embeddings | None, DiskCache | None, str | None], ChunkSource]
] = {}


def source_of(context: Context, state: Mapping[str, Any] = MappingProxyType({})) -> ChunkSource:
    """Return the source to search, restricted to `where`; a store is opened once and kept open.

    A question keeps reading the version that its state names, even if another one is written meanwhile.

    Raises:
        IndexMismatchError: the folder is not an index, or was made with another embedding model.
        InputError: `where` names a field that no chunk has, or compares it with a value of another kind.
        ConfigurationError: `where` is given, but the source cannot be filtered.
    """
    version = state.get("index_version")
    source = context.index if context.retriever is None else context.retriever
    if not isinstance(source, ChunkSource):
        disk_cache = open_disk_cache(**dict(context.bucket))
        # An index that is opened again does not know the version of a question that has begun.
        open_ = _open_once if version else open_source
        source = open_(source, context.embeddings, disk_cache, context.retrieval.ray)
    # Our class comes first: Python 3.11 reads `version` to check the protocol, which fails after a rebuild.
    source = source.at(version) if version and isinstance(source, OpenedIndex | KeepsVersions) else source
    if not context.where:
        return source
    if not isinstance(source, FiltersChunks):
        raise ConfigurationError(
            f"where = {context.where!r} cannot be used: a LangChain retriever or vector store has its own "
            "filters, which are set when it is created, such as search_kwargs={'filter': ...}."
        )
    return source.where(read_where(context.where))


def _cache_key(
    location: Any, embeddings: Any = None, disk_cache: DiskCache | None = None, ray: str | None = None
) -> tuple[Any, ...]:
    """Return the cache key of a location. The id of a live object is safe: the opened source refers to it."""
    if isinstance(location, str) and "://" not in location:
        # A relative path must keep its index even if the program changes its working directory.
        location = os.path.abspath(os.path.expanduser(location))
    names = (part if isinstance(part, str) else id(part) for part in (location, embeddings))
    return *names, disk_cache, ray


def open_source(
    location: str | BaseRetriever | VectorStore,
    embeddings: str | Embeddings | None = None,
    disk_cache: DiskCache | None = None,
    ray: str | None = None,
) -> ChunkSource:
    """Open a store by its address, or wrap an app's own retriever or vector store; each is opened once.

    An index that was rebuilt with another embedding model is opened again. If `ray` is the address of a Ray
    cluster, each shard of an index is held by an actor there.
    """
    source = _open_once(location, embeddings, disk_cache, ray)
    try:
        _ = source.version if isinstance(source, OpenedIndex) else ""
    except OtherModelError:
        key = _cache_key(location, embeddings, disk_cache, ray)
        with _opening:
            if _open_once.cache.get(key) is source:  # no other thread has opened it again
                del _open_once.cache[key]
        return _open_once(location, embeddings, disk_cache, ray)
    return source


_opening = threading.Condition()


@cached(LRUCache(MAX_OPEN), key=_cache_key, condition=_opening)
def _open_once(
    location: str | BaseRetriever | VectorStore,
    embeddings: str | Embeddings | None,
    disk_cache: DiskCache | None,
    ray: str | None,
) -> ChunkSource:
    if not isinstance(location, str):
        from adaptive_rag.index.langchain import RetrieverSource

        return RetrieverSource(location, embeddings)
    open_store = STORES.get(_scheme_of(location), Index.open)
    if open_store == Index.open and shard_uris(open_location(location)):
        return SHARD_OPENERS["open"](location, embeddings, disk_cache, ray)
    if ray is not None:
        raise ConfigurationError(
            f"retrieval.ray = {ray!r} needs an index of shards, and {location} has no shards. Leave it out, "
            "or make such an index with: adaptive-rag index PATH --shards NUMBER"
        )
    if open_store == Index.open:
        return Index.open(location, embeddings, disk_cache)
    return open_store(location, embeddings)


def _scheme_of(address: str) -> str:
    return address.partition("://")[0].lower() if "://" in address else ""


def narrow_to(report: IndexReport, uri: str, embeddings: str | Embeddings | None) -> str | ChunkSource:
    """Return a source with only the documents of this run; the index may hold others, or get them later.

    The index is opened here, and `source_of` returns the same one for the first question.
    """
    if not report.sources:
        raise NothingReadError(report.failed)
    index = open_source(uri, embeddings)
    return index.only(report.sources) if isinstance(index, ChoosesSources) else uri
