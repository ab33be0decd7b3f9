"""Several indexes of one embedding model, searched together as if they were one, each under a name."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple, TypeVar

from cachetools import LRUCache, cached

from adaptive_rag.errors import IndexMismatchError
from adaptive_rag.index.index import MAX_OPEN, Index
from adaptive_rag.index.manifest import SourceRecord
from adaptive_rag.index.sharding.shard import OF_CHUNKS, Chosen, Condition, Shard, Without
from adaptive_rag.index.sharding.source import Call, ShardedIndex
from adaptive_rag.state import Chunk

AnyChunk = TypeVar("AnyChunk", bound=Chunk)
# Methods of a shard whose argument is ids of chunks.
_TAKES_IDS = (*OF_CHUNKS, "has")


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the thread pool in which the indexes are queried in parallel."""
    return ThreadPoolExecutor(8, thread_name_prefix="united")


@cached(LRUCache(MAX_OPEN), key=id, condition=threading.Condition())
def _shard_of(index: Index) -> Shard:
    # The shard refers to the index, so that its id stays its own while the shard is cached.
    return Shard(index.uri, index=index)


class UnitedIndex(ShardedIndex):
    """Several indexes that are searched as the shards of one: BM25 uses the word counts of all of them.

    The names of documents and the ids of chunks begin with the name of their index: `handbook/notice.md`.
    """

    def __init__(self, indexes: Mapping[str, Index]) -> None:
        """Unite indexes, whole or without some documents, by name.

        Raises:
            IndexMismatchError: they were not made with the same embedding model.
        """
        made = {name: index.reader().manifest.settings for name, index in indexes.items()}
        models = {(settings.embeddings, settings.dimension) for settings in made.values()}
        if len(models) > 1:
            with_models = ", ".join(f"{name} with {each.embeddings!r}" for name, each in made.items())
            raise IndexMismatchError(
                f"These indexes cannot be searched together: they were made with different embedding models "
                f"({with_models})."
            )
        first = next(iter(indexes.values()))
        members = [_Member.of(name, index) for name, index in indexes.items()]
        shown = " + ".join(f"{name}: {index!r}" for name, index in indexes.items())
        super().__init__(shown, _Members(members), len(members), first.embeddings, models.pop()[1])
        self._prefixes = [member.prefix for member in members]
        self.stores_sentences = all(settings.sentence_vectors for settings in made.values())

    def _record(self, source: str) -> SourceRecord | None:
        for number, prefix in enumerate(self._prefixes):
            if source.startswith(prefix):
                record: SourceRecord | None = self._ask_one(number, "record", source.removeprefix(prefix))
                return record
        return None


class _Member(NamedTuple):
    """One of the indexes: translates between its own names and those that it has among the others."""

    prefix: str
    shard: Shard
    left_out: frozenset[str]

    @classmethod
    def of(cls, name: str, index: Index) -> _Member:
        whole, left_out = index.whole()
        return cls(f"{name}/", _shard_of(whole), left_out)

    def call(self, version: str | None, chosen: Chosen, method: str, *args: Any) -> Any:
        """Call a method of the shard, as `Shard.call` does."""
        if method in _TAKES_IDS:
            args = ([id_.removeprefix(self.prefix) for id_ in args[0] if id_.startswith(self.prefix)],)
        own = tuple(self._own(one) for one in chosen)
        if self.left_out:
            own = (*own, Without(self.left_out))
        # What is found is renamed by the state that was searched.
        version = version or str(self.shard.reader(None).manifest.committed)
        return self._renamed(method, self.shard.call(version, own, method, *args), version)

    def _own(self, one: frozenset[str] | Condition | Without) -> frozenset[str] | Condition | Without:
        if isinstance(one, Condition):
            return Condition(one.text, one.kinds, self.prefix)
        if isinstance(one, Without):
            return one
        return frozenset(name.removeprefix(self.prefix) for name in one if name.startswith(self.prefix))

    def _renamed(self, method: str, found: Any, version: str) -> Any:
        names = self.shard.reader(version).names_without(self.left_out) if self.left_out else {}
        match method:
            case "has":
                return [self.prefix + id_ for id_ in found]
            case "sources":
                return {self.prefix + names.get(name, [name])[0]: number for name, number in found.items()}
            case "search":
                return [[self._renamed_chunk(hit, names) for hit in hits] for hits in found]
            case "get" | "chunks":
                return [self._renamed_chunk(chunk, names) for chunk in found]
        return found

    def _renamed_chunk(self, chunk: AnyChunk, names: Mapping[str, Sequence[str]]) -> AnyChunk:
        renamed, metadata = chunk.copy(), dict(chunk["metadata"])
        others: Iterable[str] = metadata.pop("also_as", ())
        source, *others = names.get(chunk["source"]) or [chunk["source"], *others]
        renamed["id"], renamed["source"] = self.prefix + chunk["id"], self.prefix + source
        if others:
            metadata["also_as"] = [self.prefix + other for other in others]
        renamed["metadata"] = metadata
        return renamed


class _Members:
    """The indexes as the shards of one."""

    def __init__(self, members: Sequence[_Member]) -> None:
        self._members = members

    def ask(self, calls: Mapping[int, Call]) -> dict[int, Any]:
        asked = {number: _pool().submit(self._members[number].call, *call) for number, call in calls.items()}
        return {number: one.result() for number, one in asked.items()}
