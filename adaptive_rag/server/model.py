"""The chat model that an admin sets on the page; a model that the operator sets takes precedence."""

from __future__ import annotations

import base64
import ipaddress
import json
import logging
import os
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from cryptography.fernet import Fernet, InvalidToken
from filelock import FileLock
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from adaptive_rag.context import Context, ModelAccess
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest.web_fetch import Reach, read_place
from adaptive_rag.server.archive import make_key, read_key
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import ModelChoice
from adaptive_rag.text.addresses import is_loopback
from adaptive_rag.text.redaction import remember

_log = logging.getLogger(__name__)
_ROW_ID = "chat"
# The provider whose protocol other servers speak too; only with this one can an address be set.
WITH_ADDRESS = "openai"
# Sent as the key if none is set for an address; otherwise the client would send the key in the environment.
NO_KEY = "none"
# The key of secrets is neither in the database nor in a backup.
_REMEDY = "Put it back, name its file with server.secrets_key, or store the API key of the chat model again."
_NOT_ALLOWED = "This address is not allowed. Plain http only to this machine or a private network."
_ANY_NETWORK = Reach(frozenset(), private_networks=True)
_PUBLIC_NETWORK = Reach(frozenset())
# Metadata services, which give clouds' machines their secrets, at other than link-local addresses: Alibaba,
# Azure, Oracle, AWS and Google over IPv6.
_METADATA_ADDRESSES = frozenset(
    map(
        ipaddress.ip_address,
        ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
    )
)


@dataclass(frozen=True)
class ChosenModel:
    """A chat model that an admin has set or tries."""

    provider: str
    name: str
    address: str | None = None
    key: str = field(default="", repr=False)

    @property
    def spec(self) -> str:
        """The model as "provider:name"."""
        return f"{self.provider}:{self.name}"


class ServerModel:
    """Reads and writes the chat model that an admin has set. Each question reads it again."""

    def __init__(self, settings: ServerSettings, operator: Context, engine: Engine) -> None:
        self._settings, self._operator, self._engine = settings, operator, engine
        self._has_warned = False

    @property
    def operator_model(self) -> str | None:
        """The name of the operator's model; None if the operator has set none."""
        model = self._operator.model or self._operator.models.fast_model
        return model if model is None or isinstance(model, str) else type(model).__name__

    @property
    def operator_address(self) -> str | None:
        """The address of an OpenAI-compatible server that the operator has set."""
        variables = map(os.environ.get, ("OPENAI_BASE_URL", "OPENAI_API_BASE"))
        return self._operator.models.base_url or next(filter(None, variables), None)

    def is_set(self, db: Session) -> bool:
        """Return whether there is a chat model."""
        return self.operator_model is not None or self.read(db) is not None

    def read(self, db: Session) -> ChosenModel | None:
        """Return the model that an admin has set; None if there is none or its key cannot be read."""
        row = db.get(ModelChoice, _ROW_ID)
        if row is None:
            return None
        if row.sealed_key is None:
            return ChosenModel(row.provider, row.name, row.address)
        try:
            decrypted = _decrypt(self._settings, row.sealed_key)
        except ConfigurationError as error:
            decrypted = None
            self._warn(str(error))
        # A key is used only with the provider and address for which it was stored, even if the row changed.
        content = json.loads(decrypted) if decrypted else {}
        if (content.get("provider"), content.get("address")) != (row.provider, row.address):
            self._warn("The API key of the chat model cannot be decrypted. Store it again on the page.")
            return None
        remember(content["key"])
        return ChosenModel(row.provider, row.name, row.address, content["key"])

    def row(self, db: Session) -> ModelChoice | None:
        """Return the row of the model that an admin has set, with the encrypted key."""
        return db.get(ModelChoice, _ROW_ID)

    def write(self, db: Session, chosen: ChosenModel) -> None:
        """Set the chat model; the caller commits. Raise ConfigurationError if its key cannot be encrypted."""
        content = {"provider": chosen.provider, "address": chosen.address, "key": chosen.key}
        row = ModelChoice(id=_ROW_ID, provider=chosen.provider, name=chosen.name, address=chosen.address)
        row.sealed_key = _encrypt(self._settings, json.dumps(content)) if chosen.key else None
        db.merge(row)
        self._has_warned = False

    def delete(self, db: Session) -> bool:
        """Remove the chat model, and return whether there was one. The caller commits."""
        row = db.get(ModelChoice, _ROW_ID)
        if row is not None:
            db.delete(row)
        return row is not None

    def question_settings(self) -> tuple[dict[str, Any], ModelAccess | None]:
        """Return the settings of the admin's model, and the access to it; empty if the operator's is used."""
        if self.operator_model is not None:
            return {}, None
        with Session(self._engine) as db:
            chosen = self.read(db)
        if chosen is None:
            return {}, None
        address, access = self.resolve(chosen)
        return {"model": chosen.spec, "models": {"base_url": address}}, access

    def address(self) -> str | None:
        """Return the address of the chat model: "" for the provider's own, None if there is no model."""
        if self.operator_model is not None:
            return self._operator.models.base_url or ""
        model, _ = self.question_settings()
        return (model["models"]["base_url"] or "") if model else None

    def resolve(self, chosen: ChosenModel) -> tuple[str | None, ModelAccess]:
        """Return the address and the access of a model. The operator's address takes precedence.

        The key in the environment is never sent to an address that an admin has set, and a stored key only to
        the address for which it was stored.
        """
        remember(chosen.key)
        if chosen.provider != WITH_ADDRESS:
            return None, ModelAccess(chosen.key)
        if chosen.address is None:
            return self.operator_address, ModelAccess(chosen.key)
        if self.operator_address is not None:
            return self.operator_address, ModelAccess()
        return chosen.address, ModelAccess(chosen.key or NO_KEY, may_connect)

    def _warn(self, text: str) -> None:
        if not self._has_warned:
            _log.warning("%s Until then questions are answered without a chat model.", text)
        self._has_warned = True


