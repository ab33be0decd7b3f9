"""Vectors by content: what was embedded once, in this index, is not embedded again."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from adaptive_rag.private import make_file
from adaptive_rag.text.vectors import Vectors

FILE = "embeddings.sqlite"
# About 300 MB at 384 dimensions; the oldest entries go first.
ENTRIES_KEPT = 200_000
_KEYS_PER_QUERY = 500


class EmbeddingCache:
    """A table (model, SHA-256 of the text) -> vector. It may be lost at any time without harm.

    A cache that cannot be written, or is broken, is left alone: indexing goes on without it.
    """

    def __init__(self, folder: Path | None) -> None:
        self._database: sqlite3.Connection | None = None
        if folder is None:
            return
        with suppress(sqlite3.Error, OSError):
            make_file(folder / FILE)
            self._database = sqlite3.connect(folder / FILE, timeout=5)
        # what a power cut takes is only cached
        self._run("PRAGMA synchronous = OFF")
        self._run("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")

    def get(self, model: str, texts: Sequence[str]) -> list[Vectors | None]:
        """Return the vector of each text, None where it is not held."""
        keys = [_key(model, text) for text in texts]
        found: dict[bytes, bytes] = {}
        for start in range(0, len(keys), _KEYS_PER_QUERY):
            batch = keys[start : start + _KEYS_PER_QUERY]
            marks = ",".join("?" * len(batch))
            found.update(self._run(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", batch))
        return [np.frombuffer(found[key], dtype=np.float32) if key in found else None for key in keys]

    def put(self, model: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Hold the vectors of texts."""
        rows = [(_key(model, text), row.tobytes()) for text, row in zip(texts, vectors, strict=True)]
        self._run("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows, many=True)

    def trim(self) -> None:
        """Let go of the oldest entries beyond the bound."""
        self._run("DELETE FROM vectors WHERE rowid <= (SELECT max(rowid) FROM vectors) - ?", [ENTRIES_KEPT])

    def close(self) -> None:
        """Close the file; the cache is empty from now on."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _run(self, statement: str, values: Sequence[Any] = (), *, many: bool = False) -> list[Any]:
        """Run one statement in a transaction of its own; nothing is found where it fails."""
        if self._database is None:
            return []
        try:
            with self._database as database:
                return (database.executemany if many else database.execute)(statement, values).fetchall()
        except sqlite3.Error:
            self.close()
            return []


def _key(model: str, text: str) -> bytes:
    return hashlib.sha256(f"{model}\0{text}".encode(errors="surrogatepass")).digest()
