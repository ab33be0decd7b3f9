"""Keeps keys and passwords out of what is shown and written: errors, replies, traces, logs, settings.

Known secrets are those of the environment's variables, by their names, and those that were remembered: of
chat models when they are opened, of addresses among the settings. Other ones are told by their shape.
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
REMEMBERED = 512

ValueT = TypeVar("ValueT")

# OPENAI_API_KEY, HF_TOKEN, AWS_SECRET_ACCESS_KEY, PGPASSWORD, api_key, x-api-key, Authorization.
_SECRET_NAME = re.compile(
    r"(?:(?:^|[_-])(?:key|token|secret|credentials?|passphrase)|[_-]pwd|password|passwd|apikey|authorization)$",
    re.I,
)
# DATABASE_URL, OPENAI_BASE_URL, OPENAI_API_BASE, HTTPS_PROXY, SENTRY_DSN.
_ADDRESS_NAME = re.compile(r"(?:url|uri|dsn|base|endpoint|proxy|host)$", re.I)
# A shorter value, or a word, stands in too many texts that have nothing to do with it: "test", "password".
_SHORTEST, _LONG = 8, 16
_USER = re.compile(r"(?<=://)[^\s/?#'\"<>]+(?=@)")
# A password may hold what ends an address elsewhere, where its writer forgot to quote it: "S/E?C@RET".
_POSTGRES_USER = re.compile(r"(?P<scheme>\bpostgres(?:ql)?(?:\+\w{1,20})?://)[^\s'\"<>]+(?=@)")
_PARAMETER = re.compile(
    r"(?P<name>[?&](?:api[-_]?key|key|access[-_]?token|token|auth|password|secret|signature|sig)=)[^&\s#'\"<>]+",
    re.I,
)
# With the names of who issues them, as their documentation shows them.
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
_remembered: LRUCache[str, None] = LRUCache(REMEMBERED)
_lock = Lock()


def redact(text: str) -> str:
    """Replace secrets in a text of ours or of a server: the known ones, and what has the shape of one."""
    return _redact(text, _known_secrets())


def redact_known(text: str) -> str:
    """Replace the known secrets alone: in an answer, whose document may well show the shape of a key."""
    known = _known_secrets()
    return known.sub(REDACTED, text) if known else text


def redact_all(value: ValueT) -> ValueT:
    """Return plain data with the secrets of all its texts replaced; other objects are left as they are."""
    known = _known_secrets()
    return cast("ValueT", _map_texts(value, lambda text: _redact(text, known)))


def redact_known_all(value: ValueT) -> ValueT:
    """Do for plain data what `redact_known` does for a text."""
    if (known := _known_secrets()) is None:
        return value
    return cast("ValueT", _map_texts(value, lambda text: known.sub(REDACTED, text)))


def cause_of(error: BaseException) -> BaseException | None:
    """Return an error to raise another one from, or None where its traceback would show a secret."""
    shown = "".join(traceback.format_exception(error))
    return error if redact(shown) == shown else None


def remember(*secrets: str) -> None:
    """Count these values as secrets from now on; the ones too short or too plain are left out."""
    with _lock:
        for secret in secrets:
            if _is_telling(secret):
                _remembered[secret] = None


def remember_address(address: object) -> None:
    """Count the user and password of an address as secrets."""
    remember(*_secrets_of_address(address) if isinstance(address, str) else ())


def quote_user(address: str) -> str:
    """Return an address with %40 for each @ in its user and password, which end at the last @.

    Who reads it by the first one takes the rest of the password for the host, and names that in errors.
    """
    return _USER.sub(lambda user: user[0].replace("@", "%40"), address, count=1)


def remember_fields(fields: Mapping[str, Any]) -> None:
    """Count as secrets what the fields of a live model hold: its key, its headers, its server's password."""
    for name, value in list(fields.items()):
        # A SecretStr; pydantic is not imported for it, since the shell's help needs this file.
        if callable(reveal := getattr(value, "get_secret_value", None)):
            remember(str(reveal()))
        elif isinstance(value, Mapping):
            remember_fields({str(key): part for key, part in value.items()})
        elif isinstance(value, str) and _SECRET_NAME.search(name):
            remember(value, value.partition(" ")[2])
        elif _ADDRESS_NAME.search(name):
            remember_address(value)


