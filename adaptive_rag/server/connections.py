"""Limits of connections: how many an address may hold, and how long a request may take to arrive."""

from __future__ import annotations

import asyncio
import ipaddress
import sys
from collections import Counter, deque
from collections.abc import Callable, Collection
from contextlib import suppress
from itertools import pairwise
from typing import Any, ClassVar

import h11
import numpy as np
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from adaptive_rag.server.machine import network_of
from adaptive_rag.server.settings import ServerSettings

# So many lines of what a connection has received are parsed before others have their turn: the parser takes
# some microseconds for each header and each chunk of a body, however short.
LINES_PARSED_AT_ONCE = 500
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


def _split_lines(data: bytes, number: int) -> list[bytes]:
    """Split data after every so many lines."""
    codes = np.frombuffer(data, np.uint8)  # ten times as fast as `bytes.count`: uploads are large
    ends = np.flatnonzero((codes[:-1] == ord("\r")) & (codes[1:] == ord("\n"))) + 2
    cuts = [0, *ends[number - 1 : -1 : number].tolist(), len(data)]
    return [data[start:end] for start, end in pairwise(cuts)]


class _Flow(FlowControl):
    """uvicorn's control of the flow, which tells when the app wants more data instead of reading at once."""

    def __init__(self, transport: asyncio.Transport, on_resume: Callable[[], None]) -> None:
        super().__init__(transport)
        self._on_resume = on_resume

    def resume_reading(self) -> None:
        """Let the connection continue."""
        if self.read_paused:
            self.read_paused = False
            self._on_resume()


class Connection(H11Protocol):
    """A connection that is refused if its address has too many, and closed if its request is late.

    Connections take turns to parse what they have received, so that none stops the event loop for the others.
    """

    slots: ClassVar[ConnectionSlots]
    # The connections with something to parse, in the order of their turns.
    waiting: ClassVar[dict[Connection, None]]
    _slot_address: str | None = None
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unparsed = deque[bytes]()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, or refuse it before anything is read from it."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self._continue)
        address = self.client[0] if self.client else ""
        refusal = self.slots.acquire(address)
        if refusal is not None:
            self._refuse(refusal, b"Retry-After: 5\r\n")
            return
        self._slot_address = address
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Parse received data, or keep them until it is this connection's turn if they have many lines."""
        steps = _split_lines(data, LINES_PARSED_AT_ONCE)
        is_next = not (self._unparsed or self.flow.read_paused)
        self._unparsed.extend(steps)
        if is_next and len(steps) == 1:
            self._parse()
        else:
            self._continue()

    def _continue(self) -> None:
        """Wait for a turn to parse what was received; receive more once nothing is left."""
        if self._unparsed:
            self.transport.pause_reading()  # also delays the end of the connection until all is parsed
        if self.flow.read_paused or self.transport.is_closing():
            return
        if not self._unparsed:
            self.transport.resume_reading()
            return
        if not self.waiting:
            self.loop.call_soon(self._run_turn)
        self.waiting[self] = None

    def _run_turn(self) -> None:
        """Let the connection that has waited longest parse a part of what it has received."""
        connection = next(iter(self.waiting))
        del self.waiting[connection]
        if self.waiting:
            self.loop.call_soon(self._run_turn)
        connection._parse()

    def _parse(self) -> None:
        """Parse a part of what was received, and check whether a request is still arriving."""
        if self.flow.read_paused or self.transport.is_closing():
            return
        try:
            super().data_received(self._unparsed.popleft())
        except h11.LocalProtocolError:  # what came is invalid, and the answer has already begun
            self.transport.abort()
            return
        self._watch()
        self._continue()

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
    return type("ServerConnection", (Connection,), {"slots": slots, "waiting": {}})


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
