"""The strategies and their steps, for clients that draw the path of a question."""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter
from pydantic import BaseModel, Field

from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.nodes import classify, fuse, generate
from adaptive_rag.server.calls import AnyCall

router = APIRouter(tags=["questions"])


class StrategyShown(BaseModel):
    """A way to find passages for one kind of question."""

    name: str = Field(description="As a setting says it: route=NAME.")
    purpose: str = Field(description="What it is for, in one line.")
    colour: str = Field(description="Hexadecimal, wherever the strategy is drawn.")
    steps: list[str] = Field(description="In the order in which they run.")


class StrategiesShown(BaseModel):
    """The graph that a question goes through."""

    first: str = Field(description="The step before the strategies, which chooses among them.")
    strategies: list[StrategyShown]
    join: str = Field(description="The step that joins what two strategies found, where both were run.")
    last: str = Field(description="The step after the strategies.")


@router.get("/strategies")
def list_strategies(call: AnyCall) -> StrategiesShown:
    """List the strategies with their steps, and the steps before and after them."""
    return _strategies()


@cache
def _strategies() -> StrategiesShown:
    return StrategiesShown(
        first=classify.name,
        strategies=[
            StrategyShown(name=name, purpose=each.purpose, colour=each.colour, steps=list(each.build().nodes))
            for name, each in STRATEGIES.items()
        ],
        join=fuse.name,
        last=generate.name,
    )
