"""Errors as callers read them: problem details of RFC 9457."""

from __future__ import annotations

import logging
import re
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from html import escape
from http import HTTPStatus
from typing import Any, Literal, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, Field
from sqlalchemy.exc import DataError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnectionError
from sqlalchemy.orm.exc import ObjectDeletedError, StaleDataError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from adaptive_rag.context.caller import served_error
from adaptive_rag.errors import InputError, ServedError
from adaptive_rag.server.machine import Refused
from adaptive_rag.text.redaction import redact

_log = logging.getLogger(__name__)
Thing = TypeVar("Thing")
RETRY_AFTER_SECONDS = 30
DISK_FULL = "The server's disk is full: nothing new can be stored."
MEDIA_TYPE = "application/problem+json"
# Invalid fields of a request that are listed, at most.
MOST_ERRORS = 10
# Types of problems that a program may want to distinguish or translate; all others have only a status.
ProblemType = Literal[
    "about:blank",
    "being_indexed",
    "busy",
    "models_differ",
    "name_taken",
    "no_documents",
    "not_found",
    "role_too_low",
    "stopping",
    "thread_busy",
    "too_often",
    "too_slow",
    "wrong_password",
]


# Patterns of fields, and what each asks of a value.
NOT_EMPTY = r"\S"
COLLECTION_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
# lower-case letters only, so that no two names look alike
USER_NAME = r"^[a-z0-9][a-z0-9_.@-]{0,99}$"
MODEL_NAME = r"^[A-Za-z0-9~][A-Za-z0-9_.:/@+#~-]*$"
WEB_ADDRESS = r"^https?://"
PATTERNS = {
    NOT_EMPTY: "must not be empty",
    COLLECTION_NAME: "must have only letters a to z, digits and . _ - (no spaces), 100 at most, and begin "
    "with a letter or a digit",
    USER_NAME: "must have only small letters a to z, digits and . _ @ - (no spaces), 100 at most, and begin "
    "with a letter or a digit",
    MODEL_NAME: "must be a model's name, which has no spaces and begins with a letter or digit",
    WEB_ADDRESS: "must begin with http:// or https://",
}
_PLAIN = {  # kind of pydantic's error -> what is wrong
    "missing": "is missing",
    "extra_forbidden": "is no field that is known here",
    "json_invalid": "from this character on, the text is not JSON",
    "model_attributes_type": "must be a JSON object",
}
_SUBJECT = re.compile(r"^(?:Input|String|List|Dictionary|Value|Data|Tuple|Set) should\b")


class ProblemDetails(BaseModel):
    """Problem details of RFC 9457."""

    type: ProblemType = "about:blank"
    title: str = Field(description="The meaning of the status.")
    status: int
    detail: str = Field(description="What happened, what was expected, and what to do.")
    errors: list[dict[str, Any]] = Field([], description="The invalid fields, each with the reason.")


class Problem(HTTPException):
    """The refusal of a request, with the sentence that the caller reads."""

    def __init__(
        self,
        status: int,
        detail: str,
        headers: dict[str, str] | None = None,
        *,
        type: ProblemType = "about:blank",
    ) -> None:
        super().__init__(status, detail, headers)
        self.type = type


def busy(detail: str, seconds: int, type: ProblemType = "busy") -> Problem:
    """Return a refusal (429) of what is allowed again after some seconds."""
    return Problem(429, detail, {"Retry-After": str(seconds)}, type=type)


def unavailable(failure: str) -> Problem:
    """Return a refusal (503) of what the server cannot store now, but may later."""
    detail = f"{failure} Nothing stored before is lost. The server's log has the reason. Try again later."
    return Problem(503, detail, {"Retry-After": str(RETRY_AFTER_SECONDS)})


def not_found(kind: str) -> Problem:
    """Return the refusal of something that does not exist or is not open to the caller: one text for both."""
    return Problem(404, f"There is no such {kind}, or it is not open to you.", type="not_found")


def require_found(thing: Thing | None, kind: str) -> Thing:
    """Return a thing; refuse (404) if it is None."""
    if thing is None:
        raise not_found(kind)
    return thing


# Responses that every route of the API may give besides its own. FastAPI's own 422 has another format.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "model": ProblemDetails,
        "description": HTTPStatus(status).phrase,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
    }
    for status in (400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503, 504)
}


