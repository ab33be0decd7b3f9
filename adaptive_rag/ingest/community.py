"""The adapter to LangChain's community collection: the only file that imports langchain-community.

Its maintainers announced in May 2026 that they wind it down: it takes no new integrations, issues are closed,
and its repository is read-only (github.com/langchain-ai/langchain-community/issues/674). What stands here is
what it does best and what works without a change from its side: reading subtitles, and its TF-IDF retriever
as one more arm of the evaluation. Whoever replaces it replaces this file.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder


def load_srt(path: Path, builder: TextBuilder) -> None:
    """Write the words of a subtitle file into `builder`."""
    from langchain_community.document_loaders import SRTLoader

    try:
        documents = SRTLoader(path).load()
    # what a community loader raises is not documented; one file must not end the whole run
    except Exception as error:
        raise IndexingError("cannot be read as subtitles. Save it as UTF-8, in the form of .srt") from error
    for document in documents:
        lines = (" ".join(line.split()) for line in document.page_content.splitlines())
        if text := "\n".join(filter(None, lines)):
            builder.add_paragraph(text)


def build_tfidf_retriever(documents: Iterable[Document], k: int) -> BaseRetriever:
    """Build a retriever that returns the k documents nearest to a query by TF-IDF cosine, nearest first."""
    from langchain_community.retrievers import TFIDFRetriever

    found: BaseRetriever = TFIDFRetriever.from_documents(documents, k=k)
    return found
