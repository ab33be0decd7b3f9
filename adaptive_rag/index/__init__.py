"""Chunks to disk, and back by vector or by words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adaptive_rag.index.build import IndexReport, Progress
    from adaptive_rag.index.index import Index, describe

__all__ = ["Index", "IndexReport", "Progress", "describe"]


def __getattr__(name: str) -> Any:
    # `adaptive_rag.source` is imported by the context of every run; the index itself when used.
    if name in ("Index", "describe"):
        from adaptive_rag.index import index

        return getattr(index, name)
    if name in __all__:
        from adaptive_rag.index import build

        return getattr(build, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
