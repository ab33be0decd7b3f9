"""What the tests of the index share: small corpora, and a model that needs no network of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from xxhash import xxh3_64_hexdigest

from adaptive_rag.index import Index, IndexReport, manifest
from adaptive_rag.index.postgres.source import PostgresIndex


class HashEmbeddings(Embeddings):
    """Adds up a random vector for each word; counts the texts it was given."""

    def __init__(self, dimension: int = 16, name: str = "hash") -> None:
        self.model = name
        self.dimension = dimension
        self.seen: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.seen += texts
        return [self._embed(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._embed(text)

    def _embed(self, text: str) -> list[float]:
        total = np.full(self.dimension, 1e-3)
        for word in text.lower().split():
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
            total += np.random.default_rng(seed).normal(size=self.dimension)
        return [float(x) for x in total]


def write_files(folder: Path, texts: dict[str, str]) -> Path:
    """Write text files that look as if they had been there for an hour."""
    import os
    import time

    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        os.utime(folder / name, (time.time() - 3600, time.time() - 3600))
    return folder


def build(documents: Any, uri: Any, **settings: Any) -> IndexReport:
    """Build without sentence vectors, which most tests do not need."""
    settings.setdefault("embeddings", HashEmbeddings())
    settings.setdefault("sentence_vectors", False)
    return Index.build(documents, uri, **settings)


def open_index(uri: Any) -> Any:
    """Open an index in a folder, a bucket or a database."""
    kind = PostgresIndex if str(uri).startswith("postgres") else Index
    return kind.open(uri, HashEmbeddings())


def change_manifest(uri: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest, with a checksum that is right."""
    content = json.loads((uri / "manifest.json").read_text())
    content.pop("checksum")
    change(content)
    body = json.dumps(content).encode()
    sealed = body[:-1] + manifest.CHECKSUM + xxh3_64_hexdigest(body).encode() + b'"}'
    (uri / "manifest.json").write_bytes(sealed)


def texts_in(uri: Any) -> list[str]:
    return sorted(chunk["text"] for chunk in open_index(uri).chunks())


def found(index: Index, queries: Sequence[str], limit: int = 3) -> list[list[str]]:
    return [[c["text"] for c in candidates] for candidates in index.search(queries, limit=limit)]
