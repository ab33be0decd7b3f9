"""Problems in the form that clients of OpenAI's API read: {"error": {"message", "type", "param", "code"}}."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from openai.types import ErrorObject
from pydantic import BaseModel
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adaptive_rag.server.problems import MEDIA_TYPE, ProblemDetails

PREFIX = "/v1"
# The status that such a client expects, and the code beside it.
_STATUSES = {409: 400, 415: 400, 422: 400}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_TYPES = {403: "permission_error", 429: "rate_limit_error", 500: "server_error", 503: "server_error",
          504: "server_error"}  # fmt: skip


class ErrorAnswer(BaseModel):
    """What went wrong, as OpenAI's API says it."""

    error: ErrorObject


# What every route of /v1 may answer beside its own.
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": HTTPStatus(status).phrase}
    for status in (400, 401, 403, 404, 413, 429, 500, 503, 504)
} | {"default": {"model": ErrorAnswer, "description": "Any other error."}}


def error_of(problem: ProblemDetails) -> dict[str, Any]:
    """Return problem details in that form; of a wrong request with its first wrong field."""
    message, field = problem.detail, None
    if problem.errors:
        field = str(problem.errors[0]["field"]).removeprefix("body.")
        message = f"{field}: {str(problem.errors[0]['problem']).removeprefix('Value error, ')}."
    kind, code = _TYPES.get(problem.status, "invalid_request_error"), _CODES.get(problem.status)
    if problem.status == 404 and problem.detail == problem.title:
        code = "unknown_url"
        message = "There is nothing here. This server has /v1/models and /v1/chat/completions."
    return {"error": {"message": message, "type": kind, "param": field, "code": code}}


class OpenAIErrors:
    """ASGI middleware that gives what is refused at /v1 that form, wherever it was refused."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back."""
        if scope["type"] != "http" or not f"{scope['path']}/".startswith(f"{PREFIX}/"):
            await self._app(scope, receive, send)
            return
        refusal: Message | None = None
        body = b""

        async def answer(message: Message) -> None:
            nonlocal refusal, body
            if message["type"] == "http.response.start" and message["status"] >= 400:
                refusal = message
            elif refusal is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body"):
                    await _refuse(refusal, body, send)

        await self._app(scope, receive, answer)


async def _refuse(start: Message, body: bytes, send: Send) -> None:
    headers, status = MutableHeaders(scope=start), start["status"]
    if headers.get("content-type") == MEDIA_TYPE:
        problem = ProblemDetails.model_validate_json(body)
    else:
        problem = ProblemDetails(title=HTTPStatus(status).phrase, status=status, detail=body.decode())
    sent = json.dumps(error_of(problem)).encode()
    headers["Content-Type"], headers["Content-Length"] = "application/json", str(len(sent))
    if status == 504:
        # The same question would take as long again, and clients repeat it by themselves.
        headers["X-Should-Retry"] = "false"
    await send({**start, "status": _STATUSES.get(status, status)})
    await send({"type": "http.response.body", "body": sent})
