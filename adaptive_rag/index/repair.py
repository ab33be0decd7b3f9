"""Repairs a damaged index: keeps intact data, rebuilds derived data, and reports what is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import IndexDamagedError
from adaptive_rag.index.build import LOCK_WAIT_SECONDS
from adaptive_rag.index.cache import FILE, EmbeddingCache
from adaptive_rag.index.check import Damage, examine, fragments_of, manifest_or_copy
from adaptive_rag.index.files import Fragment, changed_files, seal_files
from adaptive_rag.index.location import Files, open_files
from adaptive_rag.index.lock import write_lock
from adaptive_rag.index.manifest import (
    COPY,
    MANIFEST,
    Manifest,
    SourceRecord,
    complete_manifest,
    last_manifest,
    next_table,
)
from adaptive_rag.index.plan import Plan, plan_reread
from adaptive_rag.index.progress import Progress
from adaptive_rag.index.report import IndexReport
from adaptive_rag.index.rows import Census, count_rows, proven_rows, read_rows
from adaptive_rag.index.run import IndexingRun
from adaptive_rag.index.store_errors import explain_read_errors, explain_write_errors
from adaptive_rag.index.table import DOC, TableWriter, connect, read_chunk, schema
from adaptive_rag.index.vectorize import Vectorizer, load_model_of
from adaptive_rag.ingest import Failure
from adaptive_rag.state import Chunk

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True)
class RepairReport:
    """What a repair found and did. Sources that were intact are only counted."""

    index: str
    damages: list[Damage] = field(default_factory=list)
    """What was damaged; if nothing was, nothing was changed."""
    whole: int = 0
    """How many sources were intact and were kept."""
    read_again: list[str] = field(default_factory=list)
    """Sources that were read again from their files."""
    restored: list[str] = field(default_factory=list)
    """Sources recovered from damaged files: checksums prove their text, but not page and metadata."""
    lost: dict[str, str] = field(default_factory=dict)
    """Sources that are no longer in the index, each with the reason."""
    chunks: int = 0
    seconds: float = 0.0


def repair_index(
    uri: str | Path,
    *,
    embeddings: str | Embeddings | None = None,
    progress: Callable[[Progress], None] | None = None,
    wait_seconds: float = LOCK_WAIT_SECONDS,
    on_wait: Callable[[str], None] | None = None,
) -> RepairReport:
    """Check an index in depth and repair what is damaged.

    The word index, the vector index and the vectors of damaged files are rebuilt. Sources whose chunks
    cannot be read are read again from their files, if these are unchanged since indexing. Other sources,
    and those that cannot be read again, are kept if their text can be proven; otherwise they are removed
    and reported. The repaired table replaces the damaged one in a single step: a repair that is killed
    changes nothing and can be run again.

    Raises:
        IndexDamagedError: neither the manifest nor its copy can be read.
        IndexMismatchError: there is no index of this program.
        IndexingError: the location cannot be written, or another process holds the lock.
        ConfigurationError: texts have to be embedded, and the model cannot be loaded by name and was not
            passed.
    """
    location, started = open_files(uri, "index --repair"), time.perf_counter()
    if last_manifest(location) is None:
        # raises the specific error: there is no index, or it must be rebuilt
        complete_manifest(location)
    with write_lock(location, wait_seconds=wait_seconds, on_wait=on_wait):
        report = _repair(location, embeddings, progress)
    report.seconds = time.perf_counter() - started
    return report


def _repair(
    location: Files, embeddings: str | Embeddings | None, progress: Callable[[Progress], None] | None
) -> RepairReport:
    manifest, damages = manifest_or_copy(location)
    assert manifest is not None
    with explain_write_errors(location.uri):
        _remove_unpublished(location, manifest)
    damages += examine(location, manifest, deep=True).damages
    report = RepairReport(location.uri, damages, whole=len(manifest.sources), chunks=manifest.chunks)
    parts = {damage.part for damage in damages}
    if FILE in parts and location.path is not None:
        cache = EmbeddingCache(location.path)
        cache.repair()
        cache.close()
    if parts - {MANIFEST, COPY, FILE}:
        _rebuild_table(location, manifest, report, embeddings, progress)
    elif parts & {MANIFEST, COPY}:
        assert manifest.version is not None
        with explain_write_errors(location.uri):
            files = seal_files(location, manifest.table, manifest.version, manifest.files)
            replace(manifest, files=files).publish(location)
    return report


def _remove_unpublished(location: Files, manifest: Manifest) -> None:
    """Remove versions that an interrupted run wrote but did not publish, since LanceDB opens the last one."""
    folder = f"{manifest.table}.lance/_versions"
    for name in location.names(folder):
        number, _, kind = name.partition(".")
        # Lance counts down in the file names, so that the last version comes first
        if kind == "manifest" and number.isdigit() and 2**64 - 1 - int(number) > (manifest.version or 0):
            location.remove(f"{folder}/{name}")


def _rebuild_table(
    location: Files,
    manifest: Manifest,
    report: RepairReport,
    embeddings: str | Embeddings | None,
    progress: Callable[[Progress], None] | None,
) -> None:
    """Build a new table from intact sources, sources that can be read again, and sources with proven text."""
    damaged, sources = _DamagedTable(location, manifest), manifest.sources
    intact = {name: record for name, record in sources.items() if damaged.is_intact(record)}
    rest = {name: record for name, record in sources.items() if name not in intact}
    work = {name: item for name, record in rest.items() if (item := plan_reread(name, record)) is not None}
    proven = damaged.proven_chunks({name: record for name, record in rest.items() if name not in work})
    kept = {name: record for name, record in sources.items() if name in intact or name in proven}
    settings, uri = manifest.settings, location.uri
    model = load_model_of(uri, settings.embeddings, embeddings) if work or proven else settings.embeddings
    with explain_write_errors(uri):
        writer = TableWriter(uri, next_table(location, manifest), None, settings.dimension)
        for rows in damaged.rows([record.doc for record in intact.values()]):
            writer.copy(rows)
        if proven and not isinstance(model, str):
            cache = EmbeddingCache(location.path)
            vectorizer = Vectorizer(model, settings, cache)
            for name, chunks in proven.items():
                if sources[name].copy_of is None:
                    writer.add(vectorizer.rows(chunks, [sources[name].doc] * len(chunks)))
            cache.close()
    starting_manifest = Manifest(
        settings, writer.name, version=writer.version, sources=kept, generation=manifest.generation
    )
    index_report, rescued = IndexReport(), set[str]()

    def rescue(failed: Sequence[Failure]) -> dict[str, tuple[SourceRecord, list[Chunk]]]:
        chunks_of = damaged.proven_chunks({failure.source: sources[failure.source] for failure in failed})
        rescued.update(chunks_of)
        return {name: (sources[name], chunks) for name, chunks in chunks_of.items()}

    run = IndexingRun(location, model, starting_manifest, index_report, progress, publish_at_end=True)
    if work:
        run.apply(Plan(work=list(work.values())), rescue)
    else:
        run.finish(starting_manifest.committed)
    failed = {failure.source: failure.reason for failure in index_report.failed}
    report.whole, report.restored = len(intact), sorted(proven.keys() | rescued)
    report.read_again = sorted(work.keys() - failed.keys())
    unreadable = sorted(rest.keys() - work.keys() - proven.keys())
    report.lost = {name: _why_lost(sources[name]) for name in unreadable}
    report.lost |= {name: reason for name, reason in failed.items() if name not in rescued}
    report.chunks = run.manifest.chunks


def _why_lost(record: SourceRecord) -> str:
    if record.path is None:
        return "was not read from a file"
    return f"{record.path} {'has changed since' if Path(record.path).exists() else 'is gone'}"


class _DamagedTable:
    """A damaged table: finds its intact sources, and the chunks of others that can be proven."""

    def __init__(self, location: Files, manifest: Manifest) -> None:
        changed = changed_files(location, manifest.files, contents=True)
        self._columns = schema(manifest.settings.dimension).names
        self._fragments = fragments_of(location, manifest)
        self._intact: list[Fragment] = []
        self._census = Census()
        try:
            with explain_read_errors(location.uri, "its table"):
                self._table = connect(location.uri).open_table(manifest.table)
                self._table.checkout(manifest.version)
        except IndexDamagedError:
            self._fragments = []
            return
        self._intact = [fragment for fragment in self._fragments if not changed.keys() & set(fragment.files)]
        self._census = count_rows(self._table, self._intact, manifest.settings)

    def is_intact(self, record: SourceRecord) -> bool:
        """Return whether all chunks of a source are present in intact files."""
        return self._census.is_complete(record.doc, record.chunks)

    def rows(self, docs: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows of intact sources, which are given by their keys."""
        import pyarrow as pa
        from pyarrow import compute

        wanted_docs = pa.array(docs, pa.string())
        for fragment in self._intact if docs else ():
            for rows in read_rows(self._table, fragment.row_ids, self._columns):
                yield rows.filter(compute.is_in(rows[DOC], wanted_docs)).select(self._columns)

    def proven_chunks(self, sources: dict[str, SourceRecord]) -> dict[str, list[Chunk]]:
        """Return the chunks of those sources whose chunks can all be proven to be unchanged."""
        if not sources or not self._fragments:
            return {}
        rows_of = proven_rows(self._table, self._fragments, {record.doc for record in sources.values()})
        return {
            name: [read_chunk(row) for row in rows_of[record.doc]]
            for name, record in sources.items()
            if len(rows_of[record.doc]) == record.chunks
        }
