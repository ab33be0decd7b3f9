"""Limits what an HTTP client of a chat model receives: the size, the time and the encodings."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

# Bytes allowed per token. If each token is sent separately, the JSON around it has up to 600 bytes.
BYTES_A_TOKEN = 1024
# Further bytes allowed, for an error page or the events before the first token.
EXTRA_BYTES = 65_536
# Accepted encodings: 64 kB of them decompress to 66 MB at most; other encodings have no such bound.
ENCODINGS = ("identity", "gzip", "deflate")


class ReplyTooLong(Exception):
    """A server sent more than a reply may have, or for too long."""


def response_hook(max_tokens: int, seconds: float | None) -> Callable[[Any], None]:
    """Return a response hook for clients such as httpx that stops reading a body at a limit.

    Args:
        max_tokens: limit of a reply's tokens; the body may have `BYTES_A_TOKEN` bytes for each.
        seconds: limit for the complete body; a client's own timeout starts again with every byte.
    """
    max_bytes = max_tokens * BYTES_A_TOKEN + EXTRA_BYTES

    def limit(response: Any) -> None:
        encoding = response.headers.get("content-encoding", "identity").lower()
        if encoding not in ENCODINGS:
            raise ReplyTooLong(f"the server sent its reply in the encoding {encoding[:40]!r}, not asked for")
        count = _byte_counter(max_bytes, seconds)
        # Clients read every body through one of these methods, at once or as events.
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

    return limit


def async_response_hook(max_tokens: int, seconds: float | None) -> Callable[[Any], Any]:
    """Return the hook of `response_hook` for an asynchronous client."""
    limit = response_hook(max_tokens, seconds)

    async def async_limit(response: Any) -> None:
        limit(response)

    return async_limit


def _byte_counter(max_bytes: int, seconds: float | None) -> Callable[[bytes], None]:
    received, started = 0, time.monotonic()

    def count(chunk: bytes) -> None:
        nonlocal received
        received += len(chunk)
        if received > max_bytes:
            raise ReplyTooLong(f"the server sent more than {max_bytes:,} bytes, so it was read no further")
        if seconds is not None and time.monotonic() - started > seconds:
            raise ReplyTooLong(f"the server was still sending after {seconds:g} s, so it was read no further")

    return count
