"""Lists, reads and removes the documents of an index by name."""

from __future__ import annotations

import difflib
import os
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from adaptive_rag.errors import InputError
from adaptive_rag.index.build import LOCK_WAIT_SECONDS
from adaptive_rag.index.files import refuse_damage
from adaptive_rag.index.index import open_own_store
from adaptive_rag.index.location import open_location
from adaptive_rag.index.lock import write_lock
from adaptive_rag.index.manifest import Manifest, complete_manifest
from adaptive_rag.index.plan import Plan, find_successors
from adaptive_rag.index.postgres.database import Database
from adaptive_rag.index.postgres.source import PostgresIndex
from adaptive_rag.index.reader import TableReader
from adaptive_rag.index.report import IndexReport, join_reports
from adaptive_rag.index.run import IndexingRun
from adaptive_rag.index.sharding.layout import shard_uris
from adaptive_rag.source import ListsChunks, ListsSources
from adaptive_rag.state import Chunk

# How many similar names a message suggests.
MAX_SUGGESTIONS = 5
GAP = "\n"  # in place of the blanks between chunks, which are not stored


@dataclass(frozen=True, slots=True)
class ListedSource:
    """One document of an index in a list."""

    source: str
    kind: str | None
    """The suffix of the file, such as "pdf"."""
    chunks: int
    indexed: float | None
    """The time it was read, in seconds since 1970."""
    copy_of: str | None
    """The document with the same content that holds the chunks."""
    file: str | None
    notes: tuple[str, ...]


def list_sources(uri: str | Path) -> list[ListedSource]:
    """List the documents of an index by name; only their names and chunks for a store of another kind.

    Raises:
        InputError: the store cannot list its documents.
    """
    if (store := open_own_store(uri)) is not None:
        if not isinstance(store, ListsSources):
            raise InputError(f"{uri} can be searched, but it cannot list its documents.")
        return [
            ListedSource(source, _kind_of(source), chunks, None, None, None, ())
            for source, chunks in sorted(store.sources().items())
        ]
    location = open_location(uri)
    if uris := shard_uris(location):
        sources = [source for shard in uris for source in list_sources(shard)]
        return sorted(sources, key=lambda source: source.source)
    manifest = complete_manifest(location)
    return [
        ListedSource(
            source, _kind_of(source), record.chunks, record.indexed, record.copy_of, record.path, record.notes
        )
        for source, record in sorted(manifest.sources.items())
    ]


def _kind_of(source: str) -> str | None:
    return PurePath(source).suffix[1:].lower() or None


def read_chunks(uri: str | Path, name: str) -> tuple[str, list[Chunk]]:
    """Find a document by its name or the start of it; return its full name and its chunks in order.

    Raises:
        InputError: no document has this name, several do, or the store cannot list its chunks.
        IndexMismatchError: there is no index of this program.
    """
    if (store := open_own_store(uri)) is not None:
        if not isinstance(store, ListsChunks):
            raise InputError(f"{uri} can be searched, but it cannot list its chunks, so no document is read.")
        stored_chunks = list(store.chunks())
        source = _find(name, {chunk["source"]: None for chunk in stored_chunks}, may_be_start=True)
        return source, _in_order(chunk for chunk in stored_chunks if chunk["source"] == source)
    location = open_location(uri)
    if uris := shard_uris(location):
        [(shard, source)] = [
            (shard, source)
            for shard, sources in _sort_by_shard(uris, [name], may_be_start=True).items()
            for source in sources
        ]
        return read_chunks(shard, source)
    manifest = complete_manifest(location)
    refuse_damage(location, manifest)
    source = _find(name, _files_of(manifest), may_be_start=True)
    if isinstance(location, Database):
        chunks = _in_order(PostgresIndex(location).only([source]).chunks())
    else:
        reader = TableReader(location.uri, manifest)
        chunks = _in_order(reader.chunks(reader.select_rows([frozenset([source])])))
    for chunk in chunks:
        if chunk["source"] != source:  # the chunks are stored under another document with the same content
            names = [chunk["source"], *chunk["metadata"]["also_as"]]
            chunk["metadata"]["also_as"] = [other for other in names if other != source]
            chunk["source"] = source
    return source, chunks


def _in_order(chunks: Iterable[Chunk]) -> list[Chunk]:
    return sorted(chunks, key=lambda chunk: chunk["start"])


