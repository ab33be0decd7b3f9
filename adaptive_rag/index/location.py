"""Where an index lies: a folder on this machine, or a bucket; small files are replaced as a whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlparse

from adaptive_rag.errors import ConfigurationError


class Location(Protocol):
    """A place that holds the tables of an index and the small files beside them."""

    uri: str
    path: Path | None
    """The folder, or None where the index lies in a bucket."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None where there is none."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Replace a file as a whole: a reader sees the old content or the new one.

        Raises:
            OSError: it cannot be written; the old content stands.
        """
        ...

    def stamp(self, name: str) -> Hashable:
        """Return something that changes whenever the file does; None where there is no file."""
        ...

    def is_empty(self, but_for: tuple[str, ...] = ()) -> bool:
        """Tell whether nothing lies here yet, but for files whose names start so."""
        ...


class Folder:
    """A folder on this machine."""

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path
        self._folder = path
        self.uri = str(path)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None where there is none."""
        try:
            return (self._folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write beside the old file, force it to the disk, and put it in the old one's place."""
        handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=f".{name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(self._folder / name)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        self._sync_folder()

    def stamp(self, name: str) -> Hashable:
        """Return the file's inode, time and size."""
        try:
            stat = (self._folder / name).stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_mtime_ns, stat.st_size

    def is_empty(self, but_for: tuple[str, ...] = ()) -> bool:
        """Tell whether the folder is missing or holds nothing, but for files whose names start so."""
        if not self._folder.exists():
            return True
        return all(file.name.startswith(but_for) for file in self._folder.iterdir())

    def _sync_folder(self) -> None:
        # the new name itself must survive a power cut; Windows has no such call
        with suppress(OSError):
            descriptor = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


class Bucket:
    """A prefix in an object store; putting one object is atomic there, and there is no lock."""

    def __init__(self, uri: str) -> None:
        from pyarrow import fs

        self.path: Path | None = None
        self.uri = uri.rstrip("/")
        self._files, self._prefix = fs.FileSystem.from_uri(self.uri)

    def read(self, name: str) -> bytes | None:
        """Return the content of an object, or None where there is none."""
        try:
            with self._files.open_input_stream(f"{self._prefix}/{name}") as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Put one object."""
        with self._files.open_output_stream(f"{self._prefix}/{name}") as stream:
            stream.write(content)

    def stamp(self, name: str) -> Hashable:
        """Return the object's time and size."""
        info = self._files.get_file_info(f"{self._prefix}/{name}")
        return (info.mtime_ns, info.size) if info.is_file else None

    def is_empty(self, but_for: tuple[str, ...] = ()) -> bool:
        """Tell whether no object has this prefix."""
        from pyarrow import fs

        return not self._files.get_file_info(fs.FileSelector(self._prefix, allow_not_found=True))


def open_location(uri: str | Path) -> Location:
    """Return the place that a path or a URI such as s3://bucket/folder names.

    Raises:
        ConfigurationError: the path is empty, or is a file.
    """
    text = str(uri).strip()
    if not text:
        raise ConfigurationError(
            "index = '' names no folder: expected a path or a URI such as s3://bucket/kb."
        )
    scheme = urlparse(text).scheme
    if "://" in text and scheme != "file":
        return Bucket(text)
    path = Path(unquote(urlparse(text).path)) if scheme == "file" else Path(text).expanduser()
    if path.exists() and not path.is_dir():
        raise ConfigurationError(
            f"index = {text!r} is a file; expected the folder of an index, or a new one."
        )
    return Folder(path.absolute())
