"""The manifest of an index: its sources, its settings and its files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from xxhash import xxh3_64_hexdigest

from adaptive_rag.errors import (
    ConfigurationError,
    IndexDamagedError,
    IndexingError,
    IndexMismatchError,
    IndexUnfinishedError,
)
from adaptive_rag.index import neighbours
from adaptive_rag.index.bucket import Bucket, ChangedError
from adaptive_rag.index.cache import FILE
from adaptive_rag.index.location import Location, open_location
from adaptive_rag.index.postgres.database import Database
from adaptive_rag.index.sharding.layout import join_facts, refuse_shards, shard_uris
from adaptive_rag.source import SentenceVectors

MANIFEST = "manifest.json"
# A copy of the manifest, in case a disk error damages the first.
COPY = "manifest.copy.json"
FORMAT = 1
LOCK = ".lock"
HOLDER = "lock.json"
# Files that may be in a folder before its first manifest is written.
OWN_FILES = (LOCK, HOLDER, FILE, f".{HOLDER}", f".{MANIFEST}", f".{COPY}")
TABLE = re.compile(r"chunks-(\d+)\.lance")
MADE_BY = "adaptive-rag"
OURS = f'"made_by": "{MADE_BY}"'.encode()
# The text before the checksum; the checksum covers all bytes before this text, and a closing brace.
CHECKSUM = b', "checksum": "'


class Seal(NamedTuple):
    """Size in bytes and checksum (64-bit XXH3) of a file when it was written."""

    size: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that all chunks of an index were made with; indexes that differ here cannot be mixed."""

    embeddings: str
    dimension: int
    chunk_size: int
    chunk_overlap: int
    sentence_vectors: bool | Literal["pooled"]
    """Whether each sentence has a vector; "pooled" if it is not embedded by itself."""

    def __str__(self) -> str:
        ways: dict[bool | str, str] = {True: "with", "pooled": "with pooled", False: "without"}
        sentences = ways[self.sentence_vectors]
        return (
            f"{self.embeddings} ({self.dimension} dimensions), chunks of {self.chunk_size} characters "
            f"with {self.chunk_overlap} overlap, {sentences} sentence vectors"
        )


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One indexed source: its state when it was read, and the key of its chunks."""

    hash: str
    doc: str
    """Key of the source's chunks in the table; it changes with the content."""
    chunks: int
    path: str | None = None
    size: int | None = None
    mtime_ns: int | None = None
    """None if the file was written so shortly before it was read that its time proves nothing."""
    notes: tuple[str, ...] = ()
    """Notes for the user, such as pages without text."""
    copy_of: str | None = None
    """The source with the same content that holds the chunks; `doc` and `chunks` are then taken from it."""
    indexed: float | None = None
    """The time it was read, in seconds since 1970."""
    web: dict[str, Any] | None = None
    """For a web page, the fields of its `ingest.web.PageStamp`, which are used to request it again."""

    @property
    def start(self) -> str | None:
        """For a web page, the start address that led to it."""
        return self.web["start"] if self.web else None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The complete state of an index. A new manifest replaces the old one in a single step."""

    settings: Settings
    table: str
    version: int | None = None
    """The table version that holds exactly these sources; None before the first commit."""
    chunks: int = 0
    sources: dict[str, SourceRecord] = field(default_factory=dict)
    recall: dict[str, float] | None = None
    """The recall of the approximate vector index, and the number of chunks it was measured on."""
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
        written = replace(self, generation=self.generation + 1)
        content = {"format": FORMAT, "made_by": MADE_BY, **_fields(written)}
        body = json.dumps(content, default=_fields).encode()
        sealed = body[:-1] + CHECKSUM + xxh3_64_hexdigest(body).encode() + b'"}'
        if isinstance(location, Bucket):
            self._take_place(location, sealed)
        else:
            location.write(MANIFEST, sealed)
        location.write(COPY, sealed)
        return written

    def _take_place(self, bucket: Bucket, sealed: bytes) -> None:
        """Overwrite the manifest that this one was made from, and no other."""
        found, tag = bucket.read_tagged(MANIFEST)
        # a manifest that cannot be read is replaced by this one
        with suppress(ValueError, KeyError, TypeError, AttributeError, IndexMismatchError):
            if found is not None and _parse(found, bucket.uri).generation != self.generation:
                raise written_by_another(bucket.uri)
        try:
            bucket.swap(MANIFEST, sealed, tag)
        except ChangedError as error:
            raise written_by_another(bucket.uri) from error

    def copies(self) -> dict[str, list[str]]:
        """Return the names of the copies of each source that has some."""
        found: dict[str, list[str]] = {}
        for source, record in sorted(self.sources.items()):
            if record.copy_of is not None:
                found.setdefault(record.copy_of, []).append(source)
        return found

    def describe(self, location: Location) -> dict[str, Any]:
        """Return what the index contains and how it was made."""
        files = location.path.rglob("*") if location.path else None
        # a database gets its vector index earlier, or may not support one
        in_database = isinstance(location, Database)
        exact = self.recall is None if in_database else self.chunks <= neighbours.EXACT_UP_TO
        return {
            "index": location.uri,
            **asdict(self.settings),
            "sources": len(self.sources),
            "chunks": self.chunks,
            "bytes": None if files is None else sum(file.stat().st_size for file in files if file.is_file()),
            "vector_search": "exact" if exact else "approximate",
            "recall": self.recall,
            "updated": self.committed,
            "notes": [
                {"source": source, "text": text}
                for source, record in self.sources.items()
                for text in record.notes
            ],
        }


def _fields(record: Manifest | Settings | SourceRecord) -> dict[str, Any]:
    # `asdict` also copies all nested values, which takes longer than writing them
    return {name: getattr(record, name) for name in record.__slots__}


def stored_way(asked: bool | SentenceVectors) -> bool | Literal["pooled"]:
    """Return the stored form of the `sentence_vectors` option: "apart" is True, "none" is False."""
    ways: dict[str, bool | Literal["pooled"]] = {"apart": True, "pooled": "pooled", "none": False}
    if isinstance(asked, bool):
        return asked
    if asked not in ways:
        expected = ", ".join(map(repr, ways))
        raise ConfigurationError(f"sentence_vectors = {asked!r} is not known: expected {expected}.")
    return ways[asked]


def key_of(source: str, content_hash: str) -> str:
    """Return the key of a source's chunks."""
    named = f"{source}\0{content_hash}".encode(errors="surrogatepass")
    return hashlib.sha256(named).hexdigest()[:16]


