"""Encrypts the secrets in the database, with a key that is neither in the database nor in a backup."""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken
from filelock import FileLock

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server.archive import make_key, read_key
from adaptive_rag.server.settings import ServerSettings

_REMEDY = "Put it back, name its file with server.secrets_key, or store the API key of the chat model again."


def encrypt(settings: ServerSettings, text: str) -> str:
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


def decrypt(settings: ServerSettings, encrypted: str) -> str | None:
    """Decrypt a text; return None if it was encrypted with another key or was changed."""
    try:
        return _cipher(settings).decrypt(encrypted).decode()
    except InvalidToken:
        return None


def _cipher(settings: ServerSettings) -> Fernet:
    key = read_key(settings.encryption_key, "of secrets", _REMEDY)
    return Fernet(base64.urlsafe_b64encode(key))
