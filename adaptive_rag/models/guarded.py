"""Connects to a chat model's server only at IP addresses that are allowed.

A host name is looked up once for each request, and the connection goes to the IP address that was checked,
even if the name has another address a moment later. The request and the certificate use the name.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from typing import Any

import httpx2

# Returns whether a connection may be made, by the scheme and the IP address.
MayConnect = Callable[[str, str], bool]


class AddressRefused(httpx2.ConnectError):
    """None of the addresses of a host may be connected to."""


class GuardedTransport(httpx2.HTTPTransport):
    """A transport that checks the IP address to which each request goes."""

    def __init__(self, may_connect: MayConnect) -> None:
        super().__init__(trust_env=False)
        self._may_connect = may_connect

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to the first allowed address that can be connected to."""
        try:
            lookup = socket.getaddrinfo(*_host_and_port(request), type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise _unknown_host(request) from error
        *first, last = _requests_to_addresses(request, lookup, self._may_connect)
        for attempt in first:
            try:
                return super().handle_request(attempt)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return super().handle_request(last)


class AsyncGuardedTransport(httpx2.AsyncHTTPTransport):
    """A `GuardedTransport` for an asynchronous client."""

    def __init__(self, may_connect: MayConnect) -> None:
        super().__init__(trust_env=False)
        self._may_connect = may_connect

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to the first allowed address that can be connected to."""
        loop = asyncio.get_running_loop()
        try:
            lookup = await loop.getaddrinfo(*_host_and_port(request), type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise _unknown_host(request) from error
        *first, last = _requests_to_addresses(request, lookup, self._may_connect)
        for attempt in first:
            try:
                return await super().handle_async_request(attempt)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await super().handle_async_request(last)


def _host_and_port(request: httpx2.Request) -> tuple[str, int]:
    url = request.url
    return url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)


def _unknown_host(request: httpx2.Request) -> httpx2.ConnectError:
    return httpx2.ConnectError(f"the name {request.url.host!r} is not known", request=request)


def _requests_to_addresses(
    request: httpx2.Request, lookup: Iterable[Any], may_connect: MayConnect
) -> list[httpx2.Request]:
    """Return a copy of the request for each allowed address of its host, in the order of the lookup.

    Raises:
        AddressRefused: no address is allowed.
    """
    url = request.url
    addresses = dict.fromkeys(str(socket_address[0]) for *_, socket_address in lookup)
    allowed = [address for address in addresses if may_connect(url.scheme, address)]
    if not allowed:
        raise AddressRefused(f"{url.host!r} has no address that is allowed", request=request)
    extensions = {**request.extensions, "sni_hostname": url.raw_host.decode("ascii")}
    return [
        httpx2.Request(
            request.method,
            url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions=extensions,
        )
        for address in allowed
    ]
