"""Where an index lies, a folder or a bucket, and its manifest: what it holds and how it was made."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote, urlparse

from adaptive_rag.errors import ConfigurationError, IndexMismatchError
from adaptive_rag.index.neighbours import EXACT_UP_TO

MANIFEST = "manifest.json"
FORMAT = 1


class Folder:
    """A folder on this machine."""

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

    def is_empty(self, but_for: tuple[str, ...] = ()) -> bool:
        """Tell whether the folder is missing or holds nothing, but for files whose names start so."""
        if not self.path.exists():
            return True
        return all(file.name.startswith(but_for) for file in self.path.iterdir())


class Bucket:
    """A prefix in an object store; putting one object is atomic there, and there is no lock."""

    path = None

    def __init__(self, uri: str) -> None:
        from pyarrow import fs

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


Location: TypeAlias = Folder | Bucket


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


@dataclass(frozen=True, slots=True)
class Settings:
    """What every chunk of an index was made with; two indexes that differ here cannot be mixed."""

    embeddings: str
    dimension: int
    chunk_size: int
    chunk_overlap: int
    sentence_vectors: bool

    def __str__(self) -> str:
        sentences = "with" if self.sentence_vectors else "without"
        return (
            f"{self.embeddings} ({self.dimension} dimensions), chunks of {self.chunk_size} characters "
            f"with {self.chunk_overlap} overlap, {sentences} sentence vectors"
        )


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One indexed source: what it was when it was read, and the key of its chunks."""

    hash: str
    doc: str
    """Key of the source's chunks in the table: changes with the content."""
    chunks: int
    path: str | None = None
    size: int | None = None
    mtime_ns: int | None = None
    """None where the file was written so shortly before reading that its time proves nothing."""
    notes: tuple[str, ...] = ()
    """What the user should know of it, such as pages without text; indexes of older versions have none."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The complete state of an index. A new one takes the old one's place in a single step."""

    settings: Settings
    table: str
    version: int | None = None
    """Version of the table that holds exactly these sources; None before the first commit."""
    chunks: int = 0
    sources: dict[str, SourceRecord] = field(default_factory=dict)
    recall: dict[str, float] | None = None
    """What the approximate vector index finds of the exact result, and over how many chunks."""
    generation: int = 0
    committed: float = 0.0
    """When the version was written, in seconds since 1970."""

    def publish(self, location: Location) -> Manifest:
        """Write the manifest and return it as written.

        Raises:
            OSError: it cannot be written; the old one stands.
        """
        written = replace(self, generation=self.generation + 1)
        content = {"format": FORMAT, "made_by": "adaptive-rag", **asdict(written)}
        location.write(MANIFEST, json.dumps(content).encode())
        return written

    def describe(self, location: Location) -> dict[str, Any]:
        """Return what the index holds and how it was made."""
        files = location.path.rglob("*") if location.path else None
        return {
            "index": location.uri,
            **asdict(self.settings),
            "sources": len(self.sources),
            "chunks": self.chunks,
            "bytes": None if files is None else sum(file.stat().st_size for file in files if file.is_file()),
            "vector_search": "exact" if self.chunks <= EXACT_UP_TO else "approximate",
            "recall": self.recall,
            "updated": self.committed,
            "notes": [
                {"source": source, "text": text}
                for source, record in self.sources.items()
                for text in record.notes
            ],
        }


def read_manifest(location: Location) -> Manifest | None:
    """Return the manifest of an index, or None where there is none.

    Raises:
        IndexMismatchError: the file is not a manifest of ours, or of a format we do not read.
    """
    content = location.read(MANIFEST)
    if content is None:
        return None
    try:
        raw = json.loads(content)
        if raw.pop("made_by") != "adaptive-rag":
            raise KeyError("made_by")
        found = raw.pop("format")
        if found != FORMAT:
            raise IndexMismatchError(
                f"The index {location.uri} has format {found!r}; this version reads format {FORMAT}. "
                f"{rebuild_hint(location.uri)}"
            )
        settings = Settings(**raw.pop("settings"))
        sources = {
            name: SourceRecord(**{**record, "notes": tuple(record.get("notes", ()))})
            for name, record in raw.pop("sources").items()
        }
        return Manifest(settings=settings, sources=sources, **raw)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IndexMismatchError(
            f"{location.uri} is not an index of ours: its {MANIFEST} cannot be read ({error!r}). "
            "Name another folder with --index, or move this one away."
        ) from error


def complete_manifest(location: Location) -> Manifest:
    """Return the manifest of an index that can be searched.

    Raises:
        IndexMismatchError: there is no index, none of ours, or its first run did not finish.
    """
    manifest = read_manifest(location)
    command = f"adaptive-rag index PATH --index {location.uri}"
    if manifest is None:
        if location.is_empty():
            raise IndexMismatchError(f"There is no index at {location.uri}. Make one with: {command}")
        raise IndexMismatchError(
            f"{location.uri} is not an index of ours: it has no {MANIFEST}. Name the folder of an index, or "
            "make a new one with: adaptive-rag index PATH --index FOLDER"
        )
    if manifest.version is None:
        raise IndexMismatchError(
            f"The index {location.uri} holds nothing yet: its first run did not finish. Run: {command}"
        )
    return manifest


def describe(uri: str | Path) -> dict[str, Any]:
    """Return what an index holds and how it was made, without its embedding model.

    Raises:
        IndexMismatchError: there is no index, or none of ours.
    """
    location = open_location(uri)
    return complete_manifest(location).describe(location)


def rebuild_hint(uri: str) -> str:
    """Name the command that makes an index anew."""
    return f"adaptive-rag index PATH --index {uri} --rebuild"
