"""The folders of collections on disk. Of a name that a caller gave, only the last part is used in a path."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import unicodedata
from collections.abc import Collection as AnyOf
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from filelock import FileLock, Timeout

from adaptive_rag.errors import InputError
from adaptive_rag.ingest.archives import is_archive
from adaptive_rag.ingest.conversions import how_to_convert
from adaptive_rag.ingest.loaders import find_loader, list_suffixes
from adaptive_rag.private import make_file, make_folder
from adaptive_rag.server.problems import Problem, not_found
from adaptive_rag.server.tables import Document, new_id
from adaptive_rag.text.visible import visible

log = logging.getLogger(__name__)

LONGEST_NAME = 1000  # characters, folders included
LONGEST_PART = 200  # bytes; file systems take 255
LOCK_SECONDS = 60
# Unicode categories that are not allowed in names: line ends, escapes and the like.
_HOSTILE = {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}
_PARTIAL, _DELETED = ".partial", ".deleted"


@dataclass(frozen=True)
class Searched:
    """What a question searches: the index of a collection, without recently deleted documents."""

    index: Path
    hidden: frozenset[str] = frozenset()
    name: str = ""
    # further collections that are searched together with it
    others: tuple[Searched, ...] = ()


class Written(NamedTuple):
    """A written file: its own folder, its SHA-256 and its size."""

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
        """The folder of its documents, each in a folder of its own."""
        return self.path / "documents"

    def file_of(self, document: Document) -> Path:
        """Return the file of a document. Other content has another folder, so a row names its own file."""
        return self.documents / version_of(document) / PurePosixPath(document.name).name

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Prevent others from adding or removing files during the block (503 after a minute)."""
        lock = FileLock(self.path / "documents.lock", timeout=LOCK_SECONDS)
        try:
            make_folder(self.documents)
            lock.acquire()
        except Timeout:
            raise Problem(503, "Others are adding to this collection. Try again in a minute.") from None
        except FileNotFoundError:
            raise not_found("collection") from None
        try:
            yield
        finally:
            lock.release()

    def write(self, content: IO[bytes], name: str) -> Written:
        """Write a file into a new folder that no document has; 503 if the disk does not accept it."""
        folder = self.documents / f"{new_id()}{_PARTIAL}"
        path, digest, size = folder / PurePosixPath(name).name, hashlib.sha256(), 0
        try:
            make_folder(folder)
            make_file(path)
            with path.open("wb") as file:
                while part := content.read(1 << 20):
                    digest.update(part)
                    size += len(part)
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            _sync(folder)
        except FileNotFoundError:
            raise not_found("collection") from None
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            log.error("An upload could not be written: %s", error)
            raise Problem(503, "The server cannot store documents now. Its log says why.") from error
        return Written(folder, digest.hexdigest(), size)

    def publish(self, written: Path, document: Document) -> None:
        """Make a written file the file of a document, atomically; its row is committed afterwards."""
        place = self.documents / version_of(document)
        if place.exists():
            shutil.rmtree(written)
        else:
            written.replace(place)
        _sync(self.documents)

    def clear_partial(self) -> None:
        """Remove the files that were being written when the server ended; no upload of them was answered."""
        _remove(self.documents, _PARTIAL)

    def remove(self) -> None:
        """Remove the folder of a deleted collection; if interrupted, the next start finishes it."""
        deleted = self.path.with_name(f"{self.path.name}{_DELETED}")
        with suppress(FileNotFoundError):  # nothing was ever added to it
            shutil.rmtree(self.path.rename(deleted), ignore_errors=True)

    def leftover_bytes(self) -> int:
        """Return the size of the files that the next job removes: they were replaced or deleted."""
        with suppress(FileNotFoundError):  # a job is just removing them
            files = (file for place in self.documents.glob(f"*{_DELETED}") for file in os.scandir(place))
            return sum(file.stat().st_size for file in files)
        return 0

    def retire(self, version: str) -> None:
        """Mark a document's files for removal, once its row is replaced or deleted."""
        place = self.documents / version
        with suppress(FileNotFoundError):  # a web page has no file
            place.rename(place.with_name(f"{version}.{new_id()}{_DELETED}"))

    def clear(self) -> None:
        """Remove only the files that were marked because their documents were replaced or deleted."""
        _remove(self.documents, _DELETED)

    def unknown(self, documents: AnyOf[Document]) -> list[Path]:
        """Return the folders that belong to no document, for example if the database is an older copy."""
        kept = {version_of(document) for document in documents}
        entries = sorted(os.listdir(self.documents)) if self.documents.is_dir() else ()
        return [
            self.documents / name
            for name in entries
            if name not in kept and not name.endswith((_PARTIAL, _DELETED))
        ]


def folder_of(data: Path, collection_id: str) -> CollectionFolder:
    """Return the folder of a collection."""
    return CollectionFolder(data.absolute() / "collections" / collection_id)


def collection_folders(data: Path) -> list[CollectionFolder]:
    """Return the folders of all collections except deleted ones."""
    places = data.absolute() / "collections"
    names = sorted(os.listdir(places)) if places.is_dir() else []
    return [CollectionFolder(places / name) for name in names if not name.endswith(_DELETED)]


def finish_deleting(data: Path) -> None:
    """Remove what is left of deleted collections."""
    _remove(data.absolute() / "collections", _DELETED)


def _remove(places: Path, ending: str) -> None:
    for place in places.glob(f"*{ending}"):
        shutil.rmtree(place, ignore_errors=True)


def safe_name(given: str) -> str:
    """Check and normalize the name of an uploaded document, such as "reports/2024.pdf".

    Raises:
        InputError: it leads elsewhere, cannot be shown, is too long, or is of a type that is not read.
    """
    name = unicodedata.normalize("NFC", given)
    parts = name.split("/")
    no_name = f"{given[:100]!r} cannot be the name of a document"
    is_hostile = any(unicodedata.category(letter) in _HOSTILE for letter in name) or "\\" in name
    # Also refused: invisible characters, and those that turn the reading direction: "fdp.exe" for "exe.pdf".
    if is_hostile or visible(name) != name or not all(part.strip() == part != "" for part in parts):
        raise InputError(f"{no_name}: expected one such as 'reports/2024.pdf'.")
    if any(part.startswith(".") for part in parts):
        raise InputError(f"{no_name}: a part of it begins with a dot.")
    if len(name) > LONGEST_NAME or any(len(part.encode()) > LONGEST_PART for part in parts):
        raise InputError(
            f"The name {given[:100]!r}... is too long: a part of it may have {LONGEST_PART} bytes, and the "
            f"whole {LONGEST_NAME} characters."
        )
    if any(is_archive(Path(part)) for part in parts[:-1]):
        raise InputError(f"{no_name}: a folder of it is named as an archive.")
    if find_loader(Path(parts[-1])) is None:
        way = how_to_convert(Path(parts[-1]))
        kinds = f"These are: {list_suffixes()}.{f' {way}.' if way else ''}"
        raise InputError(f"{given[:100]!r} is not of a kind that is read. {kinds}")
    return name


def version_of(document: Document) -> str:
    """Return the name of the folder of a document's current version."""
    return f"{document.id}-{document.digest[:16]}"


def _sync(folder: Path) -> None:
    """Flush the entries of a folder to disk, if the system can."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
