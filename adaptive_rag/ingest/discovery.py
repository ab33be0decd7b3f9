"""The first step of indexing: paths, folders and patterns to the list of files to read."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest.documents import SourceFile, printable
from adaptive_rag.ingest.loaders import find_loader, list_suffixes


def discover(paths: str | Path | Sequence[str | Path], *, exclude: Sequence[Path] = ()) -> list[SourceFile]:
    """List the readable files under paths, folders and glob patterns, each once, in a stable order.

    A source is named by its path as POSIX text: relative to the working directory where it lies below
    it, else absolute. Hidden files and `exclude` (the index folder) are passed over in folders. A folder
    that cannot be listed is listed itself, so that reading says why.

    Raises:
        ConfigurationError: a path does not exist, a file's suffix is not read, or nothing was found.
    """
    asked = [paths] if isinstance(paths, str | Path) else list(paths)
    if not asked:
        raise ConfigurationError("No path was given. Give a file, a folder or a pattern: 'docs/*.pdf'.")
    here = Path.cwd()
    excluded = {os.path.realpath(path) for path in exclude}
    found: dict[str, SourceFile] = {}
    for path in asked:
        for file in _find(Path(path).expanduser(), excluded):
            absolute = Path(os.path.abspath(file))
            name = absolute.relative_to(here) if absolute.is_relative_to(here) else absolute
            found.setdefault(os.path.realpath(file), SourceFile(file, printable(name.as_posix())))
    if not found:
        places = ", ".join(repr(str(path)) for path in asked)
        raise ConfigurationError(f"No file to read was found in {places}. Suffixes read: {list_suffixes()}.")
    return list(found.values())


def holds_documents(folder: Path) -> bool:
    """Tell whether a folder holds a file that can be read, at any depth.

    Raises:
        ConfigurationError: a folder cannot be read.
    """
    return next(_walk(folder, set(), _refuse), None) is not None


def _find(asked: Path, excluded: set[str]) -> Iterator[Path]:
    paths = [asked]
    if not asked.exists():
        if not glob.has_magic(str(asked)):
            raise ConfigurationError(f"{str(asked)!r} does not exist. Give a file, a folder or a pattern.")
        paths = [Path(match) for match in sorted(glob.glob(str(asked), recursive=True))]
        if not paths:
            raise ConfigurationError(f"No file matches the pattern {str(asked)!r}.")
    for path in paths:
        if path.is_dir():
            closed: list[OSError] = []
            yield from _walk(path, excluded, closed.append)
            yield from (Path(error.filename) for error in closed)
        elif find_loader(path):
            yield path
        elif path == asked:
            raise ConfigurationError(
                f"{str(path)!r} is not of a kind that is read: its suffix is {path.suffix!r}, and these are "
                f"read: {list_suffixes()}."
            )


def _walk(folder: Path, excluded: set[str], on_error: Callable[[OSError], object]) -> Iterator[Path]:
    seen: set[str] = set()
    for parent, folders, files in os.walk(folder, followlinks=True, onerror=on_error):
        real = os.path.realpath(parent)
        if real in seen or real in excluded:  # a link that leads back up, or to where we have been
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(parent, name)
            # what is no ordinary file (a link to nothing, a pipe) is listed too: reading says what it is
            if not name.startswith(".") and find_loader(path):
                yield path


def _refuse(error: OSError) -> None:
    raise ConfigurationError(f"The folder {error.filename!r} cannot be read: {error.strerror}.") from error
