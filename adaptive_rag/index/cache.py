"""A cache of vectors by content, so that no text is embedded twice for an index."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from xxhash import xxh3_64_digest

from adaptive_rag.private import make_file
from adaptive_rag.text.vectors import Vectors

FILE = "embeddings.sqlite"
# About 300 MB at 384 dimensions; the oldest entries are removed first.
ENTRIES_KEPT = 200_000
_KEYS_PER_QUERY = 500


class EmbeddingCache:
    """A table that maps (model, SHA-256 of the text) to a vector and its checksum; it may be lost any time.

    Damaged entries are ignored. If the cache cannot be written, indexing goes on without it. If the file
    is corrupt, it is removed and a new one is created.
    """

    def __init__(self, folder: Path | None) -> None:
        self._database: sqlite3.Connection | None = None
        self._can_recreate = True
        self._folder = folder
        self._open()

    def get(self, model: str, texts: Sequence[str]) -> list[Vectors | None]:
        """Return the vector of each text, or None if it is not cached."""
        keys = [_key(model, text) for text in texts]
        vector_of: dict[bytes, bytes] = {}
        for start in range(0, len(keys), _KEYS_PER_QUERY):
            batch = keys[start : start + _KEYS_PER_QUERY]
            placeholders = ",".join("?" * len(batch))
            rows = self._run(
                f"SELECT key, vector, checksum FROM entries WHERE key IN ({placeholders})", batch
            )
            vector_of.update((row[0], row[1]) for row in rows if _is_intact(*row))
        return [np.frombuffer(vector_of[key], dtype=np.float32) if key in vector_of else None for key in keys]

    def put(self, model: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Store the vectors of texts."""
        self.put_keys([_key(model, text) for text in texts], vectors)

    def put_keys(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Store vectors under keys taken from another cache."""
        pairs = [(key, row.tobytes()) for key, row in zip(keys, vectors, strict=True)]
        rows = [(key, vector, _checksum(key, vector)) for key, vector in pairs]
        self._run("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows, many=True)

    def entries(self) -> tuple[list[bytes], Vectors]:
        """Return all keys and their vectors, which must all have the same dimension."""
        rows = self._run("SELECT key, vector FROM entries ORDER BY key")
        return [key for key, _ in rows], np.stack([np.frombuffer(row, dtype=np.float32) for _, row in rows])

    def trim(self) -> None:
        """Remove the oldest entries beyond `ENTRIES_KEPT`."""
        self._run("DELETE FROM entries WHERE rowid <= (SELECT max(rowid) FROM entries) - ?", [ENTRIES_KEPT])

    def repair(self) -> None:
        """Remove damaged entries, or the whole file if it is corrupt."""
        if self._database is None or self._folder is None:
            return
        self._database.create_function("is_intact", 3, _is_intact, deterministic=True)
        self._run("DELETE FROM entries WHERE NOT is_intact(key, vector, checksum)")
        if cache_damage(self._folder):
            self.close()
            self._recreate()

    def close(self) -> None:
        """Close the file; from now on the cache is empty."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _open(self) -> None:
        if self._folder is None:
            return
        with suppress(sqlite3.Error, OSError):
            make_file(self._folder / FILE)
            self._database = sqlite3.connect(self._folder / FILE, timeout=5)
            # a value of a damaged entry may have become text that is not UTF-8
            self._database.text_factory = bytes
        # a power cut would only lose cached data
        self._run("PRAGMA synchronous = OFF")
        columns = "key BLOB PRIMARY KEY, vector BLOB NOT NULL, checksum BLOB NOT NULL"
        self._run(f"CREATE TABLE IF NOT EXISTS entries ({columns})")

    def _recreate(self) -> None:
        """Remove a corrupt file and create a new one, but only once."""
        if self._folder is None or not self._can_recreate:
            return
        self._can_recreate = False
        with suppress(OSError):
            for name in (f"{FILE}-journal", FILE):
                (self._folder / name).unlink(missing_ok=True)
            self._open()

    def _run(self, statement: str, values: Sequence[Any] = (), *, many: bool = False) -> list[Any]:
        """Run one statement in its own transaction; return no rows if it fails."""
        if self._database is None:
            return []
        try:
            with self._database as database:
                return (database.executemany if many else database.execute)(statement, values).fetchall()
        except sqlite3.Error as error:
            self.close()
            if _is_damage(error):
                self._recreate()
            return []


def has_entries(folder: Path) -> bool:
    """Return whether the cache of a folder holds vectors."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(_read_only(folder), uri=True)) as database:
        return database.execute("SELECT 1 FROM entries LIMIT 1").fetchone() is not None
    return False


def _read_only(folder: Path) -> str:
    return f"{(folder / FILE).absolute().as_uri()}?mode=ro"


def cache_damage(folder: Path, *, deep: bool = True) -> str:
    """Return what is damaged in the cache of a folder, or an empty string.

    Without `deep`, SQLite only opens the file, by which it notices a file that was cut short.
    """
    if not (folder / FILE).exists():
        return ""
    try:
        with closing(sqlite3.connect(_read_only(folder), uri=True, timeout=5)) as database:
            if not deep:
                database.execute("SELECT key FROM entries LIMIT 1").fetchone()
                return ""
            [result] = database.execute("PRAGMA integrity_check(1)").fetchone()
            if result != "ok":
                return " ".join(str(result).split())
            rows = database.execute("SELECT key, vector, checksum FROM entries")
            changed = sum(not _is_intact(*row) for row in rows)
    except sqlite3.Error as error:
        # the file of a killed run is no damage: SQLite recovers it when it is opened for writing
        return str(error) if _is_damage(error) else ""
    return f"{changed} vectors have changed since they were written" if changed else ""


def _key(model: str, text: str) -> bytes:
    return hashlib.sha256(f"{model}\0{text}".encode(errors="surrogatepass")).digest()


def _checksum(key: bytes, vector: bytes) -> bytes:
    return xxh3_64_digest(key + vector)


def _is_intact(key: Any, vector: Any, checksum: Any) -> bool:
    """Return whether an entry is intact; a damaged one may have values of any type."""
    return isinstance(key, bytes) and isinstance(vector, bytes) and checksum == _checksum(key, vector)


def _is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error means a corrupt file, rather than a locked, full or read-only one."""
    # SQLITE_ERROR means that the name of a table or column has changed. The last byte of an extended error
    # code of SQLite is the primary code.
    damage_codes = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF in damage_codes
