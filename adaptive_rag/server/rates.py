"""Rate limits: questions by one caller, and attempts to sign in."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cachetools import TLRUCache
from limits import RateLimitItem, parse, parse_many

from adaptive_rag.server.machine import THIS_MACHINE, network_of
from adaptive_rag.server.problems import busy

if TYPE_CHECKING:
    from adaptive_rag.server.access import Caller

# Attempts to sign in as one person from one machine, and from one machine in total.
SIGN_IN = parse("10/5minutes")
SIGN_IN_FROM_ADDRESS = parse("60/5minutes")
# After this many wrong passwords for one name, from anywhere, a machine from which the person has never
# signed in has only one guess an hour. So guessing from many machines is slow, and the person can still use a
# new machine.
WRONG_GUESSES = parse("100/hour")
WRONG_GUESS_FROM_ADDRESS = parse("1/hour")
# What one caller may do besides asking a "question", whose rates are a setting. A new rate is a row here, and
# a `count("NAME")` at the routes that count against it.
RATES = {
    # something is stored: titles, feedback, profiles, tokens, members, jobs for documents
    "change": parse("120/minute"),
    # a job is cancelled: the page cancels all that wait, one by one
    "cancel": parse("1200/minute"),
    # many passages are read: searches in threads, conditions to count or complete, suggested questions
    "heavy read": parse("120/minute"),
}


class Rates:
    """The rate limits of this process; each window begins with its first request.

    The methods raise Problem (429), with the seconds until the action is allowed again.
    """

    def __init__(self, question_rates: str) -> None:
        self._question_rates = parse_many(question_rates)
        self._windows = Windows()

    def count(self, action: str, caller: Caller) -> None:
        """Count a "question", which all of its rates must allow, or an action that `RATES` names."""
        if action == "question":
            self._count(self._question_rates, action, caller.id)
        elif caller.name != THIS_MACHINE:
            self._count([RATES[action]], action, caller.id)

    def count_sign_in(self, address: str) -> None:
        """Count an attempt to sign in, before the provider is asked."""
        self._count([SIGN_IN_FROM_ADDRESS], "address", network_of(address))

    def count_password(self, address: str, name: str, is_known_address: Callable[[], bool]) -> None:
        """Count an attempt to sign in with a password, before the password is checked.

        `is_known_address` returns whether the person has signed in from there before.
        """
        self.count_sign_in(address)
        network = network_of(address)
        self._count([SIGN_IN], "name and address", name, network)
        if self._windows.full([WRONG_GUESSES], "wrong", name) and not is_known_address():
            # Counted as wrong before it is checked, because several guesses may be checked at once.
            self._count([WRONG_GUESS_FROM_ADDRESS], "wrong from address", name, network)

    def count_wrong_password(self, address: str, name: str) -> None:
        """Count a wrong password."""
        self._windows.hit([WRONG_GUESSES], "wrong", name)
        self._windows.hit([WRONG_GUESS_FROM_ADDRESS], "wrong from address", name, network_of(address))

    def forget_sign_in(self, address: str, name: str) -> None:
        """Reset the attempts of a person who signed in."""
        self._windows.clear(SIGN_IN, "name and address", name, network_of(address))

    def _count(self, rates: Sequence[RateLimitItem], *key: str) -> None:
        if full := self._windows.hit(rates, *key):
            seconds_left, rate = full
            seconds = max(1, math.ceil(seconds_left))
            window = f"{rate.multiples} {rate.GRANULARITY.name}{'s' * (rate.multiples != 1)}"
            detail = (
                f"Too many attempts: at most {rate.amount} in {window}. Try again in {_format_wait(seconds)}."
            )
            raise busy(detail, seconds, "too_often")


def _format_wait(seconds: int) -> str:
    """Return a time to wait in words, rounded up: "45 seconds", "3 minutes", "14 hours"."""
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length:
            return f"{math.ceil(seconds / length)} {unit}s"
    return f"{seconds} second{'s' * (seconds != 1)}"


class Windows:
    """Fixed windows of rates on a monotonic clock, which does not change when the machine's clock is set."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        # key -> the end of its window, and the count in it. Windows are dropped after their end.
        self._windows: TLRUCache[str, tuple[float, int]] = TLRUCache(
            math.inf, lambda key, window, now: window[0], timer=lambda: time.monotonic()
        )

    def hit(self, rates: Sequence[RateLimitItem], *key: str) -> tuple[float, RateLimitItem] | None:
        """Count an action if all rates allow it; otherwise return what `full` returns."""
        with self._lock:
            if full := self.full(rates, *key):
                return full
            for rate in rates:
                end, count = self._window(rate, *key)
                self._windows[rate.key_for(*key)] = end, count + 1
        return None

    def full(self, rates: Sequence[RateLimitItem], *key: str) -> tuple[float, RateLimitItem] | None:
        """Return the rate that takes longest to allow another action, after its seconds; None if all do."""
        with self._lock:
            windows = [(*self._window(rate, *key), rate) for rate in rates]
        full = [(end - time.monotonic(), rate) for end, count, rate in windows if count >= rate.amount]
        return max(full, default=None)

    def clear(self, rate: RateLimitItem, *key: str) -> None:
        """Reset the window of a key."""
        with self._lock:
            self._windows.pop(rate.key_for(*key), None)

    def _window(self, rate: RateLimitItem, *key: str) -> tuple[float, int]:
        return self._windows.get(rate.key_for(*key), (time.monotonic() + rate.get_expiry(), 0))
