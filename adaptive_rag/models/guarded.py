"""Connects to a chat model's server only at IP addresses that are allowed.

The host name is looked up once for each request. The connection goes to the IP address that was checked,
even if the name stands for another one a moment later; the request and the certificate use the name.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from typing import Any

import httpx2

# Tells of a scheme and an IP address whether a connection may be made.
MayConnect = Callable[[str, str], bool]


class AddressRefused(httpx2.ConnectError):
    """A name leads only to addresses that may not be connected to."""


class GuardedTransport(httpx2.HTTPTransport):
    """A transport that checks where each request goes."""

    def __init__(self, may_connect: MayConnect) -> None:
        super().__init__(trust_env=False)
        self._may_connect = may_connect

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to the first allowed address that can be connected to."""
        try:
            found = socket.getaddrinfo(*_asked(request), type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise _unknown(request) from error
        *others, last = _aimed(request, found, self._may_connect)
        for each in others:
            try:
                return super().handle_request(each)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return super().handle_request(last)


class AsyncGuardedTransport(httpx2.AsyncHTTPTransport):
    """The same for an asynchronous client."""

    def __init__(self, may_connect: MayConnect) -> None:
        super().__init__(trust_env=False)
        self._may_connect = may_connect

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to the first allowed address that can be connected to."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(*_asked(request), type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise _unknown(request) from error
        *others, last = _aimed(request, found, self._may_connect)
        for each in others:
            try:
                return await super().handle_async_request(each)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await super().handle_async_request(last)


def _asked(request: httpx2.Request) -> tuple[str, int]:
    url = request.url
    return url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)


def _unknown(request: httpx2.Request) -> httpx2.ConnectError:
    return httpx2.ConnectError(f"the name {request.url.host!r} is not known", request=request)


def _aimed(request: httpx2.Request, found: Iterable[Any], may_connect: MayConnect) -> list[httpx2.Request]:
    """Return the request for each allowed address of its host, in the order of the lookup.

    Raises:
        AddressRefused: there is none.
    """
    url = request.url
    places = dict.fromkeys(str(where[0]) for *_, where in found)
    allowed = [place for place in places if may_connect(url.scheme, place)]
    if not allowed:
        raise AddressRefused(f"{url.host!r} leads to no address that is allowed", request=request)
    extensions = {**request.extensions, "sni_hostname": url.raw_host.decode("ascii")}
    return [
        httpx2.Request(
            request.method,
            url.copy_with(host=place),
            headers=request.headers,
            stream=request.stream,
            extensions=extensions,
        )
        for place in allowed
    ]