def may_connect(scheme: str, ip: str) -> bool:
    """Return whether a model may be at an IP address: with plain http only within a private network."""
    # With a zone, `ipaddress` does not recognize a metadata address: "fd00:ec2::254%1" != "fd00:ec2::254".
    is_allowed = "%" not in ip and _ANY_NETWORK.holds(ip) and read_place(ip) not in _METADATA_ADDRESSES
    return is_allowed and (scheme == "https" or not _PUBLIC_NETWORK.holds(ip))


def check_address(address: str, settings: ServerSettings) -> str | None:
    """Return why an address cannot be used for a model; None if it can. Host names are not looked up."""
    from httpx import URL, InvalidURL  # as the models' clients read an address

    try:
        url = urlsplit(address)
        host, port = url.hostname and URL(address).host, url.port
    except (ValueError, InvalidURL):
        host = None
    if not host or url.scheme not in ("http", "https") or not address.isascii():
        return "The address must be like https://HOST/v1 or http://localhost:11434/v1."
    if "@" in url.netloc or url.query or url.fragment:
        return "The address may hold no name, no password, no question mark and no #."
    if is_loopback(host) and port == settings.port:
        return "This is the address of this server itself."
    try:
        is_allowed = may_connect(url.scheme, host)
    except ValueError:  # a host name, which is checked when it is connected to
        return None
    return None if is_allowed else _NOT_ALLOWED


def _encrypt(settings: ServerSettings, text: str) -> str:
    """Encrypt a text; create the key at the first use.

    Raises:
        ConfigurationError: the key cannot be created or read.
    """
    file = settings.encryption_key
    if not file.exists():
        try:
            # If several servers share the folder, only one creates the key.
            with FileLock(file.with_name(file.name + ".lock")):
                make_key(file)
        except OSError as error:
            raise ConfigurationError(f"The key {str(file)!r} cannot be created: {error}.") from error
    return _cipher(settings).encrypt(text.encode()).decode()


def _decrypt(settings: ServerSettings, encrypted: str) -> str | None:
    """Decrypt a text; return None if it was encrypted with another key or was changed."""
    try:
        return _cipher(settings).decrypt(encrypted).decode()
    except InvalidToken:
        return None


def _cipher(settings: ServerSettings) -> Fernet:
    key = read_key(settings.encryption_key, "of secrets", _REMEDY)
    return Fernet(base64.urlsafe_b64encode(key))
