"""Caches the results of steps for repeated questions, in memory or in an SQLite file."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cachetools import LRUCache
from langchain_core.messages import BaseMessage
from langgraph.cache.base import BaseCache, FullKey, Namespace
from langgraph.cache.memory import InMemoryCache
from langgraph.cache.sqlite import SqliteCache

from adaptive_rag.conversation import strict_serializer
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.private import make_file, make_folder
from adaptive_rag.rank.rerankers import SEARCH_STANDS
from adaptive_rag.state import DecisionKind, TraceRecord
from adaptive_rag.text.redaction import redact

# Maximum size of the cache in memory; an answer has some ten thousand bytes.
MEMORY_BYTES = 64 * 2**20
# The decisions of a trace that report a failure.
FAILURES: tuple[DecisionKind, ...] = ("repeated", "cut", "branch", "left out")

_log = logging.getLogger("adaptive_rag.cache")


def open_cache(where: str | Path | BaseCache[Any]) -> BaseCache[Any]:
    """Open a cache: "memory", the path of an SQLite file, or another cache of LangGraph.

    Raises:
        ConfigurationError: the file cannot be opened.
    """
    if isinstance(where, BaseCache):
        return _StepCache(where)
    if str(where) == "memory":
        return _StepCache(_MemoryCache())
    try:
        file = Path(where).expanduser()
        make_folder(file.parent)
        make_file(file)
        return _StepCache(SqliteCache(path=str(file), serde=strict_serializer()))
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(
            f"cache = {str(where)!r} cannot be opened: {error}. Expected 'memory' or a SQLite file's path."
        ) from error


class _StepCache(BaseCache[Any]):
    """Keeps what steps wrote, except where a part failed or was too slow, so that it is tried again.

    A cache that cannot be read or written, such as a file on a full disk, costs no answer.
    """

    def __init__(self, store: BaseCache[Any]) -> None:
        super().__init__()
        self._store = store

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        try:
            return {key: _renew(writes) for key, writes in self._store.get(keys).items()}
        except Exception as error:  # any error, since the step can run without a cache
            _log.warning("The cache cannot be read, so the step runs again: %s", redact(str(error)))
            return {}

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        return await asyncio.to_thread(self.get, keys)

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        try:
            self._store.set({key: pair for key, pair in pairs.items() if not _has_failure(pair[0])})
        except Exception as error:  # any error, since the step can run without a cache
            _log.warning("The cache cannot be written, so a step will run again: %s", redact(str(error)))

    async def aset(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        await asyncio.to_thread(self.set, pairs)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        self._store.clear(namespaces)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        await asyncio.to_thread(self.clear, namespaces)


class _MemoryCache(InMemoryCache[Any]):
    """A cache in memory that stores results as bytes and evicts the least recently used ones."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: LRUCache[FullKey, tuple[str, bytes]] = LRUCache(
            MEMORY_BYTES, getsizeof=lambda entry: len(entry[1])
        )

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        with self._lock:
            hits = {key: entry for key in keys if (entry := self._entries.get(key)) is not None}
        return {key: self.serde.loads_typed(entry) for key, entry in hits.items()}

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        entries = {key: self.serde.dumps_typed(value) for key, (value, _) in pairs.items()}
        with self._lock:
            self._entries.update(
                {key: entry for key, entry in entries.items() if len(entry[1]) <= MEMORY_BYTES}
            )

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        with self._lock:
            for key in list(self._entries):
                if namespaces is None or key[0] in namespaces:
                    del self._entries[key]


def _renew(writes: Any) -> Any:
    """Return what a step wrote with new messages: one of a known id would replace that of an earlier turn."""
    return [
        (channel, [_renew_message(message) for message in value] if channel == "messages" else value)
        for channel, value in writes
    ]


def _renew_message(message: Any) -> Any:
    if not isinstance(message, BaseMessage):
        return message
    metadata = {**message.response_metadata, "asked_at": time.time()}
    return message.model_copy(update={"id": None, "response_metadata": metadata})


def _has_failure(writes: Any) -> bool:
    """Return whether the trace in a step's result records that a part failed or was too slow."""
    return any(_is_failure(record) for channel, value in writes if channel == "trace" for record in value)


def _is_failure(record: TraceRecord) -> bool:
    stand_ins = record.get("stand_ins", ())
    reasons = [reason["code"] for stand_in in stand_ins for reason in stand_in.get("reasons", ())]
    return bool(
        record.get("unreachable")
        or any(decision["what"] in FAILURES for decision in record.get("decisions", ()))
        or any(stand_in["reason"].endswith(SEARCH_STANDS) for stand_in in stand_ins)
        or "deadline_passed" in reasons
    )
