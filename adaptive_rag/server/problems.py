"""Errors as callers read them: problem details by RFC 9457."""

from __future__ import annotations

import logging
import sqlite3
import sys
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, Literal, TypeVar, get_args

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from sqlalchemy.exc import DataError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnectionError
from sqlalchemy.orm.exc import ObjectDeletedError, StaleDataError
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from adaptive_rag.context.caller import served_error
from adaptive_rag.errors import InputError, ServedError
from adaptive_rag.server.machine import Refused
from adaptive_rag.text.redaction import redact

_log = logging.getLogger(__name__)
Thing = TypeVar("Thing")
RETRY_AFTER_SECONDS = 30
MEDIA_TYPE = "application/problem+json"
# Fields of an invalid request that are listed, at most.
MOST_ERRORS = 10
# Problems that a program may want to distinguish or to translate; all others have only their status.
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
PROBLEM_TYPES: tuple[str, ...] = get_args(ProblemType)[1:]


class ProblemDetails(BaseModel):
    """A problem by RFC 9457."""

    type: ProblemType = "about:blank"
    title: str = Field(description="What the status means.")
    status: int
    detail: str = Field(description="What happened, what was expected, and what to do.")
    errors: list[dict[str, Any]] = Field([], description="The fields that were wrong, each with its reason.")


class Problem(HTTPException):
    """A refused request, with the sentence that its caller reads."""

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


def not_found(what: str) -> Problem:
    """Return the refusal of something that does not exist or is not open to the caller: both read alike."""
    return Problem(404, f"There is no such {what}, or it is not open to you.", type="not_found")


def found(thing: Thing | None, what: str) -> Thing:
    """Return a thing; refuse with 404 if there is none."""
    if thing is None:
        raise not_found(what)
    return thing


# Responses that every route of the API may give besides its own; FastAPI's own 422 has another form.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "model": ProblemDetails,
        "description": HTTPStatus(status).phrase,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
    }
    for status in (400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503, 504)
}


# Path prefix -> how problems are answered there, if the callers of the path expect another format.
FORMS: dict[str, Callable[[ProblemDetails, dict[str, str]], Response]] = {}


class ProblemResponse(JSONResponse):
    """Problem details, in the format that the callers of a path expect."""

    media_type = MEDIA_TYPE

    def __init__(self, problem: ProblemDetails, headers: dict[str, str]) -> None:
        super().__init__(problem.model_dump(), problem.status, headers)
        self._problem, self._given = problem, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        for prefix, form in FORMS.items():
            if f"{scope['path']}/".startswith(f"{prefix}/"):
                await form(self._problem, self._given)(scope, receive, send)
                return
        await super().__call__(scope, receive, send)


def answer(
    status: int, detail: str, headers: Any = None, errors: Any = (), type: ProblemType = "about:blank"
) -> ProblemResponse:
    """Return problem details as a response."""
    return ProblemResponse(_details(status, detail, type, errors), dict(headers or {}))


def details_of(error: Exception) -> ProblemDetails:
    """Return an error as problem details, for responses that have already started."""
    problem = problem_of(error)
    return _details(problem.status_code, problem.detail, problem.type)


def _details(status: int, detail: str, type: ProblemType, errors: Iterable[Any] = ()) -> ProblemDetails:
    title = HTTPStatus(status).phrase
    return ProblemDetails(type=type, title=title, status=status, detail=detail, errors=list(errors))


def problem_of(error: Exception) -> Problem:
    """Convert an error to what a caller may read; errors that are not their fault are logged."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):  # from the framework: there is no such route or method
        return Problem(error.status_code, error.detail, dict(error.headers or {}))
    if isinstance(error, Refused):
        return Problem(error.status, str(error))
    if isinstance(error, InputError):
        return Problem(422, str(error))
    if isinstance(error, DataError):  # from PostgreSQL: the character NUL
        return Problem(422, "The request holds a character that the database cannot keep.")
    if isinstance(error, database_faults()):
        return _not_stored(error)
    served = error if isinstance(error, ServedError) else served_error(error)
    return Problem(503 if served.is_models_fault else 500, str(served))


def database_faults() -> tuple[type[Exception], ...]:
    """Return the errors that are raised if a database does not answer, or cannot store anything."""
    faults = (OperationalError, NoConnectionError, sqlite3.OperationalError)
    psycopg = sys.modules.get("psycopg")  # of the conversations, if they are in PostgreSQL
    return (*faults, psycopg.OperationalError) if psycopg else faults


def _not_stored(error: Exception) -> Problem:
    # Logged without the statement, whose parameters are people's names and words.
    cause = error.orig if isinstance(error, OperationalError) else error
    _log.error("The database failed: %s", redact(str(cause)))
    what = "The server's database does not answer, or takes nothing in."
    code, state = getattr(cause, "sqlite_errorcode", None), getattr(cause, "sqlstate", None)
    if code == sqlite3.SQLITE_FULL or state == "53100":  # PostgreSQL's disk_full
        what = "The server's disk is full: it can keep nothing new."
    said = f"{what} What was kept stays. Its operator finds the reason in the log. Try again later."
    return Problem(503, said, {"Retry-After": str(RETRY_AFTER_SECONDS)})


def answer_with_problems(app: FastAPI) -> None:
    """Make an app answer errors and refusals with problem details."""

    @app.exception_handler(IntegrityError)
    @app.exception_handler(ObjectDeletedError)
    @app.exception_handler(StaleDataError)
    async def overtaken(request: Request, error: SQLAlchemyError) -> JSONResponse:
        return answer(409, "Another request changed this meanwhile. Send yours again.")

    @app.exception_handler(RequestValidationError)
    async def wrong_form(request: Request, error: RequestValidationError) -> JSONResponse:
        found = error.errors()
        errors = [
            {"field": ".".join(str(part) for part in problem["loc"])[:200], "problem": problem["msg"][:500]}
            for problem in found[:MOST_ERRORS]
        ]
        if more := len(found) - len(errors):
            errors.append({"field": "", "problem": f"and {more:,} more"})
        detail = "; ".join(f"{each['field']}: {each['problem']}" for each in errors[:5])
        return answer(422, f"The request does not have the form that is expected. {detail}.", errors=errors)

    async def failed(request: Request, error: Exception) -> JSONResponse:
        problem = problem_of(error)
        return answer(problem.status_code, problem.detail, problem.headers, type=problem.type)

    for kind in (HTTPException, Refused, InputError, ServedError, DataError, *database_faults()):
        app.add_exception_handler(kind, failed)
