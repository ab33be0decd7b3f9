"""The manifest of an index: its sources, its settings and its files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, NamedTuple

from xxhash import xxh3_64_hexdigest

from adaptive_rag.errors import (
    IndexDamagedError,
    IndexingError,
    IndexMismatchError,
    IndexUnfinishedError,
)
from adaptive_rag.index import neighbours
from adaptive_rag.index.bucket import Bucket, ChangedError
from adaptive_rag.index.cache import FILE
from adaptive_rag.index.location import Location, bytes_in
from adaptive_rag.index.postgres.database import Database
from adaptive_rag.index.sharding.layout import refuse_shards, whole_of

MANIFEST = "manifest.json"
# A copy of the manifest, in case a disk error damages the first.
COPY = "manifest.copy.json"
FORMAT = 1
LOCK = ".lock"
HOLDER = "lock.json"
# The beginnings of the names of files that may be in a folder before its first manifest is written.
OWN_FILES = (LOCK, HOLDER, FILE, f".{HOLDER}", f".{MANIFEST}", f".{COPY}")
TABLE = re.compile(r"chunks-(\d+)\.lance")
MADE_BY = "adaptive-rag"
MADE_BY_MARK = f'"made_by": "{MADE_BY}"'.encode()
# The text before the checksum. The checksum is that of all bytes before this text and a closing brace.
CHECKSUM = b', "checksum": "'
# The errors of `_parse` for a file that is no manifest, or has changed.
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError)


class Seal(NamedTuple):
    """Size in bytes and checksum (64-bit XXH3) of a file when it was written."""

    size: int
    checksum: str


@dataclass(frozen=True, kw_only=True)
class Chunking:
    """How texts become chunks: the settings that may be chosen for a new index."""

    chunk_size: int = 1000
    """Maximum number of characters of a chunk."""
    chunk_overlap: int = 200
    """Maximum number of characters that neighbours share."""
    sentence_vectors: bool = True
    """Whether to store a vector of each sentence."""

    def chunking(self) -> dict[str, Any]:
        """Return these settings alone, by name."""
        return {setting.name: getattr(self, setting.name) for setting in fields(Chunking)}


@dataclass(frozen=True, kw_only=True)
class Settings(Chunking):
    """The settings that all chunks of an index were made with; others cannot be added to it."""

    embeddings: str
    dimension: int

    def __str__(self) -> str:
        sentences = "with" if self.sentence_vectors else "without"
        return (
            f"{self.embeddings} ({self.dimension} dimensions), chunks of {self.chunk_size} characters "
            f"with {self.chunk_overlap} overlap, {sentences} sentence vectors"
        )


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One indexed source: its state at the time of reading, and the key of its chunks."""

    hash: str
    doc: str
    """Key of the source's chunks in the table; it changes with the content."""
    chunks: int
    path: str | None = None
    size: int | None = None
    mtime_ns: int | None = None
    """None if the file was written so shortly before reading that its time proves nothing."""
    link: str | None = None
    """Where the file was found, if a symbolic link in the given folders led out of them to `path`."""
    notes: tuple[str, ...] = ()
    """Notes for the user, such as pages without text."""
    copy_of: str | None = None
    """Another source with the same content, under which the chunks are stored; `doc` and `chunks` are its."""
    indexed: float | None = None
    """The time of reading, in seconds since 1970."""
    web: dict[str, Any] | None = None
    """For a web page, the fields of its `ingest.web.PageStamp`, which are needed to request it again."""

    @property
    def start(self) -> str | None:
        """For a web page, the start address that led to it."""
        return self.web["start"] if self.web else None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The complete state of an index; a new manifest replaces the old one in a single step."""

    settings: Settings
    table: str
    version: int | None = None
    """The table version with exactly these sources; None before the first commit."""
    chunks: int = 0
    sources: dict[str, SourceRecord] = field(default_factory=dict)
    recall: dict[str, float] | None = None
    """The recall of the approximate vector index, and the number of chunks when it was measured."""
    generation: int = 0
    committed: float = 0.0
    """The time the version was written, in seconds since 1970."""
    files: dict[str, Seal] = field(default_factory=dict)
    """The files of the version; empty for a database."""

    def publish(self, location: Location) -> Manifest:
        """Replace the manifest that this one was made from, and return the manifest as written.

        Raises:
            OSError: it cannot be written; the old one stays.
            IndexingError: in a bucket, another process has written a manifest meanwhile, which stays.
        """
        published = replace(self, generation=self.generation + 1)
        content = {"format": FORMAT, "made_by": MADE_BY, **_to_dict(published)}
        body = json.dumps(content, default=_to_dict).encode()
        signed = body[:-1] + CHECKSUM + xxh3_64_hexdigest(body).encode() + b'"}'
        if isinstance(location, Bucket):
            self._swap_manifest(location, signed)
        else:
            location.write(MANIFEST, signed)
        location.write(COPY, signed)
        return published

    def _swap_manifest(self, bucket: Bucket, signed: bytes) -> None:
        """Overwrite the manifest that this one was made from, but no later one."""
        stored, tag = bucket.read_tagged(MANIFEST)
        # a manifest that cannot be read is replaced by this one
        with suppress(IndexMismatchError, *UNREADABLE):
            if stored is not None and _parse(stored, bucket.uri).generation != self.generation:
                raise concurrent_write_error(bucket.uri)
        try:
            bucket.swap(MANIFEST, signed, tag)
        except ChangedError as error:
            raise concurrent_write_error(bucket.uri) from error

    def copies(self) -> dict[str, list[str]]:
        """Return the names of the copies of each source with copies."""
        copies_of: dict[str, list[str]] = {}
        for source, record in sorted(self.sources.items()):
            if record.copy_of is not None:
                copies_of.setdefault(record.copy_of, []).append(source)
        return copies_of

    def owners(self, names: Iterable[str]) -> set[str]:
        """Return the sources under which the chunks of documents are stored; unknown names stay."""
        records = self.sources
        return {(records[name].copy_of or name) if name in records else name for name in names}

    def describe(self, location: Location) -> dict[str, Any]:
        """Return what the index contains and how it was made."""
        # a database gets its vector index at a smaller size, or may not support one
        in_database = isinstance(location, Database)
        is_exact = self.recall is None if in_database else self.chunks <= neighbours.EXACT_UP_TO
        return {
            "index": location.uri,
            **asdict(self.settings),
            "sources": len(self.sources),
            "chunks": self.chunks,
            "bytes": None if location.path is None else bytes_in(location.path),
            "vector_search": "exact" if is_exact else "approximate",
            "recall": self.recall,
            "updated": self.committed,
            "notes": [
                {"source": name, "text": text}
                for name, record in self.sources.items()
                for text in record.notes
            ],
        }


def _to_dict(record: Manifest | Settings | SourceRecord) -> dict[str, Any]:
    # `asdict` would also copy all nested values, which takes longer than writing them
    return {entry.name: getattr(record, entry.name) for entry in fields(record)}


def chunk_key(source: str, content_hash: str) -> str:
    """Return the key of a source's chunks."""
    text = f"{source}\0{content_hash}".encode(errors="surrogatepass")
    return hashlib.sha256(text).hexdigest()[:16]


