"""Where an index lies: a folder with the files in it, a bucket, or a database."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlparse

from typing_extensions import Buffer

from adaptive_rag.errors import ConfigurationError, IndexingError
from adaptive_rag.index.bucket import PIECE, Bucket
from adaptive_rag.index.postgres.database import SCHEMES, Database


class Folder:
    """A folder on this machine."""

    taken_over = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.uri = str(path)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None where there is none."""
        try:
            return (self.path / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, name: str, content: bytes) -> None:
        """Replace a file as a whole: a reader sees the old content or the new one.

        Raises:
            OSError: it cannot be written; the old content stands.
        """
        # written beside the old file, forced to the disk, and put in the old one's place
        handle, temporary = tempfile.mkstemp(dir=self.path, prefix=f".{name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(self.path / name)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        # the new name itself must survive a power cut; Windows has no such call
        with suppress(OSError):
            descriptor = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def stamp(self, name: str) -> Hashable:
        """Return the file's inode, time and size, which change with it; None where there is no file."""
        try:
            stat = (self.path / name).stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_mtime_ns, stat.st_size

    def names(self, folder: str = "") -> list[str]:
        """Return the names of what lies in the folder, or in one below it; none where there is none.

        Raises:
            IndexingError: there is one, and it cannot be listed.
        """
        try:
            return sorted(os.listdir(self.path / folder))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise IndexingError(
                f"The folder {self.path / folder} cannot be listed: {error.strerror or error}."
            ) from error

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """Return the sizes in bytes of those files that are there."""
        found = {}
        for name in names:
            with suppress(FileNotFoundError, NotADirectoryError):
                found[name] = os.stat(self.path / name).st_size
        return found

    def pieces(self, name: str) -> Iterator[Buffer]:
        """Go through the content of a file; each piece is to be used before the next one is asked for."""
        piece = memoryview(bytearray(PIECE))
        with open(self.path / name, "rb", buffering=0) as file:
            while count := file.readinto(piece):
                yield piece[:count]

    def remove(self, name: str) -> None:
        """Remove a file; it may be missing."""
        (self.path / name).unlink(missing_ok=True)


Files: TypeAlias = Folder | Bucket
Location: TypeAlias = Files | Database


def open_location(uri: str | Path) -> Location:
    """Return the place that a path or a URI such as s3://bucket/folder names.

    Raises:
        ConfigurationError: the path is empty, or is a file, or the URI is of no kind that can hold an index.
        MissingExtraError: it is a bucket or a database, and the package for it is not installed.
    """
    text = str(uri).strip()
    if not text:
        raise ConfigurationError(
            "index = '' names no folder: expected a path or a URI such as s3://bucket/kb."
        )
    # not parsed: a password may hold what an address may not
    scheme = text.partition("://")[0].lower() if "://" in text else ""
    if scheme in SCHEMES:
        return Database(text)
    if "://" in text and scheme != "file":
        return Bucket(text)
    path = Path(unquote(urlparse(text).path)) if scheme == "file" else Path(text).expanduser()
    # unlike the methods of a path, these are false where nothing can be asked
    if os.path.exists(path) and not os.path.isdir(path):
        raise ConfigurationError(
            f"index = {text!r} is a file; expected the folder of an index, or a new one."
        )
    # "../kb" is named as a person finds it; a link before the dots leads elsewhere than they say
    return Folder(path.resolve() if ".." in path.parts else path.absolute())


def open_files(uri: str | Path, what: str) -> Files:
    """Return the place of an index that consists of files.

    Raises:
        ConfigurationError: it lies in a database; `what` is what was to be done.
    """
    location = open_location(uri)
    if isinstance(location, Database):
        raise ConfigurationError(
            f"{what} is for an index in a folder or a bucket. {location.uri} is a database, which looks "
            "after its files by itself. Where tables are gone, make the index anew with --rebuild."
        )
    return location
