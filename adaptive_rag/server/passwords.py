"""Passwords: stored as argon2 hashes, and checked a few at a time."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from adaptive_rag.server.problems import Problem

# Only the length is checked, as NIST SP 800-63B recommends; the upper bound keeps a request small.
SHORTEST, LONGEST = 12, 200
# Each hash takes 64 MiB and four threads, so two run at a time. This many run or wait in total, and half of
# them for one address: a caller who sends many guesses at once leaves places for others.
MOST_INSIDE, MOST_FROM_ADDRESS = 20, 10
_RUNNING = threading.BoundedSemaphore(2)
_inside: Counter[str] = Counter()
_lock = threading.Lock()
_hasher = PasswordHasher()


def hash_password(password: str, address: str = "") -> str:
    """Return the hash to store for a password; `address` is where the request comes from."""
    with _place(address):
        return _hasher.hash(password)


def is_password(stored: str | None, password: str, address: str) -> bool:
    """Tell whether a password is the stored one; it takes the same time if none is stored."""
    with _place(address):
        try:
            _hasher.verify(stored or _of_nobody(), password)
        except (VerificationError, InvalidHashError):
            return False
        return stored is not None


def is_outdated(stored: str) -> bool:
    """Tell whether a hash was made with other parameters than the current ones."""
    return _hasher.check_needs_rehash(stored)


@cache
def _of_nobody() -> str:
    return _hasher.hash("nobody's password")


@contextmanager
def _place(address: str) -> Iterator[None]:
    """Wait for a place; refuse (429) if too many passwords are being checked."""
    with _lock:
        if _inside.total() >= MOST_INSIDE or _inside[address] >= MOST_FROM_ADDRESS:
            raise Problem(429, "Too many people sign in at this moment. Try again.", {"Retry-After": "2"})
        _inside[address] += 1
    try:
        with _RUNNING:
            yield
    finally:
        with _lock:
            _inside.subtract([address])
            if not _inside[address]:
                del _inside[address]
