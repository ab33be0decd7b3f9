"""The graph for indexing: find the files, then read, embed and store what is new."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph

from adaptive_rag.indexing import IndexingContext, IndexingInput, IndexingOutput, IndexingState
from adaptive_rag.nodes.discover import discover
from adaptive_rag.nodes.store import store


def build_indexing_graph() -> StateGraph[IndexingState, IndexingContext, IndexingInput, IndexingOutput]:
    """Build discover -> store."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        IndexingState,
        context_schema=IndexingContext,
        input_schema=IndexingInput,
        output_schema=IndexingOutput,
    )
    graph.add_node("discover", discover)
    graph.add_node("store", store)
    graph.add_edge(START, "discover")
    graph.add_edge("discover", "store")
    graph.add_edge("store", END)
    return graph
