"""How far an indexing run is, for whoever watches it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is. The total is estimated from the sizes of the sources until all are read."""

    done: int
    total: int
    rate: float
    """Chunks a second."""
    seconds_left: float | None
    source: str


class Meter:
    """Estimates how many chunks there will be from the share of the sources' bytes already split."""

    def __init__(self, size: int, progress: Callable[[Progress], None] | None) -> None:
        self.chunks = 0
        self._size = max(1, size)
        self._before = 0
        self._share = 0.0
        self._progress = progress
        self._started = time.perf_counter()

    def split(self, part: float) -> None:
        """Count a chunk, and note how many bytes of the present source are split."""
        self.chunks += 1
        self._share = (self._before + part) / self._size

    def ended(self, size: int) -> None:
        """Note the end of a source."""
        self._before += size
        self._share = self._before / self._size

    def tell(self, done: int, source: str) -> None:
        """Report progress after a step."""
        if self._progress is None:
            return
        total = max(done, round(self.chunks / self._share)) if self._share else done
        rate = done / max(time.perf_counter() - self._started, 1e-9)
        self._progress(Progress(done, total, rate, (total - done) / rate if rate else None, source))
