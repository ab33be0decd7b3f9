"""The second step of indexing: read each file to text, or give the reason why it cannot be read.

Files are read in a separate process. If none can be started, they are read in this one, and a warning is
given once.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter
from pathlib import Path

from adaptive_rag.errors import ConfigurationError, IndexingError, MissingExtraError
from adaptive_rag.ingest.archives import split_path
from adaptive_rag.ingest.discovery import discover, name_source
from adaptive_rag.ingest.documents import Failure, SourceFile, SourceText, printable
from adaptive_rag.ingest.file import read_file
from adaptive_rag.ingest.ignore import Ignored, Patterns
from adaptive_rag.ingest.loaders import Loader, find_loader
from adaptive_rag.ingest.wire import unpack
from adaptive_rag.ingest.workers import give_back, take_worker

logger = logging.getLogger(__name__)

# At most this many reasons are given if nothing in an archive is read.
_MOST_REASONS = 5

_ERRORS: dict[str, type[IndexingError | MissingExtraError]] = {
    error.__name__: error for error in (IndexingError, MissingExtraError)
}


def read_source(
    file: SourceFile, stop: threading.Event | None = None, *, loader: Loader | None = None
) -> SourceText | Failure:
    """Read one discovered file; a problem with the file itself is returned, not raised.

    If another thread sets `stop`, reading ends at once. Without a `loader`, the suffix determines it.
    """
    try:
        return _read(file, stop or threading.Event(), loader)
    except IndexingError as error:
        return Failure(file.source, str(error))
    except MissingExtraError as error:
        return Failure(file.source, f"was not read. {str(error).rstrip('.')}")


def list_archive(file: SourceFile, patterns: Patterns) -> tuple[list[SourceFile], Failure | None]:
    """List the files in an archive that can be read and are not ignored, and what to report about the others.

    The archive is read by a worker, like any file.
    """
    listing = read_source(file)
    if isinstance(listing, Failure):
        return [], listing
    ignored = Ignored(file.path, patterns, may_read=lambda _: False)
    members: dict[str, SourceFile] = {}
    reasons = Counter[str]()
    for record in listing.records:
        path = file.path / str(record.metadata["member"])
        inner_path = path.relative_to(file.path)
        if any(part.startswith(".") or part == "__MACOSX" for part in inner_path.parts):
            reasons["hidden"] += 1
        elif not find_loader(path):
            reasons[f"of no kind that is read ({printable(path.suffix[:20]) or 'no suffix'})"] += 1
        elif ignored.holds(path):
            reasons["left out by a pattern"] += 1
        else:
            source = f"{file.source}/{printable(inner_path.as_posix())}"
            members[source] = SourceFile(path, source)
    problems = list(listing.notes[:1])
    if not members:
        counts = [f"{count} {reason}" for reason, count in reasons.most_common(_MOST_REASONS)]
        more = len(reasons) - len(counts)
        problems.insert(
            0, f"holds no file to read: {', '.join(counts)}{f', and {more} more kinds' if more else ''}"
        )
    return list(members.values()), Failure(file.source, "; it ".join(problems)) if problems else None


def extract_text(path: str | Path) -> SourceText:
    """Read one file to the text that the spans of its chunks refer to.

    A file in an archive is named as if the archive were a folder: "letters.zip/may.pdf".

    Raises:
        IndexingError: the file cannot be read; the message says why.
        ConfigurationError: it does not exist or its suffix is not supported.
        MissingExtraError: its loader needs a package that is not installed.
    """
    expanded = Path(os.path.expanduser(path))
    if split_path(expanded):
        file = SourceFile(expanded, name_source(expanded))
    elif os.path.isfile(expanded):
        [file] = discover(path)
    else:
        raise ConfigurationError(f"{str(path)!r} does not exist or is not a file.")
    try:
        return _read(file, threading.Event())
    except IndexingError as error:
        raise IndexingError(f"{file.source} {error}.") from error


def _read(file: SourceFile, stop: threading.Event, loader: Loader | None = None) -> SourceText:
    """Read a file in a worker, or in this process if there is no worker."""
    loader = loader or find_loader(file.path)
    if loader is None:  # `discover` lists readable files, and folders that it could not list
        if split_path(file.path):
            raise IndexingError("is not of a kind that is read")
        raise IndexingError(_explain_closed(file.path))
    # A loader that is defined in a notebook or a script exists only in this process.
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


def _explain_closed(folder: Path) -> str:
    """Return why a folder could not be listed, as the end of a sentence that begins with its name."""
    try:
        os.scandir(folder).close()
    except PermissionError:
        return "is a folder that cannot be listed. Give yourself the right to read it"
    except OSError as error:
        return f"is a folder that cannot be listed: {error.strerror or error}"
    return "is a folder that could not be listed, and now can be. Index it again"
