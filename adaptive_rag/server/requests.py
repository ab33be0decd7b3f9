"""Gives each request an id, a log line and a metric; none of them contains its texts or names."""

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
from adaptive_rag.server.problems import Problem, ProblemResponse

HEADER = "X-Request-ID"
# Ids that are accepted from a proxy. Others could inject text into the log.
_SAFE_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
# Other methods count as one, since a caller may invent any number, and a label stays until the server stops.
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
request_id: ContextVar[str] = ContextVar("request_id", default="")
_log = logging.getLogger("adaptive_rag.server.requests")


class RequestLog:
    """ASGI middleware that gives every request an id, which is in its response and in its log lines."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and log its result."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent_id = Headers(scope=scope).get(HEADER, "")
        own_id = sent_id if _SAFE_ID.fullmatch(sent_id) else secrets.token_hex(8)
        token = request_id.set(own_id)
        started, status = time.perf_counter(), 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = own_id
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except Exception as error:
            problem = served_error(error)
            if status:
                # The response has begun. The error closes the connection, which shows that it is incomplete.
                raise problem from None
            await ProblemResponse(Problem(500, str(problem)))(scope, receive, send_with_id)
        finally:
            route = route_of(scope)
            method = scope["method"] if scope["method"] in _METHODS else "other"
            REQUESTS.labels(method, route, status).inc()
            _log.info(
                "request",
                extra={
                    "method": method,
                    "route": route,
                    "status": status,
                    "ms": round((time.perf_counter() - started) * 1000, 1),
                },
            )
            request_id.reset(token)


def route_of(scope: Scope) -> str:
    """Return the path of a request with placeholders for values, which name collections and documents."""
    if "endpoint" not in scope:
        return "unknown"
    path = str(scope["path"])
    if path.startswith("/page/"):  # a mount, whose files are no parameters of its path
        return "/page/{file}"
    for name, value in reversed(scope.get("path_params", {}).items()):
        # Only whole segments are replaced, because a collection's name may be part of another segment.
        before, slash, after = f"{path}/".rpartition(f"/{value}/")
        path = f"{before}/{{{name}}}/{after}".removesuffix("/") if slash else path
    return path


def _add_request_id(record: logging.LogRecord) -> bool:
    """Add the id of the current request to a record, and let the record pass."""
    record.request_id = request_id.get()
    return True


def log_as_text() -> None:
    """Set up logging of warnings and errors to standard error; without it those of this package are lost."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def log_as_json(stream: TextIO | None = None) -> None:
    """Set up logging as one JSON object per line, by default to standard error."""
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
    handler.addFilter(_add_request_id)
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    # uvicorn's access log contains paths with the names of collections and documents.
    logging.getLogger("uvicorn.access").disabled = True
    # The log lines of the steps contain questions and queries.
    logging.getLogger("adaptive_rag").setLevel(logging.WARNING)
    logging.getLogger("adaptive_rag.server").setLevel(logging.INFO)
    for name in ("httpx", "httpx2", "alembic", "fastmcp", "mcp"):
        logging.getLogger(name).setLevel(logging.WARNING)


def logs_as_json() -> bool:
    """Return whether this process logs as `log_as_json` has it."""
    from pythonjsonlogger.json import JsonFormatter

    return any(isinstance(handler.formatter, JsonFormatter) for handler in logging.root.handlers)
