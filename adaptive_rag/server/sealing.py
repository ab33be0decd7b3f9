"""Encrypts the secrets that the database holds, with a key that neither the database nor a backup holds."""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken
from filelock import FileLock

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server.archive import make_key, read_key
from adaptive_rag.server.settings import ServerSettings

_REMEDY = "Put it back, name its file with server.secrets_key, or store the API key of the chat model again."


def seal(settings: ServerSettings, text: str) -> str:
    """Encrypt a text; make the key at the first use.

    Raises:
        ConfigurationError: the key cannot be made or read.
    """
    file = settings.sealing_key
    if not file.exists():
        try:
            # Of several servers that share the folder, one makes it.
            with FileLock(file.with_name(file.name + ".lock")):
                make_key(file)
        except OSError as error:
            raise ConfigurationError(f"The key {str(file)!r} cannot be made: {error}.") from error
    return _cipher(settings).encrypt(text.encode()).decode()


def unseal(settings: ServerSettings, sealed: str) -> str | None:
    """Decrypt a text; return None if it was encrypted with another key, or somebody changed it.

    Raises:
        ConfigurationError: the key cannot be read.
    """
    try:
        return _cipher(settings).decrypt(sealed).decode()
    except InvalidToken:
        return None


def _cipher(settings: ServerSettings) -> Fernet:
    key = read_key(settings.sealing_key, "of secrets", _REMEDY)
    return Fernet(base64.urlsafe_b64encode(key))
