"""The index, which can be built, opened and searched, and the functions that open a run's store."""

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
from adaptive_rag.errors import ConfigurationError, IndexMismatchError
from adaptive_rag.index.bucket import Bucket
from adaptive_rag.index.build import build_index
from adaptive_rag.index.check import check_index
from adaptive_rag.index.disk_cache import DiskCache, open_disk_cache
from adaptive_rag.index.fields import Fields
from adaptive_rag.index.files import refuse_damage
from adaptive_rag.index.location import Files, open_files, open_location
from adaptive_rag.index.manifest import MANIFEST, Manifest, SourceRecord, complete_manifest
from adaptive_rag.index.neighbours import Ids
from adaptive_rag.index.opened import Choice, OpenedIndex
from adaptive_rag.index.postgres.database import Database
from adaptive_rag.index.postgres.source import PostgresIndex
from adaptive_rag.index.reader import TableReader
from adaptive_rag.index.repair import repair_index
from adaptive_rag.index.report import IndexReport, nothing_read
from adaptive_rag.index.sharding.layout import refuse_shards, shard_uris
from adaptive_rag.index.vectorize import load_model_of, refuse_dimension
from adaptive_rag.models.onnx import OnnxEmbeddings
from adaptive_rag.source import ChoosesSources, ChunkSource, FiltersChunks, KeepsVersions, Sentences
from adaptive_rag.state import Candidate, Chunk
from adaptive_rag.text.vectors import Vectors
from adaptive_rag.where import Kind, read_where

MAX_OPEN = 16
# Limits on earlier states that running questions may still read: time in seconds, and chunks in total. Each
# state counts as FEWEST_CHUNKS more chunks than it has.
EARLIER_SECONDS = 600
EARLIER_CHUNKS = 100_000
FEWEST_CHUNKS = 5_000
# Maximum staleness of a bucket, in seconds.
FOLLOWED_SECONDS = 5.0


# A chunk, or a candidate made from one.
AnyChunk = TypeVar("AnyChunk", bound=Chunk)


