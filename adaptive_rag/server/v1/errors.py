"""Problems in the format of OpenAI's API: {"error": {"message", "type", "param", "code"}}."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from openai.types import ErrorObject
from pydantic import BaseModel
from starlette.responses import JSONResponse

from adaptive_rag.server.problems import RESPONSE_FORMATS, ProblemDetails

PREFIX = "/v1"
# Status of a problem -> status, code and type that clients of OpenAI's API expect.
_STATUSES = {409: 400, 415: 400, 422: 400}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_TYPES = {403: "permission_error", 429: "rate_limit_error", 500: "server_error", 503: "server_error",
          504: "server_error"}  # fmt: skip


class ErrorAnswer(BaseModel):
    """An error in the format of OpenAI's API."""

    error: ErrorObject


# Responses that every route of /v1 may give besides its own.
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": HTTPStatus(status).phrase}
    for status in (400, 401, 403, 404, 413, 429, 500, 503, 504)
} | {"default": {"model": ErrorAnswer, "description": "Any other error."}}


def openai_error(problem: ProblemDetails) -> dict[str, Any]:
    """Convert problem details to OpenAI's format; of an invalid request, only the first invalid field."""
    message, field = problem.detail, None
    if problem.errors:
        field = str(problem.errors[0]["field"]).removeprefix("body.")
        message = f"{field}: {problem.errors[0]['problem']}."
    error_type, code = _TYPES.get(problem.status, "invalid_request_error"), _CODES.get(problem.status)
    if problem.status == 404 and problem.detail == problem.title:
        code = "unknown_url"
        message = "There is nothing here. This server has /v1/models and /v1/chat/completions."
    return {"error": {"message": message, "type": error_type, "param": field, "code": code}}


def error_response(problem: ProblemDetails, headers: dict[str, str]) -> JSONResponse:
    """Return a response in OpenAI's format, for all refusals at /v1."""
    if problem.status == 504:
        # Clients retry by themselves, but the same question would take as long again.
        headers = headers | {"X-Should-Retry": "false"}
    return JSONResponse(openai_error(problem), _STATUSES.get(problem.status, problem.status), headers)


RESPONSE_FORMATS[PREFIX] = error_response
