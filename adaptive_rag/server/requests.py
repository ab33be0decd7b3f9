"""Records each request with an id, a log line and a metric, but without its texts and names."""

from __future__ import annotations

import logging
import re
import secrets
import time
from contextvars import ContextVar
from typing import TextIO

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adaptive_rag.context.caller import served_error
from adaptive_rag.server.metrics import REQUESTS
from adaptive_rag.server.problems import answer as problem_response

HEADER = "X-Request-ID"
# Request ids that are accepted from a proxy, since they are written to our log.
_READABLE = re.compile(r"[A-Za-z0-9._-]{8,64}")
request_id: ContextVar[str] = ContextVar("request_id", default="")
_log = logging.getLogger("adaptive_rag.server.requests")


class RequestLog:
    """ASGI middleware that gives every request an id, which its answer and every line of the log carry."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and log how it ended."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        own = given if _READABLE.fullmatch(given) else secrets.token_hex(8)
        token = request_id.set(own)
        started, status = time.perf_counter(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = own
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except Exception as error:
            problem = served_error(error)
            if (
                status
            ):  # The answer has begun. The connection is cut, so that the caller sees that it is incomplete.
                raise problem from None
            await problem_response(500, str(problem))(scope, receive, answer)
        finally:
            route = pattern_of(scope)
            REQUESTS.labels(scope["method"] if "endpoint" in scope else "other", route, status).inc()
            _log.info(
                "request",
                extra={
                    "method": scope["method"],
                    "route": route,
                    "status": status,
                    "ms": round((time.perf_counter() - started) * 1000, 1),
                },
            )
            request_id.reset(token)


def pattern_of(scope: Scope) -> str:
    """Return the path of a request with placeholders for its values, which name collections and documents."""
    if "endpoint" not in scope:
        return "unknown"
    path = str(scope["path"])
    for name, value in reversed(scope.get("path_params", {}).items()):
        # Only whole segments are replaced: the name of a collection may be part of another word.
        before, found, after = f"{path}/".rpartition(f"/{value}/")
        path = f"{before}/{{{name}}}/{after}".removesuffix("/") if found else path
    return path


class WithRequestId(logging.Filter):
    """Adds the id of the current request to every line of the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every line pass."""
        record.request_id = request_id.get()
        return True


def log_as_json(stream: TextIO | None = None) -> None:
    """Log one JSON object a line, by default on standard error."""
    from pythonjsonlogger.json import JsonFormatter

    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        JsonFormatter(
            "{asctime}{levelname}{name}{message}{request_id}",
            style="{",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
            datefmt="%Y-%m-%dT%H:%M:%S%z",
        )
    )
    handler.addFilter(WithRequestId())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    # Its lines contain the paths of requests, with the names of collections and documents.
    logging.getLogger("uvicorn.access").disabled = True
    # The steps' log lines contain questions and queries, which do not belong in a server's log.
    logging.getLogger("adaptive_rag").setLevel(logging.WARNING)
    logging.getLogger("adaptive_rag.server").setLevel(logging.INFO)
    for name in ("httpx", "httpx2", "alembic", "fastmcp", "mcp"):
        logging.getLogger(name).setLevel(logging.WARNING)
