"""The graph for indexing: one step that reads, embeds and stores new documents."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph

from adaptive_rag.context import CallerSettings, IndexingContext
from adaptive_rag.nodes.store import store
from adaptive_rag.state import IndexingInput, IndexingOutput, IndexingState


def build_indexing_graph(
    form: type[CallerSettings] | None = None,
) -> StateGraph[IndexingState, IndexingContext, IndexingInput, IndexingOutput]:
    """Build the graph with its one step, `store`.

    Without a form, the caller decides what is indexed, how and where. With one, only folders that the
    operator allows are indexed, and only into the operator's index.
    """
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        IndexingState,
        context_schema=form or IndexingContext,
        input_schema=IndexingInput,
        output_schema=IndexingOutput,
    )
    graph.add_node("store", store)
    graph.add_edge(START, "store")
    graph.add_edge("store", END)
    return graph
