"""Indexing: read, split, embed and store new documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime

from adaptive_rag.context import CallerSettings, IndexingContext, context_of, is_served
from adaptive_rag.context.caller import shown_to_callers
from adaptive_rag.errors import ConfigurationError, InputError
from adaptive_rag.index import Index
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import read_manifest
from adaptive_rag.state import IndexingState

if TYPE_CHECKING:
    from adaptive_rag.ingest import Confined


def store(state: IndexingState, runtime: Runtime[IndexingContext | CallerSettings]) -> dict[str, object]:
    """Update the index with the files at the given paths."""
    with shown_to_callers(runtime):
        read = _read_served if is_served(runtime) else _read_local
        documents, settings = read(state, runtime)
        report = Index.build(
            documents, progress=lambda progress: runtime.stream_writer(asdict(progress)), **settings
        )
    return {"report": asdict(report)}


def _read_local(state: IndexingState, runtime: Runtime[Any]) -> tuple[list[str], dict[str, Any]]:
    context = runtime.context if runtime.context is not None else IndexingContext()
    settings = {name: getattr(context, name) for name in IndexingContext.model_fields if name != "index"}
    return state["paths"], {"uri": context.index, **settings}


def _read_served(state: IndexingState, runtime: Runtime[Any]) -> tuple[Confined, dict[str, Any]]:
    """Return the documents under the operator's folders, and the settings of the operator's index."""
    from adaptive_rag.ingest import Confined

    context = context_of(runtime)
    if not context.serving.roots:
        raise InputError(
            "This server indexes nothing: its operator has named no folder that callers may have indexed "
            "(serving.roots)."
        )
    if not isinstance(context.index, str):
        raise ConfigurationError(f"index = {context.index!r} is not usable: expected a folder or URI.")
    settings: dict[str, Any] = {"uri": context.index, "embeddings": context.embeddings}
    if manifest := read_manifest(open_location(context.index)):
        settings |= manifest.settings.chunking()
        settings["embeddings"] = context.embeddings or manifest.settings.embeddings
    return Confined(state["paths"], context.serving.roots, context.serving.max_documents), settings
