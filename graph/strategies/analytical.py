"""Analytical questions: several aspects count, so ask for each and keep what covers most."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph

from adaptive_rag.context import Context
from adaptive_rag.graph.strategies.fan_out import send_each_branch
from adaptive_rag.nodes import decompose, diversify, retrieve_branch
from adaptive_rag.state import Branch, StrategyOutput, StrategyState


def build_analytical() -> StateGraph[StrategyState, Context, StrategyState, StrategyOutput]:
    """Build decompose => retrieve, once a sub-question => diversify."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        StrategyState, context_schema=Context, output_schema=StrategyOutput
    )
    graph.add_node("decompose", decompose)
    graph.add_node("retrieve", retrieve_branch, input_schema=Branch)
    graph.add_node("diversify", diversify)
    graph.add_edge(START, "decompose")
    graph.add_conditional_edges("decompose", send_each_branch, ["retrieve"])
    graph.add_edge("retrieve", "diversify")
    graph.add_edge("diversify", END)
    return graph
