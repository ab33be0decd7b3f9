"""Caches the results of steps for repeated questions, in memory or in an SQLite file."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cachetools import TLRUCache
from langgraph.cache.base import BaseCache, FullKey, Namespace

from adaptive_rag.conversation import strict_serializer
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.private import make_file, make_folder
from adaptive_rag.state import TraceRecord

# Maximum size of the cache in memory; an answer has some ten thousand bytes.
MEMORY_BYTES = 64 * 2**20


def open_cache(where: str | Path) -> BaseCache[Any]:
    """Open a cache: "memory", or the path of an SQLite file. Results with a failed model call are not cached.

    Raises:
        ConfigurationError: the file cannot be opened.
    """
    if str(where) == "memory":
        return _MemoryCache()
    import sqlite3

    from langgraph.cache.sqlite import SqliteCache

    class _SqliteCache(_SkipsFailures, SqliteCache[Any]):
        pass

    try:
        make_folder(Path(where).parent)
        make_file(Path(where))
        return _SqliteCache(path=str(where), serde=strict_serializer())
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(
            f"cache = {str(where)!r} cannot be opened: {error}. Expected 'memory' or a SQLite file's path."
        ) from error


class _SkipsFailures(BaseCache[Any]):
    """A cache that skips results for which a model failed or was too slow, so that it is asked again."""

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        if complete := {key: pair for key, pair in pairs.items() if not _has_failure(pair[0])}:
            super().set(complete)  # type: ignore[safe-super]

    async def aset(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        if complete := {key: pair for key, pair in pairs.items() if not _has_failure(pair[0])}:
            await super().aset(complete)  # type: ignore[safe-super]


class _BoundedCache(BaseCache[Any]):
    """A cache in memory that stores results as bytes and evicts the least recently used ones."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._entries: TLRUCache[FullKey, _Entry] = TLRUCache(
            MEMORY_BYTES,
            ttu=lambda key, entry, now: now + entry.seconds,
            getsizeof=lambda entry: len(entry.content),
        )

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        with self._lock:
            hits = {key: entry for key in keys if (entry := self._entries.get(key)) is not None}
        return {key: self.serde.loads_typed((entry.kind, entry.content)) for key, entry in hits.items()}

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        return self.get(keys)

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        entries = {
            key: _Entry(*self.serde.dumps_typed(value), math.inf if seconds is None else seconds)
            for key, (value, seconds) in pairs.items()
        }
        with self._lock:
            self._entries.update(
                {key: entry for key, entry in entries.items() if len(entry.content) <= MEMORY_BYTES}
            )

    async def aset(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        self.set(pairs)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        with self._lock:
            for key in list(self._entries):
                if namespaces is None or key[0] in namespaces:
                    del self._entries[key]

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        self.clear(namespaces)


class _Entry(NamedTuple):
    """A serialized result, and the seconds for which it is valid."""

    kind: str
    content: bytes
    seconds: float


class _MemoryCache(_SkipsFailures, _BoundedCache):
    pass


def _has_failure(writes: Any) -> bool:
    """Return whether the trace in a step's result records that a model failed or was too slow."""
    records = [record for channel, value in writes if channel == "trace" for record in value]
    return any(map(_is_failure, records))


def _is_failure(record: TraceRecord) -> bool:
    decisions, stand_ins = record.get("decisions", ()), record.get("stand_ins", ())
    return bool(
        record.get("unreachable")
        or any(decision["what"] in ("repeated", "cut", "branch") for decision in decisions)
        or any(
            reason["code"] == "deadline_passed"
            for stand_in in stand_ins
            for reason in stand_in.get("reasons", ())
        )
    )
