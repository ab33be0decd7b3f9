"""Performs skills: with the chat model while the budget lasts, with the stand-in otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptive_rag.skills.base import Ask, Outcome

if TYPE_CHECKING:
    from adaptive_rag.context import Context


@dataclass(frozen=True)
class Budget:
    """What one question may still spend."""

    calls: int
    seconds: float


def perform(asks: Sequence[Ask[Any, Any]], context: Context, budget: Budget) -> list[Outcome[Any]]:
    """Perform independent skills at once and return their outcomes in order."""
    return [_stand_in(ask, ask.locally_because or "no chat model is configured") for ask in asks]


async def aperform(asks: Sequence[Ask[Any, Any]], context: Context, budget: Budget) -> list[Outcome[Any]]:
    """Perform independent skills at once without holding a thread while a model works."""
    return perform(asks, context, budget)


def _stand_in(ask: Ask[Any, Any], reason: str) -> Outcome[Any]:
    return Outcome(result=ask.skill.stand_in(ask.request), by="stand-in", reason=reason)
