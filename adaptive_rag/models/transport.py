"""Bounds what an HTTP client of a chat model receives: how much, for how long, in which encodings."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

# The address, the usage and the form around a token take up to about 600 bytes where each is sent alone.
BYTES_A_TOKEN = 1024
# What an error page or the events before the first token may take.
BYTES_BESIDE = 65_536
# Of these, 64 kB as they are read become 66 MB at most; other encodings have no such bound.
ENCODINGS = ("identity", "gzip", "deflate")


class ReplyTooLong(Exception):
    """A server sent more, or for longer, than a reply can be."""


def response_hook(max_tokens: int, seconds: float | None) -> Callable[[Any], None]:
    """Return a hook that makes the reading of a response's body stop, for clients such as httpx.

    Args:
        max_tokens: what a reply may have; its body may have `BYTES_A_TOKEN` for each.
        seconds: how long the body may take altogether; a client's own timeout starts anew with every byte.
    """
    room = max_tokens * BYTES_A_TOKEN + BYTES_BESIDE

    def bound(response: Any) -> None:
        encoding = response.headers.get("content-encoding", "identity").lower()
        if encoding not in ENCODINGS:
            raise ReplyTooLong(f"the server sent its reply in the encoding {encoding[:40]!r}, not asked for")
        count = _counter(room, seconds)
        # What reads the body, whole or as events, reads it by this method; one for each path.
        by_bytes, by_bytes_async = response.iter_bytes, response.aiter_bytes

        def iter_bytes(chunk_size: int | None = None) -> Iterator[bytes]:
            for chunk in by_bytes(chunk_size):
                count(chunk)
                yield chunk

        async def aiter_bytes(chunk_size: int | None = None) -> AsyncIterator[bytes]:
            async for chunk in by_bytes_async(chunk_size):
                count(chunk)
                yield chunk

        response.iter_bytes, response.aiter_bytes = iter_bytes, aiter_bytes

    return bound


def async_response_hook(max_tokens: int, seconds: float | None) -> Callable[[Any], Any]:
    """Return what `response_hook` does, for an asynchronous client."""
    bound = response_hook(max_tokens, seconds)

    async def abound(response: Any) -> None:
        bound(response)

    return abound


def _counter(room: int, seconds: float | None) -> Callable[[bytes], None]:
    received, started = 0, time.monotonic()

    def count(chunk: bytes) -> None:
        nonlocal received
        received += len(chunk)
        if received > room:
            raise ReplyTooLong(f"the server sent more than {room:,} bytes, so it was read no further")
        if seconds is not None and time.monotonic() - started > seconds:
            raise ReplyTooLong(f"the server was still sending after {seconds:g} s, so it was read no further")

    return count
