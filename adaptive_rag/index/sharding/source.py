"""An open index of shards: queries every shard and joins the results."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import IndexMismatchError, IndexUnreachableError
from adaptive_rag.index.cluster import check_nodes, connect_cluster
from adaptive_rag.index.disk_cache import DiskCache
from adaptive_rag.index.fields import OWN_FIELDS, Fields
from adaptive_rag.index.index import SHARD_OPENERS
from adaptive_rag.index.location import open_files
from adaptive_rag.index.manifest import SourceRecord, build_hint, complete_manifest, rebuild_hint
from adaptive_rag.index.open_index import OpenedIndex
from adaptive_rag.index.reader import split_words
from adaptive_rag.index.sharding.layout import join_facts, shard_of, shard_uris
from adaptive_rag.index.sharding.shard import Condition, Counts, Restrictions, Shard, sum_counts
from adaptive_rag.index.shared_cache import SharedCache
from adaptive_rag.index.vectorize import load_model_of, refuse_dimension
from adaptive_rag.models.onnx import OnnxEmbeddings
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Chunk
from adaptive_rag.text.vectors import Vectors
from adaptive_rag.where import Kind, Where

# Cache sizes: chunk ids with their shard, words with their counts, and states with such counts.
PLACES_KEPT, WORDS_KEPT, STATES_KEPT = 65_536, 65_536, 16
# Calls that an actor runs in parallel, and the longest wait for a result, which includes the time to restart
# the actor on another node.
CALLS_AT_ONCE, ANSWER_SECONDS = 8, 120.0

# Calls `Shard.call` of several shards in parallel: shard number -> arguments, and shard number -> result.
CallShards: TypeAlias = Callable[[Mapping[int, tuple[Any, ...]]], dict[int, Any]]


@cache
def _thread_pool() -> ThreadPoolExecutor:
    """Return the thread pool for querying the shards of this process in parallel."""
    return ThreadPoolExecutor(8, thread_name_prefix="shard")


def call_local(shards: Sequence[Callable[..., Any]], calls: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
    """Call shards of this process in parallel, given the `call` method of each."""
    futures = {number: _thread_pool().submit(shards[number], *call) for number, call in calls.items()}
    return {number: future.result() for number, future in futures.items()}


class ShardActors:
    """The shards of an index, each in an actor that holds it until this process ends.

    The actors are spread over all nodes of the cluster and restarted if lost.
    """

    def __init__(self, address: str, uris: Sequence[str], disk_cache: DiskCache | None, model: str) -> None:
        self._uris = uris
        self._ray, _ = connect_cluster(address, "Shards held by Ray")
        check_nodes(self._ray, ())
        options = {"max_restarts": -1, "max_task_retries": 1, "max_concurrency": CALLS_AT_ONCE}
        actor = self._ray.remote(Shard).options(**options, scheduling_strategy="SPREAD")
        self._actors = [actor.remote(uri, disk_cache, model) for uri in uris]

    def call(self, calls: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call `Shard.call` of several shards in parallel, and return the results by shard number."""
        errors = self._ray.exceptions
        pending = {number: self._actors[number].call.remote(*call) for number, call in calls.items()}
        results = {}
        for number, future in pending.items():
            try:
                results[number] = self._ray.get(future, timeout=ANSWER_SECONDS)
            except errors.RayTaskError as error:
                raise error.cause from None
            except errors.RayError as error:
                reason = " ".join(str(error).split())
                raise IndexUnreachableError(
                    f"The shard {self._uris[number]} does not answer, after two tries: {reason} Check that "
                    "the nodes of the Ray cluster have the memory that the shard takes."
                ) from error
        return results


