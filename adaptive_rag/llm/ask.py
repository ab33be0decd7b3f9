"""Sends the requests of steps to a chat model; only this module limits the number of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adaptive_rag.context import Context
from adaptive_rag.llm.budget import Budget
from adaptive_rag.llm.call import acall_all, call_all
from adaptive_rag.llm.request import Reply, Request
from adaptive_rag.state import Phrase, StandIn, TraceRecord
from adaptive_rag.text.phrases import say

# Reasons that follow from the caller's settings; every other reason is a failure or a limit.
NO_MODEL, LEFT_LOCAL = say("no_model")["text"], say("left_local")["text"]


def ask(requests: Sequence[Request[Any]], context: Context, budget: Budget) -> list[Reply[Any]]:
    """Make independent requests in parallel and return their replies in order.

    Raises:
        ConfigurationError: a model cannot be opened, or the server refuses its key or does not know it.
    """
    reasons = refusals(requests, context, budget)
    return _merge_replies(reasons, call_all(_granted(requests, reasons), context, budget))


async def aask(requests: Sequence[Request[Any]], context: Context, budget: Budget) -> list[Reply[Any]]:
    """Do what `ask` does without a thread that waits while a model works."""
    reasons = refusals(requests, context, budget)
    return _merge_replies(reasons, await acall_all(_granted(requests, reasons), context, budget))


def find_failures(trace: Sequence[TraceRecord]) -> list[StandIn]:
    """Return the steps at which a model failed, and the step `generate` if a limit prevented its call."""
    return [
        stand_in
        for record in trace
        for stand_in in record.get("stand_ins", ())
        if stand_in["skill"] in record.get("asked", ())
        or (stand_in["skill"] == "generate" and stand_in["reason"] not in (LEFT_LOCAL, NO_MODEL))
    ]


def _granted(requests: Sequence[Request[Any]], reasons: list[Phrase | None]) -> list[Request[Any]]:
    return [request for request, reason in zip(requests, reasons, strict=True) if reason is None]


def _merge_replies(reasons: list[Phrase | None], replies: list[Reply[Any]]) -> list[Reply[Any]]:
    """Return a reply for every request: the model's, or one with the reason why no model was asked."""
    remaining = iter(replies)
    return [
        next(remaining) if reason is None else Reply(reason=reason["text"], phrase=reason)
        for reason in reasons
    ]


def refusals(requests: Sequence[Request[Any]], context: Context, budget: Budget) -> list[Phrase | None]:
    """Return, for each request, the reason why no model is asked; None if one is asked."""
    reasons = list[Phrase | None]()
    asked = budget.asked
    for request in requests:
        requests_of_step = sum(other.step == request.step for other in requests)
        if request.locally_because:
            reason: Phrase | None = say("locally", why=request.locally_because)
        else:
            reason = _refusal(request, requests_of_step, context, budget, asked)
        reasons.append(reason)
        asked += reason is None
    return reasons


def _refusal(
    request: Request[Any], requests_of_step: int, context: Context, budget: Budget, asked: int
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
    if requests_of_step > budget.calls - 1:
        return say("calls_exceed", n=requests_of_step, left=budget.calls)
    return None
