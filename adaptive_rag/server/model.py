"""The chat model that an admin of the server has set on the page; what the operator sets goes before it."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from adaptive_rag.context import Context, ModelAccess
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest.web_fetch import Reach, read_place
from adaptive_rag.server.sealing import seal, unseal
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import ModelChoice
from adaptive_rag.text.addresses import is_loopback
from adaptive_rag.text.redaction import remember

_log = logging.getLogger(__name__)
_ID = "chat"
# The provider whose protocol other servers speak too, so that an address can be given.
WITH_ADDRESS = "openai"
# Sent to a server without a key of its own, so that the key in the environment is never sent there.
NO_KEY = "none"
_NOT_ALLOWED = "This address is not allowed. Plain http only to this machine or a private network."
_ANYWHERE = Reach(frozenset(), private_networks=True)
_PUBLIC = Reach(frozenset())
# Where clouds tell their machines secrets, besides the link-local addresses: Alibaba, Azure, Oracle, AWS and
# Google over IPv6.
_METADATA = frozenset(
    map(
        ipaddress.ip_address,
        ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
    )
)


@dataclass(frozen=True)
class Chosen:
    """A chat model that an admin has set, or tries."""

    provider: str
    name: str
    address: str | None = None
    key: str = field(default="", repr=False)

    @property
    def spec(self) -> str:
        """The model as "provider:name"."""
        return f"{self.provider}:{self.name}"


class ServerModel:
    """Reads and writes the chat model that an admin has set; every process reads it at each question."""

    def __init__(self, settings: ServerSettings, operator: Context, engine: Engine) -> None:
        self._settings, self._operator, self._engine = settings, operator, engine
        self._has_warned = False

    @property
    def operators(self) -> str | None:
        """The operator's own model by name; None where the operator has set none."""
        set_there = self._operator.model or self._operator.models.fast_model
        return set_there if set_there is None or isinstance(set_there, str) else type(set_there).__name__

    @property
    def operators_address(self) -> str | None:
        """The address of an OpenAI-compatible server that the operator has set."""
        named = map(os.environ.get, ("OPENAI_BASE_URL", "OPENAI_API_BASE"))
        return self._operator.models.base_url or next(filter(None, named), None)

    def is_there(self, db: Session) -> bool:
        """Tell whether a chat model writes answers."""
        return self.operators is not None or self.read(db) is not None

    def read(self, db: Session) -> Chosen | None:
        """Return what an admin has set; None if nothing is set, or its key cannot be read."""
        row = db.get(ModelChoice, _ID)
        if row is None:
            return None
        if row.sealed_key is None:
            return Chosen(row.provider, row.name, row.address)
        try:
            sealed = unseal(self._settings, row.sealed_key)
        except ConfigurationError as error:
            sealed = None
            self._warn(str(error))
        # The key is only for the provider and the address that it was given for, whatever the row says now.
        given = json.loads(sealed) if sealed else {}
        if (given.get("provider"), given.get("address")) != (row.provider, row.address):
            self._warn("The API key of the chat model cannot be decrypted. Store it again on the page.")
            return None
        remember(given["key"])
        return Chosen(row.provider, row.name, row.address, given["key"])

    def row(self, db: Session) -> ModelChoice | None:
        """Return the row of what an admin has set, with the key encrypted."""
        return db.get(ModelChoice, _ID)

    def write(self, db: Session, chosen: Chosen) -> None:
        """Set the chat model; the caller commits.

        Raises:
            ConfigurationError: the key that encrypts the API key cannot be made or read.
        """
        given = {"provider": chosen.provider, "address": chosen.address, "key": chosen.key}
        sealed = seal(self._settings, json.dumps(given)) if chosen.key else None
        row = ModelChoice(id=_ID, provider=chosen.provider, name=chosen.name, address=chosen.address)
        row.sealed_key = sealed
        db.merge(row)
        self._has_warned = False

    def delete(self, db: Session) -> bool:
        """Remove the chat model; tell whether there was one. The caller commits."""
        row = db.get(ModelChoice, _ID)
        if row is not None:
            db.delete(row)
        return row is not None

    def for_questions(self) -> tuple[dict[str, Any], ModelAccess | None]:
        """Return the settings of the chat model, and how to reach it; nothing if the operator has set one."""
        if self.operators is not None:
            return {}, None
        with Session(self._engine) as db:
            chosen = self.read(db)
        if chosen is None:
            return {}, None
        address, access = self.reached(chosen)
        return {"model": chosen.spec, "models": {"base_url": address}}, access

    def address(self) -> str | None:
        """Return the address of the chat model's server: "" for the provider's own, None without a model."""
        if self.operators is not None:
            return self._operator.models.base_url or ""
        model, _ = self.for_questions()
        return (model["models"]["base_url"] or "") if model else None

    def reached(self, chosen: Chosen) -> tuple[str | None, ModelAccess]:
        """Return where a model is reached and how. The operator's address goes before an admin's.

        The key in the environment goes to no address that an admin has set, and a stored key to no address
        but its own.
        """
        remember(chosen.key)
        if chosen.provider != WITH_ADDRESS:
            return None, ModelAccess(chosen.key)
        if chosen.address is None:
            return self.operators_address, ModelAccess(chosen.key)
        if self.operators_address is not None:
            return self.operators_address, ModelAccess()
        return chosen.address, ModelAccess(chosen.key or NO_KEY, may_connect)

    def _warn(self, text: str) -> None:
        if not self._has_warned:
            _log.warning("%s Until then questions are answered without a chat model.", text)
        self._has_warned = True


def may_connect(scheme: str, place: str) -> bool:
    """Tell whether a model's server may be at an IP address: in plain text only within a private network."""
    # `ipaddress` takes an address with a zone for another one: "fd00:ec2::254%1" is not "fd00:ec2::254".
    is_allowed = "%" not in place and _ANYWHERE.holds(place) and read_place(place) not in _METADATA
    return is_allowed and (scheme == "https" or not _PUBLIC.holds(place))


def check_address(address: str, settings: ServerSettings) -> str | None:
    """Return why an address cannot be that of a model's server; None if it can, as far as it says itself."""
    try:
        url = urlsplit(address)
        host, port = url.hostname, url.port
    except ValueError:
        host = None
    if not host or url.scheme not in ("http", "https") or not address.isascii():
        return "The address must be like https://HOST/v1 or http://localhost:11434/v1."
    if "@" in url.netloc or url.query or url.fragment:
        return "The address may hold no name, no password, no question mark and no #."
    if is_loopback(host) and port == settings.port:
        return "This is the address of this server itself."
    try:
        is_allowed = may_connect(url.scheme, host)
    except ValueError:  # it is a name, which is looked up when it is connected to
        return None
    return None if is_allowed else _NOT_ALLOWED
