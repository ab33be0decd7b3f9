"""Chunks to disk, and back by vector or by words."""

from adaptive_rag.index.build import IndexReport
from adaptive_rag.index.index import Index
from adaptive_rag.index.location import describe
from adaptive_rag.index.progress import Progress

__all__ = ["Index", "IndexReport", "Progress", "describe"]
