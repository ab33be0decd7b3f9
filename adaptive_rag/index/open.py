"""The store that a run searches, under the name by which the steps import it."""

from adaptive_rag.index.index import source_of

__all__ = ["source_of"]
