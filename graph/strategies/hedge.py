"""Questions of which the router was unsure: run the two likeliest strategies and fuse their results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from adaptive_rag.context import Context
from adaptive_rag.nodes import fuse
from adaptive_rag.state import HedgeState, StrategyOutput


def send_likeliest(state: HedgeState) -> list[Send]:
    """Return a run of the chosen strategy and of each alternative, with their name as the question's type."""
    routes = [state["query_type"], *state["analysis"]["alternatives"]]
    return [Send(node_name(route), {**state, "query_type": route}) for route in routes]


def node_name(route: str) -> str:
    """Return the name of a strategy's node inside the hedge; Mermaid needs unique names for subgraphs."""
    return f"as_{route}"


def build_hedge(strategies: Mapping[str, Any]) -> StateGraph[HedgeState, Context, HedgeState, StrategyOutput]:
    """Build the graph: likeliest strategies => fuse."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        HedgeState, context_schema=Context, output_schema=StrategyOutput
    )
    for name, strategy in strategies.items():
        graph.add_node(node_name(name), strategy)
        graph.add_edge(node_name(name), "fuse")
    graph.add_node("fuse", fuse)
    graph.add_conditional_edges(START, send_likeliest, [node_name(name) for name in strategies])
    graph.add_edge("fuse", END)
    return graph
