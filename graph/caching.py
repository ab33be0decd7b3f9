"""Remembers what the steps of a repeated question gave: explicit keys, in memory or in one SQLite file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langgraph.cache.base import BaseCache, FullKey
from langgraph.cache.memory import InMemoryCache

from adaptive_rag.errors import ConfigurationError


def open_cache(where: str | Path) -> BaseCache[Any]:
    """Open a cache: "memory", or the path of a SQLite file. What a failing model left behind is not kept.

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
        Path(where).parent.mkdir(parents=True, exist_ok=True)
        return _SqliteCache(path=str(where))
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(
            f"cache = {str(where)!r} cannot be opened: {error}. Expected 'memory' or a SQLite file's path."
        ) from error


class _KeepsSuccess(BaseCache[Any]):
    """Leaves out results for which a model did not respond: the next question should ask it again."""

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        if kept := {key: pair for key, pair in pairs.items() if not _failed(pair[0])}:
            super().set(kept)  # type: ignore[safe-super]

    async def aset(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        if kept := {key: pair for key, pair in pairs.items() if not _failed(pair[0])}:
            await super().aset(kept)  # type: ignore[safe-super]


class _MemoryCache(_KeepsSuccess, InMemoryCache[Any]):
    pass


def _failed(writes: Any) -> bool:
    return any(
        record.get("unreachable")
        or any(d["what"] in ("repeated", "cut") for d in record.get("decisions", ()))
        for channel, value in writes
        if channel == "trace"
        for record in value
    )
