"""The progress of an indexing run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from adaptive_rag.ingest.web import Fetching


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run. The total is estimated from the sizes of the sources until all are read."""

    done: int
    total: int
    rate: float
    """Chunks per second."""
    seconds_left: float | None
    source: str
    fetching: Fetching | None = None
    """The progress of fetching web pages, before any chunk is made."""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """Chunks made by each node, for a run by Ray."""


class Meter:
    """Estimates the total number of chunks from the share of the sources' bytes already split."""

    def __init__(self, size: int, progress: Callable[[Progress], None] | None) -> None:
        self.chunks = 0
        self.nodes: Counter[str] = Counter()
        """Chunks made by each node, for a run by Ray."""
        self._size = max(1, size)
        self._finished_bytes = 0
        self._share = 0.0
        self._progress = progress
        self._started = time.perf_counter()

    def count_chunk(self, part: float) -> None:
        """Count a chunk, and record that `part` bytes of the current source are split."""
        self.chunks += 1
        self._share = (self._finished_bytes + part) / self._size

    def finish_source(self, size: int) -> None:
        """Record the end of a source."""
        self._finished_bytes += size
        self._share = self._finished_bytes / self._size

    def report(self, done: int, source: str) -> None:
        """Report progress after a step."""
        if self._progress is None:
            return
        total = max(done, round(self.chunks / self._share)) if self._share else done
        rate = done / max(time.perf_counter() - self._started, 1e-9)
        seconds_left = (total - done) / rate if rate else None
        self._progress(Progress(done, total, rate, seconds_left, source, nodes=dict(self.nodes)))
