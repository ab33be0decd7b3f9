"""The adapter to LangChain's community collection: the only file that imports langchain-community.

Its maintainers announced in May 2026 that they wind it down: it takes no new integrations, issues are closed,
and its repository is read-only (github.com/langchain-ai/langchain-community/issues/674). What stands here is
its TF-IDF retriever, one more arm of the evaluation, which works without a change from its side. Whoever
replaces it replaces this file.
"""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


def build_tfidf_retriever(documents: Iterable[Document], k: int) -> BaseRetriever:
    """Build a retriever that returns the k documents nearest to a query by TF-IDF cosine, nearest first."""
    from langchain_community.retrievers import TFIDFRetriever

    found: BaseRetriever = TFIDFRetriever.from_documents(documents, k=k)
    return found
