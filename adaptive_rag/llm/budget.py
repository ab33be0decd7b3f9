"""The budget of a question for chat calls: their number, their time, and the one kept for the answer."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from adaptive_rag.models.chat import Role

# Share of the time left that a step before the answer may use, so that one that hangs leaves enough for it.
FAST_SHARE = 0.5


@dataclass(frozen=True)
class Budget:
    """What one question may still spend, and how many requests it has made so far."""

    calls: int
    seconds: float
    # requests made to a model so far, each counted once however often it was repeated
    asked: int = 0
    # strategies that run side by side and share these calls
    branches: int = 1
    # the model failed to respond earlier in this question
    unreachable: bool = False

    def seconds_for(self, role: Role) -> float:
        """Return how long one request may take."""
        return self.seconds if role == "answer" else self.seconds * FAST_SHARE


@dataclass
class Ledger:
    """The calls that requests made at once may spend together."""

    calls: int
    # calls kept back so that the answer can still be written
    reserved: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def has(self, role: Role) -> bool:
        """Tell whether a call is left for this role."""
        return self.calls > (self.reserved if role == "fast" else 0)

    def take(self, role: Role) -> bool:
        """Take one call; return False if none is left for this role."""
        with self._lock:
            if not self.has(role):
                return False
            self.calls -= 1
            return True


def open_ledger(budget: Budget) -> Ledger:
    """Return the calls of one round; strategies that run side by side get an equal share."""
    reserved = min(1, budget.calls)
    return Ledger((budget.calls - reserved) // budget.branches + reserved, reserved)
