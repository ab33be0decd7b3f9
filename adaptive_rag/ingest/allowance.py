"""Extra time and memory for files that are slow to read: the loader requests it from the worker's owner.

A file that is read without a process of its own has no limits; then a request has no effect.
"""

from __future__ import annotations

from collections.abc import Callable

# Called with the seconds of processor time for the next step, and the bytes beyond those of any file.
Grant = Callable[[float, int], None]

_grants: list[Grant] = []

# How long a file may take by the clock, for each second of processor time, and at least.
_CLOCK_FACTOR, _LEAST_WAIT_SECONDS = 10.0, 300.0


def receive_requests(grant: Grant) -> None:
    """Set the function that receives requests from now on."""
    _grants[:] = [grant]


def longest_wait(seconds: float) -> float:
    """Return how long a file with this much processor time may take by the clock.

    Much longer, since a busy machine or a slow disk is no fault of the file.
    """
    return max(_LEAST_WAIT_SECONDS, _CLOCK_FACTOR * seconds)


def ask_for(seconds: float, memory: int) -> None:
    """Request this many seconds of processor time from now, and this many bytes beyond those of any file."""
    for grant in _grants:
        grant(seconds, memory)
