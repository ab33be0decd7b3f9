"""An open index of shards: queries every shard and joins the results."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from cachetools import LRUCache
from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import IndexMismatchError
from adaptive_rag.index.disk_cache import DiskCache
from adaptive_rag.index.fields import OWN_FIELDS, Fields
from adaptive_rag.index.index import OF_SHARDS
from adaptive_rag.index.location import open_files
from adaptive_rag.index.manifest import SourceRecord, complete_manifest, quoted
from adaptive_rag.index.opened import OpenedIndex
from adaptive_rag.index.reader import split_words
from adaptive_rag.index.sharding.layout import join_facts, shard_of, shard_uris
from adaptive_rag.index.sharding.shard import Chosen, Condition, Counts, Shard, total
from adaptive_rag.index.shared_cache import SharedCache
from adaptive_rag.index.vectorize import load_model_of, refuse_dimension
from adaptive_rag.models.onnx import OnnxEmbeddings
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Chunk
from adaptive_rag.text.vectors import Vectors
from adaptive_rag.where import Kind, Where

# Sizes of the caches: chunk to shard, counts of words, states that have counts.
PLACES_KEPT, WORDS_KEPT, STATES_KEPT = 65_536, 65_536, 16

Call = tuple[Any, ...]


class Shards(Protocol):
    """The shards of an index, in this process or elsewhere."""

    def ask(self, calls: Mapping[int, Call]) -> dict[int, Any]:
        """Call `Shard.call` of several shards in parallel, and return the results by shard number."""
        ...


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the thread pool in which shards of this process are queried in parallel."""
    return ThreadPoolExecutor(8, thread_name_prefix="shard")


class ShardsHere:
    """Shards that this process opens."""

    def __init__(self, calls: Sequence[Callable[..., Any]]) -> None:
        """Take the `call` of each shard."""
        self._calls = calls

    def ask(self, calls: Mapping[int, Call]) -> dict[int, Any]:
        """Call several shards in parallel, and return the results by shard number."""
        asked = {number: _pool().submit(self._calls[number], *call) for number, call in calls.items()}
        return {number: one.result() for number, one in asked.items()}


