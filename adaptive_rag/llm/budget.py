"""The budget of a question for chat calls: their number, their time, and the call reserved for the answer."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from adaptive_rag.models.chat import Role

# Share of the remaining time that a step before the answer may use, so that enough is left for the answer.
FAST_SHARE = 0.5


@dataclass(frozen=True)
class Budget:
    """What one question may still spend, and the number of requests it has made."""

    calls: int
    seconds: float
    # requests to a model so far; a request that was repeated counts once
    asked: int = 0
    # strategies that run in parallel and share these calls
    branches: int = 1
    # calls that this branch has made since `classify`
    spent: int = 0
    # the model did not respond earlier in this question
    unreachable: bool = False

    def seconds_for(self, role: Role) -> float:
        """Return how many seconds one request may take."""
        return self.seconds if role == "answer" else self.seconds * FAST_SHARE


@dataclass
class Ledger:
    """The calls that parallel requests may spend together; safe to use from several threads."""

    calls: int
    # calls that only the answer may take
    reserved: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def has(self, role: Role) -> bool:
        """Return whether a call is left for this role."""
        return self.calls > (self.reserved if role == "fast" else 0)

    def take(self, role: Role) -> bool:
        """Take one call; return False if none is left for this role."""
        with self._lock:
            if not self.has(role):
                return False
            self.calls -= 1
            return True


def open_ledger(budget: Budget) -> Ledger:
    """Return a ledger for one round of requests.

    Strategies that run in parallel have equal shares of what was left when they began.
    """
    reserved = min(1, budget.calls)
    share = (budget.calls + budget.spent - reserved) // budget.branches
    return Ledger(max(0, share - budget.spent) + reserved, reserved)
