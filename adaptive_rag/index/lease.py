"""The write lock of a bucket: a lease object, which its holder keeps renewing.

If the holder stops renewing it, another writer may take it over. The clocks of other machines are not used:
a waiting writer takes over a lease that it has not seen change for `LEASE_SECONDS`.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from adaptive_rag.errors import IndexingError, IndexUnreachableError
from adaptive_rag.index.bucket import Bucket, ChangedError, Tag
from adaptive_rag.index.manifest import HOLDER

LEASE_SECONDS = 30.0
RENEW_SECONDS = 5.0
POLL_SECONDS = 0.5
FREE = b"{}"


def this_process() -> dict[str, Any]:
    """Return the process id, host name and current time, for the record of the lock's holder."""
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": since}


def name_holder(content: bytes | None) -> str:
    """Return the holder of a lock as text, from the stored record."""
    try:
        holder = json.loads(content or b"")
        return f"process {holder['pid']} on {holder['host']} since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


@contextmanager
def hold_lease(
    bucket: Bucket, *, wait_seconds: float, on_wait: Callable[[str], None] | None
) -> Iterator[None]:
    """Hold the lease of a bucket for writing, and keep the bucket's `taken_over` up to date.

    The lease of a process that dies expires after `LEASE_SECONDS`. If another process holds the lease,
    `on_wait` is called once with a message that names it.
    """
    lease = _Lease(bucket)
    lease.take(wait_seconds, on_wait)
    stop = threading.Event()
    keeper = threading.Thread(target=lease.keep, args=[stop], name="lease", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        stop.set()
        keeper.join()
        lease.give_back()


class _Lease:
    """The lease object, and what this process last wrote to it."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._tag: Tag = None
        self._holder = {**this_process(), "token": uuid.uuid4().hex, "turn": 0}

    def take(self, wait_seconds: float, on_wait: Callable[[str], None] | None) -> None:
        """Wait for the lease and take it."""
        started = time.monotonic()
        seen, seen_at = FREE, started
        while True:
            content, tag = self._bucket.read_tagged(HOLDER)
            now = time.monotonic()
            if content != seen:
                seen, seen_at = content or FREE, now
            if seen == FREE or now - seen_at >= LEASE_SECONDS:
                with suppress(ChangedError):  # another process was faster
                    self._tag = self._bucket.swap(HOLDER, self._content(), tag)
                    self._refuse_careless_store()
                    return
                continue
            if now - started >= wait_seconds:
                raise IndexingError(
                    f"The index {self._bucket.uri} is being written by {name_holder(seen)}. Wait until it "
                    f"has finished; the lock of a killed process expires after {LEASE_SECONDS:.0f} s."
                )
            if on_wait:
                on_wait(f"Waiting for {name_holder(seen)}, which is writing the index {self._bucket.uri}.")
                on_wait = None
            time.sleep(min(POLL_SECONDS, wait_seconds))

    def keep(self, stop: threading.Event) -> None:
        """Renew the lease until `stop` is set or another process has it."""
        while not stop.wait(RENEW_SECONDS):
            self._holder["turn"] += 1
            # while the store cannot be reached, nobody can take the lease over; try again at the next turn
            with suppress(IndexUnreachableError):
                try:
                    self._tag = self._bucket.swap(HOLDER, self._content(), self._tag)
                except ChangedError:
                    content, self._tag = self._bucket.read_tagged(HOLDER)
                    if self._holder["token"].encode() not in (content or b""):
                        self._bucket.taken_over = True
                        return

    def give_back(self) -> None:
        """Release the lease, so that the next writer can start at once; if this fails, the lease expires."""
        if not self._bucket.taken_over:
            with suppress(ChangedError, IndexUnreachableError):
                self._bucket.swap(HOLDER, FREE, self._tag)

    def _refuse_careless_store(self) -> None:
        """Raise an error if the store ignores write conditions, so that two writers could lose work."""
        try:
            self._bucket.swap(HOLDER, b'{"probe": true}', {"e_tag": '"0"', "version": "1"})
        except ChangedError:
            return
        self._bucket.write(HOLDER, FREE)
        raise IndexingError(
            f"The store of {self._bucket.uri} ignores the condition of a write (If-Match), so two writers "
            "would lose each other's work. Use a store that supports it, or index into a folder."
        )

    def _content(self) -> bytes:
        return json.dumps(self._holder).encode()
