"""Middleware that checks the host name of requests, and adds security headers to responses."""

from __future__ import annotations

import ipaddress
import socket

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adaptive_rag.server.problems import Problem, ProblemResponse
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.text.addresses import host_of

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# Paths with responses for one caller only, which no proxy may cache.
PRIVATE = ("/api/", "/v1/", "/mcp")


class HostNames:
    """ASGI middleware that refuses requests to other host names, and adds security headers."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        names = settings.names or [socket.gethostname()]
        # Without a port, as the host of a request is compared.
        self._names = {"localhost", *filter(None, (host_of(f"//{name}") for name in names))}
        # With TLS, browsers must use https for a year (RFC 6797).
        hsts = {"Strict-Transport-Security": "max-age=31536000"} if settings.tls else {}
        self._headers = HEADERS | hsts
        self._scheme = {"scheme": "https"} if settings.tls else {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it if it was sent to another name."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith(PRIVATE):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        hosts = Headers(scope=scope).getlist("host")
        app = self._app if len(hosts) == 1 and self._is_own_name(host_of(f"//{hosts[0]}")) else _REFUSED
        await app({**scope, **self._scheme}, receive, send_with_headers)

    def _is_own_name(self, host: str | None) -> bool:
        """Return whether a host is this server; IP addresses pass: they are no other site's name."""
        if host in self._names:
            return True
        try:
            ipaddress.ip_address(host or "")
        except ValueError:
            return False
        return True


_REFUSED = ProblemResponse(
    Problem(
        400,
        "The server does not answer to this name. Its operator sets them by server.names.",
        {"Connection": "close"},
    )
)
