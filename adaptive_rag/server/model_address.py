"""Which addresses an admin may name for the server of a chat model."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from adaptive_rag.ingest.web_fetch import Reach, read_place
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.text.addresses import is_loopback

_NOT_ALLOWED = "This address is not allowed. Plain http only to this machine or a private network."
_ANYWHERE = Reach(frozenset(), private_networks=True)
_PUBLIC = Reach(frozenset())
# Where clouds tell their machines secrets, besides the link-local addresses: Alibaba, Azure, Oracle, AWS and
# Google over IPv6.
_METADATA = frozenset(
    map(
        ipaddress.ip_address,
        ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
    )
)


def may_connect(scheme: str, place: str) -> bool:
    """Tell whether a model's server may be at an IP address: in plain text only within a private network."""
    # `ipaddress` takes an address with a zone for another one: "fd00:ec2::254%1" is not "fd00:ec2::254".
    is_allowed = "%" not in place and _ANYWHERE.holds(place) and read_place(place) not in _METADATA
    return is_allowed and (scheme == "https" or not _PUBLIC.holds(place))


def check_address(address: str, settings: ServerSettings) -> str | None:
    """Return why an address cannot be that of a model's server; None if it can, as far as it says itself."""
    try:
        url = urlsplit(address)
        host, port = url.hostname, url.port
    except ValueError:
        host = None
    if not host or url.scheme not in ("http", "https") or not address.isascii():
        return "The address must be like https://HOST/v1 or http://localhost:11434/v1."
    if "@" in url.netloc or url.query or url.fragment:
        return "The address may hold no name, no password, no question mark and no #."
    if is_loopback(host) and port == settings.port:
        return "This is the address of this server itself."
    try:
        is_allowed = may_connect(url.scheme, host)
    except ValueError:  # it is a name, which is looked up when it is connected to
        return None
    return None if is_allowed else _NOT_ALLOWED
