"""Several indexes of one embedding model, searched together as if they were one, each under a name."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from cachetools import LRUCache, cached

from adaptive_rag.errors import IndexMismatchError
from adaptive_rag.index.index import MAX_OPEN, Index
from adaptive_rag.index.manifest import SourceRecord
from adaptive_rag.index.sharding.shard import Chosen, Condition, Shard
from adaptive_rag.index.sharding.source import ShardedIndex, ShardsHere
from adaptive_rag.state import Chunk

AnyChunk = TypeVar("AnyChunk", bound=Chunk)
# Methods of a shard that take the ids of chunks.
_TAKES_IDS = ("vectors", "sentences", "get", "has")


@cached(LRUCache(MAX_OPEN), key=id, condition=threading.Condition())
def _shard_of(index: Index) -> tuple[Shard, Index]:
    # The index is kept beside its shard, so that its id stays its own.
    return Shard(index.uri), index


class UnitedIndex(ShardedIndex):
    """Several indexes that are searched as the shards of one: BM25 uses the word counts of all of them.

    The names of documents and the ids of chunks begin with the name of their index: `handbook/notice.md`.
    """

    def __init__(self, indexes: Mapping[str, Index]) -> None:
        """Unite indexes, whole or without some documents, by name."""
        made = {name: index.reader().manifest.settings for name, index in indexes.items()}
        models = {(settings.embeddings, settings.dimension) for settings in made.values()}
        if len(models) > 1:
            with_models = ", ".join(f"{name} with {each.embeddings!r}" for name, each in made.items())
            raise IndexMismatchError(
                f"These indexes cannot be searched together: they were made with different embedding models "
                f"({with_models})."
            )
        first = next(iter(indexes.values()))
        members = [_Member(f"{name}/", index, _shard_of(index.whole)[0]) for name, index in indexes.items()]
        shown = " + ".join(f"{name}: {index!r}" for name, index in indexes.items())
        super().__init__(
            shown,
            ShardsHere([member.call for member in members]),
            len(members),
            first.embeddings,
            models.pop()[1],
        )
        self._prefixes = [member.prefix for member in members]
        self.stores_sentences = all(settings.sentence_vectors for settings in made.values())

    def record(self, source: str) -> SourceRecord | None:
        """Return the record of a document; None if no document has this name."""
        for number, prefix in enumerate(self._prefixes):
            if source.startswith(prefix):
                record: SourceRecord | None = self._ask_one(number, "record", source.removeprefix(prefix))
                return record
        return None


class _Member(NamedTuple):
    """One of the indexes: translates between its own names and those that it has among the others."""

    prefix: str
    view: Index
    shard: Shard

    def call(self, version: str | None, chosen: Chosen, method: str, *args: Any) -> Any:
        """Call a method of the shard, as `Shard.call` does."""
        if method in _TAKES_IDS:
            args = ([id_.removeprefix(self.prefix) for id_ in args[0] if id_.startswith(self.prefix)],)
        found = self.shard.call_on(self.view, version, tuple(map(self._own, chosen)), method, *args)
        match method:
            case "has":
                return [self.prefix + id_ for id_ in found]
            case "sources":
                return {self.prefix + name: number for name, number in found.items()}
            case "search":
                return [[self._named(hit) for hit in hits] for hits in found]
            case "get" | "chunks":
                return [self._named(chunk) for chunk in found]
        return found

    def _own(self, one: frozenset[str] | Condition) -> frozenset[str] | Condition:
        if isinstance(one, Condition):
            return replace(one, prefix=self.prefix)
        return frozenset(name.removeprefix(self.prefix) for name in one if name.startswith(self.prefix))

    def _named(self, chunk: AnyChunk) -> AnyChunk:
        """Return a chunk under the names that it has among the other indexes."""
        named, metadata = chunk.copy(), chunk["metadata"]
        named["id"], named["source"] = self.prefix + chunk["id"], self.prefix + chunk["source"]
        if others := metadata.get("also_as"):
            named["metadata"] = {**metadata, "also_as": [self.prefix + other for other in others]}
        return named
