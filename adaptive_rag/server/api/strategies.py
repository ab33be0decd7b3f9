"""The strategies and their steps, for clients that draw the path of a question."""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter
from pydantic import BaseModel, Field

from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.nodes import classify, contextualize, fuse, generate
from adaptive_rag.server.calls import AnyCall

router = APIRouter(tags=["questions"])


class StrategyShown(BaseModel):
    """A way to find passages for one kind of question."""

    name: str = Field(description="The name, as in the setting route=NAME.")
    purpose: str = Field(description="Its purpose, in one line.")
    colour: str = Field(description="Hexadecimal colour for diagrams.")
    steps: list[str] = Field(description="The steps in the order in which they run.")
    shows_views: bool = Field(description="Whether its answers show who holds which view.")
    uses_situation: bool = Field(description="Whether its answers are for the situation of who asks.")


class StrategiesShown(BaseModel):
    """The graph that a question goes through."""

    first: str = Field(description="The step before the strategies, which chooses among them.")
    strategies: list[StrategyShown]
    join: str = Field(description="The step that joins the passages of two strategies, if both were run.")
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
            StrategyShown(
                name=name,
                purpose=strategy.purpose,
                colour=strategy.colour,
                steps=(steps := list(strategy.build().nodes)),
                shows_views=strategy.style.views,
                uses_situation=contextualize.name in steps,
            )
            for name, strategy in STRATEGIES.items()
        ],
        join=fuse.name,
        last=generate.name,
    )
