"""A cache of limited size for several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from cachetools import LRUCache

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class SharedCache(Generic[KeyT, ValueT]):
    """The most recently used values by key; `size_of` returns the size of a value, by default 1."""

    def __init__(self, room: int, size_of: Callable[[ValueT], int] = lambda value: 1) -> None:
        self._values: LRUCache[KeyT, ValueT] = LRUCache(room, getsizeof=size_of)
        self._size_of = size_of
        self._lock = threading.Lock()

    def get(self, key: KeyT, compute: Callable[[], ValueT]) -> ValueT:
        """Return the value of a key; a missing one is computed, without holding the lock."""
        with self._lock:
            value = self._values.get(key)
        if value is None:
            value = compute()
            with self._lock:
                if self._size_of(value) <= self._values.maxsize:
                    self._values[key] = value
        return value
