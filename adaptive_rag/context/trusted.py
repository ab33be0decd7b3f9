"""Uses a folder's config file and .env only if they name no other machine, or if the user trusts them.

A folder of documents may come from anybody. A file in it that names other machines could redirect questions,
passages and keys to them, so it is used only after the user has looked at it.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from pydantic_settings import TomlConfigSettingsSource

from adaptive_rag.context.unknown import ENV_PREFIX
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.private import home, make_folder, replace_text
from adaptive_rag.text.addresses import host_of, is_loopback

VARIABLE = "ADAPTIVE_RAG_TRUST_FOLDER"
HOW_TO_TRUST = f"look at it, then run: adaptive-rag settings --trust (or set {VARIABLE}=1)"
_LOCAL_RAY = ("auto", "local")
_SCHEMES_WITH_A_HOST = frozenset(("http", "https", "postgresql", "postgres", "ray"))
# Parameters of a PostgreSQL address that name another host than the address itself.
_HOST_PARAMETERS = frozenset(("host", "hostaddr", "service", "servicefile"))


class TrustedConfigFile(TomlConfigSettingsSource):
    """Reads a config file if it names no other machine, or if the user trusts it."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:
        settings = load_toml(Path(file_path))
        if (hosts := other_hosts(settings)) and not is_trusted(Path(file_path)):
            raise ConfigurationError(
                f"The file {str(Path(file_path).absolute())!r} names other machines ({', '.join(hosts)}), to "
                f"which questions, passages and keys could be sent. To use it, {HOW_TO_TRUST}"
            )
        return settings


def load_toml(file: Path) -> dict[str, Any]:
    """Return the settings in a config file, which editors of Windows begin with a byte order mark."""
    return tomllib.loads(file.read_text(encoding="utf-8-sig"))


def other_hosts(settings: Mapping[str, Any]) -> list[str]:
    """Return the hosts other than this machine that settings name; "?" for one that cannot be determined."""
    return sorted({host for address in _addresses(settings) if (host := _other_host(address))})


def _other_host(address: str) -> str | None:
    host = host_of(address)
    if not is_loopback(host):
        return host or "?"
    # The host in s3://localhost is the name of a bucket, and PostgreSQL connects to a host in the query too.
    scheme, _, rest = address.partition("://")
    parameters = parse_qs(rest.partition("?")[2])
    has_host = scheme.partition("+")[0].lower() in _SCHEMES_WITH_A_HOST
    return None if has_host and _HOST_PARAMETERS.isdisjoint(parameters) else "?"


def _addresses(value: Any, name: str = "") -> Iterator[str]:
    """Yield the addresses in the value of a setting, at any depth."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _addresses(part, str(key))
    elif isinstance(value, list):
        for part in value:
            yield from _addresses(part, name)
    elif isinstance(value, str):
        if value.lstrip()[:1] in ("{", "["):
            # A group in the environment is JSON, in which "/" may be written as "\/".
            with suppress(ValueError, RecursionError):
                yield from _addresses(json.loads(value), name)
                return
        if "://" in value:
            if not value.startswith("file://"):
                yield value
        elif name == "ray" and value not in _LOCAL_RAY:
            yield f"ray://{value}"


def risky_variables(variables: Mapping[str, str | None]) -> list[str]:
    """Return the variables that are not settings of ours, name other machines, or control trust."""
    return [
        name
        for name, value in variables.items()
        if not name.startswith(ENV_PREFIX)
        or name in (VARIABLE, f"{ENV_PREFIX}HOME")
        or other_hosts({name.lower().rpartition("__")[2]: value})
    ]


def is_trusted(file: Path) -> bool:
    """Return whether the user trusts a file in its current state."""
    is_set = os.environ.get(VARIABLE, "").strip().lower() in ("1", "true", "yes")
    return is_set or stored_trust(file) is True


def stored_trust(file: Path) -> bool | None:
    """Return whether the user said that they trust the file as it is now; None if they were not asked."""
    digest, trusted = _read().get(str(file.absolute()), (None, None))
    return trusted if digest == _digest(file) else None


def store_trust(file: Path, *, trusted: bool) -> None:
    """Store whether the user trusts a file; after a change of the file they are asked again."""
    answers = {**_read(), str(file.absolute()): (_digest(file), trusted)}
    try:
        make_folder(home())
        replace_text(_trust_file(), json.dumps(answers, indent=1))
    except OSError as error:
        raise ConfigurationError(
            f"Your answer about {str(file)!r} cannot be stored in {str(_trust_file())!r}: {error.strerror}. "
            f"Name another folder with ADAPTIVE_RAG_HOME, or set {VARIABLE}=1."
        ) from error


def _trust_file() -> Path:
    return home() / "trusted.json"


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _read() -> dict[str, tuple[str, bool]]:
    try:
        answers = json.loads(_trust_file().read_text(encoding="utf-8"))
        return {str(name): (str(digest), trusted is True) for name, (digest, trusted) in answers.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigurationError(
            f"The list of trusted files {str(_trust_file())!r} cannot be read: {error}. Delete it to be "
            "asked again."
        ) from error
