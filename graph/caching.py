"""Caches the results of steps for repeated questions, by explicit keys, in memory or in one SQLite file."""

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

# Maximum size of the cache in memory; an answer takes some ten thousand bytes.
MEMORY_BYTES = 64 * 2**20


def open_cache(where: str | Path) -> BaseCache[Any]:
    """Open a cache: "memory", or the path of a SQLite file. Results of a failed model call are not kept.

    Raises:
        ConfigurationError: the file cannot be opened.
    """
    if str(where) == "memory":
        return _MemoryCache()
    import sqlite3

    from langgraph.cache.sqlite import SqliteCache

    class _SqliteCache(_KeepsSuccess, SqliteCache[Any]):
        pass

    try:
        make_folder(Path(where).parent)
        make_file(Path(where))
        return _SqliteCache(path=str(where), serde=strict_serializer())
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(
            f"cache = {str(where)!r} cannot be opened: {error}. Expected 'memory' or a SQLite file's path."
        ) from error


class _KeepsSuccess(BaseCache[Any]):
    """A cache that skips results without a model that failed or came too late, so that it is asked again."""

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        if kept := {key: pair for key, pair in pairs.items() if not _failed(pair[0])}:
            super().set(kept)  # type: ignore[safe-super]

    async def aset(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        if kept := {key: pair for key, pair in pairs.items() if not _failed(pair[0])}:
            await super().aset(kept)  # type: ignore[safe-super]


class _BoundedCache(BaseCache[Any]):
    """A cache in memory that holds results as bytes and evicts the least recently used ones."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._kept: TLRUCache[FullKey, _Kept] = TLRUCache(
            MEMORY_BYTES,
            ttu=lambda key, kept, now: now + kept.seconds,
            getsizeof=lambda kept: len(kept.content),
        )

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        with self._lock:
            known = {key: kept for key in keys if (kept := self._kept.get(key)) is not None}
        return {key: self.serde.loads_typed((kept.kind, kept.content)) for key, kept in known.items()}

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        return self.get(keys)

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        made = {
            key: _Kept(*self.serde.dumps_typed(value), math.inf if seconds is None else seconds)
            for key, (value, seconds) in pairs.items()
        }
        with self._lock:
            self._kept.update({key: kept for key, kept in made.items() if len(kept.content) <= MEMORY_BYTES})

    async def aset(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        self.set(pairs)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        with self._lock:
            for key in list(self._kept):
                if namespaces is None or key[0] in namespaces:
                    del self._kept[key]

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        self.clear(namespaces)


class _Kept(NamedTuple):
    kind: str
    content: bytes
    seconds: float


class _MemoryCache(_KeepsSuccess, _BoundedCache):
    pass


def _failed(writes: Any) -> bool:
    return any(
        record.get("unreachable")
        or any(d["what"] in ("repeated", "cut", "branch") for d in record.get("decisions", ()))
        or any(
            why["code"] == "deadline_passed"
            for stand_in in record.get("stand_ins", ())
            for why in stand_in.get("reasons", ())
        )
        for channel, value in writes
        if channel == "trace"
        for record in value
    )
