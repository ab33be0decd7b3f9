"""Rate limits: questions by one caller, and attempts to sign in."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cachetools import TLRUCache
from limits import RateLimitItem, parse

from adaptive_rag.server.machine import THIS_MACHINE, network_of
from adaptive_rag.server.problems import Problem

if TYPE_CHECKING:
    from adaptive_rag.server.access import Caller

# Attempts for one person from one machine, and from one machine in total.
SIGN_IN = parse("10/5minutes")
SIGN_IN_FROM_ADDRESS = parse("60/5minutes")
# After this many wrong guesses at one name, from anywhere, a machine that the person never signed in from has
# only one guess an hour: guessing from many machines is slow, and the person can still use a new one.
WRONG_GUESSES = parse("100/hour")
WRONG_GUESS_FROM_ADDRESS = parse("1/hour")
# What one caller may write besides questions: titles, opinions, profiles, tokens. And how often they may
# search their threads, or have conditions counted or completed, which reads the fields of all passages.
CHANGES = parse("120/minute")


class Rates:
    """Rate limits of this process; each window begins with its first request.

    A refusal is a Problem: 429, with the seconds until the action is allowed again.
    """

    def __init__(self, asking: str) -> None:
        self._asking = parse(asking)
        self._windows = Windows()

    def count_question(self, caller: Caller) -> None:
        """Count a request for an answer."""
        self._count(self._asking, "question", caller.id)

    def count_change(self, caller: Caller) -> None:
        """Count a request that stores something of the caller's."""
        if caller.name != THIS_MACHINE:
            self._count(CHANGES, "change", caller.id)

    def count_look(self, caller: Caller) -> None:
        """Count a request that reads much: a search in threads, or a condition to measure or complete."""
        if caller.name != THIS_MACHINE:
            self._count(CHANGES, "look", caller.id)

    def count_sign_in(self, address: str) -> None:
        """Count an attempt to sign in, before a provider is asked."""
        self._count(SIGN_IN_FROM_ADDRESS, "address", network_of(address))

    def count_password(self, address: str, name: str, is_known_place: Callable[[], bool]) -> None:
        """Count an attempt to sign in with a password, before the password is checked.

        `is_known_place` tells whether the person has signed in from there before.
        """
        self.count_sign_in(address)
        place = network_of(address)
        self._count(SIGN_IN, "name and address", name, place)
        is_attacked = not self._windows.test(WRONG_GUESSES, "wrong", name)
        guess = (WRONG_GUESS_FROM_ADDRESS, "wrong from address", name, place)
        if is_attacked and not self._windows.test(*guess) and not is_known_place():
            raise self._refusal(*guess)

    def count_wrong_password(self, address: str, name: str) -> None:
        """Count a password that was wrong."""
        self._windows.hit(WRONG_GUESSES, "wrong", name)
        self._windows.hit(WRONG_GUESS_FROM_ADDRESS, "wrong from address", name, network_of(address))

    def forget_sign_in(self, address: str, name: str) -> None:
        """Reset the attempts of a person who signed in."""
        self._windows.clear(SIGN_IN, "name and address", name, network_of(address))

    def _count(self, rate: RateLimitItem, *of: str) -> None:
        if not self._windows.hit(rate, *of):
            raise self._refusal(rate, *of)

    def _refusal(self, rate: RateLimitItem, *of: str) -> Problem:
        seconds = max(1, math.ceil(self._windows.seconds_left(rate, *of)))
        detail = f"Too many attempts: {rate} is allowed. Try again later."
        return Problem(429, detail, {"Retry-After": str(seconds)}, type="too_often")


class Windows:
    """Fixed windows of rates on a monotonic clock, so that setting the machine's clock changes none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # key -> the end of its window, and the count in it; no window is dropped before its end
        self._windows: TLRUCache[str, tuple[float, int]] = TLRUCache(
            math.inf, lambda key, window, now: window[0], timer=lambda: time.monotonic()
        )

    def hit(self, rate: RateLimitItem, *of: str) -> bool:
        """Count an action, and tell whether the rate allows it."""
        with self._lock:
            ends, count = self._window(rate, *of)
            self._windows[rate.key_for(*of)] = ends, count + 1
            return count < rate.amount

    def test(self, rate: RateLimitItem, *of: str) -> bool:
        """Tell whether the rate would allow one more."""
        with self._lock:
            return self._window(rate, *of)[1] < rate.amount

    def clear(self, rate: RateLimitItem, *of: str) -> None:
        """Reset the window of a key."""
        with self._lock:
            self._windows.pop(rate.key_for(*of), None)

    def seconds_left(self, rate: RateLimitItem, *of: str) -> float:
        """Return how long the window of a key still lasts."""
        with self._lock:
            return self._window(rate, *of)[0] - time.monotonic()

    def _window(self, rate: RateLimitItem, *of: str) -> tuple[float, int]:
        return self._windows.get(rate.key_for(*of), (time.monotonic() + rate.get_expiry(), 0))
