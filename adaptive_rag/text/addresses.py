"""Finds the host of a web address, and whether the host is this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def host_of(address: str) -> str | None:
    """Return the host of an address; None if it has none."""
    try:
        return urlsplit(address).hostname
    except ValueError:  # the brackets contain no IPv6 address
        return None


def page_host(origin: str) -> str | None:
    """Return the host of a web page's origin; None for a browser extension, whose id may look like a host."""
    return host_of(origin) if origin.startswith(("http://", "https://")) else None


def is_loopback(host: str | None) -> bool:
    """Return whether a host name or IP address means this machine."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
