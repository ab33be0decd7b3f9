"""Documents to a complete index: reads, splits, embeds, writes, and publishes what is complete."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import IndexingError, IndexMismatchError
from adaptive_rag.index.cache import FILE, EmbeddingCache
from adaptive_rag.index.location import Location
from adaptive_rag.index.lock import HOLDER, LOCK
from adaptive_rag.index.manifest import (
    MANIFEST,
    Manifest,
    Settings,
    SourceRecord,
    check_settings,
    read_manifest,
)
from adaptive_rag.index.plan import Plan, Work, plan_run
from adaptive_rag.index.table import Row, TableWriter, storing
from adaptive_rag.index.vectorize import Vectorizer
from adaptive_rag.models.embeddings import load_embeddings
from adaptive_rag.state import Chunk

if TYPE_CHECKING:
    from adaptive_rag.index.plan import Documents
    from adaptive_rag.ingest import Failure, Note, SourceText

# What may lie in a folder before its first manifest does.
OWN_FILES = (LOCK, HOLDER, FILE, f".{HOLDER}", f".{MANIFEST}")

CHUNKS_PER_STEP = 32
ROWS_PER_WRITE = 1024
SECONDS_PER_PUBLISH = 30.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is. The total is estimated from the sizes of the sources until all are read."""

    done: int
    total: int
    rate: float
    """Chunks a second."""
    seconds_left: float | None
    source: str


@dataclass(slots=True)
class IndexReport:
    """What a run did. Sources are counted; `failed` names those that could not be read, and why."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0
    failed: list[Failure] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    """Names of the sources that were found and can be searched, new or not."""
    notes: list[Note] = field(default_factory=list)
    """What the user should know of these sources: "3 of 12 pages hold no text: 4-6"."""
    chunks: int = 0
    """Chunks written in this run."""
    total_chunks: int = 0
    """Chunks the index holds after it."""
    texts_embedded: int = 0
    seconds: float = 0.0
    embedding_seconds: float = 0.0

    @property
    def chunks_per_second(self) -> float:
        """Return the rate of the whole run."""
        return self.chunks / self.seconds if self.seconds else 0.0

    @property
    def changed(self) -> bool:
        """Tell whether the index holds something else than before."""
        return bool(self.added or self.updated or self.removed)


def build_index(
    documents: Documents,
    location: Location,
    embeddings: str | Embeddings,
    settings: Settings,
    *,
    progress: Callable[[Progress], None] | None,
    prune: bool,
    rebuild: bool,
) -> IndexReport:
    """Bring an index up to date with documents; the caller holds its lock.

    Raises:
        IndexMismatchError: the index was made with other settings, or the folder is not one of ours.
        IndexingError: no document could be read, or the place cannot be written.
        ConfigurationError: a path leads nowhere.
    """
    from adaptive_rag.ingest import Note

    started = time.perf_counter()
    before = _current(location, settings, rebuild=rebuild)
    plan = plan_run(documents, before, location.path, prune=prune)
    report = IndexReport(unchanged=plan.unchanged)
    run = _Run(location, embeddings, before, report, progress, publish_at_end=rebuild)
    try:
        if plan.work or plan.removed or rebuild:
            run.apply(plan)
        elif plan.restamped:
            with storing(location.uri):
                replace(before, sources={**before.sources, **plan.restamped}).publish(location)
    finally:
        report.seconds = time.perf_counter() - started
    report.total_chunks = run.manifest.chunks
    failed = {failure.source for failure in report.failed}
    report.sources = sorted(plan.seen & run.manifest.sources.keys() - failed)
    records = run.manifest.sources
    report.notes = [Note(source, text) for source in report.sources for text in records[source].notes]
    return report


def _current(location: Location, settings: Settings, *, rebuild: bool) -> Manifest:
    """Return the state to start from: the index's own, or an empty one."""
    manifest = read_manifest(location)
    if manifest is None:
        return Manifest(settings, table="chunks-1")
    if rebuild:
        number = int(manifest.table.rpartition("-")[2]) + 1
        return Manifest(settings, table=f"chunks-{number}", generation=manifest.generation)
    check_settings(location, manifest, settings)
    return manifest


def refuse_foreign_folder(location: Location) -> None:
    """Refuse to write into a folder that holds something else.

    Raises:
        IndexMismatchError: there is something, and no manifest of ours.
    """
    if location.read(MANIFEST) is None and not location.is_empty(OWN_FILES):
        raise IndexMismatchError(
            f"{location.uri} is not an index of ours: it holds files, but no {MANIFEST}. "
            "Name a new or empty folder with --index."
        )


