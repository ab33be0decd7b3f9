"""Graph nodes, one per file: each reads state and context, calls the core and returns the keys it changes."""

from adaptive_rag.nodes.balance import balance
from adaptive_rag.nodes.classify import classify
from adaptive_rag.nodes.contextualize import contextualize
from adaptive_rag.nodes.decompose import decompose
from adaptive_rag.nodes.diversify import diversify
from adaptive_rag.nodes.enhance import enhance
from adaptive_rag.nodes.fuse import fuse
from adaptive_rag.nodes.generate import generate
from adaptive_rag.nodes.rerank import rerank
from adaptive_rag.nodes.retrieve import retrieve, retrieve_branch
from adaptive_rag.nodes.viewpoints import viewpoints

__all__ = [
    "balance",
    "classify",
    "contextualize",
    "decompose",
    "diversify",
    "enhance",
    "fuse",
    "generate",
    "rerank",
    "retrieve",
    "retrieve_branch",
    "viewpoints",
]
