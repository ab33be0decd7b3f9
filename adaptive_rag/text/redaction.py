"""Removes keys and passwords from all output: errors, replies, traces, logs, settings.

Known secrets are the values of environment variables with certain names, and remembered values: the keys of
chat models that were opened, and the passwords in addresses of the settings. Others are recognized by shape.
"""

from __future__ import annotations

import base64
import os
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar, cast
from urllib.parse import quote, unquote

from cachetools import LRUCache

REDACTED = "[redacted]"
# Maximum number of remembered secrets.
MAX_REMEMBERED = 512

ValueT = TypeVar("ValueT")

# OPENAI_API_KEY, HF_TOKEN, AWS_SECRET_ACCESS_KEY, PGPASSWORD, api_key, x-api-key, Authorization.
_SECRET_NAME = re.compile(
    r"(?:(?:^|[_-])(?:key|token|secret|credentials?|passphrase)|[_-]pwd|password|passwd|apikey|authorization)$",
    re.I,
)
# DATABASE_URL, OPENAI_BASE_URL, OPENAI_API_BASE, HTTPS_PROXY, SENTRY_DSN.
_ADDRESS_NAME = re.compile(r"(?:url|uri|dsn|base|endpoint|proxy|host)$", re.I)
# A value of fewer than 8 characters, or a word or number of fewer than 16, occurs in too many other texts.
_MIN_LENGTH, _MIN_PLAIN_LENGTH = 8, 16
_USER = re.compile(r"(?<=://)[^\s/?#'\"<>]+(?=@)")
# An unquoted password may contain characters that would otherwise end the address: "S/E?C@RET".
_POSTGRES_USER = re.compile(r"(?P<scheme>\bpostgres(?:ql)?(?:\+\w{1,20})?://)[^\s'\"<>]+(?=@)")
_PARAMETER = re.compile(
    r"(?P<name>[?&](?:api[-_]?key|key|access[-_]?token|token|auth|password|secret|signature|sig)=)[^&\s#'\"<>]+",
    re.I,
)
# Shapes of keys, from the documentation of their issuers.
_SHAPES = re.compile(
    r"(?P<scheme>\b(?:Bearer|Basic)\s+)(?=\S{0,200}\d)[\w.~+/=-]{16,}"
    r"|\b(?:sk|pk|rk)-(?=[\w-]{0,200}\d)[\w-]{16,}"  # OpenAI, Anthropic, Langfuse
    r"|\b(?:gsk|xai|pplx|nvapi|r8|hf|lsv2|tvly|glpat|npm|ghp|gho|ghs|ghu|github_pat)[_-](?=\w{0,200}\d)[\w-]{16,}"
    r"|\bAIza[\w-]{35}"  # Google
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # AWS
    r"|\bxox[abeprs]-[\w-]{10,}"  # Slack
    r"|\beyJ[\w-]{8,1000}\.eyJ[\w-]{8,4000}\.[\w-]+"  # a JSON web token
)
_LONG_WORD = re.compile(r"[A-Za-z0-9_.~+/=-]{13}")
_remembered: LRUCache[str, None] = LRUCache(MAX_REMEMBERED)
_lock = Lock()


def redact(text: str) -> str:
    """Replace the secrets in a message of ours or of a server: known ones, and anything shaped like one."""
    return _redact(text, _known_secrets())


def redact_known(text: str) -> str:
    """Replace only known secrets: for answers, since a document may contain text shaped like a key."""
    pattern = _known_secrets()
    return pattern.sub(REDACTED, text) if pattern else text


def redact_all(value: ValueT) -> ValueT:
    """Apply `redact` to all texts of plain data; other objects stay as they are."""
    pattern = _known_secrets()
    return cast("ValueT", _map_texts(value, lambda text: _redact(text, pattern)))


def redact_known_all(value: ValueT) -> ValueT:
    """Apply `redact_known` to all texts of plain data."""
    if (pattern := _known_secrets()) is None:
        return value
    return cast("ValueT", _map_texts(value, lambda text: pattern.sub(REDACTED, text)))


def cause_of(error: BaseException) -> BaseException | None:
    """Return an error for `raise ... from`, or None if its traceback would show a secret."""
    text = "".join(traceback.format_exception(error))
    return error if redact(text) == text else None


def remember(*secrets: str) -> None:
    """Treat these values as secrets from now on, except those that are too short or too ordinary."""
    with _lock:
        for secret in secrets:
            if _is_specific(secret):
                _remembered[secret] = None


def remember_address(address: object) -> None:
    """Treat the user and password of an address as secrets."""
    remember(*_secrets_of_address(address) if isinstance(address, str) else ())


def quote_user(address: str) -> str:
    """Replace each @ in the user and password of an address with %40; they end at the last @.

    A parser that splits at the first @ reads the rest of the password as the host, and shows it in errors.
    """
    return _USER.sub(lambda user: user[0].replace("@", "%40"), address, count=1)


