"""Size limits of requests by route, checked before the body is parsed and the caller is identified."""

from __future__ import annotations

import asyncio
import re
from typing import NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from adaptive_rag.server.answering import MOST_BYTES
from adaptive_rag.server.machine import Refused, read_body
from adaptive_rag.server.problems import Problem, ProblemResponse
from adaptive_rag.text.visible import ESCAPED_NUL

MOST_HEADERS = 32_768  # bytes, names and values together
MOST_PARAMETERS, LONGEST_QUERY = 50, 16_384
MOST_DEPTH = 32
SECONDS_TO_SEND = 30


class BodyLimits(NamedTuple):
    """The size limits of a body."""

    bytes: int
    # number of fields of objects and items of lists, together
    values: int


# A character takes up to 12 bytes in JSON, as a pair of \uXXXX. Question and context have 20,000 each.
_QUESTION = BodyLimits(MOST_BYTES, 20_000)
_TEXTS = BodyLimits(2 * 20_000 * 12 + 65_536, 1000)
_SMALL = BodyLimits(65_536, 1000)
# The limits for each route; the first pattern that matches the path applies.
_ROUTES: tuple[tuple[re.Pattern[str], BodyLimits | None], ...] = (
    (re.compile(r"/api/v1/collections/[^/]+/documents/?"), None),  # see api/uploads.py
    (re.compile(r"/api/v1/(me/profile|collections(/[^/]+)?)/?"), _TEXTS),
    (re.compile(r"/api/v1/(session|tokens|users|me|model)(/.*)?"), BodyLimits(16_384, 100)),
    (re.compile(r"/api/v1/(.*/)?(ask|ask/events|compare)/?|/v1/chat/completions/?"), _QUESTION),
    (re.compile(r"/api/v1/.*/(feedback|notes(/[^/]+)?)/?|/mcp/?"), _TEXTS),
)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[{]|[\]}]")


class RequestLimits:
    """ASGI middleware that refuses requests that are too large for their route."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body of a request, and pass the request on or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            _check_head(scope)
            limits = body_limits(scope["path"])
            receive_body = receive if limits is None else await _read_checked(receive, limits)
        except Refused as refused:
            # The connection is closed, since the rest of the body is not read.
            problem = Problem(refused.status, str(refused), {"Connection": "close"})
            await ProblemResponse(problem)(scope, receive, send)
            return
        await self._app(scope, receive_body, send)


def body_limits(path: str) -> BodyLimits | None:
    """Return the limits of request bodies for a path; None if the route limits them itself."""
    return next((limits for route, limits in _ROUTES if route.fullmatch(path)), _SMALL)


def _check_head(scope: Scope) -> None:
    if sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEADERS:
        raise Refused(431, f"The headers have more than {MOST_HEADERS:,} bytes.")
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
        # With both, a proxy may disagree about where the body ends (request smuggling).
        raise Refused(400, "A request has a Content-Length or a Transfer-Encoding, not both.")
    query: bytes = scope["query_string"]
    if "\0" in scope["path"] or b"%00" in query:
        raise Refused(400, "An address may not hold the character U+0000.")
    if len(query) > LONGEST_QUERY or query.count(b"&") >= MOST_PARAMETERS:
        raise Refused(414, f"An address has at most {MOST_PARAMETERS} parameters in {LONGEST_QUERY:,} bytes.")


async def _read_checked(receive: Receive, limits: BodyLimits) -> Receive:
    """Read and check a body, and return a `receive` that replays it."""
    detail = f"This request may have {limits.bytes:,} bytes at most."
    try:
        async with asyncio.timeout(SECONDS_TO_SEND):
            body, replay = await read_body(receive, limits.bytes, detail)
    except TimeoutError:
        raise Refused(
            408, f"The request did not arrive completely within {SECONDS_TO_SEND} seconds."
        ) from None
    check_json(body, limits)
    return replay


def check_json(body: bytes, limits: BodyLimits) -> None:
    """Refuse a body with too many values or too deep nesting, in time linear in its length."""
    # PostgreSQL cannot store NUL. UTF-16 and UTF-32, in which the checks below see nothing, are full of it.
    if b"\0" in body or ESCAPED_NUL.search(body):
        raise Refused(422, "A text must be UTF-8, without the character U+0000.")
    too_many = Refused(413, f"This request may have {limits.values:,} fields and items of lists at most.")
    # A body that is not JSON may have any number of quotation marks and brackets. They are counted first,
    # since matching them takes time.
    if body.count(b'"') - body.count(b'\\"') > 4 * limits.values + 4:
        raise too_many
    without_strings = _STRING.sub(b"", body)
    if sum(map(without_strings.count, (b"[", b"]", b"{", b"}"))) > 2 * limits.values + 4 * MOST_DEPTH:
        raise too_many
    if without_strings.count(b":") + without_strings.count(b",") > limits.values:
        raise too_many
    depth = 0
    for bracket in _BRACKET.finditer(without_strings):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > MOST_DEPTH:
            raise Refused(413, f"A request may be nested {MOST_DEPTH} deep at most.")
