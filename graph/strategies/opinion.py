"""Opinion questions: every side counts, so ask for each viewpoint and draw from all in turn."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph

from adaptive_rag.context import Context
from adaptive_rag.graph.strategies.fan_out import send_each_branch
from adaptive_rag.nodes import balance, retrieve_branch, viewpoints
from adaptive_rag.state import Branch, StrategyOutput, StrategyState


def build_opinion() -> StateGraph[StrategyState, Context, StrategyState, StrategyOutput]:
    """Build viewpoints => retrieve, once a viewpoint => balance."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        StrategyState, context_schema=Context, output_schema=StrategyOutput
    )
    graph.add_node("viewpoints", viewpoints)
    graph.add_node("retrieve", retrieve_branch, input_schema=Branch)
    graph.add_node("balance", balance)
    graph.add_edge(START, "viewpoints")
    graph.add_conditional_edges("viewpoints", send_each_branch, ["retrieve"])
    graph.add_edge("retrieve", "balance")
    graph.add_edge("balance", END)
    return graph
