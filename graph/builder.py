"""The whole graph: classify, branch to a strategy, generate."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph

from adaptive_rag.context import Context
from adaptive_rag.graph.caching import cache_policy
from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.graph.strategies.hedge import build_hedge
from adaptive_rag.nodes import classify, generate
from adaptive_rag.state import InputState, OutputState, RetrievalState, State


def route(state: State) -> str:
    """Name the strategy that the analysis chose, or the hedge where it left two open."""
    return "hedge" if state["analysis"]["alternatives"] else state["query_type"]


def build_graph() -> StateGraph[State, Context, InputState, OutputState]:
    """Build the graph; compile it as it is, or with a checkpointer, store or cache of yours."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        State, context_schema=Context, input_schema=InputState, output_schema=OutputState
    )
    graph.add_node("generate", generate, cache_policy=cache_policy("generate"))
    graph.add_edge("generate", END)
    _branch(graph, then="generate")
    return graph


def build_retrieval_graph() -> StateGraph[State, Context, InputState, RetrievalState]:
    """Build the graph without its answer, for callers that want the documents only."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        State, context_schema=Context, input_schema=InputState, output_schema=RetrievalState
    )
    _branch(graph, then=END)
    return graph


def _branch(graph: StateGraph[Any, Any, Any, Any], *, then: str) -> None:
    strategies = {name: build().compile() for name, build in STRATEGIES.items()}
    branches: dict[Any, Any] = {**strategies, "hedge": build_hedge(strategies).compile()}
    graph.add_node("classify", classify)
    graph.add_edge(START, "classify")
    graph.add_conditional_edges("classify", route, list(branches))
    for name, branch in branches.items():
        graph.add_node(name, branch, cache_policy=cache_policy(name))
        graph.add_edge(name, then)