class Index(OpenedIndex):
    """An index that is open for searching.

    It follows what other processes write: each search sees the last complete state, in a bucket some
    seconds later. Its methods may be called from several threads at once. Those that take ids raise
    KeyError if a chunk is not in the index.
    """

    build = staticmethod(build_index)
    check = staticmethod(check_index)
    repair = staticmethod(repair_index)

    def __init__(
        self,
        location: Files,
        stamp: Hashable,
        manifest: Manifest,
        embeddings: Embeddings | None,
        copies: DiskCache | None = None,
    ) -> None:
        super().__init__(location.uri, embeddings)
        self._location = location
        self._copies = copies
        self._lock = threading.Lock()
        self._stamp, self._looked_at = stamp, time.monotonic()
        refuse_damage(location, manifest)
        self._reader = self._open_reader(manifest)
        self._earlier: TTLCache[str, TableReader] = TTLCache(
            EARLIER_CHUNKS,
            EARLIER_SECONDS,
            getsizeof=lambda reader: min(EARLIER_CHUNKS, FEWEST_CHUNKS + reader.manifest.chunks),
        )
        self._pinned: TableReader | None = None
        # For a view: the documents that it leaves out.
        self._left_out = frozenset[str]()

    @classmethod
    def open(
        cls,
        uri: str | Path,
        embeddings: str | Embeddings | None = None,
        copies: DiskCache | None = None,
    ) -> Index:
        """Open an index; unless a model is passed, the one it was made with is loaded.

        The files of an index in a bucket are copied to `copies`, and are read there once all are copied.

        Raises:
            IndexDamagedError: files of the index are missing or were changed.
            IndexMismatchError: there is no index, or it is not one of ours, or another model was passed.
            ConfigurationError: the model cannot be loaded by name and was not passed.
        """
        location = open_files(uri, "Index.open")
        refuse_shards(location, "Index.open", "Open it with ShardedIndex.open.")
        stamp, manifest = location.stamp(MANIFEST), complete_manifest(location)
        model = load_model_of(location.uri, manifest.settings.embeddings, embeddings)
        return cls(location, stamp, manifest, model, copies)

    @classmethod
    def open_rows(cls, uri: str | Path, copies: DiskCache | None = None) -> Index:
        """Open an index without its embedding model, for callers that already have vectors."""
        location = open_files(uri, "Index.open")
        stamp, manifest = location.stamp(MANIFEST), complete_manifest(location)
        return cls(location, stamp, manifest, None, copies)

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return, for each query, the union of its best `limit` chunks by vector and by words.

        `scores` holds "dense" (cosine) and "sparse" (BM25, 0.0 where no word matches); chunks that are
        question-answer pairs also have "dense_question" and "dense_answer".
        """
        if not queries:
            return []
        reader, vectors = self.reader(), self.embed(queries)
        refuse_dimension(self.uri, reader.manifest.settings.dimension, vectors, self.embeddings)
        found = reader.search(queries, vectors, limit, self.among(reader))
        return [[self.renamed(hit, reader) for hit in hits] for hits in found]

    def prepare(self, texts: Sequence[str], also_compared: Sequence[str] = ()) -> None:
        """Start the work for a search for these texts in other threads, and return at once.

        `also_compared` are texts that will not be searched but will be compared with chunks; they are
        embedded too.
        """
        reader = self.reader()
        reader.begin(partial(reader.look_up_words, texts))
        # A remote model would cost money for texts that may never be searched.
        if isinstance(self.embeddings, OnnxEmbeddings):
            reader.begin(lambda: reader.compare(self.embed([*texts, *also_compared])[: len(texts)]))

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks, shape (len(ids), dimension), unit length."""
        return self.reader().vectors(ids)

    @property
    def stores_sentences(self) -> bool:
        """Tell whether the index was made with sentence vectors."""
        return bool(self.reader().manifest.settings.sentence_vectors)

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk with their vectors.

        An index made without sentence vectors embeds the sentences on first use, which takes some
        milliseconds each.
        """
        return self.reader().sentences(ids)

    def without(self, documents: Collection[str]) -> Self:
        """Return a view without some documents: files, archives with their contents, sites with their pages.

        If another document has the same content, the content is found under that name only. The view follows
        later changes to the index.
        """
        view = self.narrowed_by()
        view._left_out |= frozenset(documents)
        return view

    def record(self, source: str) -> SourceRecord | None:
        """Return the record of a document; None if no document has this name."""
        return self.reader().manifest.sources.get(source)

    def renamed(self, chunk: AnyChunk, reader: TableReader) -> AnyChunk:
        """Return a chunk under those of its names that are not left out."""
        if not self._left_out:
            return chunk
        # A chunk that is looked up by id may belong to a document that is left out: it keeps its name.
        source, *others = reader.names_without(self._left_out).get(chunk["source"], [chunk["source"]])
        metadata = {name: value for name, value in chunk["metadata"].items() if name != "also_as"}
        renamed = copy.copy(chunk)
        renamed["source"], renamed["metadata"] = source, metadata | ({"also_as": others} if others else {})
        return renamed

    def among(self, reader: TableReader) -> Ids | None:
        """Return the selected rows of a state in ascending order; None if all are selected."""
        return reader.rows(self._chosen, self._left_out)

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id."""
        reader = self.reader()
        return [self.renamed(chunk, reader) for chunk in reader.get(ids)]

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over all chunks."""
        reader = self.reader()
        return (self.renamed(chunk, reader) for chunk in reader.chunks(self.among(reader)))

    def sources(self) -> dict[str, int]:
        """Return the indexed sources and the number of chunks of each."""
        reader = self.reader()
        names = reader.names_without(self._left_out)
        if (rows := self.among(reader)) is not None:
            return dict(Counter(names[source][0] for source in reader.sources_of(rows)))
        held = reader.manifest.sources
        return {name: held[name].chunks for same in names.values() for name in same}

    def spelt_like(self, word: str) -> list[str]:
        """Return words of the chunks that are spelt almost like this one; none if a chunk contains it."""
        reader = self.reader()
        return reader.spelt_like(word, self.among(reader))

    def holds(self, word: str) -> bool:
        """Tell whether a chunk contains a word as it is, ignoring case."""
        reader = self.reader()
        return reader.holds(word, self.among(reader))

    def fields(self) -> dict[str, str]:
        """Return the fields that a condition can use, each with its kind and its range or examples."""
        return self.reader().fields[1].describe()

    def common_values(self, most: int) -> dict[str, tuple[Kind, dict[Any, int]]]:
        """Return the kind of each field that a condition can use, and its most frequent values, counted.

        The values are those of the selected chunks. A document that is left out is not named, even where
        another has the same content.
        """
        reader = self.reader()
        (rows, fields), among = reader.fields, self.among(reader)
        found = fields.common(most, None if among is None else np.isin(rows, among))
        if self._left_out:
            for name in found.keys() & {"source", "file"}:
                found[name] = found[name][0], {}
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what was opened, not what it holds: the index is opened again, with its own model."""
        return _opened_again, (self.uri, self._chosen, self._left_out)

    def __copy__(self) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {sorted(self._left_out)!r})"

    def __len__(self) -> int:
        reader = self.reader()
        rows = self.among(reader)
        return reader.manifest.chunks if rows is None else len(rows)

    @property
    def version(self) -> str:
        """The name of the current state; what was found in a state of another name may be gone."""
        return str(self.reader().manifest.committed)

    def info(self) -> dict[str, Any]:
        """Return what the index contains and how it was made."""
        return self.reader().manifest.describe(self._location)

    def at(self, version: str) -> Index:
        """Return the index pinned to the named state, or to the current one if that is no longer known."""
        if self._whole is not None:
            pinned = copy.copy(self)
            pinned._pinned = self._whole.at(version).reader()
            return pinned
        with self._lock:
            self._earlier.expire()
            present = str(self._reader.manifest.committed) == version
            reader = self._reader if present else self._earlier.get(version)
        pinned = copy.copy(self)
        pinned._pinned = reader or self.reader()
        return pinned

    def reader(self) -> TableReader:
        """Return the reader of the last complete state; open a new one if another process has published."""
        if self._pinned is not None:
            return self._pinned
        if self._whole is not None:
            return self._whole.reader()
        # a bucket takes longer to answer than a search does
        if self._location.path is None and time.monotonic() - self._looked_at < FOLLOWED_SECONDS:
            return self._reader
        self._looked_at = time.monotonic()
        stamp = self._location.stamp(MANIFEST)
        if stamp == self._stamp:
            return self._reader
        with self._lock:
            if stamp != self._stamp:
                manifest = complete_manifest(self._location)
                known = self._reader.manifest
                if manifest.settings.embeddings != known.settings.embeddings:
                    raise IndexMismatchError(
                        f"The index {self.uri} was made anew with {manifest.settings.embeddings!r} since it "
                        f"was opened with {known.settings.embeddings!r}. Open it again."
                    )
                # The sources count too: a copy of a document may come or go while the table stays the same.
                held = (manifest.table, manifest.version, manifest.sources)
                if held != (known.table, known.version, known.sources):
                    refuse_damage(self._location, manifest, known.files)
                    reader = self._open_reader(manifest)
                    self._earlier[str(known.committed)] = self._reader
                    self._reader = reader
                self._stamp = stamp
            return self._reader

    def _open_reader(self, manifest: Manifest) -> TableReader:
        """Open a state from its local copy; if there is none, from the bucket, and start copying it."""
        if not isinstance(self._location, Bucket):
            return TableReader(self.uri, manifest)
        copy = self._copies.find(self._location, manifest) if self._copies else None
        reader = TableReader(self.uri, manifest, copy)
        if copy is None:
            reader.begin_to_read_indexes()
            if self._copies and manifest.files:
                self._copies.begin(self._location, reader)
        return reader


