"""Trust in the files of a folder: they may name keys and other machines only if the user has allowed it.

A folder of documents may come from anybody. A file in it that names other machines could redirect questions,
passages and keys to them, so it is used only after the user has looked at it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from pydantic_settings import TomlConfigSettingsSource

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.private import home, make_folder, replace_text
from adaptive_rag.text.addresses import host_of, is_loopback

VARIABLE = "ADAPTIVE_RAG_TRUST_FOLDER"
HOW_TO_TRUST = f"look at it, then run: adaptive-rag settings --trust (or set {VARIABLE}=1)"
_PREFIX = "ADAPTIVE_RAG_"
_RAY_OF_THIS_MACHINE = ("auto", "local")
_SCHEMES_WITH_A_HOST = frozenset(("http", "https", "postgresql", "postgres", "ray"))
_ELSEWHERE = frozenset(("host", "hostaddr", "service", "servicefile"))


class TrustedConfigFile(TomlConfigSettingsSource):
    """Reads a config file if it names only this machine's addresses, or if the user trusts it."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:
        found = super()._read_file(file_path)
        if (hosts := other_hosts(found)) and not is_trusted(Path(file_path)):
            raise ConfigurationError(
                f"The file {str(Path(file_path).absolute())!r} names other machines ({', '.join(hosts)}), to "
                f"which questions, passages and keys could be sent. To use it, {HOW_TO_TRUST}"
            )
        return found


def other_hosts(settings: Mapping[str, Any]) -> list[str]:
    """Return the other hosts that settings name; "?" for one that cannot be determined."""
    return sorted({host for address in _addresses(settings) if (host := _other_host(address))})


def _other_host(address: str) -> str | None:
    host, parts = host_of(address), address.partition("://")
    if not is_loopback(host):
        return host or "?"
    # the host of s3://localhost is a bucket's name, and PostgreSQL connects to a host in the address's query
    scheme, query = parts[0].partition("+")[0].lower(), parse_qs(parts[2].partition("?")[2])
    is_own = scheme in _SCHEMES_WITH_A_HOST and _ELSEWHERE.isdisjoint(query)
    return None if is_own else "?"


def _addresses(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _addresses(each, str(key))
    elif isinstance(value, list):
        for each in value:
            yield from _addresses(each, name)
    elif isinstance(value, str):
        if value.lstrip()[:1] in ("{", "["):
            # a group in the environment is JSON, which may write "/" as "\/"
            with suppress(ValueError):
                yield from _addresses(json.loads(value), name)
                return
        if "://" in value:
            if not value.startswith("file://"):
                yield value
        elif name == "ray" and value not in _RAY_OF_THIS_MACHINE:
            yield f"ray://{value}"


def risky_variables(variables: Mapping[str, str | None]) -> list[str]:
    """Return the variables that are not our settings, that name other machines, or that control trust."""
    return [
        name
        for name, value in variables.items()
        if not name.startswith(_PREFIX)
        or name in (VARIABLE, f"{_PREFIX}HOME")
        or other_hosts({name.lower().rpartition("__")[2]: value})
    ]


def is_trusted(file: Path) -> bool:
    """Tell whether the user trusts a file in its current state."""
    is_set = os.environ.get(VARIABLE, "").strip().lower() in ("1", "true", "yes")
    return is_set or stored_trust(file) is True


def stored_trust(file: Path) -> bool | None:
    """Return whether the user trusts a file in its current state; None where they have not been asked."""
    digest, trusted = _read().get(str(file.absolute()), (None, None))
    return trusted if digest == _digest(file) else None


def store_trust(file: Path, *, trusted: bool) -> None:
    """Store whether the user trusts a file; after a change of its content they are asked again."""
    known = {**_read(), str(file.absolute()): (_digest(file), trusted)}
    try:
        make_folder(home())
        replace_text(_place(), json.dumps(known, indent=1))
    except OSError as error:
        raise ConfigurationError(
            f"What you said of {str(file)!r} cannot be kept in {str(_place())!r}: {error.strerror}. Name "
            f"another folder with ADAPTIVE_RAG_HOME, or set {VARIABLE}=1."
        ) from error


def _place() -> Path:
    return home() / "trusted.json"


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _read() -> dict[str, tuple[str, bool]]:
    try:
        found = json.loads(_place().read_text(encoding="utf-8"))
        return {str(name): (str(digest), trusted is True) for name, (digest, trusted) in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"The list of trusted files {str(_place())!r} cannot be read: {error}. Delete it to be asked "
            "again."
        ) from error
