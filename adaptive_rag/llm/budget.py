"""Decides which asks a chat model gets and which are done locally: the one place that keeps calls few."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from adaptive_rag.llm.request import Ask, Role

if TYPE_CHECKING:
    from adaptive_rag.context import Context

# Calls that one question plans to make, whatever its type; what lies between these and `max_llm_calls`
# is left to retries.
PLANNED_CALLS = 3
# A routing call may use this share of the time that is left, so that one that hangs leaves enough for
# the answer.
FAST_SHARE = 0.5


@dataclass(frozen=True)
class Budget:
    """What one question may still spend, and what it has asked for so far."""

    calls: int
    seconds: float
    # skills that a model was asked for, each counted once however often it was called
    asked: int = 0
    # strategies that run side by side and share these calls
    branches: int = 1
    query_type: str = ""
    # the model failed to respond earlier in this question
    unreachable: bool = False

    def seconds_for(self, role: Role) -> float:
        """Return how long one ask may take."""
        return self.seconds if role == "answer" else self.seconds * FAST_SHARE


@dataclass
class Ledger:
    """The calls that one round of asks may make, shared by those that run at once."""

    calls: int
    # What routing may not touch, so that the answer can still be written.
    reserved: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def take(self, role: Role) -> bool:
        """Take one call out, or say that none is left for this role."""
        with self._lock:
            if self.calls - (self.reserved if role == "fast" else 0) <= 0:
                return False
            self.calls -= 1
            return True


def open_ledger(budget: Budget) -> Ledger:
    """Return the calls of one round; strategies that run side by side get an equal share."""
    reserved = min(1, budget.calls)
    if budget.branches > 1:
        return Ledger((budget.calls - reserved) // budget.branches + reserved, reserved)
    return Ledger(budget.calls, reserved)


def locally_because(asks: Sequence[Ask[Any, Any]], context: Context, budget: Budget) -> list[str | None]:
    """Say for each ask of a round why it is done locally, or None where the model shall do it."""
    reasons: list[str | None] = []
    granted = 0
    for ask in asks:
        same = sum(other.skill is ask.skill for other in asks)
        so_far = replace(budget, asked=budget.asked + granted)
        reasons.append(ask.locally_because or _reason(ask, same, context, so_far))
        granted += reasons[-1] is None
    return reasons


def _reason(ask: Ask[Any, Any], together: int, context: Context, budget: Budget) -> str | None:
    if context.model is None and (ask.skill.role == "answer" or context.fast_model is None):
        return "no chat model is configured"
    if budget.seconds <= 0:
        return f"the deadline of {context.deadline_s:g} s has passed"
    if budget.calls <= 0:
        return f"the budget of {context.max_llm_calls} calls is spent"
    if ask.skill.role == "answer":
        return None
    if reason := _by_setting(ask, context, budget.query_type):
        return reason
    if budget.unreachable:
        return "the chat model did not respond earlier in this question"
    if ask.skill.name in ("score", "select") and budget.branches > 1:
        return "two strategies run at once, and only one call is planned for each"
    # The answer itself is one of the planned calls, so routing may use what stands before it.
    chosen = _chosen(ask, context)
    planned = PLANNED_CALLS - 1 - (budget.branches - 1)
    if budget.asked >= planned and not chosen:
        return f"the {PLANNED_CALLS} calls that are planned for a question are needed elsewhere"
    if together > budget.calls - 1:
        return f"{together} calls at once and one for the answer exceed the {budget.calls} that are left"
    return None


def _by_setting(ask: Ask[Any, Any], context: Context, query_type: str) -> str | None:
    if ask.skill.name == "score" and context.reranker not in ("auto", "listwise", "pointwise"):
        return f"reranker = {context.reranker!r} scores without a chat model"
    by_branches = query_type in ("analytical", "opinion")
    if ask.skill.name == "score" and context.reranker == "auto" and by_branches:
        # Coverage and balance decide there; a score for the whole question would favour one aspect.
        return f"{query_type} questions are scored by what their branches found"
    if ask.skill.name == "select" and context.selection != "model":
        return "selection = 'local'"
    return None


def _chosen(ask: Ask[Any, Any], context: Context) -> bool:
    """Say whether a setting asks for this call, beyond what is planned by default."""
    if ask.skill.name == "score":
        return context.reranker in ("listwise", "pointwise")
    return ask.skill.name == "select"
