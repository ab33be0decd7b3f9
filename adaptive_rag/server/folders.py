"""Where a collection lies on disk. Of a name that a caller gave, only its last part stands in a path."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import unicodedata
from collections.abc import Collection as AnyOf
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from filelock import FileLock, Timeout

from adaptive_rag.errors import InputError
from adaptive_rag.ingest.archives import is_archive
from adaptive_rag.ingest.loaders import find_loader, list_suffixes
from adaptive_rag.private import make_file, make_folder
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.tables import Document, new_id

log = logging.getLogger(__name__)

LONGEST_NAME = 1000  # characters, folders included
LONGEST_PART = 200  # bytes; file systems take 255
LOCK_SECONDS = 60
# Line ends, escapes and such; then what is not seen, or turns the reading direction: "fdp.exe" for "exe.pdf".
_HOSTILE = {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}
_TURNING = re.compile("[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_PARTIAL, _DELETED = ".partial", ".deleted"


@dataclass(frozen=True)
class Searched:
    """What a question over a collection searches: its index, without what was deleted a moment ago."""

    index: Path
    hidden: frozenset[str] = frozenset()


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
        return self.documents / _version(document) / PurePosixPath(document.name).name

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Let nobody else add files or clear them away while the block lasts.

        Raises:
            Problem: 503; others are at it for a minute.
        """
        make_folder(self.documents)
        try:
            with FileLock(self.path / "documents.lock", timeout=LOCK_SECONDS):
                yield
        except Timeout:
            raise Problem(503, "Others are adding to this collection. Try again in a minute.") from None

    def write(self, content: IO[bytes], name: str) -> tuple[Path, str, int]:
        """Write a file under a name that no document has; return its folder, its SHA-256 and its size.

        Raises:
            Problem: 503; the disk does not take it.
        """
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
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            log.error("An upload could not be written: %s", error)
            raise Problem(503, "The server cannot store documents now. Its log says why.") from error
        return folder, digest.hexdigest(), size

    def publish(self, written: Path, document: Document) -> None:
        """Make what was written the file of a document, in one step; its row is committed afterwards."""
        place = self.documents / _version(document)
        if place.exists():
            shutil.rmtree(written)
        else:
            written.replace(place)
        _sync(self.documents)

    def clear_partial(self) -> None:
        """Remove the files that were being written when the server ended: nobody was told of them."""
        for entry in os.scandir(self.documents) if self.documents.is_dir() else ():
            if entry.name.endswith(_PARTIAL):
                shutil.rmtree(entry.path, ignore_errors=True)

    def remove(self) -> None:
        """Remove the folder of a collection that somebody deleted; a start finishes what is interrupted."""
        deleted = self.path.with_name(f"{self.path.name}{_DELETED}")
        with suppress(FileNotFoundError):  # nothing was ever added to it
            shutil.rmtree(self.path.rename(deleted), ignore_errors=True)

    def clear(self, documents: AnyOf[Document]) -> None:
        """Remove the files of no document: replaced, deleted, or left by an interruption."""
        kept = {_version(document) for document in documents}
        for entry in os.scandir(self.documents) if self.documents.is_dir() else ():
            if entry.name not in kept:
                shutil.rmtree(entry.path, ignore_errors=True)


def folder_of(data: Path, collection_id: str) -> CollectionFolder:
    """Return the folder of a collection."""
    return CollectionFolder(data.absolute() / "collections" / collection_id)


def finish_deleting(data: Path) -> list[CollectionFolder]:
    """Remove what is left of collections that somebody deleted, and return the folders of all others."""
    places = data.absolute() / "collections"
    folders = list(places.iterdir()) if places.is_dir() else []
    for path in folders:
        if path.name.endswith(_DELETED):
            shutil.rmtree(path, ignore_errors=True)
    return [CollectionFolder(path) for path in folders if not path.name.endswith(_DELETED)]


def safe_name(given: str) -> str:
    """Return the name of a document that is uploaded, such as "reports/2024.pdf".

    Raises:
        InputError: it leads elsewhere, cannot be shown, is too long, or is of a kind that is not read.
    """
    name = unicodedata.normalize("NFC", given)
    parts = name.split("/")
    hostile = any(unicodedata.category(letter) in _HOSTILE for letter in name) or _TURNING.search(name)
    if hostile or "\\" in name or not all(part.strip() == part != "" for part in parts):
        raise InputError(
            f"{given[:100]!r} cannot be the name of a document: expected one such as 'reports/2024.pdf'."
        )
    if any(part.startswith(".") for part in parts):
        raise InputError(f"{given[:100]!r} cannot be the name of a document: a part of it begins with a dot.")
    if len(name) > LONGEST_NAME or any(len(part.encode()) > LONGEST_PART for part in parts):
        raise InputError(
            f"The name {given[:100]!r}... is too long: a part of it may have {LONGEST_PART} bytes, and the "
            f"whole {LONGEST_NAME} characters."
        )
    if any(is_archive(Path(part)) for part in parts[:-1]):
        raise InputError(
            f"{given[:100]!r} cannot be the name of a document: a folder of it is named as an archive."
        )
    if find_loader(Path(parts[-1])) is None:
        raise InputError(f"{given[:100]!r} is not of a kind that is read. These are: {list_suffixes()}.")
    return name


def _version(document: Document) -> str:
    return f"{document.id}-{document.digest[:16]}"


def _sync(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
