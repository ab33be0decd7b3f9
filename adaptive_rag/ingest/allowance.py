"""Extra time and memory for files that are slow to read: the loader requests it from the worker's owner.

A file that is read without a process of its own has no limits; then a request has no effect.
"""

from __future__ import annotations

from collections.abc import Callable

# Called with the seconds for the next step, and the bytes in addition to those that any file may take.
Grant = Callable[[float, int], None]

_grants: list[Grant] = []


def receive_requests(grant: Grant) -> None:
    """Set the function that receives requests from now on."""
    _grants[:] = [grant]


def ask_for(seconds: float, memory: int) -> None:
    """Request this many seconds from now, and this many bytes in addition to those that any file may take."""
    for grant in _grants:
        grant(seconds, memory)
