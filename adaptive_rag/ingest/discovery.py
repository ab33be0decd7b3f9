"""The first step of indexing: paths, folders and patterns to the list of files to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read, and the name it goes by in the index and in citations."""

    path: Path
    source: str


def discover(paths: str | Path | Sequence[str | Path], *, exclude: Sequence[Path] = ()) -> list[SourceFile]:
    """List the readable files under paths, folders and glob patterns, each once, in a stable order.

    A source is named by its path as POSIX text, relative to the working directory where it lies below
    it. Hidden files, `exclude` (the index folder) and folders of ours are passed over.

    Raises:
        ConfigurationError: a path does not exist, a file's suffix is not read, or nothing was found.
    """
    raise NotImplementedError