class ShardedIndex(OpenedIndex):
    """An index of shards that is open for searching; it finds what a single index of all chunks would find.

    It follows what other processes write to the shards, but each call sees one state of each shard. Its
    methods may be called from several threads at once. Those that take ids raise KeyError if no chunk has
    an id, and all raise IndexUnreachableError if a shard does not answer.
    """

    def __init__(self, uri: str, shards: Shards, number: int, embeddings: Embeddings, dimension: int) -> None:
        super().__init__(uri, embeddings)
        self._shards, self._number, self._dimension = shards, number, dimension
        self._pinned: tuple[str, ...] | None = None
        self._lock = threading.Lock()
        self._places: LRUCache[str, int] = LRUCache(PLACES_KEPT)
        self._counts: LRUCache[tuple[str, ...], Counts] = LRUCache(STATES_KEPT)
        self._known_kinds: SharedCache[Any, tuple[tuple[str, Kind], ...]] = SharedCache(STATES_KEPT)
        self.stores_sentences = True

    @classmethod
    def open(
        cls,
        uri: str | Path,
        embeddings: str | Embeddings | None = None,
        copies: DiskCache | None = None,
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
                f"There is no index of shards at {location.uri}. Make one with: adaptive-rag index PATH "
                f"--index {quoted(location.uri)} --shards NUMBER"
            )
        found = []
        for number, each in enumerate(uris):
            try:
                found.append(complete_manifest(open_files(each, "ShardedIndex.open")).settings)
            except IndexMismatchError as error:
                raise type(error)(
                    f"Shard {number} of the {len(uris)} of the index {location.uri} cannot be opened. {error}"
                ) from error
            if found[-1] != found[0]:
                raise IndexMismatchError(
                    f"The shard {each} was made with {found[-1]}, and {uris[0]} with {found[0]}. Make the "
                    f"index anew: adaptive-rag index PATH --index {quoted(location.uri)} --rebuild"
                )
        model = load_model_of(location.uri, found[0].embeddings, embeddings)
        shards: Shards = ShardsHere([Shard(each, copies).call for each in uris])
        if ray is not None:
            from adaptive_rag.index.sharding.actors import hold_shards

            shards = hold_shards(ray, uris, copies)
        opened = cls(location.uri, shards, len(uris), model, found[0].dimension)
        opened.stores_sentences = bool(found[0].sentence_vectors)
        return opened

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return, for each query, the union of its best `limit` chunks by vector and by words.

        `scores` is as in `Index.search`; BM25 uses the word counts of all shards.
        """
        if not queries:
            return []
        here, limit = self._at_one_state(), max(1, limit)
        vectors = self.embed(queries)
        refuse_dimension(self.uri, self._dimension, vectors, self.embeddings)
        words = [
            [part for word in split_words(query) for part in word.split("_") if part] for query in queries
        ]
        counts = here._count([word for each in words for word in each])
        by_shard = here._ask("search", words, vectors, limit, counts)
        found = []
        for number in range(len(queries)):
            hits = [hit for shard in by_shard for hit in shard[number]]
            near = _best(hits, "dense", limit)
            named = [hit for hit in _best(hits, "sparse", limit) if hit["scores"]["sparse"] > 0]
            found.append(list({hit["id"]: hit for hit in (*near, *named)}.values()))
        self._remember(
            {hit["id"]: shard for shard, each in enumerate(by_shard) for hits in each for hit in hits}
        )
        return found

    def prepare(self, texts: Sequence[str], also_compared: Sequence[str] = ()) -> None:
        """Start embedding texts in another thread, and return at once."""
        if isinstance(self.embeddings, OnnxEmbeddings):
            _pool().submit(self.embed, [*texts, *also_compared])

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks, shape (len(ids), dimension), unit length."""
        found = self._by_id("vectors", ids)
        return np.stack(found) if found else np.zeros((0, self._dimension), dtype=np.float32)

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of each chunk with their vectors."""
        return self._by_id("sentences", ids)

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id."""
        return self._by_id("get", ids)

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over all chunks, shard by shard."""
        here = self._at_one_state()
        for number in range(self._number):
            yield from here._ask_one(number, "chunks")

    def sources(self) -> dict[str, int]:
        """Return the indexed sources and the number of chunks of each."""
        return {name: held for each in self._at_one_state()._ask("sources") for name, held in each.items()}

    def spelt_like(self, word: str) -> list[str]:
        """Return words of the chunks that are spelt almost like this one; none if a chunk contains it."""
        found = self._at_one_state()._ask("spelt_like", word)
        return [] if None in found else list(dict.fromkeys(near for each in found for near in each))

    def holds(self, word: str) -> bool:
        """Tell whether a chunk contains a word as it is, ignoring case."""
        return any(self._at_one_state()._ask("holds", word))

    def fields(self) -> dict[str, str]:
        """Return the fields that a condition can use, each with its kind and its range or examples."""
        return Fields.joined(self._ask("fields")).describe()

    def record(self, source: str) -> SourceRecord | None:
        """Return the record of a document; None if no document has this name."""
        record: SourceRecord | None = self._ask_one(shard_of(source, self._number), "record", source)
        return record

    def info(self) -> dict[str, Any]:
        """Return what the index contains and how it was made."""
        return join_facts(self.uri, self._ask("info"))

    @property
    def version(self) -> str:
        """The name of the state of all shards; what was found in a state of another name may be gone."""
        return "+".join(self._pinned or self._ask("version"))

    def at(self, version: str) -> ShardedIndex:
        """Return the index pinned to the named state; shards that no longer know it use their current one."""
        pinned = copy.copy(self)
        pinned._pinned = tuple(version.split("+"))
        return pinned if len(pinned._pinned) == self._number else self

    def __len__(self) -> int:
        return sum(self._at_one_state()._ask("__len__"))

    def _at_one_state(self) -> ShardedIndex:
        return self if self._pinned else self.at(self.version)

    def _ask(self, method: str, *args: Any) -> list[Any]:
        """Call a method on every shard, and return the results in shard order."""
        chosen = self._chosen_in_shards()
        said = self._shards.ask(
            {number: self._call(number, chosen, method, *args) for number in range(self._number)}
        )
        return [said[number] for number in range(self._number)]

    def _ask_one(self, number: int, method: str, *args: Any) -> Any:
        return self._shards.ask({number: self._call(number, self._chosen_in_shards(), method, *args)})[number]

    def _call(self, number: int, chosen: Chosen, method: str, *args: Any) -> Call:
        return (self._pinned[number] if self._pinned else None, chosen, method, *args)

    def _chosen_in_shards(self) -> Chosen:
        """Return the selection, with the kinds of the fields over all shards added to each condition."""
        kinds = self._kinds() if any(isinstance(one, Where) for one in self._chosen) else ()
        return tuple(
            Condition(**vars(one), kinds=kinds) if isinstance(one, Where) else one for one in self._chosen
        )

    def _kinds(self) -> tuple[tuple[str, Kind], ...]:
        return self._known_kinds.get(self._pinned, self._find_kinds) if self._pinned else self._find_kinds()

    def _find_kinds(self) -> tuple[tuple[str, Kind], ...]:
        whole = copy.copy(self)
        whole._chosen = ()
        kinds: dict[str, Kind] = {}
        for each in whole._ask("kinds"):
            for name, kind in each.items():
                kinds[name] = kind if kinds.get(name, kind) == kind else "text"
        return tuple({name: kinds.get(name, "text") for name in (*OWN_FIELDS, *kinds)}.items())

    def _count(self, words: Sequence[str]) -> Counts:
        """Return the counts of words over all shards; they are cached for each state."""
        assert self._pinned is not None
        with self._lock:
            known = self._counts.get(self._pinned)
        held = known.words if known else {}
        missing = [word for word in dict.fromkeys(words) if word not in held]
        if known is None or missing:
            found = total(self._ask("counts", missing))
            kept = held if len(held) < WORDS_KEPT else {word: held[word] for word in words if word in held}
            known = replace(found, words={**kept, **found.words})
            with self._lock:
                self._counts[self._pinned] = known
        return replace(known, words={word: known.words[word] for word in words})

    def _by_id(self, method: str, ids: Sequence[str]) -> list[Any]:
        """Call a method for each chunk on the shard that holds it."""
        here = self._at_one_state()
        with self._lock:
            places = {id_: self._places[id_] for id_ in ids if id_ in self._places}
        if unknown := [id_ for id_ in dict.fromkeys(ids) if id_ not in places]:
            for number, held in enumerate(here._ask("has", unknown)):
                places |= dict.fromkeys(held, number)
            self._remember(places)
        if absent := [id_ for id_ in ids if id_ not in places]:
            raise KeyError(f"No chunk has the id {absent[0]!r}.")
        of_shard: dict[int, list[str]] = {}
        for id_ in dict.fromkeys(ids):
            of_shard.setdefault(places[id_], []).append(id_)
        chosen: Chosen = ()
        said = self._shards.ask(
            {number: here._call(number, chosen, method, asked) for number, asked in of_shard.items()}
        )
        found = {
            id_: one
            for number, asked in of_shard.items()
            for id_, one in zip(asked, said[number], strict=True)
        }
        return [found[id_] for id_ in ids]

    def _remember(self, places: Mapping[str, int]) -> None:
        with self._lock:
            self._places.update(places)


def _best(hits: Sequence[Candidate], score: str, limit: int) -> list[Candidate]:
    return sorted(hits, key=lambda hit: -hit["scores"][score])[:limit]


OF_SHARDS["open"] = ShardedIndex.open
