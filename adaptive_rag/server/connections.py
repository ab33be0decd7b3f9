"""The connections of a server: how many an address may hold, and how long a request may take to arrive."""

from __future__ import annotations

import asyncio
import ipaddress
import sys
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from adaptive_rag.server.machine import network_of
from adaptive_rag.server.settings import ServerSettings

# From the first byte of a request, or from the opening of a connection, to the end of the headers.
SECONDS_TO_ASK = 15.0
# A proxy forwards the requests of many people.
PROXY_FACTOR = 10
# Files that the server opens besides its connections: databases, indexes, documents.
OTHER_FILES = 256
_MOST_FILES = 65_536
_REFUSAL = b"HTTP/1.1 %b\r\nConnection: close\r\nContent-Length: 0\r\n%b\r\n"


class Places:
    """Counts open connections, per address and in total."""

    def __init__(self, most_of_one: int, proxies: Collection[str], most: int) -> None:
        self._most_of_one, self._most = most_of_one, most
        self._proxies = [ipaddress.ip_network(proxy) for proxy in proxies]
        self._of = Counter[str]()

    def take(self, address: str) -> str | None:
        """Take a place for a connection; return the status of the refusal if none is left."""
        place = network_of(address)
        factor = PROXY_FACTOR if self._is_proxy(address) else 1
        if self._of[place] >= self._most_of_one * factor:
            return "429 Too Many Requests"
        if self._of.total() >= self._most:
            return "503 Service Unavailable"
        self._of[place] += 1
        return None

    def leave(self, address: str) -> None:
        """Give back the place of a connection."""
        self._of -= Counter([network_of(address)])  # drops addresses without connections

    def _is_proxy(self, address: str) -> bool:
        try:
            return any(ipaddress.ip_address(address) in proxies for proxies in self._proxies)
        except ValueError:  # not an address, such as the name of a socket
            return False


class Connection(H11Protocol):
    """A connection that is refused if its address holds too many, and closed if its request is late."""

    places: ClassVar[Places]
    _place: str | None = None
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit a connection, or refuse it before anything of it is read."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        refusal = self.places.take(address)
        if refusal is not None:
            self._end(refusal, b"Retry-After: 5\r\n")
            return
        self._place = address
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Read the data, and check whether a request is still arriving."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        super().connection_lost(exc)
        self._stop_watching()
        if self._place is not None:
            self.places.leave(self._place)

    def _watch(self) -> None:
        """Limit the time for headers, and for the rest of a body after its answer."""
        is_answered = self.conn.our_state in (h11.DONE, h11.MUST_CLOSE)
        if self.conn.their_state is h11.IDLE or (self.conn.their_state is h11.SEND_BODY and is_answered):
            self._late = self._late or self.loop.call_later(SECONDS_TO_ASK, self._give_up)
        else:
            self._stop_watching()

    def _stop_watching(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        # A browser opens connections in advance: one without a request is closed without a response.
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            self._end("408 Request Timeout", b"")
        else:
            self.transport.close()

    def _end(self, status: str, headers: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(_REFUSAL % (status.encode(), headers))
            self.transport.close()


def connection_of(settings: ServerSettings) -> type[Connection]:
    """Return the connection class for a server with these settings."""
    most = max(most_files() - OTHER_FILES, most_files() // 2)
    places = Places(settings.max_connections, settings.trusted_proxies, most)
    return type("ServerConnection", (Connection,), {"places": places})


def most_files() -> int:
    """Raise this process's limit of open files and connections as far as the system allows, and return it."""
    if sys.platform == "win32":
        return _MOST_FILES
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # macOS reports no limit, and refuses more than its kernel allows
        for most in (wanted, max(10_240, soft)):
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
                break
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST_FILES if soft == resource.RLIM_INFINITY else soft