def _opened_again(uri: str, chosen: Sequence[Choice], left_out: frozenset[str]) -> Index:
    index = open_source(uri)
    assert isinstance(index, Index)
    return index.narrowed_by(*chosen).without(left_out)


def describe_fields(uri: str | Path) -> dict[str, str]:
    """Return `Index.fields` of an index without loading its embedding model."""
    location = open_location(uri)
    if isinstance(location, Database):
        return PostgresIndex(location).fields()
    if uris := shard_uris(location):
        return Fields.joined([Index.open_rows(each).reader().fields[1] for each in uris]).describe()
    return TableReader(location.uri, complete_manifest(location)).fields[1].describe()


# The function that opens a store, by the scheme of its address; "" is a path. A store is a ChunkSource.
STORES: dict[str, Callable[[str, str | Embeddings | None], ChunkSource]] = {
    "": Index.open,
    "file": Index.open,
    "s3": Index.open,
    "gs": Index.open,
    "az": Index.open,
    "postgres": PostgresIndex.open,
    "postgresql": PostgresIndex.open,
}
# The function that opens an index of shards. Its module imports this one, so it registers itself here.
OF_SHARDS: dict[str, Callable[[str, str | Embeddings | None, DiskCache | None, str | None], ChunkSource]] = {}


def source_of(context: Context, state: Mapping[str, Any] = MappingProxyType({})) -> ChunkSource:
    """Return the source that this run searches; a store is opened once and kept open.

    A question keeps reading the version that its state names, whatever is written meanwhile.

    Raises:
        IndexMismatchError: the folder is not an index of ours, or was made with another embedding model.
        InputError: `where` names a field that no chunk has, or compares it with a value of another kind.
        ConfigurationError: `where` is given, but the source cannot be filtered.
    """
    place = context.index if context.retriever is None else context.retriever
    source: ChunkSource = (
        place
        if isinstance(place, ChunkSource)
        else open_source(
            place, context.embeddings, open_disk_cache(**dict(context.bucket)), context.retrieval.ray
        )
    )
    version = state.get("index_version")
    source = source.at(version) if version and isinstance(source, KeepsVersions) else source
    return _narrowed(source, context.where) if context.where else source


