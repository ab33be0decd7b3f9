"""Where a collection lies on disk. Of a name that a caller gave, only its last part stands in a path."""

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
# Line ends, escapes and such.
_HOSTILE = {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}
_PARTIAL, _DELETED = ".partial", ".deleted"


@dataclass(frozen=True)
class Searched:
    """What a question over a collection searches: its index, without what was deleted a moment ago."""

    index: Path
    hidden: frozenset[str] = frozenset()


class Written(NamedTuple):
    """A file that was written: the folder that holds it alone, its SHA-256 and its size."""

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
        """Return the file of a document. Other content lies elsewhere, so that a row names its own file."""
        return self.documents / version_of(document) / PurePosixPath(document.name).name

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Let nobody else add files or clear them away while the block lasts (503 after a minute)."""
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
        """Write a file under a name that no document has; 503 where the disk does not take it."""
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
        """Make what was written the file of a document, in one step; its row is committed afterwards."""
        place = self.documents / version_of(document)
        if place.exists():
            shutil.rmtree(written)
        else:
            written.replace(place)
        _sync(self.documents)

    def clear_partial(self) -> None:
        """Remove the files that were being written when the server ended: nobody was told of them."""
        _remove(self.documents, _PARTIAL)

    def remove(self) -> None:
        """Remove the folder of a collection that somebody deleted; a start finishes what is interrupted."""
        deleted = self.path.with_name(f"{self.path.name}{_DELETED}")
        with suppress(FileNotFoundError):  # nothing was ever added to it
            shutil.rmtree(self.path.rename(deleted), ignore_errors=True)

    def leftover_bytes(self, documents: AnyOf[tuple[str, str]]) -> int:
        """Return the size of the files that are none of these documents', by id and digest.

        They were replaced or deleted, and wait for a job that clears them away.
        """
        with suppress(FileNotFoundError):
            entries = [name for name in os.listdir(self.documents) if not name.endswith(_PARTIAL)]
            left = set(entries) - {_version(*document) for document in documents}
            files = (file for name in left for file in os.scandir(self.documents / name))
            return sum(file.stat().st_size for file in files)
        return 0

    def retire(self, version: str) -> None:
        """Mark the files of a document that was replaced or deleted, once its row says so."""
        place = self.documents / version
        with suppress(FileNotFoundError):  # a page of the web has no file
            place.rename(place.with_name(f"{version}.{new_id()}{_DELETED}"))

    def clear(self) -> None:
        """Remove the files of documents that were replaced or deleted, and of nothing else."""
        _remove(self.documents, _DELETED)

    def unknown(self, documents: AnyOf[Document]) -> list[Path]:
        """Return the folders of no document, as where the database is an older copy than they are."""
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
    """Return the folders of all collections but those that somebody deleted."""
    places = data.absolute() / "collections"
    names = sorted(os.listdir(places)) if places.is_dir() else []
    return [CollectionFolder(places / name) for name in names if not name.endswith(_DELETED)]


def finish_deleting(data: Path) -> None:
    """Remove what is left of collections that somebody deleted."""
    _remove(data.absolute() / "collections", _DELETED)


def _remove(places: Path, ending: str) -> None:
    for place in places.glob(f"*{ending}"):
        shutil.rmtree(place, ignore_errors=True)


def safe_name(given: str) -> str:
    """Return the name of a document that is uploaded, such as "reports/2024.pdf".

    Raises:
        InputError: it leads elsewhere, cannot be shown, is too long, or is of a kind that is not read.
    """
    name = unicodedata.normalize("NFC", given)
    parts = name.split("/")
    no_name = f"{given[:100]!r} cannot be the name of a document"
    is_hostile = any(unicodedata.category(letter) in _HOSTILE for letter in name) or "\\" in name
    # And what is not seen, or turns the reading direction: "fdp.exe" for "exe.pdf".
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
    """Return the name of the folder that holds a document as it is now."""
    return _version(document.id, document.digest)


def _version(document_id: str, digest: str) -> str:
    return f"{document_id}-{digest[:16]}"


def _sync(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
