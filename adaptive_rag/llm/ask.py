"""Sends the requests of steps to a chat model; the one place that limits the number of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adaptive_rag.context import Context
from adaptive_rag.llm.budget import Budget
from adaptive_rag.llm.call import acall_all, call_all
from adaptive_rag.llm.request import Reply, Request

# Reasons that the caller has chosen; every other reason is a failure or a limit.
NO_MODEL = "no chat model is configured"
LEFT_LOCAL = "models.steps leaves it to the local way"


def ask(requests: Sequence[Request[Any]], context: Context, budget: Budget) -> list[Reply[Any]]:
    """Make independent requests at once and return their replies in order.

    Raises:
        ConfigurationError: a model cannot be opened, its key is refused, or the server does not know it.
    """
    reasons = refusals(requests, context, budget)
    granted = _granted(requests, reasons)
    return _in_order(reasons, call_all(granted, context, budget) if granted else [])


async def aask(requests: Sequence[Request[Any]], context: Context, budget: Budget) -> list[Reply[Any]]:
    """Do what `ask` does; no thread waits while a model works."""
    reasons = refusals(requests, context, budget)
    granted = _granted(requests, reasons)
    return _in_order(reasons, await acall_all(granted, context, budget) if granted else [])


def _granted(requests: Sequence[Request[Any]], reasons: list[str]) -> list[Request[Any]]:
    return [request for request, reason in zip(requests, reasons, strict=True) if not reason]


def _in_order(reasons: list[str], replies: list[Reply[Any]]) -> list[Reply[Any]]:
    left = iter(replies)
    return [Reply(reason=reason) if reason else next(left) for reason in reasons]


def refusals(requests: Sequence[Request[Any]], context: Context, budget: Budget) -> list[str]:
    """Return, for each request, why no model is asked; an empty text if one is asked."""
    reasons: list[str] = []
    asked = budget.asked
    for request in requests:
        together = sum(other.step == request.step for other in requests)
        reasons.append(request.locally_because or _refusal(request, together, context, budget, asked))
        asked += not reasons[-1]
    return reasons


def _refusal(request: Request[Any], together: int, context: Context, budget: Budget, asked: int) -> str:
    if context.model is None and (request.role == "answer" or context.models.fast_model is None):
        return NO_MODEL
    if request.step != "select" and request.step not in context.models.steps:
        return LEFT_LOCAL
    if budget.seconds <= 0:
        return f"the deadline of {context.budget.deadline_s:g} s has passed"
    if budget.calls <= 0:
        return f"the budget of {context.budget.max_llm_calls} calls is spent"
    if request.role == "answer":
        return ""
    if budget.unreachable:
        return "the chat model did not respond earlier in this question"
    if request.optional and budget.branches > 1:
        return "two strategies run at once, and only one call is planned for each"
    # The answer itself is one of the planned calls; the steps before it share the others.
    planned = context.budget.planned_calls
    if asked >= planned - budget.branches and not request.by_setting:
        return f"the {planned} calls that are planned for a question are needed elsewhere"
    if together > budget.calls - 1:
        return f"{together} calls at once and one for the answer exceed the {budget.calls} that are left"
    return ""
