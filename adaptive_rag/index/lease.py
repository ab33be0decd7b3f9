"""One writer at a time in a bucket: an object that its holder renews, and that others may take over if not.

Clocks of other machines are not used: a waiting writer takes over a lease that it saw unchanged for long.
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
    """Return what is written down of who holds an index."""
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": since}


def name_holder(content: bytes | None) -> str:
    """Name who holds an index, as far as what was written down tells."""
    try:
        holder = json.loads(content or b"")
        return f"process {holder['pid']} on {holder['host']} since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


@contextmanager
def hold_lease(
    bucket: Bucket, *, wait_seconds: float, on_wait: Callable[[str], None] | None
) -> Iterator[None]:
    """Hold a bucket for writing, and keep `taken_over` of it up to date.

    A process that dies lets go after `LEASE_SECONDS`. `on_wait` is told once who holds it, when there is a
    wait.

    Raises:
        IndexingError: another process still holds it after `wait_seconds`, or the store ignores conditions.
        IndexUnreachableError: the bucket cannot be written.
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
    """The object, and what this process last wrote into it."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._tag: Tag = None
        self._holder = {**this_process(), "token": uuid.uuid4().hex, "turn": 0}

    def take(self, wait_seconds: float, on_wait: Callable[[str], None] | None) -> None:
        """Become the holder."""
        began = time.monotonic()
        seen, seen_at = FREE, began
        while True:
            found, tag = self._bucket.read_tagged(HOLDER)
            now = time.monotonic()
            if found != seen:
                seen, seen_at = found or FREE, now
            if seen == FREE or now - seen_at >= LEASE_SECONDS:
                with suppress(ChangedError):  # another one was faster
                    self._tag = self._bucket.swap(HOLDER, self._content(), tag)
                    self._refuse_careless_store()
                    return
                continue
            if now - began >= wait_seconds:
                raise IndexingError(
                    f"The index {self._bucket.uri} is being written by {name_holder(seen)}. Wait until it "
                    f"has finished; one that was killed lets go after {LEASE_SECONDS:.0f} s."
                )
            if on_wait:
                on_wait(f"Waiting for {name_holder(seen)}, which is writing the index {self._bucket.uri}.")
                on_wait = None
            time.sleep(min(POLL_SECONDS, wait_seconds))

    def keep(self, stop: threading.Event) -> None:
        """Renew the lease until it is to stop, or somebody else has it."""
        while not stop.wait(RENEW_SECONDS):
            self._holder["turn"] += 1
            # While the store cannot be reached, nobody can tell who holds it: the next turn does.
            with suppress(IndexUnreachableError):
                try:
                    self._tag = self._bucket.swap(HOLDER, self._content(), self._tag)
                except ChangedError:
                    found, self._tag = self._bucket.read_tagged(HOLDER)
                    if self._holder["token"].encode() not in (found or b""):
                        self._bucket.taken_over = True
                        return

    def give_back(self) -> None:
        """Let the next one begin at once; where that fails it begins when the lease has run out."""
        if not self._bucket.taken_over:
            with suppress(ChangedError, IndexUnreachableError):
                self._bucket.swap(HOLDER, FREE, self._tag)

    def _refuse_careless_store(self) -> None:
        """Refuse a store that writes whatever the condition: two writers would lose each other's work."""
        try:
            self._bucket.swap(HOLDER, b'{"probe": true}', {"e_tag": '"0"', "version": "1"})
        except ChangedError:
            return
        self._bucket.write(HOLDER, FREE)
        raise IndexingError(
            f"The store of {self._bucket.uri} ignores the condition of a write (If-Match), so that two "
            "writers would lose each other's work. Use a store that keeps it, or index into a folder."
        )

    def _content(self) -> bytes:
        return json.dumps(self._holder).encode()
