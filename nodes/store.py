"""Indexing: read, split, embed and store what is new."""

from __future__ import annotations

from dataclasses import asdict

from langgraph.runtime import Runtime

from adaptive_rag.index import Index
from adaptive_rag.indexing import IndexingContext, IndexingState


def store(state: IndexingState, runtime: Runtime[IndexingContext]) -> dict[str, object]:
    """Bring the index up to date with the paths."""
    context = runtime.context if runtime.context is not None else IndexingContext()
    report = Index.build(
        state["paths"],
        context.index,
        embeddings=context.embeddings,
        chunk_size=context.chunk_size,
        chunk_overlap=context.chunk_overlap,
        sentence_vectors=context.sentence_vectors,
        prune=context.prune,
        rebuild=context.rebuild,
        progress=lambda progress: runtime.stream_writer(asdict(progress)),
    )
    return {"report": asdict(report)}
