"""The adapter to LangChain's community package: the only file that imports langchain-community.

Its maintainers announced in May 2026 that they are winding it down: it takes no new integrations, issues are
closed, and its repository is read-only (github.com/langchain-ai/langchain-community/issues/674). We use its
TF-IDF retriever as one more arm of the evaluation; it works without changes on its side. To replace it,
replace this file.
"""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


def build_tfidf_retriever(documents: Iterable[Document], k: int) -> BaseRetriever:
    """Build a retriever that returns the k documents nearest to a query by TF-IDF cosine, nearest first."""
    from langchain_community.retrievers import TFIDFRetriever

    retriever: BaseRetriever = TFIDFRetriever.from_documents(documents, k=k)
    return retriever