def _redact(text: str, known: re.Pattern[str] | None) -> str:
    text = known.sub(REDACTED, text) if known else text
    if "://" in text:
        text = _POSTGRES_USER.sub(rf"\g<scheme>{REDACTED}", text)
        text = _USER.sub(REDACTED, text)
    text = _PARAMETER.sub(rf"\g<name>{REDACTED}", text)
    # Every shape has a long word, which most texts have not.
    if _LONG_WORD.search(text) is None:
        return text
    return _SHAPES.sub(lambda match: f"{match['scheme'] or ''}{REDACTED}", text)


def _known_secrets() -> re.Pattern[str] | None:
    """Return what finds the known secrets; the environment is read anew, since a notebook sets keys late."""
    with _lock:
        return _compiled(frozenset(_values_of_environment()), frozenset(_remembered))


class PiecewiseRedactor:
    """Does what `redact_known` does for a text that comes in pieces, such as a model's reply."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown by now; the beginning of what may become a secret is held back."""
        with _lock:
            secrets = _all_secrets(frozenset(_values_of_environment()), frozenset(_remembered))
        text = redact_known(self._held + piece)
        longest = len(secrets[0]) if secrets else 0
        ends = (text[-length:] for length in range(min(longest - 1, len(text)), 0, -1))
        self._held = next((end for end in ends if any(secret.startswith(end) for secret in secrets)), "")
        return text[: len(text) - len(self._held)]

    def rest(self) -> str:
        """Return what was held back, once no more comes."""
        held, self._held = self._held, ""
        return held


def _values_of_environment() -> Iterator[str]:
    for name in os.environ:
        if _may_tell(name):
            value = os.environ.get(name, "")
            if "://" in value or _SECRET_NAME.search(name):
                yield value


@lru_cache(maxsize=8)
def _compiled(values: frozenset[str], remembered: frozenset[str]) -> re.Pattern[str] | None:
    secrets = _all_secrets(values, remembered)
    return re.compile("|".join(map(re.escape, secrets))) if secrets else None


@lru_cache(maxsize=8)
def _all_secrets(values: frozenset[str], remembered: frozenset[str]) -> tuple[str, ...]:
    """Return the known secrets, the longest first; also as they stand in an address."""
    found = {value.strip() for value in values if "://" not in value} | remembered
    found |= {part for value in values for part in _secrets_of_address(value)}
    # A path to a file of keys is none itself.
    found = {value for value in found if _is_telling(value) and not os.path.exists(value)}
    found |= {quote(value, safe="", errors="surrogateescape") for value in found}
    return tuple(sorted(found, key=len, reverse=True))


@lru_cache(maxsize=4096)
def _may_tell(name: str) -> bool:
    """Tell whether a variable may hold a secret: a key, or an address with a password."""
    return _SECRET_NAME.search(name) is not None or _ADDRESS_NAME.search(name) is not None


def _is_telling(value: str) -> bool:
    return len(value) >= _LONG or (len(value) >= _SHORTEST and not value.isalpha() and not value.isdigit())


def _secrets_of_address(address: str) -> Iterator[str]:
    """Yield the user with the password, the password, and both as HTTP sends them."""
    for match in _USER.finditer(address):
        password = match[0].partition(":")[2]
        # A user without a password is a name, and may be any word.
        yield from (match[0], password, unquote(password)) if password else ()
        yield base64.b64encode(unquote(match[0]).encode(errors="surrogateescape")).decode()
    for match in _PARAMETER.finditer(address):
        yield match[0].partition("=")[2]


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if type(value) is dict:
        return {name: _map_texts(part, change) for name, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_map_texts(part, change) for part in value)
    return value
