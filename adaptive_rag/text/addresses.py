"""The hosts of addresses, and whether they are this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def host_of(address: str) -> str | None:
    """Return the host of an address; None where it has none."""
    try:
        return urlsplit(address).hostname
    except ValueError:  # brackets that are no IPv6 address
        return None


def page_host(origin: str) -> str | None:
    """Return the host of a web page's origin; None for an extension's, which may be named like a host."""
    return host_of(origin) if origin.startswith(("http://", "https://")) else None


def is_loopback(host: str | None) -> bool:
    """Tell whether a host's name or address is this machine's own."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
