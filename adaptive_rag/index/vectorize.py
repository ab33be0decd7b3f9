"""Turns chunks into rows with vectors for the chunk and its sentences; each text is embedded once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import ConfigurationError, IndexMismatchError
from adaptive_rag.index.cache import EmbeddingCache
from adaptive_rag.index.manifest import Settings, rebuild_hint
from adaptive_rag.index.table import TableRow, pack_sentences
from adaptive_rag.models.embeddings import embedding_name, encode, limit_of, load_embeddings
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.source import Sentences
from adaptive_rag.state import Chunk
from adaptive_rag.text.vectors import Vectors


class Vectorizer:
    """Embeds chunks, their sentences, and the question and answer of question-answer pairs.

    `seconds` is the time spent inside the models, `embedded` the number of texts embedded, and `limit` how
    much of a text the embedding model reads.
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
        from adaptive_rag.ingest.chunking import text_to_embed

        texts = [text_to_embed(chunk, self.limit) for chunk in chunks]
        vectors, found = self._embed(chunks, texts)
        views = self._views(chunks)
        stored: list[tuple[bytes | None, bytes | None]] = [(None, None)] * len(chunks)
        if found is not None:
            stored = [pack_sentences(sentences) for sentences in found]
        return [
            TableRow(chunk, doc, vector, view, *sentences)
            for chunk, doc, vector, view, sentences in zip(chunks, docs, vectors, views, stored, strict=True)
        ]

    def _embed(self, chunks: Sequence[Chunk], texts: Sequence[str]) -> tuple[Vectors, list[Sentences] | None]:
        """Return the vectors of the texts of chunks, and their sentences if the settings ask for them."""
        way = self._settings.sentence_vectors
        if way == "pooled":
            return self._embed_pooled(chunks, texts)
        vectors = self._encode(self._embeddings, self._settings.dimension, texts)
        if not way:
            return vectors, None
        model = load_minilm()
        return vectors, embed_sentences(chunks, lambda texts: self._encode(model, model.dimension, texts))

    def _embed_pooled(self, chunks: Sequence[Chunk], texts: Sequence[str]) -> tuple[Vectors, list[Sentences]]:
        """Embed chunks and sentences in one pass: a sentence or table row is the mean of its tokens."""
        from adaptive_rag.text.sentences import sentence_spans

        spans = [sentence_spans(chunk["text"]) for chunk in chunks]
        # the embedded text may have headings and column names above the chunk's own text
        above = [len(text) - len(chunk["text"]) for text, chunk in zip(texts, chunks, strict=True)]
        asked = [
            (text, tuple((a + lead, b + lead) for a, b in pairs))
            for text, pairs, lead in zip(texts, spans, above, strict=True)
        ]
        model, kind = load_minilm(), f"{self._settings.embeddings} {self._settings.dimension} pooled"
        # each vector is cached under its text and span
        keys = {each: [f"{span} {each[0]}" for span in (None, *each[1])] for each in asked}
        kept = iter(self._cache.get(kind, [key for parts in keys.values() for key in parts]))
        known = {each: [next(kept) for _ in parts] for each, parts in keys.items()}
        if missing := [each for each, vectors in known.items() if any(vector is None for vector in vectors)]:
            started = time.perf_counter()
            made = model.encode_parts([text for text, _ in missing], [pairs for _, pairs in missing])
            self.seconds += time.perf_counter() - started
            self.embedded += len(missing)
            self._cache.put(kind, [key for each in missing for key in keys[each]], np.concatenate(made))
            known.update(zip(missing, map(list, made), strict=True))
        rows = [np.stack([vector for vector in known[each] if vector is not None]) for each in asked]
        places = [np.array(pairs, dtype=np.int64).reshape(-1, 2) for pairs in spans]
        return np.array([vectors[0] for vectors in rows], dtype=np.float32), [
            Sentences(pairs + chunk["start"], vectors[1:])
            for pairs, chunk, vectors in zip(places, chunks, rows, strict=True)
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
        made = self._encode(self._embeddings, self._settings.dimension, texts)
        vectors = iter(made.reshape(len(pairs), 2, -1))
        return [next(vectors) if i in pairs else None for i in range(len(chunks))]

    def _encode(self, embeddings: Embeddings, dimension: int, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts; each distinct text that is not cached is embedded once."""
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
    if (passed := embedding_name(model)) != name:
        raise IndexMismatchError(
            f"The index {uri} was made with {name!r}; asked for was {passed!r}. Leave the model "
            f"out to use the index's own, or make it anew: {rebuild_hint(uri)} --embeddings {passed}"
        )
    return model


def refuse_dimension(uri: str, stored: int, vectors: Vectors, embeddings: Embeddings) -> None:
    """Raise an error if query vectors do not have the dimension of the index."""
    if vectors.shape[1] != stored:
        raise IndexMismatchError(
            f"The index {uri} holds vectors of {stored} dimensions; {embedding_name(embeddings)!r} made one "
            f"of {vectors.shape[1]}. Open it with the model it was made with."
        )


def embed_sentences(
    chunks: Sequence[Chunk], encode: Callable[[list[str]], Vectors] | None = None
) -> list[Sentences]:
    """Return the sentences of chunks with their vectors, by `encode` or else by the embedded model.

    A table row is embedded as words with its column names: "Brass hinge: price 4.20".
    """
    from adaptive_rag.text.sentences import sentence_spans

    rows = [_rows_in_words(chunk) for chunk in chunks]
    spans = [sentence_spans(chunk["text"]) for chunk in chunks]
    texts = [
        worded.get(a, chunk["text"][a:b])
        for chunk, pairs, worded in zip(chunks, spans, rows, strict=True)
        for a, b in pairs
    ]
    vectors = np.split((encode or load_minilm().encode)(texts), np.cumsum([len(pairs) for pairs in spans]))
    places = [np.array(pairs, dtype=np.int64).reshape(-1, 2) for pairs in spans]
    return [
        Sentences(pairs + chunk["start"], rows)
        for chunk, pairs, rows in zip(chunks, places, vectors[:-1], strict=True)
    ]


def _rows_in_words(chunk: Chunk) -> dict[int, str]:
    """Return the table rows of a chunk as words, by the offset of each row in the text."""
    from adaptive_rag.text.tables import describe_row, find_tables

    tables = find_tables(chunk["text"], tuple(chunk["metadata"].get("columns", ())))
    return {row.start: describe_row(row.cells, table.columns) for table in tables for row in table.rows}
