"""LangChain documents in and out: an app's own documents as sources, our chunks as documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from langchain_core.documents import Document

from adaptive_rag.ingest.source_text import SourceText
from adaptive_rag.state import Chunk


def from_langchain(documents: Iterable[Document]) -> Iterator[SourceText]:
    """Turn an app's documents into sources; their metadata reaches every chunk.

    The source is `metadata["source"]`, or "document-N". Documents that follow each other with the same
    source (a PDF loader's pages) become one source, whose chunks cross from one to the next.
    """
    raise NotImplementedError


def to_document(chunk: Chunk) -> Document:
    """Turn a chunk or a candidate into a LangChain document.

    `metadata["page"]` counts from 1, as viewers do; LangChain's own PDF loaders count from 0.
    """
    raise NotImplementedError
