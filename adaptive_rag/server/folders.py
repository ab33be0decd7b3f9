"""The folders of collections on disk. Of the name of an upload, only the last part becomes part of a path."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import shutil
import unicodedata
from collections.abc import Callable, Iterator
from collections.abc import Collection as AbstractCollection
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from filelock import FileLock, Timeout

from adaptive_rag.errors import InputError
from adaptive_rag.ingest.archives import is_archive
from adaptive_rag.ingest.conversions import how_to_convert
from adaptive_rag.ingest.loaders import find_loader, list_kinds
from adaptive_rag.private import make_file, make_folder
from adaptive_rag.server.problems import DISK_FULL, Problem, not_found, unavailable
from adaptive_rag.server.tables import Document, new_id
from adaptive_rag.text.visible import visible

log = logging.getLogger(__name__)

LONGEST_NAME = 1000  # characters, folders included
LONGEST_ENCODED = 2000  # bytes of it; a row of an index in PostgreSQL takes 2,704
LONGEST_PART = 200  # bytes; file systems take 255
LOCK_SECONDS = 60
# Unicode categories that names must not contain: control characters, line separators, unassigned characters.
_FORBIDDEN_CATEGORIES = {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}
_PARTIAL, _DELETED = ".partial", ".deleted"


@dataclass(frozen=True)
class SearchTarget:
    """A collection that a question searches; `hidden` are deleted documents that its index may still hold."""

    name: str
    index: Path
    hidden: frozenset[str] = frozenset()
    # further collections to search together with it
    others: tuple[SearchTarget, ...] = ()
    # returns the number of its documents that are not indexed yet
    count_waiting: Callable[[], int] = field(default=lambda: 0, compare=False)


class StoredFile(NamedTuple):
    """A file on disk that is not yet a document: its folder, its SHA-256 and its size in bytes."""

    folder: Path
    digest: str
    size: int


@dataclass(frozen=True)
class CollectionFolder:
    """The folder of a collection."""

    path: Path

    @property
    def index(self) -> Path:
        """The folder of its index."""
        return self.path / "index"

    @property
    def documents(self) -> Path:
        """The folder of its documents; each document has a folder of its own."""
        return self.path / "documents"

    def file_of(self, document: Document) -> Path:
        """Return the file of a document. Its folder depends on the content, so a file never changes."""
        return self.documents / version_of(document) / PurePosixPath(document.name).name

    @contextmanager
    def lock_documents(self, *, is_patient: bool = False) -> Iterator[None]:
        """Lock the documents during the block.

        Raise 503 if the lock is not free within a minute, unless who asks is patient, as a worker is.
        """
        try:
            make_folder(self.documents)
            seconds = -1 if is_patient else LOCK_SECONDS
            lock = FileLock(self.path / "documents.lock", timeout=seconds).acquire()
        except Timeout:
            raise Problem(503, "Others are adding to this collection. Try again in a minute.") from None
        except FileNotFoundError:
            raise not_found("collection") from None
        with lock:
            yield

    def write(self, content: IO[bytes], name: str) -> StoredFile:
        """Write a file into a new folder; raise 503 if it cannot be written."""
        folder = self.documents / f"{new_id()}{_PARTIAL}"
        path, digest, size = folder / PurePosixPath(name).name, hashlib.sha256(), 0
        try:
            make_folder(folder)
            make_file(path)
            with path.open("wb") as file:
                while block := content.read(1 << 20):
                    digest.update(block)
                    size += len(block)
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())
            _flush_folder(folder)
        except FileNotFoundError:
            raise not_found("collection") from None
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            log.error("An upload could not be written: %s", error)
            is_full = error.errno == errno.ENOSPC
            raise unavailable(DISK_FULL if is_full else "The server cannot store documents.") from error
        return StoredFile(folder, digest.hexdigest(), size)

    def publish(self, new_folder: Path, document: Document) -> None:
        """Make a stored file the file of a document, atomically.

        The caller flushes the folders, and commits the row afterwards.
        """
        folder = self.documents / version_of(document)
        if folder.exists():
            shutil.rmtree(new_folder)
        else:
            new_folder.replace(folder)

    def flush(self) -> None:
        """Flush the names of published files to disk."""
        _flush_folder(self.documents)

    def remove_partial(self) -> None:
        """Remove files that were being written when the server ended; their uploads were never answered."""
        _remove_folders(self.documents, _PARTIAL)

    def remove(self) -> None:
        """Remove the folder of a deleted collection; after an interruption, the next start finishes it."""
        deleted = self.path.with_name(f"{self.path.name}{_DELETED}")
        with suppress(FileNotFoundError):  # nothing was ever added to it
            shutil.rmtree(self.path.rename(deleted), ignore_errors=True)

    def leftover_bytes(self) -> int:
        """Return the size of the replaced and deleted files, which the next job removes."""
        with suppress(FileNotFoundError):  # a job is removing them right now
            files = (file for folder in self.documents.glob(f"*{_DELETED}") for file in os.scandir(folder))
            return sum(file.stat().st_size for file in files)
        return 0

    def retire(self, version: str) -> None:
        """Mark the files of a version for removal, after its row was replaced or deleted."""
        folder = self.documents / version
        with suppress(FileNotFoundError):  # a web page has no file
            folder.rename(folder.with_name(f"{version}.{new_id()}{_DELETED}"))

    def remove_retired(self) -> None:
        """Remove the files that `retire` has marked."""
        _remove_folders(self.documents, _DELETED)

    def find_unknown(self, documents: AbstractCollection[Document]) -> list[Path]:
        """Return the folders that belong to no document; there are some if the database is an older copy."""
        known_versions = {version_of(document) for document in documents}
        names = sorted(os.listdir(self.documents)) if self.documents.is_dir() else ()
        return [
            self.documents / name
            for name in names
            if name not in known_versions and not name.endswith((_PARTIAL, _DELETED))
        ]


def folder_of(data: Path, collection_id: str) -> CollectionFolder:
    """Return the folder of a collection."""
    return CollectionFolder(data.absolute() / "collections" / collection_id)


def collection_folders(data: Path) -> list[CollectionFolder]:
    """Return the folders of all collections except deleted ones."""
    parent = data.absolute() / "collections"
    names = sorted(os.listdir(parent)) if parent.is_dir() else []
    return [CollectionFolder(parent / name) for name in names if not name.endswith(_DELETED)]


def remove_deleted_collections(data: Path) -> None:
    """Remove the folders of deleted collections that an interruption left behind."""
    _remove_folders(data.absolute() / "collections", _DELETED)


def _remove_folders(parent: Path, ending: str) -> None:
    for folder in parent.glob(f"*{ending}"):
        shutil.rmtree(folder, ignore_errors=True)


def normalize_name(uploaded_name: str) -> str:
    """Check and normalize the name of an uploaded document, such as "reports/2024.pdf".

    Raises:
        InputError: the name leads out of the folder, has characters that cannot be displayed, is too long, or
            has a suffix that cannot be read.
    """
    name = unicodedata.normalize("NFC", uploaded_name)
    parts = name.split("/")
    prefix = f"{uploaded_name[:100]!r} cannot be the name of a document"
    has_forbidden = (
        any(unicodedata.category(letter) in _FORBIDDEN_CATEGORIES for letter in name) or "\\" in name
    )
    # `visible` removes invisible characters, and those that change the reading direction, which would display
    # "fdp.exe" as "exe.pdf".
    if has_forbidden or visible(name) != name or not all(part.strip() == part != "" for part in parts):
        raise InputError(f"{prefix}: expected one such as 'reports/2024.pdf'.")
    if any(part.startswith(".") for part in parts):
        raise InputError(f"{prefix}: a part of it begins with a dot.")
    is_too_long = len(name) > LONGEST_NAME or len(name.encode()) > LONGEST_ENCODED
    if is_too_long or any(len(part.encode()) > LONGEST_PART for part in parts):
        raise InputError(
            f"The name {uploaded_name[:100]!r}... is too long: a part of it may have {LONGEST_PART} bytes, "
            f"and the whole {LONGEST_NAME} characters in {LONGEST_ENCODED} bytes."
        )
    if any(is_archive(Path(part)) for part in parts[:-1]):
        raise InputError(f"{prefix}: a folder of it is named as an archive.")
    if find_loader(Path(parts[-1])) is None:
        advice = how_to_convert(Path(parts[-1]))
        supported = f"These are: {list_kinds()}.{f' {advice}.' if advice else ''}"
        raise InputError(f"{uploaded_name[:100]!r} is not of a kind that is read. {supported}")
    return name


def version_of(document: Document) -> str:
    """Return the name of the folder of a document's current content."""
    return f"{document.id}-{document.digest[:16]}"


def _flush_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk, which Windows cannot do."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
