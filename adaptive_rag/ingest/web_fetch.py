"""A single web request: the IP address is checked, and only a checked one is connected to, within bounds.

The host name is looked up once. The connection goes to the IP address that was checked, even if the name
stands for another one a moment later; the request and the certificate use the name.
"""

from __future__ import annotations

import socket
import ssl
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING

from adaptive_rag.errors import IndexingError

if TYPE_CHECKING:
    import httpx

AGENT = "adaptive-rag"
SECONDS = 30.0  # from looking up the name to the last byte
_CONNECT_SECONDS = 10.0
LONGEST_ADDRESS = 2000
_GZIP = ("gzip", "x-gzip")
# IPv6 networks represent IPv4 addresses under this prefix (RFC 6052).
_NAT64 = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Reach:
    """The hosts and ports that a request may go to."""

    ports: frozenset[int]
    private_networks: bool = False
    """Also allow this machine and private networks; never link-local addresses, where clouds keep secrets."""

    def holds(self, ip: str) -> bool:
        """Return whether an IP address may be connected to."""
        address = read_place(ip)
        if address.is_multicast or address.is_unspecified or address.is_link_local:
            return False
        if address.is_reserved and not address.is_loopback:
            return False
        site_local = isinstance(address, IPv6Address) and address.is_site_local
        return self.private_networks or (address.is_global and not site_local)


def read_place(ip: str) -> IPv4Address | IPv6Address:
    """Parse an IP address; an IPv6 address that represents an IPv4 one, `::ffff:127.0.0.1`, becomes that."""
    address = ip_address(ip)
    return (_represented_ipv4(address) or address) if isinstance(address, IPv6Address) else address


@dataclass(frozen=True, slots=True)
class Fetched:
    """A server's answer."""

    status: int
    headers: httpx.Headers
    body: bytes


def read_address(text: str) -> httpx.URL:
    """Parse a web address; its fragment is dropped.

    Raises:
        IndexingError: it is not an http or https address, or it contains a name and a password; the reason
            continues from the address.
    """
    import httpx

    try:
        url = httpx.URL(text).copy_with(fragment=None)
        url = url.copy_with(raw_path=url.raw_path)  # "https://example.org" is "https://example.org/"
        is_valid = url.scheme in ("http", "https") and bool(url.host) and len(text) <= LONGEST_ADDRESS
    except (httpx.InvalidURL, ValueError, UnicodeError):
        is_valid = False
    if not is_valid:
        raise IndexingError("is no address that can be read: expected http://HOST/ or https://HOST/")
    if url.userinfo:
        raise IndexingError("holds a name and a password, which addresses are not read with. Leave them out")
    return url


def port_of(url: httpx.URL) -> int:
    """Return the port of an address."""
    return url.port or (443 if url.scheme == "https" else 80)


async def fetch(url: httpx.URL, reach: Reach, headers: Mapping[str, str], limit: tuple[int, str]) -> Fetched:
    """Fetch one address, without following redirects; `limit` has the most bytes and what they are.

    Raises:
        IndexingError: it may not be requested, or the server does not answer as it should; the reason
            continues from the address.
    """
    import anyio
    import httpx

    try:
        with anyio.fail_after(SECONDS):
            return await _fetch(url, reach, headers, limit)
    except TimeoutError as error:
        raise IndexingError(f"did not answer within {SECONDS:.0f} seconds. Try again later") from error
    except httpx.HTTPError as error:
        raise IndexingError(f"could not be fetched: {error or type(error).__name__}") from error


async def _fetch(url: httpx.URL, reach: Reach, headers: Mapping[str, str], limit: tuple[int, str]) -> Fetched:
    import httpx

    if port_of(url) not in reach.ports:
        ports = ", ".join(map(str, sorted(reach.ports)))
        raise IndexingError(f"leads to port {port_of(url)}, which is not requested; only {ports}")
    ips = await _look_up(url, reach)
    # No client is used, so no cookies are kept. No connections are kept open, so none that was made for one
    # host is used for another at the same IP address.
    transport = httpx.AsyncHTTPTransport(
        verify=_certificates(), trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
    )
    request_headers = {
        "Host": url.netloc.decode("ascii"),
        "User-Agent": AGENT,
        "Accept-Encoding": "gzip",
        "Connection": "close",
        **headers,
    }
    extensions = {
        "sni_hostname": url.raw_host.decode("ascii"),
        "timeout": {"connect": _CONNECT_SECONDS, "read": SECONDS, "write": SECONDS, "pool": SECONDS},
    }
    async with transport:
        for ip in ips:
            request = httpx.Request(
                "GET", url.copy_with(host=ip), headers=request_headers, extensions=extensions
            )
            try:
                response = await transport.handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if ip == ips[-1]:
                    raise
                continue
            try:
                return Fetched(response.status_code, response.headers, await _read_body(response, *limit))
            finally:
                await response.aclose()
    raise AssertionError("_look_up refuses a name without an address")


def _certificates() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()


async def _look_up(url: httpx.URL, reach: Reach) -> list[str]:
    """Return the IP addresses of a host that may be connected to; there is at least one."""
    import anyio

    host = url.raw_host.decode("ascii")
    try:
        answers = await anyio.getaddrinfo(host, port_of(url), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise IndexingError(f"could not be fetched: the name {host!r} is not known") from error
    ips = list(dict.fromkeys(str(socket_address[0]) for *_, socket_address in answers))
    allowed = [ip for ip in ips if reach.holds(ip)]
    if not allowed:
        raise IndexingError(
            f"is not fetched: {host!r} leads to {ips[0]}, which is no address of the public Internet"
        )
    return allowed


def _represented_ipv4(address: IPv6Address) -> IPv4Address | None:
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


async def _read_body(response: httpx.Response, most_bytes: int, limit: str) -> bytes:
    """Read and unpack a body, and stop when it exceeds the limit."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", *_GZIP):
        raise IndexingError(f"is compressed as {encoding[:40]!r}, which was not requested")
    unpacker = zlib.decompressobj(47) if encoding in _GZIP else None
    body = bytearray()
    async for part in response.aiter_raw():
        try:
            body += unpacker.decompress(part, most_bytes - len(body) + 1) if unpacker else part
        except zlib.error as error:
            raise IndexingError("is damaged: it cannot be unpacked") from error
        if len(body) > most_bytes:
            raise IndexingError(f"has more than the {most_bytes / 1e6:,.3g} MB {limit}")
    if unpacker and body and not unpacker.eof:
        raise IndexingError("is damaged: its end is missing")
    return bytes(body)
