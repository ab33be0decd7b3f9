"""Chunks to rows: their vectors and their sentences' vectors, each text embedded once."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from langchain_core.embeddings import Embeddings

from adaptive_rag.index.cache import EmbeddingCache
from adaptive_rag.index.sentences import pack_spans, pack_vectors
from adaptive_rag.index.table import Row
from adaptive_rag.models.embeddings import embedding_name, encode
from adaptive_rag.models.onnx import Vectors, load_minilm
from adaptive_rag.state import Chunk


class Vectorizer:
    """Embeds chunks, their question and answer where they are a pair, and their sentences.

    `seconds` counts the time spent inside the models, `embedded` the texts that went through them.
    """

    def __init__(
        self, embeddings: Embeddings, dimension: int, cache: EmbeddingCache, *, sentences: bool
    ) -> None:
        self.seconds = 0.0
        self.embedded = 0
        self._embeddings = embeddings
        self._dimension = dimension
        self._cache = cache
        self._sentence_model = load_minilm() if sentences else None

    def rows(self, chunks: Sequence[Chunk], docs: Sequence[str]) -> list[Row]:
        """Return the rows of chunks, given the key of each one's source."""
        vectors = self._encode(self._embeddings, self._dimension, [chunk["text"] for chunk in chunks])
        views = self._views(chunks)
        sentences = self._sentences(chunks)
        return [
            Row(chunk, doc, vector, view, *packed)
            for chunk, doc, vector, view, packed in zip(chunks, docs, vectors, views, sentences, strict=True)
        ]

    def _views(self, chunks: Sequence[Chunk]) -> list[Vectors | None]:
        pairs = {i: pair for i, chunk in enumerate(chunks) if (pair := question_and_answer(chunk))}
        if not pairs:
            return [None] * len(chunks)
        texts = [text for pair in pairs.values() for text in pair]
        vectors = iter(self._encode(self._embeddings, self._dimension, texts).reshape(len(pairs), 2, -1))
        return [next(vectors) if i in pairs else None for i in range(len(chunks))]

    def _sentences(self, chunks: Sequence[Chunk]) -> list[tuple[bytes | None, bytes | None]]:
        if self._sentence_model is None:
            return [(None, None)] * len(chunks)
        from adaptive_rag.text.sentences import sentence_spans

        spans = [sentence_spans(chunk["text"]) for chunk in chunks]
        texts = [
            chunk["text"][start:end]
            for chunk, pairs in zip(chunks, spans, strict=True)
            for start, end in pairs
        ]
        vectors = self._encode(self._sentence_model, self._sentence_model.dimension, texts)
        packed: list[tuple[bytes | None, bytes | None]] = []
        at = 0
        for chunk, pairs in zip(chunks, spans, strict=True):
            first = chunk["start"]
            shifted = [(first + start, first + end) for start, end in pairs]
            packed.append((pack_spans(shifted), pack_vectors(vectors[at : at + len(pairs)])))
            at += len(pairs)
        return packed

    def _encode(self, embeddings: Embeddings, dimension: int, texts: Sequence[str]) -> Vectors:
        """Embed texts that are neither in the cache nor repeated."""
        model = f"{embedding_name(embeddings)} {dimension}"
        distinct = list(dict.fromkeys(texts))
        known = dict(zip(distinct, self._cache.get(model, distinct), strict=True))
        missing = [text for text, vector in known.items() if vector is None]
        if missing:
            started = time.perf_counter()
            made = encode(embeddings, missing)
            self.seconds += time.perf_counter() - started
            self.embedded += len(missing)
            self._cache.put(model, missing, made)
            known.update(zip(missing, made, strict=True))
        rows = [vector for text in texts if (vector := known[text]) is not None]
        return np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)


def question_and_answer(chunk: Chunk) -> tuple[str, str] | None:
    """Return the two sides of a chunk that is a question-answer pair."""
    metadata = chunk["metadata"]
    if metadata.get("kind") != "qa":
        return None
    question, answer = metadata.get("question"), metadata.get("answer")
    return (question, answer) if isinstance(question, str) and isinstance(answer, str) else None