def join_chunks(chunks: Sequence[Chunk], start: int, end: int) -> str:
    """Return the text of a document from `start` to `end`, assembled from its chunks."""
    text = [GAP] * (end - start)
    for chunk in chunks:
        low, high = max(start, chunk["start"]), min(end, chunk["end"])
        if low < high:
            text[low - start : high - start] = chunk["text"][low - chunk["start"] : high - chunk["start"]]
    return "".join(text)


def remove_sources(
    uri: str | Path,
    names: Sequence[str],
    *,
    wait_seconds: float = LOCK_WAIT_SECONDS,
    on_wait: Callable[[str], None] | None = None,
) -> IndexReport:
    """Remove documents from an index; their files stay, and so do other documents with the same content.

    The `sources` of the report are the documents that were removed.

    Raises:
        InputError: a name matches no document, or several, or the index is a store of another kind; nothing
            is removed.
        IndexDamagedError: files of the index are missing or were changed.
        IndexMismatchError: there is no index of this program.
        IndexingError: the location cannot be written, or another process holds the lock.
    """
    if open_own_store(uri) is not None:
        raise InputError(f"{uri} can be searched, but its documents are removed where it keeps them.")
    location, started = open_location(uri), time.perf_counter()
    if uris := shard_uris(location):
        names_by_shard = _sort_by_shard(uris, names)
        reports = [
            remove_sources(shard, shard_names, wait_seconds=wait_seconds, on_wait=on_wait)
            for shard, shard_names in names_by_shard.items()
        ]
        return join_reports(reports, time.perf_counter() - started)
    complete_manifest(location)
    with write_lock(location, wait_seconds=wait_seconds, on_wait=on_wait):
        manifest = complete_manifest(location)
        refuse_damage(location, manifest)
        removed = list(dict.fromkeys(_find(name, _files_of(manifest)) for name in names))
        report = IndexReport(unchanged=len(manifest.sources) - len(removed), sources=removed)
        run = IndexingRun(
            location, manifest.settings.embeddings, manifest, report, None, publish_at_end=False
        )
        run.drop_removed(Plan(removed=removed, successors=find_successors(removed, (), manifest)))
        run.finish(manifest.committed)
        report.total_chunks, report.seconds = run.manifest.chunks, time.perf_counter() - started
    return report


def _sort_by_shard(
    uris: Sequence[str], names: Sequence[str], *, may_be_start: bool = False
) -> dict[str, list[str]]:
    """Return the full names of the documents, grouped by the shard that holds them."""
    manifests = {uri: complete_manifest(open_location(uri)) for uri in uris}
    files = {source: file for each in manifests.values() for source, file in _files_of(each).items()}
    sources = list(dict.fromkeys(_find(name, files, may_be_start=may_be_start) for name in names))
    return {uri: [source for source in sources if source in manifests[uri].sources] for uri in uris}


def _files_of(manifest: Manifest) -> dict[str, str | None]:
    return {source: record.path for source, record in manifest.sources.items()}


def begins_so(source: str, start: str) -> bool:
    """Return whether a document's name, or its name without the first folders, begins with a text."""
    return _composed(f"/{start}") in _composed(f"/{source}")


def _composed(text: str) -> str:
    """Return a text with each accented letter as one character; file names from a Mac may have two."""
    return unicodedata.normalize("NFC", text)


def _find(name: str, sources: Mapping[str, str | None], *, may_be_start: bool = False) -> str:
    """Find a document by its name, by the path of its file, by the end of its name, or by a start."""
    if name in sources:
        return name
    real_path = None if "\0" in name else _composed(os.path.realpath(os.path.expanduser(name)))
    ending = _composed("/" + Path(name).as_posix().lstrip("/"))
    matches = [source for source, file in sources.items() if file and _composed(file) == real_path]
    matches = matches or [source for source in sources if _composed(f"/{source}").endswith(ending)]
    if may_be_start and not matches:
        matches = [source for source in sources if begins_so(source, name)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InputError(f"{name!r} could be any of: {', '.join(matches[:5])}. Write more of the path.")
    base = PurePath(name).name
    source_of_base = {PurePath(source).name: source for source in sources}
    similar = [each for each in source_of_base if base.casefold() in each.casefold()]
    similar = similar or difflib.get_close_matches(base, source_of_base, n=1)
    names = " or ".join(repr(source_of_base[each]) for each in similar[:MAX_SUGGESTIONS])
    hint = f" Did you mean {names}?" if names else ""
    raise InputError(f"The index has no document {name!r}.{hint} To list all: adaptive-rag list")
