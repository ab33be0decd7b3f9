"""The second step of indexing: each file to its text, or to the reason why it could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptive_rag.ingest.discovery import SourceFile
from adaptive_rag.ingest.source_text import SourceText


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be read; the others are not touched by it."""

    source: str
    reason: str


def read_sources(
    paths: str | Path | Sequence[str | Path], *, exclude: Sequence[Path] = ()
) -> Iterator[SourceText | Failure]:
    """Read every file under the paths, one at a time, in the order of `discover`.

    Raises:
        ConfigurationError: as `discover` does, before any file is read.
    """
    raise NotImplementedError


def read_source(file: SourceFile) -> SourceText | Failure:
    """Read one discovered file; never raises for what is wrong with the file itself."""
    raise NotImplementedError


def extract_text(path: str | Path) -> SourceText:
    """Read one file to the text that spans of its chunks count in.

    Raises:
        IndexingError: the file cannot be read; the message says why.
        ConfigurationError: it does not exist or its suffix is not read.
    """
    raise NotImplementedError


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, hexadecimal; `SourceText.content_hash` is the same."""
    raise NotImplementedError
