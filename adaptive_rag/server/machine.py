"""Checks before a caller is identified: does a request come from this machine, and how large is it?"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Message, Receive

from adaptive_rag.text.addresses import host_of, is_loopback, page_host

# The user name of every caller of a server without users: everybody at this machine is one user.
THIS_MACHINE = "this-machine"
# Headers that a proxy adds: behind a proxy, every request seems to come from this machine.
FORWARDED = ("forwarded", "via", "x-real-ip", "x-client-ip", "cf-connecting-ip", "true-client-ip")


class Refused(Exception):
    """A request is refused; the message says what to do."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


def admit_this_machine(scope: MutableMapping[str, Any], origins: Collection[str], setting: str) -> str:
    """Return the name of this machine's user; error messages name `setting` as the setting for users.

    Raises:
        Refused: the request comes from another machine, through a proxy, under a name that is not this
            machine's (DNS rebinding), or from a web page that is neither this machine's nor in `origins`.
    """
    headers = Headers(scope=scope)
    client = scope.get("client")
    forwarded = any(name in FORWARDED or name.startswith("x-forwarded") for name in headers)
    hosts, asking = headers.getlist("host"), headers.getlist("origin")
    if forwarded or not client or not is_loopback(client[0]):
        raise Refused(403, f"This server has no users and answers its own machine alone ({setting}).")
    if not hosts or not all(is_loopback(host_of(f"//{host}")) for host in hosts):
        raise Refused(403, f"This server has no users and answers to the name localhost alone ({setting}).")
    if not all(origin in origins or is_loopback(page_host(origin)) for origin in asking):
        said = " (serving.origins)" if origins else ""
        raise Refused(403, f"This web page may not ask this server{said}.")
    return THIS_MACHINE


async def read_body(receive: Receive, most: int, said: str) -> tuple[bytes, Receive]:
    """Read a body to its end; return it with a `receive` that replays it. A longer one is refused (413)."""
    body = bytearray()
    message: Message = {"more_body": True}
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
        if len(body) > most:
            raise Refused(413, said)
    if message["type"] == "http.request":
        message = {"type": "http.request", "body": bytes(body), "more_body": False}
    first = iter([message])

    async def again() -> Message:
        return next(first, None) or await receive()

    return bytes(body), again


def network_of(address: str) -> str:
    """Return what counts as one machine: an IPv4 address, or the 64 bits that an IPv6 network shares."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:  # not an address, such as the name of a socket
        return address
    if isinstance(known, ipaddress.IPv4Address):
        return address
    return str(known.ipv4_mapped or ipaddress.ip_network((int(known), 64), strict=False))
