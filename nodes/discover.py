"""Indexing: which files lie under the paths?"""

from __future__ import annotations

from adaptive_rag.indexing import IndexingState
from adaptive_rag.ingest import discover as list_files


def discover(state: IndexingState) -> dict[str, list[str]]:
    """List the files that can be read."""
    return {"files": [file.source for file in list_files(state["paths"])]}
