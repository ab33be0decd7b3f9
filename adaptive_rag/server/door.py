"""Access control before every route of LangGraph's server: checks caller, path and size of requests."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import MutableMapping
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from adaptive_rag.context.groups import ServingSettings
from adaptive_rag.graph.studio import operator
from adaptive_rag.server.machine import Refused, admit_this_machine, read_body

# The first segments of the paths that are served. Callers may not use the development server's other paths:
# /deploy starts a deployment, /internal shows any thread, /mcp asks without the caller's name.
ROUTES = {"ok", "info", "docs", "openapi.json", "assistants", "threads", "runs", "store"}
# Paths that only report that the server runs.
HEALTH = {"/", "/ok"}
# A character takes up to twelve bytes in JSON, as a pair of \uXXXX; the rest of a request is small.
BYTES_PER_CHARACTER, OTHER_BYTES = 12, 65_536


def admit(scope: MutableMapping[str, Any], serving: ServingSettings) -> str:
    """Return the name of the caller: the user of the token, or this machine if there are no users.

    Raises:
        Refused: no user has the token; or there are no users, and the request comes from another machine,
            through a proxy, or from a web page that the operator has not allowed.
    """
    if serving.users:
        return _user_by_token(Headers(scope=scope), serving)
    return admit_this_machine(scope, serving.origins, "serving.users")


def _user_by_token(headers: Headers, serving: ServingSettings) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    digest = hashlib.sha256(token.strip().encode()).hexdigest()
    # All users are compared, so that the response time reveals nothing.
    names = [
        name for name, stored_digest in serving.users.items() if hmac.compare_digest(digest, stored_digest)
    ]
    if scheme.lower() != "bearer" or not names:
        raise Refused(401, "Send the header 'Authorization: Bearer TOKEN' with the token of a user.")
    return names[0]


def most_bytes(serving: ServingSettings) -> int:
    """Return the size limit of a request in bytes, derived from the limits of its texts."""
    characters = serving.max_question + serving.max_user_context + serving.max_characters
    return characters * BYTES_PER_CHARACTER + OTHER_BYTES


class Door:
    """ASGI middleware that refuses requests before any route is reached."""

    def __init__(self, app: ASGIApp, serving: ServingSettings) -> None:
        self._app = app
        self._serving = serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with one sentence."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
            limited = self._limit_messages(receive)
            if scope["type"] == "http":
                limit = most_bytes(self._serving)
                detail = f"A request may have {limit:,} bytes (serving.max_characters)."
                _, limited = await read_body(receive, limit, detail)
        except Refused as refused:
            await _refusal(scope, refused)(scope, receive, send)
            return
        await self._app(scope, limited, send)

    def _check(self, scope: Scope) -> None:
        # Health checks and the preflight requests of browsers need no token.
        is_open = scope.get("method") == "OPTIONS" or scope["path"] in HEALTH
        if not (is_open and self._serving.users):
            admit(scope, self._serving)
        if scope["path"] != "/" and scope["path"].partition("/")[2].partition("/")[0] not in ROUTES:
            raise Refused(404, "There is nothing here.")

    def _limit_messages(self, receive: Receive) -> Receive:
        """Limit the size of the messages of a web socket; a longer message closes it."""

        async def limited() -> Message:
            message = await receive()
            text = message.get("text") or message.get("bytes") or ""
            too_long = len(text) > most_bytes(self._serving)
            return {"type": "websocket.disconnect", "code": 1009} if too_long else message

        return limited


def _refusal(scope: Scope, refused: Refused) -> ASGIApp:
    if scope["type"] == "websocket":
        return WebSocketClose(code=1008, reason=str(refused))
    # Any page may read the refusal, which is not secret, and show it to its user.
    headers = {"Access-Control-Allow-Origin": "*"}
    return JSONResponse({"detail": str(refused)}, status_code=refused.status, headers=headers)


app = Starlette(middleware=[Middleware(Door, serving=operator.serving)])
