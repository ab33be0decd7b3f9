"""How often something may be done: questions by one caller, and attempts to sign in."""

from __future__ import annotations

import ipaddress
import math
import time
from typing import Annotated

from fastapi import Depends, Request
from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from adaptive_rag.server.access import Caller, CurrentCaller
from adaptive_rag.server.problems import Problem

# One person at one machine; one machine; one person from everywhere. The last is wide, so that nobody can
# easily keep another person out.
SIGN_IN = parse("10/5minutes")
SIGN_IN_FROM_ADDRESS = parse("60/5minutes")
SIGN_IN_AS_USER = parse("100/hour")


class Rates:
    """Counts in this process what was done; each count begins with its first request."""

    def __init__(self, asking: str) -> None:
        self._asking = parse(asking)
        self._limiter = FixedWindowRateLimiter(MemoryStorage())

    def count_question(self, caller: Caller) -> None:
        """Count a request for an answer.

        Raises:
            Problem: 429; the caller has made as many as they may for now.
        """
        self._count(self._asking, "question", caller.id)

    def count_sign_in(self, address: str, name: str | None = None) -> None:
        """Count an attempt to sign in, before a password is looked at or a provider asked.

        Raises:
            Problem: 429; there were too many under this name or from this address.
        """
        place = network_of(address)
        self._count(SIGN_IN_FROM_ADDRESS, "address", place)
        if name is not None:
            self._count(SIGN_IN, "name and address", name, place)
            self._count(SIGN_IN_AS_USER, "name", name)

    def forget_sign_in(self, address: str, name: str) -> None:
        """Begin again for a person who signed in."""
        self._limiter.clear(SIGN_IN, "name and address", name, network_of(address))

    def _count(self, rate: RateLimitItem, *of: str) -> None:
        if not self._limiter.hit(rate, *of):
            left = self._limiter.get_window_stats(rate, *of).reset_time - time.time()
            raise Problem(
                429,
                f"Too many attempts: {rate} is allowed. Try again later.",
                {"Retry-After": str(max(1, math.ceil(left)))},
                type="too_often",
            )


def network_of(address: str) -> str:
    """Return what one machine can ask from: an IPv4 address, or the 64 bits that an IPv6 network shares."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:  # not an address, such as the name of a socket
        return address
    if isinstance(known, ipaddress.IPv4Address):
        return address
    return str(known.ipv4_mapped or ipaddress.ip_network((int(known), 64), strict=False))


async def asking_caller(caller: CurrentCaller, request: Request) -> Caller:
    """Return the caller of a request for an answer, counted.

    Raises:
        Problem: 429; the caller has made as many as they may for now.
    """
    request.app.state.services.rates.count_question(caller)
    return caller


# Whoever asks for an answer, with a place left in their rate.
AskingCaller = Annotated[Caller, Depends(asking_caller)]
