"""Checks before a caller is identified: whether a request comes from this machine, and its size."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Message, Receive

from adaptive_rag.text.addresses import host_of, is_loopback, page_host

# On a server without users, everybody at this machine is one user of this name.
THIS_MACHINE = "this-machine"
# Headers that proxies add. Behind a proxy on this machine, every request seems to come from this machine.
PROXY_HEADERS = ("forwarded", "via", "x-real-ip", "x-client-ip", "cf-connecting-ip", "true-client-ip")


class Refused(Exception):
    """The refusal of a request; the message says what to do."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


def admit_this_machine(scope: MutableMapping[str, Any], origins: Collection[str], setting: str) -> str:
    """Return the name of this machine's user; refusals name `setting` as the setting for users.

    Raises:
        Refused: the request comes from another machine or through a proxy; or it was sent to a name that is
            not this machine's (DNS rebinding); or from a web page that is neither this machine's nor in
            `origins`.
    """
    headers = Headers(scope=scope)
    client = scope.get("client")
    is_forwarded = any(name in PROXY_HEADERS or name.startswith("x-forwarded") for name in headers)
    hosts, senders = headers.getlist("host"), headers.getlist("origin")
    if is_forwarded or not client or not is_loopback(client[0]):
        raise Refused(403, f"This server has no users, so it answers only its own machine ({setting}).")
    if not hosts or not all(is_loopback(host_of(f"//{host}")) for host in hosts):
        raise Refused(403, f"This server has no users, so it answers only to the name localhost ({setting}).")
    if not all(origin in origins or is_loopback(page_host(origin)) for origin in senders):
        hint = " (serving.origins)" if origins else ""
        raise Refused(403, f"This web page may not ask this server{hint}.")
    return THIS_MACHINE


async def read_body(receive: Receive, max_bytes: int, detail: str) -> tuple[bytes, Receive]:
    """Read a body, and return it with a `receive` that replays it; refuse (413, `detail`) a longer one."""
    body = bytearray()
    message: Message = {"more_body": True}
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise Refused(413, detail)
    if message["type"] == "http.request":
        message = {"type": "http.request", "body": bytes(body), "more_body": False}
    first = iter([message])

    async def replay() -> Message:
        return next(first, None) or await receive()

    return bytes(body), replay


def network_of(address: str) -> str:
    """Return what counts as one machine: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # not an address but, for example, the name of a socket
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(parsed.ipv4_mapped or ipaddress.ip_network((int(parsed), 64), strict=False))
