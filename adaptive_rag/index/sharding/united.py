"""Searches several indexes with the same embedding model together, as if they were one index."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from cachetools import LRUCache, cached

from adaptive_rag.errors import IndexMismatchError
from adaptive_rag.index.index import MAX_OPEN, AnyChunk, Index
from adaptive_rag.index.manifest import SourceRecord
from adaptive_rag.index.sharding.shard import Condition, Restrictions, Shard
from adaptive_rag.index.sharding.source import ShardedIndex, call_local
from adaptive_rag.where import Where

# Methods of a shard that take the ids of chunks.
_TAKES_IDS = ("vectors", "sentences", "get", "has")


@cached(LRUCache(MAX_OPEN), key=id, condition=threading.Condition())
def _shard_of(index: Index) -> tuple[Shard, Index]:
    # The index is stored with its shard: while it exists, no other object gets the id that is the key.
    return Shard(index.uri), index


class UnitedIndex(ShardedIndex):
    """Several indexes that are searched as the shards of one: BM25 uses the word counts of all of them.

    The names of documents and the ids of chunks begin with the name of their index: `handbook/notice.md`.
    """

    def __init__(self, indexes: Mapping[str, Index], where: Where | None = None) -> None:
        """Unite indexes, whole or without some documents, by name.

        `where` is a condition on their own names of documents, to which the name of the index is not added.
        """
        settings_of = {name: index.reader().manifest.settings for name, index in indexes.items()}
        models = {(settings.embeddings, settings.dimension) for settings in settings_of.values()}
        if len(models) > 1:
            named = ", ".join(f"{name} with {made.embeddings!r}" for name, made in settings_of.items())
            raise IndexMismatchError(
                "These indexes cannot be searched together: they were made with different embedding models "
                f"({named})."
            )
        first_index = next(iter(indexes.values()))
        members = [_Member(f"{name}/", index, _shard_of(index.base)[0]) for name, index in indexes.items()]
        description = " + ".join(f"{name}: {index!r}" for name, index in indexes.items())
        call_shards = partial(call_local, [member.call for member in members])
        super().__init__(description, call_shards, len(members), first_index.embeddings, models.pop()[1])
        if where:
            condition = Condition(**vars(where), kinds=self._find_kinds())
            members = [member._replace(view=member.view.restrict(condition)) for member in members]
            self._call_shards = partial(call_local, [member.call for member in members])
        self._prefixes = [member.prefix for member in members]
        self.stores_sentences = all(settings.sentence_vectors for settings in settings_of.values())

    def record(self, source: str) -> SourceRecord | None:
        """Return the record of a document; None if no document has this name."""
        for number, prefix in enumerate(self._prefixes):
            if source.startswith(prefix):
                args = (source.removeprefix(prefix),)
                record: SourceRecord | None = self._call("record", {number: args})[number]
                return record
        return None


class _Member(NamedTuple):
    """One of the united indexes: adds its prefix to names and ids, and removes it from those of callers."""

    prefix: str
    view: Index
    shard: Shard

    def call(self, version: str | None, restrictions: Restrictions, method: str, *args: Any) -> Any:
        """Call a method of the shard, as `Shard.call` does."""
        if method in _TAKES_IDS:
            args = ([id_.removeprefix(self.prefix) for id_ in args[0] if id_.startswith(self.prefix)],)
        result = self.shard.call_on(
            self.view, version, tuple(map(self._translate, restrictions)), method, *args
        )
        match method:
            case "has":
                return [self.prefix + id_ for id_ in result]
            case "sources":
                return {self.prefix + name: number for name, number in result.items()}
            case "search":
                return [[self._prefix_names(hit) for hit in hits] for hits in result]
            case "get" | "chunks":
                return [self._prefix_names(chunk) for chunk in result]
        return result

    def _translate(self, restriction: frozenset[str] | Condition) -> frozenset[str] | Condition:
        if isinstance(restriction, Condition):
            return replace(restriction, prefix=self.prefix)
        return frozenset(
            name.removeprefix(self.prefix) for name in restriction if name.startswith(self.prefix)
        )

    def _prefix_names(self, chunk: AnyChunk) -> AnyChunk:
        """Return a chunk whose id and names begin with the prefix of this index."""
        renamed, metadata = chunk.copy(), chunk["metadata"]
        renamed["id"], renamed["source"] = self.prefix + chunk["id"], self.prefix + chunk["source"]
        if other_names := metadata.get("also_as"):
            renamed["metadata"] = {**metadata, "also_as": [self.prefix + name for name in other_names]}
        return renamed
