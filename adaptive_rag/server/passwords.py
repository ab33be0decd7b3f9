"""Passwords: kept as argon2 hashes, and looked at a few at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from adaptive_rag.server.problems import Problem

# Length alone is asked for, as NIST SP 800-63B recommends; the bound keeps a request small.
SHORTEST, LONGEST = 12, 200
# Each hash takes 64 MiB and four threads: two at a time, and as many requests wait as a page may send.
_RUNNING = threading.BoundedSemaphore(2)
_INSIDE = threading.BoundedSemaphore(10)
_hasher = PasswordHasher()


def hash_password(password: str) -> str:
    """Return what is stored of a password.

    Raises:
        Problem: 429; too many passwords are looked at in this moment.
    """
    with _place():
        return _hasher.hash(password)


def is_password(stored: str | None, password: str) -> bool:
    """Tell whether a password is the stored one; it takes the same time where none is stored.

    Raises:
        Problem: 429; too many passwords are looked at in this moment.
    """
    with _place():
        try:
            _hasher.verify(stored or _of_nobody(), password)
        except (VerificationError, InvalidHashError):
            return False
        return stored is not None


def is_outdated(stored: str) -> bool:
    """Tell whether a hash was made with other parameters than those of today."""
    return _hasher.check_needs_rehash(stored)


@cache
def _of_nobody() -> str:
    return _hasher.hash("nobody's password")


@contextmanager
def _place() -> Iterator[None]:
    if not _INSIDE.acquire(blocking=False):
        raise Problem(429, "Too many people sign in at this moment. Try again.", {"Retry-After": "2"})
    try:
        with _RUNNING:
            yield
    finally:
        _INSIDE.release()