def count_chunks(sources: Mapping[str, SourceRecord]) -> int:
    """Return how many chunks are stored for sources; those of copies count once."""
    return sum(record.chunks for record in sources.values() if record.copy_of is None)


def read_manifest(location: Location) -> Manifest | None:
    """Return the manifest of an index, or None if there is none.

    Raises:
        IndexDamagedError: the folder is an index of ours, but its manifest is missing or was changed.
        IndexMismatchError: the file is not a manifest of ours, or has a format that this version cannot read.
    """
    cause: Exception | None = None
    try:
        content = location.read(MANIFEST)
        if content is not None:
            return _parse(content, location.uri)
        problem = f"it has no {MANIFEST}"
    except OSError as error:
        problem, cause = f"its {MANIFEST} cannot be read ({error.strerror or error})", error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem, cause = f"its {MANIFEST} cannot be read ({error})", error
    if is_ours(location):
        if cause is None and location.read(MANIFEST) is not None:
            return read_manifest(location)  # another process has just created the index
        # without a manifest, it is unknown what there is to repair
        mend = repair_hint if copy_of_manifest(location) else rebuild_hint
        raise IndexDamagedError(
            f"The index {location.uri} is damaged: {problem}. Mend it with: {mend(location.uri)}"
        ) from cause
    if cause is None:
        return None
    raise IndexMismatchError(
        f"{location.uri} is not an index of ours: {problem}. "
        "Name another folder with --index, or move this one away."
    ) from cause


def last_manifest(location: Location) -> Manifest | None:
    """Return the manifest of an index, or its copy if it is damaged; None if neither can be read."""
    try:
        return read_manifest(location)
    except IndexMismatchError:
        if not is_ours(location):
            raise
        return copy_of_manifest(location)


def is_ours(location: Location) -> bool:
    """Tell whether a location is certainly an index of ours, even if its manifest is missing or damaged."""
    with suppress(OSError):
        if OURS in (location.read(MANIFEST) or b""):
            return True
    if copy_of_manifest(location):
        return True
    names = location.names()
    tables = {name for name in names if TABLE.fullmatch(name)}
    beside = [name for name in names if name not in tables]
    return bool(tables and beside) and all(name.startswith((*OWN_FILES, MANIFEST, COPY)) for name in beside)


