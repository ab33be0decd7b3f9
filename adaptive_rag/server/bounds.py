"""Size limits of requests by route, checked before anything is parsed or the caller is identified."""

from __future__ import annotations

import asyncio
import re
from typing import NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from adaptive_rag.server.answering import MOST_BYTES
from adaptive_rag.server.machine import Refused, read_body
from adaptive_rag.server.problems import answer
from adaptive_rag.text.visible import ESCAPED_NUL

MOST_HEADERS = 32_768  # bytes, names and values together
MOST_PARAMETERS, LONGEST_QUERY = 50, 16_384
MOST_DEPTH = 32
SECONDS_TO_SEND = 30


class Bound(NamedTuple):
    """The size limits of a body."""

    bytes: int
    # members of objects and items of lists together
    values: int


# A character takes up to twelve bytes in JSON, as a pair of \uXXXX. Question and context have 20,000 each.
_QUESTION = Bound(MOST_BYTES, 20_000)
_TEXTS = Bound(2 * 20_000 * 12 + 65_536, 1000)
_SMALL = Bound(65_536, 1000)
# The first match applies.
_ROUTES: tuple[tuple[re.Pattern[str], Bound | None], ...] = (
    (re.compile(r"/api/v1/collections/[^/]+/documents/?"), None),  # limited while it is read
    (re.compile(r"/api/v1/(session|tokens|users|me|model)(/.*)?"), Bound(16_384, 100)),
    (re.compile(r"/api/v1/(.*/)?(ask|ask/events|compare)/?|/v1/chat/completions/?"), _QUESTION),
    (re.compile(r"/api/v1/.*/(feedback|notes(/[^/]+)?)/?|/mcp/?"), _TEXTS),
    (re.compile(r"/api/v1/(profile|collections(/[^/]+)?)/?"), _TEXTS),
)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[{]|[\]}]")


class Bounds:
    """ASGI middleware that refuses requests that are larger than anything their route could use."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read a request's body and pass the request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            _check_head(scope)
            bound = bound_of(scope["path"])
            passed = receive if bound is None else await _read(receive, bound)
        except Refused as refused:
            # The rest of the body is not read: the connection is closed after the answer.
            refusal = answer(refused.status, str(refused), {"Connection": "close"})
            await refusal(scope, receive, send)
            return
        await self._app(scope, passed, send)


def bound_of(path: str) -> Bound | None:
    """Return the limits of a path's bodies; None if its route reads and limits them itself."""
    return next((bound for route, bound in _ROUTES if route.fullmatch(path)), _SMALL)


def _check_head(scope: Scope) -> None:
    if sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEADERS:
        raise Refused(431, f"The headers have more than {MOST_HEADERS:,} bytes.")
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
        # A proxy before the server may see the end of the body elsewhere.
        raise Refused(400, "A request has a Content-Length or a Transfer-Encoding, not both.")
    query: bytes = scope["query_string"]
    if "\0" in scope["path"] or b"%00" in query:
        raise Refused(400, "An address may not hold the character U+0000.")
    if len(query) > LONGEST_QUERY or query.count(b"&") >= MOST_PARAMETERS:
        raise Refused(414, f"An address has at most {MOST_PARAMETERS} parameters in {LONGEST_QUERY:,} bytes.")


async def _read(receive: Receive, bound: Bound) -> Receive:
    """Read a body to its end, and return a `receive` that replays it."""
    said = f"This request may have {bound.bytes:,} bytes at most."
    try:
        async with asyncio.timeout(SECONDS_TO_SEND):
            body, again = await read_body(receive, bound.bytes, said)
    except TimeoutError:
        raise Refused(408, f"The request did not come to its end within {SECONDS_TO_SEND} seconds.") from None
    check_json(body, bound)
    return again


def check_json(body: bytes, bound: Bound) -> None:
    """Refuse a body with too many values or too deep nesting, in time linear in its length."""
    if ESCAPED_NUL.search(body):  # no real text has it, and PostgreSQL accepts none that does
        raise Refused(422, "A text may not hold the character U+0000.")
    too_many = Refused(413, f"This request may have {bound.values:,} fields and items of lists at most.")
    # A body that is not JSON may have any number of quotation marks and brackets, each of which takes time.
    if body.count(b'"') - body.count(b'\\"') > 4 * bound.values + 4:
        raise too_many
    bare = _STRING.sub(b"", body)
    if sum(map(bare.count, (b"[", b"]", b"{", b"}"))) > 2 * bound.values + 4 * MOST_DEPTH:
        raise too_many
    if bare.count(b":") + bare.count(b",") > bound.values:
        raise too_many
    depth = 0
    for bracket in _BRACKET.finditer(bare):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > MOST_DEPTH:
            raise Refused(413, f"A request may be nested {MOST_DEPTH} deep at most.")