def count_chunks(sources: Mapping[str, SourceRecord]) -> int:
    """Return how many chunks are stored for sources; those of copies count once."""
    return sum(record.chunks for record in sources.values() if record.copy_of is None)


def read_manifest(location: Location) -> Manifest | None:
    """Return the manifest of an index, or None if there is none.

    Raises:
        IndexDamagedError: the location has an index, but its manifest is missing or was changed.
        IndexMismatchError: the file is no manifest, or has a format that this version cannot read.
    """
    cause: Exception | None = None
    try:
        content = location.read(MANIFEST)
        if content is not None:
            return _parse(content, location.uri)
        problem = f"it has no {MANIFEST}"
    except (OSError, *UNREADABLE) as error:
        reason = getattr(error, "strerror", None) or error
        problem, cause = f"its {MANIFEST} cannot be read ({reason})", error
    if is_index(location):
        if cause is None and location.read(MANIFEST) is not None:
            return read_manifest(location)  # another process has just created the index
        # a repair needs the manifest or its copy
        hint = repair_hint if read_copy(location) else rebuild_hint
        raise IndexDamagedError(
            f"The index {location.uri} is damaged: {problem}. Repair it with: {hint(location.uri)}"
        ) from cause
    if cause is None:
        return None
    raise IndexMismatchError(
        f"{location.uri} is not an index of this program: {problem}. "
        "Pass another folder with --index, or move this one away."
    ) from cause


def last_manifest(location: Location) -> Manifest | None:
    """Return the manifest of an index, or the copy of a damaged one; None if neither can be read."""
    try:
        return read_manifest(location)
    except IndexMismatchError:
        if not is_index(location):
            raise
        return read_copy(location)


