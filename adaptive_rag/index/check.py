"""Checks that an index is as it was written: manifest, files, rows, word index and vector index."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from adaptive_rag.errors import IndexDamagedError
from adaptive_rag.index import neighbours
from adaptive_rag.index.cache import FILE, cache_damage
from adaptive_rag.index.files import Fragment, changed_files, read_version
from adaptive_rag.index.location import Files, open_files
from adaptive_rag.index.manifest import (
    COPY,
    MANIFEST,
    Manifest,
    complete_manifest,
    count_chunks,
    has_current_copy,
    last_manifest,
    rebuild_hint,
    repair_hint,
)
from adaptive_rag.index.neighbours import VECTOR
from adaptive_rag.index.reader import TableReader
from adaptive_rag.index.rows import count_rows
from adaptive_rag.index.store_errors import explain_read_errors, first_line
from adaptive_rag.index.table import ID, TEXT

ROWS, STORE, SOURCES = "rows", "table", "sources"


class Damage(NamedTuple):
    """A damaged part of an index, such as a file, and what is wrong with it."""

    part: str
    found: str


@dataclass(slots=True)
class IndexCheck:
    """The result of a check; `mend` is the command that repairs the index, empty if nothing is damaged."""

    index: str
    deep: bool
    """Whether file contents were compared, not just sizes and counts."""
    chunks: int = 0
    sources: int = 0
    files: int = 0
    bytes: int = 0
    damages: list[Damage] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    """Sources with missing or damaged chunks."""
    mend: str = ""

    @property
    def healthy(self) -> bool:
        """Return whether nothing is damaged."""
        return not self.damages


def check_index(uri: str | Path, *, deep: bool = False) -> IndexCheck:
    """Compare an index with its manifest, without changing anything.

    The fast check verifies the checksum of the manifest, the sizes of the files and the counts of the
    store, and opens the cache. With `deep`, it also verifies the checksum of every file and reads all rows
    and the cache.

    Raises:
        IndexMismatchError: there is no index of this program.
    """
    location = open_files(uri, "index --check")
    manifest, damages = manifest_or_copy(location)
    if manifest is None:
        return IndexCheck(location.uri, deep, damages=damages, mend=rebuild_hint(location.uri))
    check = examine(location, manifest, deep=deep)
    check.damages[:0] = damages
    if check.damages:
        check.mend = repair_hint(location.uri)
    return check


def manifest_or_copy(location: Files) -> tuple[Manifest | None, list[Damage]]:
    """Return the manifest and no damage, or the copy of a damaged manifest and what is wrong with it."""
    try:
        return complete_manifest(location), []
    except IndexDamagedError as error:
        return last_manifest(location), [Damage(MANIFEST, first_line(error))]


def examine(location: Files, manifest: Manifest, *, deep: bool) -> IndexCheck:
    """Compare an index with a manifest."""
    files = manifest.files
    check = IndexCheck(
        location.uri,
        deep,
        chunks=manifest.chunks,
        sources=len(manifest.sources),
        files=len(files),
        bytes=sum(seal.size for seal in files.values()),
    )
    changed = changed_files(location, files, contents=deep)
    check.damages = [Damage(file, problem) for file, problem in changed.items()]
    if not has_current_copy(location, manifest):
        problem = "is missing, older than the manifest, or has changed since it was written"
        check.damages.append(Damage(COPY, problem))
    try:
        reader = TableReader(location.uri, manifest)
        check.damages += _check_counts(reader)
        if deep:
            # LanceDB would panic on damaged files
            check.damages += () if changed else _query_indexes(reader)
            _check_rows(location, reader, changed, check)
    except IndexDamagedError as error:
        check.damages.append(Damage(STORE, first_line(error)))
        check.incomplete = sorted(manifest.sources) if deep else []
    if check.incomplete:
        check.damages.append(Damage(SOURCES, f"{len(check.incomplete)} of {check.sources} are incomplete"))
    if location.path is not None and (problem := cache_damage(location.path, deep=deep)):
        check.damages.append(Damage(FILE, problem))
    return check


def _check_rows(location: Files, reader: TableReader, changed: Collection[str], check: IndexCheck) -> None:
    """Check the rows in the files that are intact."""
    manifest = reader.manifest
    fragments = fragments_of(location, manifest)
    intact = [fragment for fragment in fragments if not set(changed) & set(fragment.files)]
    census = count_rows(reader.table, intact, manifest.settings)
    check.damages += [Damage(ROWS, f"{fault} ({count} times)") for fault, count in census.faults.items()]
    records = manifest.sources.items()
    check.incomplete = [name for name, each in records if not census.is_complete(each.doc, each.chunks)]


def fragments_of(location: Files, manifest: Manifest) -> list[Fragment]:
    """Return the fragments of the table version, or an empty list if they cannot be read."""
    assert manifest.version is not None
    try:
        return read_version(location, manifest.table, manifest.version).fragments
    except IndexDamagedError:
        return []


def _check_counts(reader: TableReader) -> Iterator[Damage]:
    """Yield what is wrong with the counts of the manifest and with the indexes of the table."""
    manifest = reader.manifest
    count = count_chunks(manifest.sources)
    if count != manifest.chunks:
        yield Damage(SOURCES, f"have {count} chunks in total, but the manifest has {manifest.chunks}")
    expected = {TEXT: "word index", ID: "index of ids"} if manifest.chunks else {}
    # a first run builds the vector index at its end; the states that it publishes before have none
    if manifest.chunks > neighbours.EXACT_UP_TO and manifest.recall is not None:
        expected[VECTOR] = "vector index"
    with explain_read_errors(reader.table.name, "its list of indexes"):
        present = {column for index in reader.table.list_indices() for column in index.columns}
    yield from (Damage(name, "is missing") for column, name in expected.items() if column not in present)


def _query_indexes(reader: TableReader) -> Iterator[Damage]:
    """Yield the damage found by one query of each index, with the words, id and vector of one chunk."""
    if not reader.manifest.chunks:
        return
    try:
        chunk = next(reader.chunks())
        reader.match(chunk["text"], 1)
        reader.nearest(reader.vectors([chunk["id"]]), 1)
    except (IndexDamagedError, StopIteration, KeyError) as error:
        yield Damage(STORE, first_line(error))
