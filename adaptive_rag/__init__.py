"""Adaptive RAG: answers questions over your own documents, each by the strategy that suits it."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adaptive_rag.context import Context
    from adaptive_rag.graph.builder import build_graph
    from adaptive_rag.index import Index
    from adaptive_rag.ingest.rectangles import locate
    from adaptive_rag.retriever import AdaptiveRetriever
    from adaptive_rag.runnable import AdaptiveRAG

__all__ = ["AdaptiveRAG", "AdaptiveRetriever", "Context", "Index", "build_graph", "locate"]

# A checkout keeps graph/ and nodes/ beside this folder, an installed copy inside it. Python started in a
# checkout imports this file rather than the installed one, and must still find them.
_HERE = Path(__file__).parent
if not (_HERE / "graph").is_dir() and (_HERE.parent / "graph" / "builder.py").is_file():
    __path__.append(str(_HERE.parent))

# Imported when first used, so that the command line answers --help without loading the whole stack.
_HOMES = {
    "AdaptiveRAG": "adaptive_rag.runnable",
    "AdaptiveRetriever": "adaptive_rag.retriever",
    "Context": "adaptive_rag.context",
    "Index": "adaptive_rag.index",
    "build_graph": "adaptive_rag.graph.builder",
    "locate": "adaptive_rag.ingest.rectangles",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'adaptive_rag' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