def is_index(location: Location) -> bool:
    """Return whether a location certainly has an index, even if its manifest is missing or damaged."""
    with suppress(OSError):
        if MADE_BY_MARK in (location.read(MANIFEST) or b""):
            return True
    if read_copy(location):
        return True
    names = location.names()
    others = [name for name in names if not TABLE.fullmatch(name)]
    are_own = all(name.startswith((*OWN_FILES, MANIFEST, COPY)) for name in others)
    return 0 < len(others) < len(names) and are_own


def next_table(location: Location, manifest: Manifest | None) -> str:
    """Return a new table name for the index."""
    if manifest is not None:
        return f"chunks-{int(manifest.table.rpartition('-')[2]) + 1}"
    numbers = [int(match[1]) for name in location.names() if (match := TABLE.fullmatch(name))]
    return f"chunks-{max(numbers, default=0) + 1}"


def read_copy(location: Location) -> Manifest | None:
    """Return the copy of the manifest; None if it cannot be read or names no version."""
    try:
        copy = _parse(location.read(COPY) or b"", location.uri)
    except (IndexMismatchError, OSError, *UNREADABLE):
        return None
    return copy if copy.version is not None else None


def has_current_copy(location: Location, manifest: Manifest) -> bool:
    """Return whether the manifest's copy can be read and is not older, as after a killed run."""
    copy = read_copy(location)
    return copy is not None and copy.generation >= manifest.generation


def _parse(content: bytes, uri: str) -> Manifest:
    """Parse the content of a manifest file, and verify its checksum."""
    if MADE_BY_MARK not in content:
        raise ValueError(f"it does not say that {MADE_BY} made it")
    body, _, checksum = content.rpartition(CHECKSUM)
    if checksum != xxh3_64_hexdigest(body + b"}").encode() + b'"}':
        raise ValueError("it has changed since it was written")
    parsed = json.loads(body + b"}")
    del parsed["made_by"]
    if (format_number := parsed.pop("format")) != FORMAT:
        raise IndexMismatchError(
            f"The index {uri} has format {format_number!r}; this version reads format {FORMAT}. "
            f"Use the version that made it, or rebuild it: {rebuild_hint(uri)}"
        )
    settings = Settings(**parsed.pop("settings"))
    sources = parsed.pop("sources")
    for name, record in sources.items():
        sources[name] = SourceRecord(**{**record, "notes": tuple(record["notes"])})
    files = {name: Seal(*seal) for name, seal in parsed.pop("files").items()}
    return Manifest(settings=settings, sources=sources, files=files, **parsed)


def complete_manifest(location: Location) -> Manifest:
    """Return the manifest of an index that can be searched.

    Raises:
        IndexDamagedError: its manifest is missing or was changed.
        IndexUnfinishedError: its first run did not finish.
        IndexMismatchError: there is no index of this program.
    """
    manifest = read_manifest(location)
    if manifest is None:
        refuse_shards(location, "This command")
        if all(name.startswith(OWN_FILES) for name in location.names()):
            raise IndexMismatchError(
                f"There is no index at {location.uri}. Make one with: {build_hint(location.uri)}"
            )
        raise IndexMismatchError(
            f"{location.uri} is not an index of this program: it has no {MANIFEST}. Pass the folder of an "
            "index, or make a new one with: adaptive-rag index PATH --index FOLDER"
        )
    if manifest.version is None:
        raise IndexUnfinishedError(
            f"The index {location.uri} is still empty: its first run did not finish. "
            f"Run: {build_hint(location.uri)}"
        )
    return manifest


def concurrent_write_error(uri: str) -> IndexingError:
    """Return the error of a run that ends early because another process has written the index."""
    return IndexingError(
        f"Another process has written the index {uri} during this run. Its work is kept. Run the same "
        "command again to continue from there."
    )


def build_hint(uri: str) -> str:
    """Return the command that builds an index; a shard is built with the others."""
    return f"adaptive-rag index PATH --index {quoted(whole_of(uri))}"


def rebuild_hint(uri: str) -> str:
    """Return the command that rebuilds an index."""
    return f"{build_hint(uri)} --rebuild"


def repair_hint(uri: str) -> str:
    """Return the command that repairs a damaged index."""
    return f"adaptive-rag index --repair --index {quoted(uri)}"


def quoted(uri: str) -> str:
    """Quote a path or a URI for the system's command line."""
    return subprocess.list2cmdline([uri]) if os.name == "nt" else shlex.quote(uri)
