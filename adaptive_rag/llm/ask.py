"""Sends the requests of steps to a chat model; the one place that limits the number of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adaptive_rag.context import Context
from adaptive_rag.llm.budget import Budget
from adaptive_rag.llm.call import acall_all, call_all
from adaptive_rag.llm.request import Reply, Request
from adaptive_rag.state import Phrase, StandIn, TraceRecord
from adaptive_rag.text.phrases import say

# Reasons that the caller has chosen; every other reason is a failure or a limit.
NO_MODEL, LEFT_LOCAL = say("no_model")["text"], say("left_local")["text"]


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


def find_failures(trace: Sequence[TraceRecord]) -> list[StandIn]:
    """Return the steps at which a model failed, and the answer if a limit kept the model from being asked."""
    return [
        stand_in
        for record in trace
        for stand_in in record.get("stand_ins", ())
        if stand_in["skill"] in record.get("asked", ())
        or (stand_in["skill"] == "generate" and stand_in["reason"] not in (LEFT_LOCAL, NO_MODEL))
    ]


def _granted(requests: Sequence[Request[Any]], reasons: list[Phrase | None]) -> list[Request[Any]]:
    return [request for request, reason in zip(requests, reasons, strict=True) if reason is None]


def _in_order(reasons: list[Phrase | None], replies: list[Reply[Any]]) -> list[Reply[Any]]:
    left = iter(replies)
    return [next(left) if reason is None else Reply(reason=reason["text"], said=reason) for reason in reasons]


def refusals(requests: Sequence[Request[Any]], context: Context, budget: Budget) -> list[Phrase | None]:
    """Return, for each request, why no model is asked; None if one is asked."""
    reasons = list[Phrase | None]()
    asked = budget.asked
    for request in requests:
        together = sum(other.step == request.step for other in requests)
        because = say("locally", why=request.locally_because) if request.locally_because else None
        reasons.append(because or _refusal(request, together, context, budget, asked))
        asked += reasons[-1] is None
    return reasons


def _refusal(
    request: Request[Any], together: int, context: Context, budget: Budget, asked: int
) -> Phrase | None:
    if context.model is None and (request.role == "answer" or context.models.fast_model is None):
        return say("no_model")
    if request.step != "select" and request.step not in context.models.steps:
        return say("left_local")
    if budget.seconds <= 0:
        return say("deadline_passed", seconds=context.budget.deadline_s)
    if budget.calls <= 0:
        return say("calls_spent", n=context.budget.max_llm_calls)
    if request.role == "answer":
        return None
    if budget.unreachable:
        return say("no_response_earlier")
    if request.optional and budget.branches > 1:
        return say("one_call_each")
    # The answer itself is one of the planned calls; the steps before it share the others.
    planned = context.budget.planned_calls
    if asked >= planned - budget.branches and not request.by_setting:
        return say("calls_needed_elsewhere", n=planned)
    if together > budget.calls - 1:
        return say("calls_exceed", n=together, left=budget.calls)
    return None
