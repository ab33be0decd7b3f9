"""A cache of limited size for several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Generic, TypeVar

from cachetools import LRUCache

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class SharedCache(Generic[KeyT, ValueT]):
    """The most recently used values by key; `size_of` returns the size of a value, by default 1.

    Missing values are computed without holding the lock.
    """

    def __init__(self, room: int, size_of: Callable[[ValueT], int] = lambda value: 1) -> None:
        self._values: LRUCache[KeyT, ValueT] = LRUCache(room, getsizeof=size_of)
        self._size_of = size_of
        self._lock = threading.Lock()

    def find(self, key: KeyT) -> ValueT | None:
        """Return the value of a key; None if it is not cached."""
        with self._lock:
            return self._values.get(key)

    def get(self, key: KeyT, compute: Callable[[], ValueT]) -> ValueT:
        """Return the value of a key; a missing one is computed."""
        return self.get_all([key], lambda _: {key: compute()})[key]

    def get_all(
        self, keys: Collection[KeyT], compute: Callable[[list[KeyT]], Mapping[KeyT, ValueT]]
    ) -> dict[KeyT, ValueT]:
        """Return the values of keys; missing ones are computed together, and may remain missing."""
        with self._lock:
            cached = {key: self._values.get(key) for key in keys}
        values = {key: value for key, value in cached.items() if value is not None}
        if missing := [key for key in cached if key not in values]:
            computed = compute(missing)
            self.update(computed)
            values |= computed
        return values

    def update(self, values: Mapping[KeyT, ValueT]) -> None:
        """Cache values, except those that are too large."""
        with self._lock:
            self._values.update(
                {key: value for key, value in values.items() if self._size_of(value) <= self._values.maxsize}
            )
