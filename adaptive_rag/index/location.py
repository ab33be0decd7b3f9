"""The location of an index: a folder with its files, a bucket, or a database."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

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
        """Return the content of a file, or None if there is none."""
        try:
            return (self.path / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, name: str, content: bytes) -> None:
        """Replace a file atomically: a reader sees either the old content or the new."""
        # the content is written to a temporary file, synced to the disk, and moved over the old file
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
        # the folder is synced too, so that the rename survives a power cut; Windows has no such call
        with suppress(OSError):
            descriptor = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def stamp(self, name: str) -> Hashable:
        """Return the file's inode, time and size, which change with it; None if there is no file."""
        try:
            stat = (self.path / name).stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_mtime_ns, stat.st_size

    def names(self, folder: str = "") -> list[str]:
        """Return the names in the folder, or in a subfolder; an empty list if it does not exist."""
        try:
            return sorted(os.listdir(self.path / folder))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            reason = error.strerror or error
            raise IndexingError(f"The folder {self.path / folder} cannot be listed: {reason}.") from error

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """Return the sizes in bytes of the files that exist."""
        sizes = {}
        for name in names:
            with suppress(FileNotFoundError, NotADirectoryError):
                sizes[name] = os.stat(self.path / name).st_size
        return sizes

    def pieces(self, name: str) -> Iterator[Buffer]:
        """Yield the content of a file in pieces; each piece is only valid until the next one is read."""
        piece = memoryview(bytearray(PIECE))
        with open(self.path / name, "rb", buffering=0) as file:
            while count := file.readinto(piece):
                yield piece[:count]

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        (self.path / name).unlink(missing_ok=True)


def bytes_in(folder: Path) -> int:
    """Return the total size of the files below a folder; a file with several hard links counts once."""
    sizes: dict[int, int] = {}
    for folder_path, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # another process has just removed it
                stat = os.stat(os.path.join(folder_path, name))
                sizes[stat.st_ino] = stat.st_size
    return sum(sizes.values())


Files: TypeAlias = Folder | Bucket
Location: TypeAlias = Files | Database


def open_location(uri: str | Path) -> Location:
    """Return the location that a path or a URI such as s3://bucket/folder names.

    Raises:
        ConfigurationError: the path is empty or is a file, or the URI has a scheme that cannot hold an index.
        MissingExtraError: it is a bucket or a database, and the package for it is not installed.
    """
    text = str(uri).strip() if isinstance(uri, str | os.PathLike) else ""
    if not text:
        raise ConfigurationError(f"index = {uri!r}: expected a path or a URI such as s3://bucket/kb.")
    if "\0" in text:
        raise ConfigurationError(f"index = {text!r} contains a null character, which no path may.")
    # not parsed as a URL, because a password may contain characters that a URL may not
    scheme = text.partition("://")[0].lower() if "://" in text else ""
    if scheme in SCHEMES:
        return Database(text)
    if "://" in text and scheme != "file":
        return Bucket(text)
    path = Path(os.path.expanduser(text))
    if scheme == "file":
        path = Path(unquote(text.partition("://")[2]).removeprefix("localhost"))
        if not path.is_absolute():
            raise ConfigurationError(f"index = {text!r} has no absolute path: expected file:///FOLDER.")
    # unlike the methods of Path, these return False if access is denied
    if os.path.exists(path) and not os.path.isdir(path):
        raise ConfigurationError(
            f"index = {text!r} is a file; expected the folder of an index, or a new one."
        )
    # "../kb" is resolved: behind a symbolic link, ".." does not lead where the path says
    return Folder(path.resolve() if ".." in path.parts else path.absolute())


def open_files(uri: str | Path, operation: str) -> Files:
    """Return the location of an index that consists of files; `operation` is named in the error."""
    location = open_location(uri)
    if isinstance(location, Database):
        raise ConfigurationError(
            f"{operation} is for an index in a folder or a bucket, and {location.uri} is a database, which "
            "manages its own files. If tables are missing, rebuild the index with --rebuild."
        )
    return location