def _narrowed(source: ChunkSource, condition: str) -> ChunkSource:
    if not isinstance(source, FiltersChunks):
        raise ConfigurationError(
            f"where = {condition!r} cannot be used: a retriever or vector store of LangChain has filters of "
            "its own, given when it is made, such as search_kwargs={'filter': ...}."
        )
    return source.where(read_where(condition))


def _identity(
    place: Any, embeddings: Any = None, copies: DiskCache | None = None, ray: str | None = None
) -> tuple[Any, ...]:
    """Return the cache key of a place. A live object keeps its id, since the opened source refers to it."""
    if isinstance(place, str) and "://" not in place:
        # An open index must not change when the program changes its working directory.
        place = os.path.abspath(os.path.expanduser(place))
    return (*(part if isinstance(part, str) else id(part) for part in (place, embeddings)), copies, ray)


@cached(LRUCache(MAX_OPEN), key=_identity, condition=threading.Condition())
def open_source(
    place: str | BaseRetriever | VectorStore,
    embeddings: str | Embeddings | None = None,
    copies: DiskCache | None = None,
    ray: str | None = None,
) -> ChunkSource:
    """Open a store by its name, or an app's own retriever or vector store; each is opened once.

    The shards of an index are each held by an actor of the Ray cluster at the address `ray`, if given.
    """
    if not isinstance(place, str):
        from adaptive_rag.index.langchain import RetrieverSource

        return RetrieverSource(place, embeddings)
    scheme = place.partition("://")[0].lower() if "://" in place else ""
    opened = STORES.get(scheme, Index.open)
    if opened == Index.open and shard_uris(open_location(place)):
        return OF_SHARDS["open"](place, embeddings, copies, ray)
    if ray is not None:
        raise ConfigurationError(
            f"retrieval.ray = {ray!r} is for an index of shards, each held by an actor; {place} has none. "
            "Leave it out, or make one with: adaptive-rag index PATH --shards NUMBER"
        )
    return Index.open(place, embeddings, copies) if opened == Index.open else opened(place, embeddings)


def narrow_to(report: IndexReport, uri: str, embeddings: str | Embeddings | None) -> str | ChunkSource:
    """Return a source with only the documents of this indexing run; an index may hold those of many runs.

    The index opened here is the one that `source_of` returns for the first question.
    """
    named = set(report.sources)
    if not named:
        raise nothing_read(report.failed)
    index = open_source(uri, embeddings)
    if not isinstance(index, ChoosesSources):
        return uri
    # Where the name is enough, it keeps the settings plain data.
    return uri if named >= index.sources().keys() and embeddings is None else index.only(named)
