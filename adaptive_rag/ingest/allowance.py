"""The time and memory that reading a file may take, and requests of loaders for more.

A file that is read without a process of its own has no limits; then a request has no effect.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adaptive_rag.ingest.archives import on_disk

# Called with the arguments of `ask_for`.
Grant = Callable[[float, int, bool], None]

_grants: list[Grant] = []

# How long a file may take by the clock, for each second of processor time, and at least.
_CLOCK_FACTOR, _LEAST_WAIT_SECONDS = 10.0, 300.0
_MB = 1_000_000
_ROW_FORMATS = {".csv", ".tsv", ".json", ".jsonl"}
_PACKED_ROW_FORMATS = {".xlsx", ".xlsm", ".xltx", ".xltm", ".xlsb", ".xls", ".xlt", ".ods", ".ots"}
# The largest share of the machine's memory that a worker may use.
_LARGEST_MEMORY_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits for reading a file: a fixed amount for any file, and more for each MB of its data.

    The seconds are of processor time, so that a busy machine refuses no file that an idle one reads.

    A PDF of 1 MB, 400 pages of text alone, takes some 4 s and 170 MB; 100 MB of plain text take 240 MB, and
    850 MB if one letter is an emoji. In a table each row has a record of its own: that takes 42 MB for each
    MB of short rows, and 200 MB for each MB of a workbook, which is compressed. The memory limit is never
    more than three quarters of the machine's memory.
    """

    seconds: float = 15.0
    seconds_per_mb: float = 15.0
    memory_mb: int = 400
    memory_per_mb: int = 12
    memory_per_mb_of_rows: int = 50
    memory_per_mb_of_packed_rows: int = 200

    def for_file(self, path: Path) -> tuple[float, int]:
        """Return the seconds of processor time and the bytes of memory that reading a file may take."""
        import psutil

        size = _data_size(on_disk(path)) / _MB
        suffix, per_mb = path.suffix.lower(), self.memory_per_mb
        if suffix in _ROW_FORMATS:
            per_mb = self.memory_per_mb_of_rows
        elif suffix in _PACKED_ROW_FORMATS:
            per_mb = self.memory_per_mb_of_packed_rows
        memory = (self.memory_mb + per_mb * size) * _MB
        available = psutil.virtual_memory().total * _LARGEST_MEMORY_SHARE
        return self.seconds + self.seconds_per_mb * size, int(min(memory, available))


BOUNDS = Bounds()


def receive_requests(grant: Grant) -> None:
    """Set the function that receives requests from now on."""
    _grants[:] = [grant]


def longest_wait(seconds: float) -> float:
    """Return how long a file with this much processor time may take by the clock.

    Much longer, since a busy machine or a slow disk is no fault of the file.
    """
    return max(_LEAST_WAIT_SECONDS, _CLOCK_FACTOR * seconds)


def ask_for(seconds: float, memory: int, *, stays: bool = True) -> None:
    """Request this many seconds of processor time from now, and this many bytes beyond those of any file.

    The bytes are for what stays in memory for later files, such as a model, or for this file alone.
    """
    for grant in _grants:
        grant(seconds, memory, stays)


def ask_for_unpacked(member: Path, copy: Path) -> None:
    """Request what a file in an archive may take, unpacked as `copy`; so far, the archive's size counted."""
    seconds, memory = BOUNDS.for_file(copy)
    ask_for(seconds, max(0, memory - BOUNDS.for_file(member)[1]), stays=False)


def _data_size(path: Path) -> int:
    """Return the size of a file in bytes without its holes: a sparse file of 4 GB may hold almost no data."""
    try:
        status = os.stat(path)
    except OSError:  # reading the file will report it
        return 0
    return min(status.st_size, getattr(status, "st_blocks", status.st_size) * 512)
