"""The door of a server: who is let in, to what, and how much they may bring. It stands before every route."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from adaptive_rag.context.groups import ServingSettings
from adaptive_rag.graph.studio import operator

# The name of whoever asks a server without users: all of this machine is one user.
THIS_MACHINE = "this-machine"
# The first part of each path that is served. What the development server has beside them (/deploy starts a
# deployment, /internal shows any thread, /mcp asks without the caller's name) is not for callers.
ROUTES = {"ok", "info", "docs", "openapi.json", "assistants", "threads", "runs", "store"}
# Says only that the server runs.
HEALTH = {"/", "/ok"}
# What a proxy adds: behind one, everybody seems to ask from this machine.
FORWARDED = ("forwarded", "via", "x-real-ip", "x-client-ip", "cf-connecting-ip", "true-client-ip")
# A character of JSON takes twelve bytes at most, as a pair of \uXXXX; the rest of a request is small.
BYTES_PER_CHARACTER, OTHER_BYTES = 12, 65_536


class Refused(Exception):
    """Somebody is not let in; the line says what to do."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


def admit(scope: MutableMapping[str, Any], serving: ServingSettings) -> str:
    """Return the name of whoever asks: a user by their token, or this machine where there are no users.

    Raises:
        Refused: the token is not one of a user; or there are no users, and the request comes from another
            machine, through a proxy, or from a web page that the operator has not named.
    """
    headers = Headers(scope=scope)
    return _user(headers, serving) if serving.users else _this_machine(scope, headers, serving)


def _user(headers: Headers, serving: ServingSettings) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    digest = hashlib.sha256(token.strip().encode()).hexdigest()
    # Every user is compared, so that the time tells nothing.
    found = [name for name, known in serving.users.items() if hmac.compare_digest(digest, known)]
    if scheme.lower() != "bearer" or not found:
        raise Refused(401, "Send the header 'Authorization: Bearer TOKEN' with the token of a user.")
    return found[0]


def _this_machine(scope: MutableMapping[str, Any], headers: Headers, serving: ServingSettings) -> str:
    client = scope.get("client")
    forwarded = any(name in FORWARDED or name.startswith("x-forwarded") for name in headers)
    hosts, origins = headers.getlist("host"), headers.getlist("origin")
    if forwarded or not client or not _is_loopback(client[0]):
        raise Refused(403, "This server has no users and answers its own machine alone (serving.users).")
    if not hosts or not all(_is_loopback(_host_of(f"//{host}")) for host in hosts):
        raise Refused(
            403, "This server has no users and answers to the name localhost alone (serving.users)."
        )
    if not all(origin in serving.origins or _is_loopback(_host_of(origin)) for origin in origins):
        raise Refused(403, "This web page may not ask this server (serving.origins).")
    return THIS_MACHINE


def _host_of(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:  # brackets that are no IPv6 address
        return None


def _is_loopback(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def most_bytes(serving: ServingSettings) -> int:
    """Return how many bytes a request may have that is within the bounds of its texts."""
    characters = serving.max_question + serving.max_user_context + serving.max_characters
    return characters * BYTES_PER_CHARACTER + OTHER_BYTES


class Door:
    """Middleware that refuses before any route is reached."""

    def __init__(self, app: ASGIApp, serving: ServingSettings) -> None:
        self._app = app
        self._serving = serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with one line."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
            bounded = await self._whole(receive) if scope["type"] == "http" else self._each(receive)
        except Refused as refused:
            await _refusal(scope, refused)(scope, receive, send)
            return
        await self._app(scope, bounded, send)

    def _check(self, scope: Scope) -> None:
        # Whoever runs the server may ask for its health, and a browser what it may send, without a token.
        is_open = scope.get("method") == "OPTIONS" or scope["path"] in HEALTH
        if not (is_open and self._serving.users):
            admit(scope, self._serving)
        if scope["path"] != "/" and scope["path"].partition("/")[2].partition("/")[0] not in ROUTES:
            raise Refused(404, "There is nothing here.")

    async def _whole(self, receive: Receive) -> Receive:
        """Read a request to its end or to its bound, whatever length it says it has.

        Raises:
            Refused: it has more bytes than texts within the bounds could have.
        """
        most = most_bytes(self._serving)
        body, more = bytearray(), True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > most:
                raise Refused(413, f"A request may have {most:,} bytes (serving.max_characters).")
        first = iter([{"type": "http.request", "body": bytes(body), "more_body": False}])

        async def again() -> Message:
            return next(first, None) or await receive()

        return again

    def _each(self, receive: Receive) -> Receive:
        """Bound every message of a socket; a longer one ends it."""

        async def bounded() -> Message:
            message = await receive()
            text = message.get("text") or message.get("bytes") or ""
            too_long = len(text) > most_bytes(self._serving)
            return {"type": "websocket.disconnect", "code": 1009} if too_long else message

        return bounded


def _refusal(scope: Scope, refused: Refused) -> ASGIApp:
    if scope["type"] == "websocket":
        return WebSocketClose(code=1008, reason=str(refused))
    # The line is no secret: a page that may not ask can show its user why.
    headers = {"Access-Control-Allow-Origin": "*"}
    return JSONResponse({"detail": str(refused)}, status_code=refused.status, headers=headers)


app = Starlette(middleware=[Middleware(Door, serving=operator.serving)])
