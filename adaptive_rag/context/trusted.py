"""What the files of a folder may set: keys and other machines' addresses, once their user has said so.

A folder of documents may come from anybody. A file in it that names where questions, passages and keys are
sent would have them sent there, so that it counts only after it was looked at.
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
HOW = f"look at it, then run: adaptive-rag settings --trust (or set {VARIABLE}=1)"
_PREFIX = "ADAPTIVE_RAG_"
_RAY_OF_THIS_MACHINE = ("auto", "local")
_SCHEMES_WITH_A_HOST = frozenset(("http", "https", "postgresql", "postgres", "ray"))
_ELSEWHERE = frozenset(("host", "hostaddr", "service", "servicefile"))


class TrustedConfigFile(TomlConfigSettingsSource):
    """Reads a config file whose addresses are this machine's, or which its user trusts."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:
        found = super()._read_file(file_path)
        if (hosts := other_hosts(found)) and not is_trusted(Path(file_path)):
            raise ConfigurationError(
                f"The file {str(Path(file_path).absolute())!r} names other machines ({', '.join(hosts)}), to "
                f"which questions, passages and keys could be sent. To use it, {HOW}"
            )
        return found


def other_hosts(settings: Mapping[str, Any]) -> list[str]:
    """Return the hosts beyond this machine that settings name; "?" for one that cannot be read."""
    return sorted({host for address in _addresses(settings) if (host := _other_host(address))})


def _other_host(address: str) -> str | None:
    host, parts = host_of(address), address.partition("://")
    if not is_loopback(host):
        return host or "?"
    # s3://localhost is a bucket's name, and PostgreSQL connects to what a query of its address names
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
    """Return the variables that are no settings of ours, name other machines, or say what is trusted."""
    return [
        name
        for name, value in variables.items()
        if not name.startswith(_PREFIX)
        or name in (VARIABLE, f"{_PREFIX}HOME")
        or other_hosts({name.lower().rpartition("__")[2]: value})
    ]


def is_trusted(file: Path) -> bool:
    """Tell whether the user said that a file, as it is now, may set what it does."""
    return bool(os.environ.get(VARIABLE)) or said_of(file) is True


def said_of(file: Path) -> bool | None:
    """Return what the user said of a file as it is now; None where nobody was asked."""
    digest, trusted = _read().get(str(file.absolute()), (None, None))
    return trusted if digest == _digest(file) else None


def say(file: Path, *, trusted: bool) -> None:
    """Keep what the user said of a file; another content is asked for anew.

    Raises:
        ConfigurationError: it cannot be kept.
    """
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
