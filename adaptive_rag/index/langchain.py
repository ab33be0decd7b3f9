"""Searches an app's own retriever or vector store, and scores the documents that it returns."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from cachetools import LRUCache
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.vectorize import embed_sentences
from adaptive_rag.models.embeddings import embed_queries, encode, load_embeddings
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Chunk, to_candidate
from adaptive_rag.text.vectors import Vectors

CHUNKS_KEPT = 4096


@dataclass(slots=True)
class _Found:
    """A chunk that a search returned; its vectors are computed on first use."""

    chunk: Chunk
    vector: Vectors | None = None
    sentences: Sentences | None = None


class RetrieverSource:
    """Searches with a LangChain retriever or vector store.

    The results get a dense score from `embeddings` (by default the embedded model) and BM25 over the
    returned chunks. A vector store is asked for `limit` chunks; a retriever returns as many as it is
    configured to. The methods that take ids raise KeyError for a chunk that no recent search returned.
    """

    def __init__(
        self, retriever: BaseRetriever | VectorStore, embeddings: str | Embeddings | None = None
    ) -> None:
        if not isinstance(retriever, BaseRetriever | VectorStore):
            raise ConfigurationError(
                f"retriever = {retriever!r} is not usable: expected a LangChain retriever or vector store."
            )
        self._retriever = retriever
        self._embeddings = load_embeddings(embeddings)
        self._lock = threading.Lock()
        self._found: LRUCache[str, _Found] = LRUCache(CHUNKS_KEPT)

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return the retriever's results for each query, scored by vector and by words."""
        if not queries:
            return []
        with ThreadPoolExecutor(min(8, len(queries)), thread_name_prefix="search") as pool:
            found = list(pool.map(lambda query: self._retrieve(query, limit), queries))
        vectors = embed_queries(self._embeddings, queries)
        return [self._score(*each) for each in zip(queries, vectors, found, strict=True)]

    @property
    def version(self) -> str:
        """A new name each time: a store does not say whether it has changed, so nothing of it is cached."""
        return secrets.token_hex(8)

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks that a search returned."""
        return np.stack(self._known(ids, "vector", self._encode))

    def similarities(self, texts: Sequence[str], ids: Sequence[str]) -> Vectors:
        """Return the cosine of each text with each chunk that a search returned."""
        return np.asarray(encode(self._embeddings, list(texts)) @ self.vectors(ids).T, dtype=np.float32)

    @property
    def stores_sentences(self) -> bool:
        """Return False: sentences are embedded on first use."""
        return False

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of chunks that a search returned; they are embedded on first use."""
        return self._known(ids, "sentences", embed_sentences)

    def _encode(self, chunks: Sequence[Chunk]) -> Vectors:
        return encode(self._embeddings, [chunk["text"] for chunk in chunks])

    def _retrieve(self, query: str, limit: int) -> list[Document]:
        if isinstance(self._retriever, VectorStore):
            return self._retriever.similarity_search(query, k=limit)
        return self._retriever.invoke(query)

    def _score(self, query: str, vector: Vectors, documents: Sequence[Document]) -> list[Candidate]:
        chunks = list({chunk["id"]: chunk for chunk in map(to_chunk, documents)}.values())
        with self._lock:
            for chunk in chunks:
                known = self._found.get(chunk["id"])
                if known and (known.chunk["text"], known.chunk["start"]) == (chunk["text"], chunk["start"]):
                    known.chunk = chunk
                else:  # new, or replaced under its id
                    self._found[chunk["id"]] = _Found(chunk)
        dense = self.vectors([chunk["id"] for chunk in chunks]) @ vector if chunks else np.zeros(0)
        sparse = score_words(query, [chunk["text"] for chunk in chunks])
        return [
            to_candidate(chunk, {"dense": float(by_vector), "sparse": by_words})
            for chunk, by_vector, by_words in zip(chunks, dense, sparse, strict=True)
        ]

    def _known(self, ids: Sequence[str], what: str, make: Callable[[list[Chunk]], Any]) -> list[Any]:
        """Return one attribute of each chunk, and compute it on first use."""
        with self._lock:
            found = [self._found[id_] for id_ in ids]
        if bare := list({each.chunk["id"]: each for each in found if getattr(each, what) is None}.values()):
            for each, made in zip(bare, make([each.chunk for each in bare]), strict=True):
                setattr(each, what, made)
        return [getattr(each, what) for each in found]


def to_chunk(document: Document) -> Chunk:
    """Convert a LangChain document to a chunk, with the `source`, `page` and `start_index` of its loader.

    Our pages count from 1. `page_label` is used if it is a number; otherwise `page` is taken to count
    from 0, as in LangChain's PDF loaders.
    """
    metadata: dict[str, Any] = dict(document.metadata)
    text = document.page_content
    source = str(metadata.get("source", "retriever"))
    label, page, start = metadata.get("page_label"), metadata.get("page"), metadata.get("start_index")
    if isinstance(label, str) and label.isdecimal():
        page = int(label)
    elif isinstance(page, int):
        page += 1
    start = start if isinstance(start, int) else 0
    section = metadata.get("section")
    return {
        "id": document.id or hashlib.sha256(f"{source}\0{start}\0{text}".encode()).hexdigest()[:16],
        "source": source,
        "page": page if isinstance(page, int) else None,
        "section": section if isinstance(section, str) else None,
        "start": start,
        "end": start + len(text),
        "text": text,
        "metadata": metadata,
    }


def score_words(query: str, texts: Sequence[str]) -> list[float]:
    """Return the BM25 of each text; 0.0 if it contains no word of the query."""
    from rank_bm25 import BM25Plus

    words = set(_split(query))
    documents = [_split(text) for text in texts]
    if not words or not any(documents):
        return [0.0] * len(texts)
    # BM25Plus: its word weights stay positive when half of a small set contains a word
    scores = BM25Plus(documents).get_scores(sorted(words))
    return [
        float(score) if words.intersection(document) else 0.0
        for score, document in zip(scores, documents, strict=True)
    ]


def _split(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
