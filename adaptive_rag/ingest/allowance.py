"""More time and memory for a file that is slow to read by its kind: a loader asks, its process is told.

Where a file is read without a process of its own nothing is bounded, and nobody need be asked.
"""

from __future__ import annotations

from collections.abc import Callable

# The seconds for what comes next, and the bytes beside what any file may take.
Grant = Callable[[float, int], None]

_grants: list[Grant] = []


def granted_by(grant: Grant) -> None:
    """Set who is asked from now on."""
    _grants[:] = [grant]


def ask_for(seconds: float, memory: int) -> None:
    """Ask for so many seconds from now, and for so many bytes of memory beside what any file may take."""
    for grant in _grants:
        grant(seconds, memory)
