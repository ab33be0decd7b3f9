"""Indexing: read, split, embed and store what is new."""

from __future__ import annotations

from dataclasses import asdict

from langgraph.runtime import Runtime

from adaptive_rag.context import IndexingContext
from adaptive_rag.index import Index
from adaptive_rag.state import IndexingState


def store(state: IndexingState, runtime: Runtime[IndexingContext]) -> dict[str, object]:
    """Bring the index up to date with the paths."""
    context = runtime.context if runtime.context is not None else IndexingContext()
    settings = {name: getattr(context, name) for name in IndexingContext.model_fields if name != "index"}
    report = Index.build(
        state["paths"],
        context.index,
        progress=lambda progress: runtime.stream_writer(asdict(progress)),
        **settings,
    )
    return {"report": asdict(report)}
