"""The second step of indexing: each file to its text, or to the reason why it could not be read.

Files are read by a process apart; where none can be started, by this one, and a warning says so once.
"""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

from adaptive_rag.errors import ConfigurationError, IndexingError, MissingExtraError
from adaptive_rag.ingest.discovery import discover
from adaptive_rag.ingest.documents import Failure, SourceFile, SourceText
from adaptive_rag.ingest.file import read_file
from adaptive_rag.ingest.loaders import find_loader
from adaptive_rag.ingest.wire import unpack
from adaptive_rag.ingest.workers import give_back, take_worker

logger = logging.getLogger(__name__)

_ERRORS: dict[str, type[IndexingError | MissingExtraError]] = {
    error.__name__: error for error in (IndexingError, MissingExtraError)
}


def read_source(file: SourceFile, stop: threading.Event | None = None) -> SourceText | Failure:
    """Read one discovered file; never raises for what is wrong with the file itself.

    Setting `stop`, in another thread, gives the file up at once.
    """
    try:
        return _read(file, stop or threading.Event())
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
        return _read(file, threading.Event())
    except IndexingError as error:
        raise IndexingError(f"{file.source} {error}.") from error


def _read(file: SourceFile, stop: threading.Event) -> SourceText:
    loader = find_loader(file.path)
    if loader is None:  # discover lists files that are read, and folders that it could not list
        raise IndexingError(_why_closed(file.path))
    # a loader that a notebook or a script defines is known to this process alone
    worker = None if loader.function.startswith("__main__:") else take_worker()
    if worker is None:
        return read_file(file, loader)
    try:
        header, body = worker.ask(file, loader, stop)
    except BaseException:
        worker.end()
        raise
    give_back(worker)
    if "error" in header:
        logger.debug("%s could not be read.\n%s", file.source, header["detail"])
        raise _ERRORS[header["error"]](header["reason"])
    return unpack(header, body)


def _why_closed(folder: Path) -> str:
    try:
        os.scandir(folder).close()
    except PermissionError:
        return "is a folder that cannot be listed. Give yourself the right to read it"
    except OSError as error:
        return f"is a folder that cannot be listed: {error.strerror or error}"
    return "is a folder that could not be listed, and now can be. Index it again"
