"""Problems in the form that clients of OpenAI's API read: {"error": {"message", "type", "param", "code"}}."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from openai.types import ErrorObject
from pydantic import BaseModel
from starlette.responses import JSONResponse

from adaptive_rag.server.problems import FORMS, ProblemDetails

PREFIX = "/v1"
# The status, code and type of an error that such a client expects.
_STATUSES = {409: 400, 415: 400, 422: 400}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_TYPES = {403: "permission_error", 429: "rate_limit_error", 500: "server_error", 503: "server_error",
          504: "server_error"}  # fmt: skip


class ErrorAnswer(BaseModel):
    """What went wrong, as OpenAI's API says it."""

    error: ErrorObject


# Responses that every route of /v1 may give besides its own.
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": HTTPStatus(status).phrase}
    for status in (400, 401, 403, 404, 413, 429, 500, 503, 504)
} | {"default": {"model": ErrorAnswer, "description": "Any other error."}}


def error_of(problem: ProblemDetails) -> dict[str, Any]:
    """Return problem details in OpenAI's format; an invalid request with its first invalid field."""
    message, field = problem.detail, None
    if problem.errors:
        field = str(problem.errors[0]["field"]).removeprefix("body.")
        message = f"{field}: {str(problem.errors[0]['problem']).removeprefix('Value error, ')}."
    kind, code = _TYPES.get(problem.status, "invalid_request_error"), _CODES.get(problem.status)
    if problem.status == 404 and problem.detail == problem.title:
        code = "unknown_url"
        message = "There is nothing here. This server has /v1/models and /v1/chat/completions."
    return {"error": {"message": message, "type": kind, "param": field, "code": code}}


def answer_error(problem: ProblemDetails, headers: dict[str, str]) -> JSONResponse:
    """Answer a refusal at /v1 in OpenAI's format, wherever it was refused."""
    if problem.status == 504:
        # The same question would take as long again, and clients retry by themselves.
        headers = headers | {"X-Should-Retry": "false"}
    return JSONResponse(error_of(problem), _STATUSES.get(problem.status, problem.status), headers)


FORMS[PREFIX] = answer_error