def remember_fields(fields: Mapping[str, Any]) -> None:
    """Remember the secrets in the fields of a model: its key, its headers, its server's password."""
    for name, value in list(fields.items()):
        # A SecretStr. Pydantic is not imported for it, since the help of the command line loads this module.
        if callable(reveal := getattr(value, "get_secret_value", None)):
            remember(str(reveal()))
        elif isinstance(value, Mapping):
            remember_fields({str(key): part for key, part in value.items()})
        elif isinstance(value, str) and _SECRET_NAME.search(name):
            remember(value, value.partition(" ")[2])
        elif _ADDRESS_NAME.search(name):
            remember_address(value)


def _redact(text: str, pattern: re.Pattern[str] | None) -> str:
    text = pattern.sub(REDACTED, text) if pattern else text
    if "://" in text:
        text = _POSTGRES_USER.sub(rf"\g<scheme>{REDACTED}", text)
        text = _USER.sub(REDACTED, text)
    text = _PARAMETER.sub(rf"\g<name>{REDACTED}", text)
    # Every shape contains a long word; most texts do not.
    if _LONG_WORD.search(text) is None:
        return text
    return _SHAPES.sub(lambda match: f"{match['scheme'] or ''}{REDACTED}", text)


def _known_secrets() -> re.Pattern[str] | None:
    """Return a pattern for the known secrets. The environment is read each time: notebooks set keys late."""
    with _lock:
        return _compiled(frozenset(_values_of_environment()), frozenset(_remembered))


class PiecewiseRedactor:
    """Applies `redact_known` to a text that arrives in pieces, such as a model's reply."""

    def __init__(self) -> None:
        self._pending = ""

    def feed(self, piece: str) -> str:
        """Return the text that can be shown now; an end that may be the start of a secret is held back."""
        with _lock:
            secrets = _all_secrets(frozenset(_values_of_environment()), frozenset(_remembered))
        text = redact_known(self._pending + piece)
        longest = len(secrets[0]) if secrets else 0
        ends = (text[-length:] for length in range(min(longest - 1, len(text)), 0, -1))
        self._pending = next((end for end in ends if any(secret.startswith(end) for secret in secrets)), "")
        return text[: len(text) - len(self._pending)]

    def rest(self) -> str:
        """Return the text that is still held back; call this after the last piece."""
        pending, self._pending = self._pending, ""
        return pending


def _values_of_environment() -> Iterator[str]:
    for name in os.environ:
        if _may_hold_secret(name):
            value = os.environ.get(name, "")
            if "://" in value or _SECRET_NAME.search(name):
                yield value


@lru_cache(maxsize=8)
def _compiled(values: frozenset[str], remembered: frozenset[str]) -> re.Pattern[str] | None:
    secrets = _all_secrets(values, remembered)
    return re.compile("|".join(map(re.escape, secrets))) if secrets else None


@lru_cache(maxsize=8)
def _all_secrets(values: frozenset[str], remembered: frozenset[str]) -> tuple[str, ...]:
    """Return the known secrets, longest first, also in the form quoted for addresses."""
    secrets = {value.strip() for value in values if "://" not in value} | remembered
    secrets |= {part for value in values for part in _secrets_of_address(value)}
    # The path of a key file is not a secret.
    secrets = {value for value in secrets if _is_specific(value) and not os.path.exists(value)}
    secrets |= {quote(value, safe="", errors="surrogateescape") for value in secrets}
    return tuple(sorted(secrets, key=len, reverse=True))


@lru_cache(maxsize=4096)
def _may_hold_secret(name: str) -> bool:
    """Return whether a variable, by its name, may hold a key or an address with a password."""
    return _SECRET_NAME.search(name) is not None or _ADDRESS_NAME.search(name) is not None


def _is_specific(value: str) -> bool:
    """Return whether a value is so long or unusual that it hardly occurs in a text by chance."""
    return len(value) >= _MIN_PLAIN_LENGTH or (
        len(value) >= _MIN_LENGTH and not value.isalpha() and not value.isdigit()
    )


def _secrets_of_address(address: str) -> Iterator[str]:
    """Yield the user with the password, the password, both as HTTP sends them, and secret parameters."""
    for match in _USER.finditer(address):
        password = match[0].partition(":")[2]
        # A user without a password is just a name, which may be any word.
        yield from (match[0], password, unquote(password)) if password else ()
        yield base64.b64encode(unquote(match[0]).encode(errors="surrogateescape")).decode()
    for match in _PARAMETER.finditer(address):
        yield match[0].partition("=")[2]


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Apply a function to all texts of plain data."""
    if isinstance(value, str):
        return change(value)
    if type(value) is dict:
        return {name: _map_texts(part, change) for name, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_map_texts(part, change) for part in value)
    return value