def remove_failed_start(location: Location) -> None:
    """Remove what a first run that wrote nothing leaves in its folder."""
    if location.path is None or location.read(MANIFEST) is not None:
        return
    with suppress(OSError):
        for file in list(location.path.iterdir()):
            if file.name.startswith(OWN_FILES):
                file.unlink()
        location.path.rmdir()


class _Run:
    """One run: gathers rows, writes them in batches, publishes complete sources now and then.

    A version of the table is published only while it holds whole sources, so that whoever reads the
    index, at any moment and after any crash, sees each source as it was or as it is.
    """

    def __init__(
        self,
        location: Location,
        embeddings: str | Embeddings,
        manifest: Manifest,
        report: IndexReport,
        progress: Callable[[Progress], None] | None,
        *,
        publish_at_end: bool,
    ) -> None:
        self.manifest = manifest
        self._location = location
        self._embeddings = embeddings
        self._report = report
        self._progress = progress
        self._publish_at_end = publish_at_end
        self._sources = dict(manifest.sources)
        self._stale: list[str] = []
        self._rows: list[Row] = []
        self._made: Counter[str] = Counter()  # rows made so far, by key of their source
        self._ended: list[tuple[Work, SourceRecord]] = []
        self._partly_written: set[str] = set()
        self._writing = False
        self._published_at = time.monotonic()

    def apply(self, plan: Plan) -> None:
        """Do the work of a plan."""
        settings, committed = self.manifest.settings, self.manifest.committed
        cache = EmbeddingCache(self._location.path)
        self._vectorizer = Vectorizer(
            load_embeddings(self._embeddings), settings.dimension, cache, sentences=settings.sentence_vectors
        )
        self._sources.update(plan.restamped)
        self._stale = [self._sources.pop(source).doc for source in plan.removed]
        self._report.removed = len(plan.removed)
        try:
            self._make_rows(plan.work)
            if self._report.failed and not self._sources and not self._ended:
                reasons = "; ".join(str(failure) for failure in self._report.failed[:5])
                raise IndexingError(f"No document could be read: {reasons}.")
            self._finish(committed)
        except KeyboardInterrupt as error:
            if not (self._writing or self._publish_at_end):
                self._write(publish=True)
            error.add_note(
                f"Indexing was interrupted. {len(self.manifest.sources)} sources are complete and kept; "
                "run the same command again to go on from here."
            )
            raise
        finally:
            self._report.embedding_seconds = self._vectorizer.seconds
            self._report.texts_embedded = self._vectorizer.embedded
            cache.trim()
            cache.close()

    @cached_property
    def _writer(self) -> TableWriter:
        if self.manifest.generation == 0:
            # says from the first write that the folder is ours
            self.manifest = self.manifest.publish(self._location)
        manifest = self.manifest
        return TableWriter(self._location.uri, manifest.table, manifest.version, manifest.settings.dimension)

    def _make_rows(self, work: list[Work]) -> None:
        """Read, split and embed; chunks of several small sources are embedded together."""
        from adaptive_rag.ingest import Failure, split

        settings = self.manifest.settings
        meter = _Meter(sum(item.size for item in work), self._progress)
        pending: list[tuple[Chunk, str]] = []
        for item in work:
            text = item.read()
            if isinstance(text, Failure):
                self._report.failed.append(text)
                meter.ended(item.size)
                continue
            doc, before = _doc_key(text.source, text.content_hash), meter.chunks
            for chunk in split(text, size=settings.chunk_size, overlap=settings.chunk_overlap):
                pending.append((chunk, doc))
                meter.split(item.size * min(1.0, chunk["end"] / max(1, len(text.text))))
                if len(pending) >= CHUNKS_PER_STEP:
                    self._embed(pending)
                    meter.tell(self._report.chunks, item.source)
                    pending = []
            count = meter.chunks - before
            self._ended.append((item, _record(item, text, doc, count)))
            meter.ended(item.size)
        if pending:
            self._embed(pending)
            meter.tell(self._report.chunks, work[-1].source)

    def _embed(self, pending: list[tuple[Chunk, str]]) -> None:
        rows = self._vectorizer.rows([chunk for chunk, _ in pending], [doc for _, doc in pending])
        self._rows += rows
        self._made.update(row.doc for row in rows)
        self._report.chunks += len(rows)
        due = time.monotonic() - self._published_at > SECONDS_PER_PUBLISH
        if due or len(self._rows) >= ROWS_PER_WRITE:
            self._write(publish=due and not self._publish_at_end)

    def _write(self, *, publish: bool) -> None:
        """Write rows of complete sources, and of an incomplete one where it fills a batch by itself."""
        complete = [(item, record) for item, record in self._ended if self._made[record.doc] == record.chunks]
        whole = {record.doc for _, record in complete}
        ready = [row for row in self._rows if row.doc in whole]
        if len(self._rows) - len(ready) >= ROWS_PER_WRITE:
            ready = self._rows
        self._writing = True
        with storing(self._location.uri):
            if ready:
                self._writer.add(ready)
            self._partly_written = (self._partly_written | {row.doc for row in ready}) - whole
            self._rows = [] if ready is self._rows else [row for row in self._rows if row.doc not in whole]
            for item, record in complete:
                self._settle(item, record)
            self._ended = [pair for pair in self._ended if pair[1].doc not in whole]
            if publish and not self._partly_written:
                self._publish()
        self._writing = False

    def _settle(self, item: Work, record: SourceRecord) -> None:
        """Count a source that is written to its end, and let go of what it replaces."""
        if item.replaces is None:
            self._report.added += 1
        else:
            self._report.updated += 1
            self._stale.append(item.replaces.doc)
        self._sources[item.source] = record

    def _publish(self, recall: dict[str, float] | None = None) -> None:
        live = {record.doc for record in self._sources.values()}
        self._writer.remove([doc for doc in self._stale if doc not in live])
        self._stale = []
        self._writer.index_words()
        self._check_nobody_else_wrote()
        self.manifest = replace(
            self.manifest,
            version=self._writer.version,
            chunks=sum(record.chunks for record in self._sources.values()),
            sources=dict(self._sources),
            recall=recall or self.manifest.recall,
            committed=time.time(),
        ).publish(self._location)
        self._published_at = time.monotonic()

    def _check_nobody_else_wrote(self) -> None:
        """Refuse to publish over another run's state in a bucket, where there is no lock."""
        if self._location.path is not None:
            return
        current = read_manifest(self._location)
        if current is not None and current.generation != self.manifest.generation:
            raise IndexingError(
                f"Another process wrote the index {self._location.uri} during this run; its state stands. "
                "Buckets have no lock: let one process at a time write, and run the same command again."
            )

    def _finish(self, committed: float) -> None:
        """Write the rest, bring the store's indexes up to date, and drop what nobody reads any more."""
        self._write(publish=not self._publish_at_end)
        with storing(self._location.uri):
            # a process that reads the version before this run may be in the middle of a question
            self._writer.optimize(keep_since=committed or self.manifest.committed)
            recall = self._writer.index_vectors()
            self._publish(recall)
            self._writer.drop_other_tables()


