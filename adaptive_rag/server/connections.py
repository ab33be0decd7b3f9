"""Limits of connections: how many an address may hold, and how long a request may take to arrive."""

from __future__ import annotations

import asyncio
import ipaddress
import sys
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from adaptive_rag.server.machine import network_of
from adaptive_rag.server.settings import ServerSettings

# In bytes: how much is parsed before other connections have their turn. The parser takes some microseconds for
# each chunk of a body, however small.
PARSED_AT_ONCE = 4_096
# From the opening of a connection, or from the first byte of a request, to the end of the headers.
SECONDS_TO_ASK = 15.0
# A proxy forwards the requests of many people.
PROXY_FACTOR = 10
# Open files of the server besides its connections: databases, indexes, documents.
OTHER_FILES = 256
_MOST_FILES = 65_536
_REFUSAL = b"HTTP/1.1 %b\r\nConnection: close\r\nContent-Length: 0\r\n%b\r\n"


class ConnectionSlots:
    """Counts open connections, per address and in total."""

    def __init__(self, max_per_address: int, proxies: Collection[str], max_total: int) -> None:
        self._max_per_address, self._max_total = max_per_address, max_total
        self._proxies = [ipaddress.ip_network(proxy) for proxy in proxies]
        self._per_address = Counter[str]()

    def acquire(self, address: str) -> str | None:
        """Take a slot for a connection; return the status of the refusal if none is free."""
        network = network_of(address)
        factor = PROXY_FACTOR if self._is_proxy(address) else 1
        if self._per_address[network] >= self._max_per_address * factor:
            return "429 Too Many Requests"
        if self._per_address.total() >= self._max_total:
            return "503 Service Unavailable"
        self._per_address[network] += 1
        return None

    def release(self, address: str) -> None:
        """Free the slot of a connection."""
        self._per_address -= Counter([network_of(address)])  # drops addresses without connections

    def _is_proxy(self, address: str) -> bool:
        try:
            return any(ipaddress.ip_address(address) in proxies for proxies in self._proxies)
        except ValueError:  # not an address, such as the name of a socket
            return False


class Connection(H11Protocol):
    """A connection that is refused if its address has too many, and closed if its request is late."""

    slots: ClassVar[ConnectionSlots]
    _slot_address: str | None = None
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unparsed = bytearray()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, or refuse it before anything is read from it."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        refusal = self.slots.acquire(address)
        if refusal is not None:
            self._refuse(refusal, b"Retry-After: 5\r\n")
            return
        self._slot_address = address
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Handle received data, in steps between which others have their turn."""
        is_parsing = bool(self._unparsed)
        self._unparsed += data
        if not is_parsing:
            self._parse()

    def _parse(self) -> None:
        """Parse the next step, and check whether a request is still arriving."""
        step = bytes(self._unparsed[:PARSED_AT_ONCE])
        super().data_received(step)
        self._watch()
        del self._unparsed[:PARSED_AT_ONCE]
        if self.transport.is_closing():
            self._unparsed.clear()
        elif self._unparsed:
            self.transport.pause_reading()
            self.loop.call_soon(self._parse)
        elif not self.flow.read_paused:
            self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the slot."""
        super().connection_lost(exc)
        self._stop_watching()
        if self._slot_address is not None:
            self.slots.release(self._slot_address)

    def _watch(self) -> None:
        """Limit the time for headers, and for the rest of a body that was already answered."""
        is_answered = self.conn.our_state in (h11.DONE, h11.MUST_CLOSE)
        if self.conn.their_state is h11.IDLE or (self.conn.their_state is h11.SEND_BODY and is_answered):
            self._timer = self._timer or self.loop.call_later(SECONDS_TO_ASK, self._close_late)
        else:
            self._stop_watching()

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_late(self) -> None:
        # Browsers open connections in advance. A connection without a request is closed without a response.
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            self._refuse("408 Request Timeout", b"")
        else:
            self.transport.close()

    def _refuse(self, status: str, headers: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(_REFUSAL % (status.encode(), headers))
            self.transport.close()


def connection_class(settings: ServerSettings) -> type[Connection]:
    """Return the connection class for a server with these settings."""
    max_total = max(raise_file_limit() - OTHER_FILES, raise_file_limit() // 2)
    slots = ConnectionSlots(settings.max_connections, settings.trusted_proxies, max_total)
    return type("ServerConnection", (Connection,), {"slots": slots})


def raise_file_limit() -> int:
    """Raise this process's limit of open files, connections included, as far as possible, and return it."""
    if sys.platform == "win32":
        return _MOST_FILES
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < target:
        # macOS may report no limit, but refuses more than its kernel allows.
        for limit in (target, max(10_240, soft)):
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
                break
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST_FILES if soft == resource.RLIM_INFINITY else soft
