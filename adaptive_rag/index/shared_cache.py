"""A cache of limited size that threads share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from cachetools import LRUCache

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class SharedCache(Generic[KeyT, ValueT]):
    """The most recently used values by key; `size_of` says how much room one takes, by default 1."""

    def __init__(self, room: int, size_of: Callable[[ValueT], int] = lambda value: 1) -> None:
        self._values: LRUCache[KeyT, ValueT] = LRUCache(room, getsizeof=size_of)
        self._size_of = size_of
        self._lock = threading.Lock()

    def get(self, key: KeyT, make: Callable[[], ValueT]) -> ValueT:
        """Return the value of a key; one that is not in the cache is made, outside of the lock."""
        with self._lock:
            known = self._values.get(key)
        if known is None:
            known = make()
            with self._lock:
                if self._size_of(known) <= self._values.maxsize:
                    self._values[key] = known
        return known
