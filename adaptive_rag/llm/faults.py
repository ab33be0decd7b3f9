"""Classifies the errors of chat models: temporary ones, ones that the user must fix, and all others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from time import time
from typing import Literal

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from langchain_core.language_models import BaseChatModel

from adaptive_rag.errors import ModelRefusedError
from adaptive_rag.models.chat import model_name
from adaptive_rag.models.transport import ReplyTooLong
from adaptive_rag.text.redaction import cause_of, redact

Kind = Literal["key", "unknown model", "unsupported", "too long", "busy", "server", "connection", "other"]

# Kinds of faults by the class of the error, and below by its HTTP status.
_KINDS: tuple[tuple[type[Exception], Kind], ...] = (
    (ContextOverflowError, "too long"),
    (ModelAuthenticationError, "key"),
    (ModelPermissionDeniedError, "key"),
    (ModelNotFoundError, "unknown model"),
    (ModelRateLimitError, "busy"),
    (ModelAPIError, "server"),
    (ModelTimeoutError, "connection"),
    (ModelConnectionError, "connection"),
    (ModelInvalidRequestError, "unsupported"),
    (ConnectionError, "connection"),
    (TimeoutError, "connection"),
)
_STATUSES: dict[Kind, tuple[int, ...]] = {
    "key": (401, 403),
    "unknown model": (404,),
    "busy": (408, 409, 429),
    "unsupported": (400, 413, 415, 422),
}
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|window|size|exceed)|maximum context|too many tokens|prompt is too long|"
    r"exceed_context",
    re.I,
)
_FEATURE = re.compile(r"tool|function|response_format|json_schema|structured|grammar|schema", re.I)
_UNREADABLE = "the server's reply was empty, or not in the form of OpenAI's protocol"
# Names of the transport errors of HTTP clients, which are not always wrapped in LangChain's errors.
_TRANSPORT = re.compile(
    r"Connect|Timeout|RemoteProtocol|ReadError|WriteError|NetworkError|ProtocolError|IncompleteRead|ClientPayload|"
    r"ServerDisconnected|StreamError"
)


@dataclass(frozen=True)
class Fault:
    """One failure of a chat model."""

    kind: Kind
    text: str
    model: str
    # seconds that the server asks the client to wait
    retry_after: float | None = None
    # whether the server may accept the request if the form is requested by another method
    refuses_form: bool = False
    # whether its message is about that form
    names_form: bool = False

    @property
    def passing(self) -> bool:
        """Whether the same call may succeed a little later."""
        return self.kind in ("busy", "server", "connection")

    def raise_if_misconfigured(self, error: Exception) -> None:
        """Raise an error if only the user can fix the fault.

        It is chained to the original error, unless that contains a secret.

        Raises:
            ModelRefusedError: the key is refused, or the model is not known to the server.
        """
        if self.kind == "key":
            raise ModelRefusedError(
                f"The server refused the key for the chat model {self.model!r}: {self.text}. No answer was "
                "made. Check the provider's key variable (OPENAI_API_KEY for openai:...); `adaptive-rag "
                "doctor` tries it. Where no model is named, answers quote the documents."
            ) from cause_of(error)
        if self.kind == "unknown model":
            raise ModelRefusedError(
                f"The server does not know the chat model {self.model!r}: {self.text}. No answer was "
                "made. Check the name after the colon and the base_url, which usually ends in /v1; "
                "`adaptive-rag doctor` lists what is served. Where no model is named, answers quote the "
                "documents."
            ) from cause_of(error)


def fault_of(error: Exception, model: BaseChatModel) -> Fault:
    """Return the kind of an error that a call raised, with a readable text."""
    status = _status(error)
    # The readable text is cut, so the kind is found in the full text.
    # OpenAI's client has the code apart: "You exceeded your current quota" and "insufficient_quota".
    text, full_text = _text(error, status), f"{error} {getattr(error, 'code', '')}"
    kind = next((kind for type_, kind in _KINDS if isinstance(error, type_)), None) or _by_status(status)
    # A server that sent too much would only do so again.
    if isinstance(cause := _root(error), ReplyTooLong):
        return Fault("other", str(cause), model_name(model))
    if kind in (None, "unsupported", "other", "server") and _TOO_LONG.search(full_text):
        kind = "too long"
    # The status of an account without credit is 429 too, but waiting does not help.
    if kind == "busy" and "insufficient_quota" in full_text:
        kind = "other"
    # The client's connections belong to an event loop that has ended; the next try opens new ones.
    if kind is None and "loop is closed" in full_text:
        kind = "connection"
    # What a client raises over a page of HTML, or JSON without the fields that it reads.
    if isinstance(error, JSONDecodeError | IndexError) or (
        status == 200 and isinstance(error, AttributeError | TypeError)
    ):
        text = f"{_UNREADABLE} ({text})"
    # LangChain's message for a stream that ended without a chunk.
    if kind is None and "No generation chunks" in full_text:
        kind, text = "server", _UNREADABLE
    if kind is None:
        kind = "connection" if _TRANSPORT.search(type(error).__name__) else "other"
    names_form = kind in ("unsupported", "unknown model") and bool(_FEATURE.search(full_text))
    refuses_form = kind == "unsupported" or names_form
    return Fault(kind, text, model_name(model), _retry_after(error), refuses_form, names_form)


def _status(error: Exception) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "code", "status"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and 100 <= value < 600:
                return value
    return None


def _by_status(status: int | None) -> Kind | None:
    if status is None:
        return None
    default: Kind = "server" if status >= 500 else "other"
    return next((kind for kind, statuses in _STATUSES.items() if status in statuses), default)


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        if (milliseconds := headers.get("retry-after-ms")) is not None:
            return max(0.0, float(milliseconds) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        try:
            return max(0.0, float(value))
        except ValueError:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (TypeError, ValueError):
        return None


def _root(error: BaseException) -> BaseException:
    chain = [error]
    # An error may be its own cause, after `raise error from error`.
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    return chain[-1]


def _text(error: Exception, status: int | None) -> str:
    # Redact before cutting, since half a key is not recognized.
    text = redact(" ".join(str(error).split()))[:240] or type(error).__name__
    cause = _root(error)
    # "Connection error." alone does not say whether the server is down or the name is wrong.
    if cause is not error and "onnection error" in text:
        text = f"{text.rstrip('.')} ({type(cause).__name__}: {redact(' '.join(str(cause).split()))[:120]})"
    if status is None:
        return text
    # "Error code: 500 - ..." says the same in other words.
    return f"HTTP {status}: {re.sub(rf'^Error code: {status} - ', '', text)}"
