"""Reads the next sources of an indexing run in another thread, while earlier ones are embedded."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

from adaptive_rag.index.plan import Work
from adaptive_rag.ingest import Failure, SourceText

# The most sources, and the most bytes, that are read ahead. Several small files are embedded together; of
# large files, as few as possible are in memory.
_MOST_AHEAD = 16
_LARGE = 4_000_000
_SECONDS_PER_REPORT = 1.0


@contextmanager
def reading_ahead(
    work: Sequence[Work], report: Callable[[str], None] = lambda _: None
) -> Iterator[Iterator[tuple[Work, SourceText | Failure]]]:
    """Start reading, and return an iterator over the sources in order, each with its text or its failure.

    While it waits for a source, it calls `report` with its name every second, which may raise an exception.
    Leaving the `with` block cancels the reading.
    """
    waiting: deque[tuple[Work, Future[SourceText | Failure]]] = deque()
    upcoming, stop = deque(work), threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as pool:

        def submit() -> None:
            while upcoming and len(waiting) < _MOST_AHEAD and sum(item.size for item, _ in waiting) < _LARGE:
                item = upcoming.popleft()
                waiting.append((item, pool.submit(item.read, stop)))

        def results() -> Iterator[tuple[Work, SourceText | Failure]]:
            while waiting:
                item, future = waiting.popleft()
                submit()
                while not wait([future], _SECONDS_PER_REPORT).done:
                    report(item.source)
                yield item, future.result()

        submit()
        try:
            yield results()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
