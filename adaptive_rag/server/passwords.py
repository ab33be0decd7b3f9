"""Passwords: stored as argon2 hashes; only a few are checked at the same time."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from adaptive_rag.server.problems import busy

# Only the length of a new password is checked, as NIST SP 800-63B recommends. The maximum bounds requests.
SHORTEST, LONGEST = 12, 200
# Each hash takes 64 MiB and four threads, so only two run at a time. So many may run or wait in total, and
# half as many for one address, so that one caller with many guesses does not block the others.
MOST_CHECKS, MOST_FROM_ADDRESS = 20, 10
_RUNNING = threading.BoundedSemaphore(2)
_checks_by_address: Counter[str] = Counter()
_lock = threading.Lock()
_hasher = PasswordHasher()


def hash_password(password: str, address: str = "") -> str:
    """Return the hash to store for a password; `address` is where the request comes from."""
    with _reserve(address):
        return _hasher.hash(password)


def verify_password(stored: str | None, password: str, address: str) -> bool:
    """Return whether a password is the stored one. This takes the same time if none is stored."""
    with _reserve(address):
        try:
            _hasher.verify(stored or _dummy_hash(), password)
        except (VerificationError, InvalidHashError):
            return False
        return stored is not None


def needs_rehash(stored: str) -> bool:
    """Return whether a hash was made with other parameters than the current ones."""
    return _hasher.check_needs_rehash(stored)


@cache
def _dummy_hash() -> str:
    """Return a hash to compare with if a user is unknown or has no password."""
    return _hasher.hash("nobody's password")


@contextmanager
def _reserve(address: str) -> Iterator[None]:
    """Wait until a password can be checked; refuse (429) if too many are waiting."""
    with _lock:
        if _checks_by_address.total() >= MOST_CHECKS or _checks_by_address[address] >= MOST_FROM_ADDRESS:
            raise busy("Too many people are signing in at the moment. Try again.", 2, "too_often")
        _checks_by_address[address] += 1
    try:
        with _RUNNING:
            yield
    finally:
        with _lock:
            _checks_by_address.subtract([address])
            if not _checks_by_address[address]:
                del _checks_by_address[address]
