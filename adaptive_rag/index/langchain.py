"""Searches with an app's own retriever or vector store, and scores the documents that it returns."""

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
from adaptive_rag.ingest.langchain import page_of, plain_metadata, whole_number
from adaptive_rag.models.embeddings import embed_queries, encode, load_embeddings
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Chunk, to_candidate
from adaptive_rag.text.vectors import Vectors, cosines
from adaptive_rag.text.visible import without_surrogates

CHUNKS_KEPT = 4096


@dataclass(slots=True)
class _FoundChunk:
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
        self._found_chunks: LRUCache[str, _FoundChunk] = LRUCache(CHUNKS_KEPT)

    def search(self, queries: Sequence[str], *, limit: int) -> list[list[Candidate]]:
        """Return the retriever's results for each query, scored by vector and by words."""
        if not queries:
            return []
        with ThreadPoolExecutor(min(8, len(queries)), thread_name_prefix="search") as pool:
            documents = list(pool.map(lambda query: self._retrieve(query, limit), queries))
        vectors = embed_queries(self._embeddings, queries)
        return [self._score(*item) for item in zip(queries, vectors, documents, strict=True)]

    @property
    def version(self) -> str:
        """A new name each time, so nothing is cached: a store does not tell whether it has changed."""
        return secrets.token_hex(8)

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of chunks that a search returned."""
        return np.stack(self._get_computed(ids, "vector", self._encode))

    def similarities(self, texts: Sequence[str], ids: Sequence[str]) -> Vectors:
        """Return the cosine of each text with each chunk that a search returned."""
        return cosines(embed_queries(self._embeddings, texts), self.vectors(ids))

    @property
    def stores_sentences(self) -> bool:
        """Return False: sentences are embedded on first use."""
        return False

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """Return the sentences of chunks that a search returned; they are embedded on first use."""
        return self._get_computed(ids, "sentences", embed_sentences)

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
                cached = self._found_chunks.get(chunk["id"])
                if cached and (cached.chunk["text"], cached.chunk["start"]) == (
                    chunk["text"],
                    chunk["start"],
                ):
                    cached.chunk = chunk
                else:  # the chunk is new, or was replaced under its id
                    self._found_chunks[chunk["id"]] = _FoundChunk(chunk)
        dense = self.vectors([chunk["id"] for chunk in chunks]) @ vector if chunks else np.zeros(0)
        sparse = score_words(query, [chunk["text"] for chunk in chunks])
        return [
            to_candidate(chunk, {"dense": float(by_vector), "sparse": by_words})
            for chunk, by_vector, by_words in zip(chunks, dense, sparse, strict=True)
        ]

    def _get_computed(
        self, ids: Sequence[str], attribute: str, compute: Callable[[list[Chunk]], Any]
    ) -> list[Any]:
        """Return one attribute of each chunk; it is computed on first use."""
        with self._lock:
            found_chunks = [self._found_chunks[id_] for id_ in ids]
        missing = {found.chunk["id"]: found for found in found_chunks if getattr(found, attribute) is None}
        if missing:
            values = compute([found.chunk for found in missing.values()])
            for found, value in zip(missing.values(), values, strict=True):
                setattr(found, attribute, value)
        return [getattr(found, attribute) for found in found_chunks]


def to_chunk(document: object) -> Chunk:
    """Convert a LangChain document to a chunk, with the `source`, `page` and `start_index` of its loader."""
    if not isinstance(document, Document):
        kind = type(document).__name__
        raise ConfigurationError(f"The retriever returned {kind!r}; a LangChain Document was expected.")
    metadata, text = plain_metadata(document), without_surrogates(document.page_content)
    source = str(metadata.get("source") or "retriever")
    start = whole_number(metadata.get("start_index")) or 0
    section = metadata.get("section")
    return {
        "id": document.id or hashlib.sha256(f"{source}\0{start}\0{text}".encode()).hexdigest()[:16],
        "source": source,
        "page": page_of(metadata),
        "section": section if isinstance(section, str) else None,
        "start": start,
        "end": start + len(text),
        "text": text,
        "metadata": metadata,
    }


def score_words(query: str, texts: Sequence[str]) -> list[float]:
    """Return the BM25 of each text for a query; 0.0 if a text contains no word of it."""
    from rank_bm25 import BM25Plus

    words = set(_split(query))
    documents = [_split(text) for text in texts]
    if not words or not any(documents):
        return [0.0] * len(texts)
    # BM25Plus, because its word weights stay positive even if half of a small set contains a word
    scores = BM25Plus(documents).get_scores(sorted(words))
    return [
        float(score) if words.intersection(document) else 0.0
        for score, document in zip(scores, documents, strict=True)
    ]


def _split(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