class _Meter:
    """Estimates how many chunks there will be from the share of the sources' bytes already split."""

    def __init__(self, size: int, progress: Callable[[Progress], None] | None) -> None:
        self.chunks = 0
        self._size = max(1, size)
        self._before = 0
        self._share = 0.0
        self._progress = progress
        self._started = time.perf_counter()

    def split(self, part: float) -> None:
        """Count a chunk, and note how many bytes of the present source are split."""
        self.chunks += 1
        self._share = (self._before + part) / self._size

    def ended(self, size: int) -> None:
        """Note the end of a source."""
        self._before += size
        self._share = self._before / self._size

    def tell(self, done: int, source: str) -> None:
        """Report progress after a step."""
        if self._progress is None:
            return
        total = max(done, round(self.chunks / self._share)) if self._share else done
        rate = done / max(time.perf_counter() - self._started, 1e-9)
        self._progress(Progress(done, total, rate, (total - done) / rate if rate else None, source))


def _doc_key(source: str, content_hash: str) -> str:
    return hashlib.sha256(f"{source}\0{content_hash}".encode(errors="surrogatepass")).hexdigest()[:16]


def _record(item: Work, text: SourceText, doc: str, chunks: int) -> SourceRecord:
    record = SourceRecord(text.content_hash, doc, chunks, notes=text.notes)
    if item.stamp is None:
        return record
    return replace(record, path=item.stamp.path, size=item.stamp.size, mtime_ns=item.stamp.mtime_ns)
