"""Sends every query of a strategy to a retrieval of its own, all in parallel."""

from __future__ import annotations

from langgraph.types import Send

from adaptive_rag.state import Branch, StrategyState


def send_each_query(state: StrategyState) -> list[Send]:
    """Start one retrieval a query."""
    return [
        Send("retrieve", Branch(order=order, query=query, analysis=state["analysis"]))
        for order, query in enumerate(state["queries"])
    ]
