"""Contextual questions: who asks, and after what, belongs into the query and into the scoring."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph

from adaptive_rag.context import Context
from adaptive_rag.nodes import contextualize, rerank, retrieve
from adaptive_rag.state import StrategyOutput, StrategyState


def build_contextual() -> StateGraph[StrategyState, Context, StrategyState, StrategyOutput]:
    """Build contextualize -> retrieve -> rerank."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        StrategyState, context_schema=Context, output_schema=StrategyOutput
    )
    graph.add_node("contextualize", contextualize)
    graph.add_node("retrieve", retrieve)
    graph.add_node("rerank", rerank)
    graph.add_edge(START, "contextualize")
    graph.add_edge("contextualize", "retrieve")
    graph.add_edge("retrieve", "rerank")
    graph.add_edge("rerank", END)
    return graph