class ShardedIndex(OpenedIndex):
    """An index of shards that is open for searching; it finds what a single index of all chunks would find.

    It follows the writes of other processes, but each call sees one state of each shard. Its methods may be
    called from several threads at once. Those that take ids raise KeyError if no chunk has an id, and all
    raise IndexUnreachableError if a shard does not answer.
    """

    def __init__(
        self, uri: str, call_shards: CallShards, shard_count: int, embeddings: Embeddings, dimension: int
    ) -> None:
        super().__init__(uri, embeddings)
        self._call_shards, self._shard_count, self._dimension = call_shards, shard_count, dimension
        self._pinned: tuple[str, ...] | None = None
        self._shard_of_chunk: SharedCache[str, int] = SharedCache(PLACES_KEPT)
        self._counts_by_state: SharedCache[tuple[str, ...], Counts] = SharedCache(STATES_KEPT)
        self._known_kinds: SharedCache[Any, tuple[tuple[str, Kind], ...]] = SharedCache(STATES_KEPT)
        self.stores_sentences = True

    @classmethod
    def open(
        cls,
        uri: str | Path,
        embeddings: str | Embeddings | None = None,
        disk_cache: DiskCache | None = None,
        ray: str | None = None,
    ) -> ShardedIndex:
        """Open an index of shards, as `Index.open` opens a single index.

        With the address of a Ray cluster, each shard is held by an actor there until this process ends.

        Raises:
            IndexMismatchError: there is no index of shards, or a shard is missing or was made with other
                settings, or another model was passed.
            ConfigurationError: the model cannot be loaded by name and was not passed, or there is no cluster
                at the address.
            MissingExtraError: a cluster is given, and Ray is not installed.
        """
        location = open_files(uri, "ShardedIndex.open")
        uris = shard_uris(location)
        if not uris:
            raise IndexMismatchError(
                f"There is no index of shards at {location.uri}. Make one with: "
                f"{build_hint(location.uri)} --shards NUMBER"
            )
        settings = []
        for number, shard_uri in enumerate(uris):
            try:
                settings.append(complete_manifest(open_files(shard_uri, "ShardedIndex.open")).settings)
            except IndexMismatchError as error:
                raise type(error)(
                    f"Shard {number} of {len(uris)} of the index {location.uri} cannot be opened. {error}"
                ) from error
            if settings[-1] != settings[0]:
                raise IndexMismatchError(
                    f"The shard {shard_uri} was made with {settings[-1]}, and {uris[0]} with {settings[0]}. "
                    f"Rebuild the index: {rebuild_hint(location.uri)}"
                )
        name = settings[0].embeddings
        model = load_model_of(location.uri, name, embeddings)
        call_shards: CallShards = partial(
            call_local, [Shard(shard_uri, disk_cache, name).call for shard_uri in uris]
        )
        if ray is not None:
            call_shards = ShardActors(ray, uris, disk_cache, name).call
        opened = cls(location.uri, call_shards, len(uris), model, settings[0].dimension)
        opened.stores_sentences = settings[0].sentence_vectors
        return opened

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return, for each query, the union of its best `limit` chunks by vector and by words.

        `scores` are as in `Index.search`; BM25 uses the word counts of all shards.
        """
        if not queries:
            return []
        pinned, limit = self._pin(), max(1, limit)
        vectors = self.embed(queries)
        refuse_dimension(self.uri, self._dimension, vectors, self.embeddings)
        words_by_query = [split_words(query) for query in queries]
        counts = pinned._count_words([word for words in words_by_query for word in words])
        hits_by_shard = pinned._call_all("search", words_by_query, vectors, limit, counts)
        results = []
        for query_number in range(len(queries)):
            hits = [hit for hits_by_query in hits_by_shard for hit in hits_by_query[query_number]]
            nearest = _top(hits, "dense", limit)
            by_words = [hit for hit in _top(hits, "sparse", limit) if hit["scores"]["sparse"] > 0]
            results.append(list({hit["id"]: hit for hit in (*nearest, *by_words)}.values()))
        for shard, hits_by_query in enumerate(hits_by_shard):
            ids = (hit["id"] for hits in hits_by_query for hit in hits)
            self._shard_of_chunk.update(dict.fromkeys(ids, shard))
        return results

    def prepare(self, texts: Sequence[str], also_compared: Sequence[str] = ()) -> None:
        """Start embedding texts in another thread, and return at once."""
        if isinstance(self.embeddings, OnnxEmbeddings):
            _thread_pool().submit(self.embed, [*texts, *also_compared])

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks, shape (len(ids), dimension), unit length."""
        return np.array(self._by_id("vectors", ids), dtype=np.float32).reshape(-1, self._dimension)

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk with their vectors."""
        return self._by_id("sentences", ids)

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id."""
        return self._by_id("get", ids)

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over all chunks, shard by shard."""
        pinned = self._pin()
        for number in range(self._shard_count):
            yield from pinned._call("chunks", {number: ()})[number]

    def sources(self) -> dict[str, int]:
        """Return the indexed sources and the number of chunks of each."""
        return {
            name: count for sources in self._pin()._call_all("sources") for name, count in sources.items()
        }

    def spelt_like(self, word: str) -> list[str]:
        """Return words of the chunks that are spelt almost like this one; none if a chunk contains it."""
        words_by_shard = self._pin()._call_all("spelt_like", word)
        if None in words_by_shard:  # a shard contains the word itself
            return []
        return list(dict.fromkeys(similar for words in words_by_shard for similar in words))

    def holds(self, word: str) -> bool:
        """Return whether a chunk contains exactly this word, ignoring case."""
        return any(self._pin()._call_all("holds", word))

    def fields(self) -> dict[str, str]:
        """Return the fields that a condition can use, each with its kind and its range or examples."""
        return Fields.joined(self._call_all("fields")).describe()

    def record(self, source: str) -> SourceRecord | None:
        """Return the record of a document; None if no document has this name."""
        number = shard_of(source, self._shard_count)
        record: SourceRecord | None = self._call("record", {number: (source,)})[number]
        return record

    def info(self) -> dict[str, Any]:
        """Return what the index contains and how it was made."""
        return join_facts(self.uri, self._call_all("info"))

    @property
    def version(self) -> str:
        """The name of the state of all shards; chunks of a state of another name may no longer exist."""
        return "+".join(self._pinned or self._call_all("version"))

    def at(self, version: str) -> Self:
        """Return the index pinned to the named state; a shard that no longer has it uses its current one."""
        pinned = copy.copy(self)
        pinned._base, pinned._pinned = self.base, tuple(version.split("+"))
        return pinned if len(pinned._pinned) == self._shard_count else self

    def __len__(self) -> int:
        return sum(self._pin()._call_all("__len__"))

    def _pin(self) -> Self:
        return self if self._pinned else self.at(self.version)

    def _unrestricted(self) -> Self:
        whole = copy.copy(self)
        whole._restrictions = ()
        return whole

    def _call_all(self, method: str, *args: Any) -> list[Any]:
        """Call a method on every shard, and return the results in shard order."""
        return [*self._call(method, dict.fromkeys(range(self._shard_count), args)).values()]

    def _call(self, method: str, args_of: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call a method on some shards, by number with its arguments, and return the results by number."""
        versions = self._pinned or [None] * self._shard_count
        restrictions = self._shard_restrictions()
        return self._call_shards(
            {number: (versions[number], restrictions, method, *args) for number, args in args_of.items()}
        )

    def _shard_restrictions(self) -> Restrictions:
        """Return the restrictions; each condition also gets the kinds of the fields over all shards."""
        has_condition = any(isinstance(restriction, Where) for restriction in self._restrictions)
        kinds = self._kinds() if has_condition else ()
        return tuple(
            Condition(**vars(restriction), kinds=kinds) if isinstance(restriction, Where) else restriction
            for restriction in self._restrictions
        )

    def _kinds(self) -> tuple[tuple[str, Kind], ...]:
        return self._known_kinds.get(self._pinned, self._find_kinds) if self._pinned else self._find_kinds()

    def _find_kinds(self) -> tuple[tuple[str, Kind], ...]:
        kinds: dict[str, Kind] = {}
        for shard_kinds in self._unrestricted()._call_all("kinds"):
            for name, kind in shard_kinds.items():
                kinds[name] = kind if kinds.get(name, kind) == kind else "text"
        return tuple({name: kinds.get(name, "text") for name in (*OWN_FIELDS, *kinds)}.items())

    def _count_words(self, words: Sequence[str]) -> Counts:
        """Return the counts of words over all shards; they are cached for each state."""
        assert self._pinned is not None
        cached = self._counts_by_state.find(self._pinned)
        counted = cached.words if cached else {}
        missing = [word for word in dict.fromkeys(words) if word not in counted]
        if cached is None or missing:
            new = sum_counts(self._call_all("counts", missing))
            if len(counted) >= WORDS_KEPT:
                counted = {word: counted[word] for word in words if word in counted}
            cached = replace(new, words={**counted, **new.words})
            self._counts_by_state.update({self._pinned: cached})
        return replace(cached, words={word: cached.words[word] for word in words})

    def _by_id(self, method: str, ids: Sequence[str]) -> list[Any]:
        """Call a method on the shard of each chunk, and return the results in the order of the ids."""
        whole = self._pin()._unrestricted()
        shard_of_chunk = self._shard_of_chunk.get_all(ids, whole._find_shards)
        if missing := [id_ for id_ in ids if id_ not in shard_of_chunk]:
            raise KeyError(f"No chunk has the id {missing[0]!r}.")
        ids_of_shard: dict[int, list[str]] = {}
        for id_ in dict.fromkeys(ids):
            ids_of_shard.setdefault(shard_of_chunk[id_], []).append(id_)
        results = whole._call(method, {number: (shard_ids,) for number, shard_ids in ids_of_shard.items()})
        values = {
            id_: value
            for number, shard_ids in ids_of_shard.items()
            for id_, value in zip(shard_ids, results[number], strict=True)
        }
        return [values[id_] for id_ in ids]

    def _find_shards(self, ids: list[str]) -> dict[str, int]:
        known_ids = enumerate(self._call_all("has", ids))
        return {id_: number for number, shard_ids in known_ids for id_ in shard_ids}


def _top(hits: Sequence[Candidate], score: str, limit: int) -> list[Candidate]:
    return sorted(hits, key=lambda hit: -hit["scores"][score])[:limit]


SHARD_OPENERS["open"] = ShardedIndex.open
