"""The second step of indexing: each file to its text, or to the reason why it could not be read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from adaptive_rag.errors import ConfigurationError, IndexingError, MissingExtraError
from adaptive_rag.ingest.discovery import discover
from adaptive_rag.ingest.documents import Failure, SourceFile, SourceText, TextBuilder
from adaptive_rag.ingest.loaders import find_loader

_ATTEMPTS = 2


def read_source(file: SourceFile) -> SourceText | Failure:
    """Read one discovered file; never raises for what is wrong with the file itself."""
    try:
        return _read_settled(file)
    except (IndexingError, MissingExtraError) as error:
        return Failure(file.source, str(error))


def extract_text(path: str | Path) -> SourceText:
    """Read one file to the text that spans of its chunks count in.

    Raises:
        IndexingError: the file cannot be read; the message says why.
        ConfigurationError: it does not exist or its suffix is not read.
        MissingExtraError: its loader needs a package that is not installed.
    """
    if not Path(path).expanduser().is_file():
        raise ConfigurationError(f"{str(path)!r} does not exist or is not a file.")
    [file] = discover(path)
    try:
        return _read_settled(file)
    except IndexingError as error:
        raise IndexingError(f"{file.source} {error}.") from error


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, hexadecimal; `SourceText.content_hash` is the same."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_settled(file: SourceFile) -> SourceText:
    """Read a file that stays the same from start to end, so that its hash belongs to its text."""
    try:
        for _ in range(_ATTEMPTS):
            before = _state(file.path)
            if before[0] == 0:
                raise IndexingError("is empty: it has 0 bytes")
            try:
                text = _read(file)
            except IndexingError:
                # half of a file that is being written looks damaged
                if _state(file.path) == before:
                    raise
                continue
            if _state(file.path) == before:
                return text
    except FileNotFoundError as error:
        raise IndexingError("vanished while it was read") from error
    except OSError as error:
        raise IndexingError(f"cannot be read: {error.strerror or error}") from error
    raise IndexingError(f"changed while it was read, {_ATTEMPTS} times. Index it again when it is finished")


def _read(file: SourceFile) -> SourceText:
    loader = find_loader(file.path)
    assert loader is not None  # discover lists no other files
    builder = TextBuilder()
    content_hash = hash_file(file.path)
    loader(file.path, builder)
    text = builder.build(file.source, content_hash)
    if not text.text.strip():
        raise IndexingError("holds no text")
    return text


def _state(path: Path) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ino