# Path prefix -> the function that makes responses there, for callers that expect another format.
RESPONSE_FORMATS: dict[str, Callable[[ProblemDetails, dict[str, str]], Response]] = {}


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<p>{detail}</p>
<p><a href="/">Adaptive RAG</a></p>
"""


class ProblemResponse(JSONResponse):
    """The response to an error, in the format that callers of the requested path expect."""

    media_type = MEDIA_TYPE

    def __init__(self, error: Exception, errors: Sequence[dict[str, str]] = ()) -> None:
        problem = to_problem(error)
        self._details, self._extra_headers = problem_details(problem, errors), dict(problem.headers or {})
        super().__init__(self._details.model_dump(), problem.status_code, self._extra_headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response in the format for the path; a browser that opens the address gets a page."""
        for prefix, to_response in RESPONSE_FORMATS.items():
            if f"{scope['path']}/".startswith(f"{prefix}/"):
                await to_response(self._details, self._extra_headers)(scope, receive, send)
                return
        # Programs in Java accept "text/html" unless they say otherwise; only browsers name this type.
        if "application/xhtml+xml" in Headers(scope=scope).get("accept", ""):
            page = _PAGE.format(title=escape(self._details.title), detail=escape(self._details.detail))
            await HTMLResponse(page, self.status_code, self._extra_headers)(scope, receive, send)
            return
        await super().__call__(scope, receive, send)


def problem_details(error: Exception, errors: Sequence[dict[str, str]] = ()) -> ProblemDetails:
    """Convert an error to problem details; `errors` are the invalid fields."""
    problem = to_problem(error)
    title, status = HTTPStatus(problem.status_code).phrase, problem.status_code
    return ProblemDetails(
        type=problem.type, title=title, status=status, detail=problem.detail, errors=list(errors)
    )


def to_problem(error: Exception) -> Problem:
    """Convert an error to what a caller may read; errors that are not the caller's fault are logged."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):  # from FastAPI: there is no such route or method
        return Problem(error.status_code, error.detail, dict(error.headers or {}))
    if isinstance(error, Refused):
        return Problem(error.status, str(error))
    if isinstance(error, InputError):
        return Problem(422, str(error))
    if isinstance(error, DataError):  # PostgreSQL does not store the character NUL
        return Problem(422, "The request holds a character that the database cannot keep.")
    if isinstance(error, database_error_types()):
        return _database_problem(error)
    served = error if isinstance(error, ServedError) else served_error(error)
    return Problem(503 if served.is_models_fault else 500, str(served))


def database_error_types(*further: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the types of errors that a database raises if it does not answer or store, and further ones."""
    faults = (*further, OperationalError, NoConnectionError, sqlite3.OperationalError)
    psycopg = sys.modules.get("psycopg")  # used for conversations, if they are in PostgreSQL
    return (*faults, psycopg.OperationalError) if psycopg else faults


def _database_problem(error: Exception) -> Problem:
    # Only the driver's error is logged, since the parameters of the statement are people's names and texts.
    cause = error.orig if isinstance(error, OperationalError) else error
    _log.error("The database failed: %s", redact(str(cause)))
    failure = "The server's database does not answer, or cannot store anything."
    code, state = getattr(cause, "sqlite_errorcode", None), getattr(cause, "sqlstate", None)
    if code == sqlite3.SQLITE_FULL or state == "53100":  # PostgreSQL's disk_full
        failure = DISK_FULL
    elif state == "57014":  # PostgreSQL's query_canceled
        failure = "The server's database takes too long for this."
    return unavailable(failure)


def explain_invalid(error: Mapping[str, Any]) -> str:
    """Say in plain words what a value must be, by an error of pydantic."""
    kind, message, context = error["type"], str(error["msg"]), error.get("ctx", {})
    if kind == "string_pattern_mismatch":
        return PATTERNS.get(context["pattern"], "has a form that is not accepted")
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind in ("too_short", "too_long"):  # "after validation" means nothing to the caller
        message = message.partition(" after validation")[0]
    return _SUBJECT.sub("must", message.removeprefix("Value error, "))


def add_problem_handlers(app: FastAPI) -> None:
    """Add exception handlers to an app, which answer errors with problem details."""

    @app.exception_handler(IntegrityError)
    @app.exception_handler(ObjectDeletedError)
    @app.exception_handler(StaleDataError)
    async def answer_conflict(request: Request, error: SQLAlchemyError) -> JSONResponse:
        return ProblemResponse(Problem(409, "Another request changed this meanwhile. Send yours again."))

    @app.exception_handler(RequestValidationError)
    async def answer_invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        invalid_fields = error.errors()
        errors = [
            {
                "field": ".".join(str(part) for part in problem["loc"])[:200],
                "problem": explain_invalid(problem)[:500],
            }
            for problem in invalid_fields[:MOST_ERRORS]
        ]
        if omitted := len(invalid_fields) - len(errors):
            errors.append({"field": "", "problem": f"and {omitted:,} more"})
        detail = "; ".join(
            f"{field['field'].removeprefix('body.')}: {field['problem']}" for field in errors[:5]
        )
        invalid = Problem(422, f"The request does not have the form that is expected. {detail}.")
        return ProblemResponse(invalid, errors)

    async def answer_problem(request: Request, error: Exception) -> JSONResponse:
        return ProblemResponse(error)

    for kind in (HTTPException, Refused, InputError, ServedError, DataError, *database_error_types()):
        app.add_exception_handler(kind, answer_problem)
