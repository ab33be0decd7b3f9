"""Factual questions: one exact passage counts, so sharpen the query and rank strictly."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph

from adaptive_rag.context import Context
from adaptive_rag.nodes import enhance, rerank, retrieve
from adaptive_rag.state import StrategyOutput, StrategyState


def build_factual() -> StateGraph[StrategyState, Context, StrategyState, StrategyOutput]:
    """Build enhance -> retrieve -> rerank."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        StrategyState, context_schema=Context, output_schema=StrategyOutput
    )
    graph.add_node("enhance", enhance)
    graph.add_node("retrieve", retrieve)
    graph.add_node("rerank", rerank)
    graph.add_edge(START, "enhance")
    graph.add_edge("enhance", "retrieve")
    graph.add_edge("retrieve", "rerank")
    graph.add_edge("rerank", END)
    return graph
