"""Turns chunks into rows with vectors for the chunk and its sentences; each text is embedded once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import ConfigurationError, IndexMismatchError
from adaptive_rag.index.cache import EmbeddingCache
from adaptive_rag.index.manifest import Settings, rebuild_hint
from adaptive_rag.index.table import TableRow, pack_sentences
from adaptive_rag.ingest.chunking import text_to_embed
from adaptive_rag.models.embeddings import embedding_name, encode, limit_of, load_embeddings
from adaptive_rag.models.onnx import OnnxEmbeddings, load_minilm
from adaptive_rag.source import Sentences
from adaptive_rag.state import Chunk
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.tables import describe_row, find_tables
from adaptive_rag.text.vectors import Vectors


class Vectorizer:
    """Embeds chunks, their sentences, and the question and answer of question-answer pairs.

    `seconds` is the time spent inside the models, `embedded` is the number of embedded texts, and `limit` is
    how much of a text the embedding model reads.
    """

    def __init__(self, embeddings: Embeddings, settings: Settings, cache: EmbeddingCache) -> None:
        self.seconds = 0.0
        self.embedded = 0
        self.limit = limit_of(embeddings, settings.chunk_size)
        self._embeddings = embeddings
        self._settings = settings
        self._cache = cache

    def rows(self, chunks: Sequence[Chunk], docs: Sequence[str]) -> list[TableRow]:
        """Return the rows of chunks; `docs` are the source keys of the chunks."""
        texts = [text_to_embed(chunk, self.limit) for chunk in chunks]
        vectors = self._encode(self._embeddings, self._settings.dimension, texts)
        views = self._views(chunks)
        packed: list[tuple[bytes | None, bytes | None]] = [(None, None)] * len(chunks)
        if self._settings.sentence_vectors:
            minilm = load_minilm()
            encode_sentences = partial(self._encode, minilm, minilm.dimension)
            packed = [pack_sentences(each) for each in embed_sentences(chunks, encode_sentences)]
        return [
            TableRow(chunk, doc, vector, view, *sentences)
            for chunk, doc, vector, view, sentences in zip(chunks, docs, vectors, views, packed, strict=True)
        ]

    def _views(self, chunks: Sequence[Chunk]) -> list[Vectors | None]:
        """Embed question and answer of chunks that are question-answer pairs; None for other chunks."""
        pairs: dict[int, tuple[str, str]] = {}
        for i, chunk in enumerate(chunks):
            kind, question, answer = map(chunk["metadata"].get, ("kind", "question", "answer"))
            if kind == "qa" and isinstance(question, str) and isinstance(answer, str):
                pairs[i] = question, answer
        if not pairs:
            return [None] * len(chunks)
        texts = [text for pair in pairs.values() for text in pair]
        embedded = self._encode(self._embeddings, self._settings.dimension, texts)
        vectors = iter(embedded.reshape(len(pairs), 2, -1))
        return [next(vectors) if i in pairs else None for i in range(len(chunks))]

    def _encode(self, embeddings: Embeddings, dimension: int, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts; each distinct text that is not cached is embedded once."""
        model = f"{embedding_name(embeddings)} {dimension}"
        if isinstance(embeddings, OnnxEmbeddings) and embeddings.state:
            model += f" {embeddings.state}"
        distinct = list(dict.fromkeys(texts))
        vector_of = dict(zip(distinct, self._cache.get(model, distinct), strict=True))
        missing = [text for text, vector in vector_of.items() if vector is None]
        if missing:
            started = time.perf_counter()
            embedded = encode(embeddings, missing)
            self.seconds += time.perf_counter() - started
            self.embedded += len(missing)
            self._cache.put(model, missing, embedded)
            vector_of.update(zip(missing, embedded, strict=True))
        rows = [vector for text in texts if (vector := vector_of[text]) is not None]
        return np.stack(rows) if rows else np.zeros((0, dimension), dtype=np.float32)


def load_model_of(uri: str, name: str, embeddings: str | Embeddings | None) -> Embeddings:
    """Return the embedding model of an index: the one passed, or else loaded by its name.

    Raises:
        IndexMismatchError: the model that was passed is not the one of the index.
        ConfigurationError: the model cannot be loaded by name and was not passed.
    """
    try:
        model = load_embeddings(name if embeddings is None else embeddings)
    except ConfigurationError as error:
        if embeddings is not None:
            raise
        raise ConfigurationError(
            f"The index {uri} was made with {name!r}, which cannot be loaded by name. "
            "Pass the same embeddings object: Index.open(uri, embeddings=...)."
        ) from error
    if (passed_name := embedding_name(model)) != name:
        raise IndexMismatchError(
            f"The index {uri} was made with {name!r}; got {passed_name!r}. Leave the model out to use the "
            f"index's own, or rebuild the index: {rebuild_hint(uri)} --embeddings {passed_name}"
        )
    return model


class OtherModelError(IndexMismatchError):
    """An index was rebuilt with another embedding model while it was open."""


def refuse_other_model(uri: str, model: str, new_model: str) -> None:
    """Raise an error if an index that was opened with one embedding model has been rebuilt with another."""
    if new_model != model:
        raise OtherModelError(
            f"The index {uri} was opened with {model!r} and then rebuilt with {new_model!r}. Open it again."
        )


def refuse_dimension(uri: str, stored: int, vectors: Vectors, embeddings: Embeddings) -> None:
    """Raise an error if query vectors do not have the dimension of the index."""
    if vectors.shape[1] != stored:
        raise IndexMismatchError(
            f"The index {uri} has vectors of {stored} dimensions; {embedding_name(embeddings)!r} made one "
            f"of {vectors.shape[1]}. Open it with the model that it was made with."
        )


def embed_sentences(
    chunks: Sequence[Chunk], encode: Callable[[list[str]], Vectors] | None = None
) -> list[Sentences]:
    """Return the sentences of chunks with their vectors, made by `encode` or else by the embedded model.

    A table row is embedded as words with its column names: "Brass hinge: price 4.20".
    """
    row_texts_of_chunks = [_rows_in_words(chunk) for chunk in chunks]
    spans = [sentence_spans(chunk["text"]) for chunk in chunks]
    texts = [
        row_texts.get(start, chunk["text"][start:end])
        for chunk, chunk_spans, row_texts in zip(chunks, spans, row_texts_of_chunks, strict=True)
        for start, end in chunk_spans
    ]
    all_vectors = (encode or load_minilm().encode)(texts)
    ends = np.cumsum([len(chunk_spans) for chunk_spans in spans])
    *vectors_of_chunks, _ = np.split(all_vectors, ends)  # the last part, after the last end, is empty
    span_arrays = [np.array(chunk_spans, dtype=np.int64).reshape(-1, 2) for chunk_spans in spans]
    return [
        Sentences(chunk_spans + chunk["start"], vectors)
        for chunk, chunk_spans, vectors in zip(chunks, span_arrays, vectors_of_chunks, strict=True)
    ]


def _rows_in_words(chunk: Chunk) -> dict[int, str]:
    """Return the table rows of a chunk as words, by the offset of each row in the text."""
    tables = find_tables(chunk["text"], tuple(chunk["metadata"].get("columns", ())))
    return {row.start: describe_row(row.cells, table.columns) for table in tables for row in table.rows}