def next_table(location: Location, manifest: Manifest | None) -> str:
    """Return a new table name for the index."""
    if manifest is not None:
        return f"chunks-{int(manifest.table.rpartition('-')[2]) + 1}"
    numbers = [int(found[1]) for name in location.names() if (found := TABLE.fullmatch(name))]
    return f"chunks-{max(numbers, default=0) + 1}"


def copy_of_manifest(location: Location) -> Manifest | None:
    """Return the copy of the manifest; None if it cannot be read or names no version."""
    try:
        copy = _parse(location.read(COPY) or b"", location.uri)
    except (IndexMismatchError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return copy if copy.version is not None else None


def has_current_copy(location: Location, manifest: Manifest) -> bool:
    """Tell whether the copy of a manifest can be read and is not older, as a killed writer may leave it."""
    copy = copy_of_manifest(location)
    return copy is not None and copy.generation >= manifest.generation


def _parse(content: bytes, uri: str) -> Manifest:
    """Parse the content of a manifest file, and verify its checksum."""
    if OURS not in content:
        raise ValueError(f"it does not say that {MADE_BY} made it")
    body, _, checksum = content.rpartition(CHECKSUM)
    if checksum != xxh3_64_hexdigest(body + b"}").encode() + b'"}':
        raise ValueError("it was changed since it was written")
    raw = json.loads(body + b"}")
    del raw["made_by"]
    if (found := raw.pop("format")) != FORMAT:
        raise IndexMismatchError(
            f"The index {uri} has format {found!r}; this version reads format {FORMAT}. "
            f"Use the version that made it, or make it anew: {rebuild_hint(uri)}"
        )
    settings = Settings(**raw.pop("settings"))
    sources = raw.pop("sources")
    for name, record in sources.items():
        sources[name] = SourceRecord(**{**record, "notes": tuple(record["notes"])})
    files = {name: Seal(*seal) for name, seal in raw.pop("files").items()}
    return Manifest(settings=settings, sources=sources, files=files, **raw)


def complete_manifest(location: Location) -> Manifest:
    """Return the manifest of an index that can be searched.

    Raises:
        IndexDamagedError: its manifest is missing or was changed.
        IndexUnfinishedError: its first run did not finish.
        IndexMismatchError: there is no index, or it is not one of ours.
    """
    manifest = read_manifest(location)
    command = f"adaptive-rag index PATH --index {quoted(location.uri)}"
    if manifest is None:
        refuse_shards(location, "This command")
        if all(name.startswith(OWN_FILES) for name in location.names()):
            raise IndexMismatchError(f"There is no index at {location.uri}. Make one with: {command}")
        raise IndexMismatchError(
            f"{location.uri} is not an index of ours: it has no {MANIFEST}. Name the folder of an index, or "
            "make a new one with: adaptive-rag index PATH --index FOLDER"
        )
    if manifest.version is None:
        raise IndexUnfinishedError(
            f"The index {location.uri} holds nothing yet: its first run did not finish. Run: {command}"
        )
    return manifest


def describe(uri: str | Path) -> dict[str, Any]:
    """Return what an index contains and how it was made, without loading its embedding model."""
    location = open_location(uri)
    if uris := shard_uris(location):
        return join_facts(location.uri, [describe(each) for each in uris])
    return complete_manifest(location).describe(location)


def written_by_another(uri: str) -> IndexingError:
    """Return the error for a run that ends early because another process has written the index."""
    return IndexingError(
        f"Another process has written the index {uri} during this run, and what it wrote stands. Run the "
        "same command again: it goes on from there."
    )


def rebuild_hint(uri: str) -> str:
    """Return the command that rebuilds an index."""
    return f"adaptive-rag index PATH --index {quoted(uri)} --rebuild"


def repair_hint(uri: str) -> str:
    """Return the command that repairs a damaged index."""
    return f"adaptive-rag index --repair --index {quoted(uri)}"


def quoted(uri: str) -> str:
    """Quote a path or a URI for the system's command line."""
    return subprocess.list2cmdline([uri]) if os.name == "nt" else shlex.quote(uri)
