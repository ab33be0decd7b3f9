"""Documents to a complete index: reads, splits, embeds, writes, and publishes what is complete."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import ConfigurationError, IndexingError, IndexMismatchError
from adaptive_rag.index.ahead import reading_ahead
from adaptive_rag.index.cache import EmbeddingCache
from adaptive_rag.index.cluster import Cluster, open_cluster, run_each
from adaptive_rag.index.faults import storing
from adaptive_rag.index.files import changed_files, damaged, refuse_damage, seal_files
from adaptive_rag.index.location import Location, open_location
from adaptive_rag.index.lock import refuse_foreign_folder, remove_failed_start, write_lock
from adaptive_rag.index.making import CHUNKS_PER_STEP, Contents, Made, make_rows
from adaptive_rag.index.manifest import (
    MANIFEST,
    Manifest,
    Seal,
    Settings,
    SourceRecord,
    count_chunks,
    last_manifest,
    next_table,
    read_manifest,
    rebuild_hint,
    stored_way,
    written_by_another,
)
from adaptive_rag.index.plan import Meter, Plan, Progress, Work, content_key, plan_run
from adaptive_rag.index.postgres.database import Database
from adaptive_rag.index.postgres.writer import DatabaseWriter
from adaptive_rag.index.sharding.layout import MOST_SHARDS, SHARDS, Share, shard_uris
from adaptive_rag.index.table import DOC, TableRow, TableWriter
from adaptive_rag.index.vectorize import Vectorizer
from adaptive_rag.models.embeddings import embedding_name, encode, load_embeddings
from adaptive_rag.models.onnx import MINILM, OnnxEmbeddings
from adaptive_rag.private import make_folder
from adaptive_rag.source import SentenceVectors
from adaptive_rag.state import Chunk

if TYPE_CHECKING:
    import pyarrow as pa

    from adaptive_rag.index.plan import Documents
    from adaptive_rag.ingest import Failure, Note, SourceText

    Rescue = Callable[[Sequence[Failure]], Mapping[str, tuple[SourceRecord, Sequence[Chunk]]]]

DEFAULT_CHUNK_SIZE = 1000
DEFAULT_CHUNK_OVERLAP = 200
LOCK_WAIT_SECONDS = 600.0
ROWS_PER_WRITE = 1024
COUNTED = ("added", "updated", "moved", "removed", "unchanged", "copies", "chunks", "total_chunks")
SECONDS_PER_PUBLISH = 30.0
# A question that began with a state that was replaced has ended by then.
SECONDS_PER_QUESTION = 600.0


@dataclass(slots=True)
class IndexReport:
    """What a run did. Sources are counted; `failed` names those that could not be read, and why."""

    added: int = 0
    updated: int = 0
    moved: int = 0
    """Files that are only named otherwise now: their chunks were taken over."""
    removed: int = 0
    unchanged: int = 0
    copies: int = 0
    """How many of those added or updated have the content of another file, which is stored once."""
    failed: list[Failure] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Files of the folders that no loader reads, by name."""
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
        return bool(self.added or self.updated or self.moved or self.removed)


class NothingReadError(IndexingError):
    """None of the documents could be read, and the index holds nothing yet."""

    def __init__(self, line: str, failed: Sequence[Failure]) -> None:
        super().__init__(line)
        self.failed = failed


def nothing_read(failed: Sequence[Failure]) -> NothingReadError:
    """Return the error that says, in a line for each document, why none could be read."""
    lines = [f"{failure}." for failure in failed] or ["none was named."]
    line = ("\n" if len(lines) > 1 else " ").join(["No document could be read:", *lines])
    return NothingReadError(line, failed)


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """How documents become an index."""

    embeddings: str | Embeddings | None = None
    """The embedding model; by default the embedded one."""
    chunk_size: int = DEFAULT_CHUNK_SIZE
    chunk_overlap: int = DEFAULT_CHUNK_OVERLAP
    sentence_vectors: bool | SentenceVectors = True
    """True or "apart" embeds each sentence by itself, "pooled" takes all from the run of their chunk, in
    about half the time, False or "none" keeps none."""
    progress: Callable[[Progress], None] | None = None
    include: Sequence[str] = ()
    """Of the folders only the files are read that this names, if it names any, and none that `exclude`, a
    `.gitignore` or the built-in list leaves out; patterns are written as in `.gitignore`."""
    exclude: Sequence[str] = ()
    prune: bool = True
    """Whether what vanished from the folders named is removed."""
    rebuild: bool = False
    """Make the index anew, with other settings if need be; the old one serves until the new is complete."""
    ray: str | None = None
    """Address of a Ray cluster whose workers read and embed: "HOST:PORT", "auto" for one on this machine, or
    "local" to start one here for this run."""
    shards: int | None = None
    """Make a new index of so many, each an index of its own with its share of the documents; by Ray each is
    made whole, its indexes of words and vectors too, by a worker of its own."""
    wait_seconds: float = LOCK_WAIT_SECONDS
    on_wait: Callable[[str], None] | None = None


def build_index(documents: Documents, uri: str | Path, **options: Any) -> IndexReport:
    """Bring an index up to date with files, folders, web addresses, source texts or LangChain documents.

    The options are the fields of `BuildOptions`. A `Site` says how many links are followed from an address;
    an address alone is that page alone.

    What is unchanged costs nothing, what changed is replaced, and what vanished is removed. Files of the same
    content are stored once, under all their names, and a file that was moved or renamed keeps its chunks. A
    run that breaks off leaves the last complete state; the next run goes on from there.

    Raises:
        IndexDamagedError: files of the index are missing or were changed.
        IndexMismatchError: the index was made with other settings, or the folder is not an index.
        IndexingError: nothing could be read, the place cannot be written, or another process
            holds the index for longer than `wait_seconds`, or has written it meanwhile.
        IndexUnreachableError: a bucket or a database does not answer, or refuses.
        ConfigurationError: a path, a pattern or a setting is wrong, or no cluster is at the address `ray`.
        MissingExtraError: a cluster is asked for, and Ray is not installed.
    """
    return _build(documents, uri, BuildOptions(**options))


def _build(documents: Documents | Share, uri: str | Path, options: BuildOptions) -> IndexReport:
    from adaptive_rag.ingest.chunking import check_sizes

    check_sizes(options.chunk_size, options.chunk_overlap)
    location = open_location(uri)
    if not isinstance(documents, Share) and (options.shards is not None or shard_uris(location)):
        return build_shards(documents, location, options)
    refuse_foreign_folder(location)
    read = last_manifest if options.rebuild else read_manifest
    stamp, manifest = location.stamp(MANIFEST), read(location)
    model, name, dimension = _model_of(manifest, options.embeddings)
    way = stored_way(options.sentence_vectors)
    settings = Settings(name, dimension, options.chunk_size, options.chunk_overlap, way)
    if way == "pooled" and name != MINILM:
        raise ConfigurationError(
            f"sentence_vectors = 'pooled' goes with embeddings = {MINILM!r} alone, the model that compares "
            f"questions with sentences; asked for was {name!r}. Leave embeddings out, or use "
            "sentence_vectors = 'apart', which goes with any model."
        )
    if location.path is not None:
        with storing(location.uri):
            make_folder(location.path)
    locked = False
    try:
        with write_lock(location, wait_seconds=options.wait_seconds, on_wait=options.on_wait):
            locked = True
            if stamp is None or stamp != location.stamp(MANIFEST):  # another process has written meanwhile
                manifest = read(location)
            before = _state_before(location, manifest, settings, rebuild=options.rebuild)
            return _bring_up_to_date(documents, location, before, model, options)
    except BaseException:
        if locked:  # else what lies there is the start of the process that holds the lock
            remove_failed_start(location)
        raise


def _bring_up_to_date(
    documents: Documents | Share,
    location: Location,
    before: Manifest,
    model: str | Embeddings,
    options: BuildOptions,
) -> IndexReport:
    """Plan a run and make it, while the index is held for writing."""
    from adaptive_rag.ingest import Note, Patterns

    started = time.perf_counter()
    refuse_damage(location, before)
    patterns = Patterns(options.include, options.exclude)
    plan = plan_run(
        documents, before, location.path, patterns=patterns, prune=options.prune, progress=options.progress
    )
    report = IndexReport(unchanged=plan.unchanged, failed=plan.failed, unknown=sorted(set(plan.unknown)))
    run = IndexingRun(location, model, before, report, options.progress, publish_at_end=options.rebuild)
    run.remove_replaced()
    # a shard may have no document yet, and none that can be read
    is_shard = isinstance(documents, Share)
    rescue: Rescue | None = (lambda _: {}) if is_shard else None
    if plan.work or plan.removed or options.rebuild or (is_shard and before.version is None):
        # Ray is started only where there is something to read; its workers load a model by name
        sent = model.name if isinstance(model, OnnxEmbeddings) else options.embeddings or model
        by_ray = options.ray and plan.work
        with open_cluster(str(options.ray), plan.work, sent) if by_ray else nullcontext() as cluster:
            run.apply(plan, rescue, cluster)
    elif plan.failed and not before.sources:
        raise nothing_read(plan.failed)
    elif plan.restamped:
        with storing(location.uri):
            replace(before, sources={**before.sources, **plan.restamped}).publish(location)
    report.seconds = time.perf_counter() - started
    report.total_chunks = run.manifest.chunks
    failed, records = {failure.source for failure in report.failed}, run.manifest.sources
    report.sources = sorted(plan.seen & records.keys() - failed)
    report.notes = [Note(source, text) for source in report.sources for text in records[source].notes]
    report.notes += plan.notes
    return report


def build_shards(documents: Documents, location: Location, options: BuildOptions) -> IndexReport:
    """Bring each shard up to date with its share of the documents; by Ray each in a process of its own.

    A run that breaks off leaves the last complete state of each shard.

    Raises:
        ConfigurationError: the number of shards is another one than the index has, or the place cannot hold
            shards.
        IndexingError: nothing could be read.
    """
    uris = _lay_out(location, options.shards)
    if isinstance(documents, Iterable) and not isinstance(documents, str):
        documents = list[Any](documents)
    parts = {uri: Share(documents, number, len(uris)) for number, uri in enumerate(uris)}
    started, reports = time.perf_counter(), list[IndexReport]()
    own = replace(options, ray=None, shards=None, progress=None)
    if options.ray:
        own, here = replace(own, on_wait=None), os.getcwd()
        calls = {uri: (part, uri, here, own) for uri, part in parts.items()}
        made = run_each(options.ray, build_part, calls)
    else:
        made = (_build(part, uri, own) for uri, part in parts.items())
    for report in made:
        reports.append(report)
        if options.progress is not None:
            done, seconds = sum(each.chunks for each in reports), time.perf_counter() - started
            left, rate = len(uris) / len(reports), done / max(seconds, 1e-9)
            last = uris[len(reports) - 1]
            options.progress(Progress(done, round(done * left), rate, seconds * (left - 1), last))
    joined = join_reports(reports, time.perf_counter() - started)
    if joined.failed and not joined.total_chunks:
        raise nothing_read(joined.failed)
    return joined


def build_part(part: Share, uri: str, folder: str, options: BuildOptions) -> IndexReport:
    """Build one shard in a worker, in which files are named as they are from the folder of the caller."""
    with contextlib.chdir(folder):
        return _build(part, uri, options)


def _lay_out(location: Location, shards: int | None) -> list[str]:
    """Return where the shards lie; of a new index, write how many there are."""
    if isinstance(location, Database):
        raise ConfigurationError(
            f"{location.uri} is a database: shards are folders, or prefixes of a bucket."
        )
    if uris := shard_uris(location):
        if shards not in (None, len(uris)):
            raise ConfigurationError(
                f"shards = {shards}, but the index {location.uri} has {len(uris)}. Leave it out, or make "
                "another index beside this one."
            )
        return uris
    if shards is None or not 1 <= shards <= MOST_SHARDS:
        raise ConfigurationError(f"shards = {shards!r} is not usable: expected 1 to {MOST_SHARDS}.")
    if location.stamp(MANIFEST) is not None:
        raise ConfigurationError(
            f"The index {location.uri} has no shards. Make one that has beside it, under another name."
        )
    refuse_foreign_folder(location)
    if location.path is not None:
        make_folder(location.path)
    location.write(SHARDS, json.dumps({"shards": shards}).encode())
    return shard_uris(location)


def join_reports(reports: Sequence[IndexReport], seconds: float) -> IndexReport:
    """Return one report; what every shard came across, such as an unreadable archive, is named once."""
    joined = IndexReport(seconds=seconds)
    for report in reports:
        for name in (*COUNTED, "texts_embedded", "embedding_seconds"):
            setattr(joined, name, getattr(joined, name) + getattr(report, name))
        for name in ("failed", "unknown", "sources", "notes"):
            held = getattr(joined, name)
            held += [each for each in getattr(report, name) if each not in held]
    for name in ("unknown", "sources"):
        getattr(joined, name).sort()
    return joined


def _model_of(
    manifest: Manifest | None, embeddings: str | Embeddings | None
) -> tuple[str | Embeddings, str, int]:
    """Return the model to index with, its name and its dimension; what is known is not loaded."""
    embeddings = MINILM if embeddings is None else embeddings
    if manifest and embeddings == manifest.settings.embeddings:
        return embeddings, manifest.settings.embeddings, manifest.settings.dimension
    model = load_embeddings(embeddings)
    if isinstance(model, OnnxEmbeddings):
        return model, model.name, model.dimension
    return model, embedding_name(model), int(encode(model, ["dimension"]).shape[1])


def _state_before(
    location: Location, manifest: Manifest | None, wanted: Settings, *, rebuild: bool
) -> Manifest:
    """Return the state to start from: the index's own, or an empty one.

    Raises:
        IndexMismatchError: its settings are others; the message names both and the command that mends it.
    """
    if manifest is None or rebuild:
        table, generation = next_table(location, manifest), manifest.generation if manifest else 0
        return Manifest(wanted, table=table, generation=generation)
    if manifest.settings != wanted:
        raise IndexMismatchError(
            f"The index {location.uri} was made with {manifest.settings}; asked for was {wanted}. "
            f"Ask with the settings it was made with, or make it anew: {rebuild_hint(location.uri)}"
        )
    return manifest


class IndexingRun:
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
        self._rows: list[TableRow] = []
        self._tables: list[pa.Table] = []  # rows that a cluster made
        self._made: Counter[str] = Counter()  # rows made so far, by key of their source
        self._ended: list[tuple[Work, SourceRecord]] = []
        self._by_content: Contents = {}
        self._partly_written: set[str] = set()
        self._writing = False
        self._published_at = time.monotonic()

    def apply(self, plan: Plan, rescue: Rescue | None = None, cluster: Cluster | None = None) -> None:
        """Do the work of a plan, renew the store's indexes, and drop what nobody reads any more.

        `rescue` is asked for the chunks of what could not be read; with it a run may end with no source.
        With a cluster its workers read and embed.
        """
        with reading_ahead(() if cluster else plan.work) as texts:
            self._apply(plan, texts, rescue, cluster)

    def _apply(
        self,
        plan: Plan,
        texts: Iterator[tuple[Work, SourceText | Failure]],
        rescue: Rescue | None,
        cluster: Cluster | None,
    ) -> None:
        settings, committed = self.manifest.settings, self.manifest.committed
        cache = EmbeddingCache(self._location.path)
        self._vectorizer = Vectorizer(load_embeddings(self._embeddings), settings, cache)
        meter = Meter(sum(item.size for item in plan.work), self._progress)
        try:
            self.let_go(plan)
            if cluster is None:
                self._take(make_rows(texts, settings, self._vectorizer, self._by_content, meter), meter)
            else:
                with closing(cluster.make_tables(plan.work, settings, self._by_content, meter)) as made:
                    self._take(made, meter)
            if rescue is not None:
                for source, (record, chunks) in rescue(self._report.failed).items():
                    self._keep(source, record, chunks)
            elif self._report.failed and not self._sources and not self._ended:
                raise nothing_read(self._report.failed)
            self._write(publish=not self._publish_at_end)
            self.finish(committed)
        except KeyboardInterrupt as error:
            if not (self._writing or self._publish_at_end):
                self._write(publish=True)
            error.add_note(
                f"Indexing was interrupted. {len(self.manifest.sources)} sources are complete and kept; "
                "run the same command again to go on from here."
            )
            raise
        finally:
            maker = cluster or self._vectorizer
            self._report.embedding_seconds, self._report.texts_embedded = maker.seconds, maker.embedded
            cache.trim()
            cache.close()

    def remove_replaced(self) -> None:
        """Remove what the last run joined into one file, once nobody reads it: it takes as much room."""
        known, data = self.manifest, f"{self.manifest.table}.lance/data"
        folders = [name.rpartition("/")[0] for name in known.files]
        joined = folders.count(data) == 1 and f"{known.table}.lance/_deletions" not in folders
        unread = time.time() - known.committed > SECONDS_PER_QUESTION
        if joined and unread and len(self._location.names(data)) > 1:
            writer = self._writer
            assert isinstance(writer, TableWriter)  # a database has no files of ours
            with storing(self._location.uri):
                writer.remove_replaced()
                if writer.version != known.version:  # its indexes were not in order
                    self._publish()

    def let_go(self, plan: Plan) -> None:
        """Drop the sources that are gone, and leave their chunks to others that have their content."""
        self._writing = True
        renamed = dict[str, tuple[str, str]]()
        for source, (heir, record) in plan.heirs.items():
            renamed[self._sources[source].doc] = heir, record.doc
            self._sources[heir] = record
        for source, record in self._sources.items():
            if record.copy_of in plan.heirs:
                heir, owner = plan.heirs[record.copy_of]
                self._sources[source] = replace(record, copy_of=heir, doc=owner.doc)
        if renamed:
            with storing(self._location.uri):
                self._writer.copy_renamed(renamed)
        self._sources.update(plan.restamped)
        self._stale = [self._sources.pop(source).doc for source in plan.removed]
        self._report.moved, self._report.removed = plan.moved, len(plan.removed) - plan.moved
        read_anew = {item.source for item in plan.work}
        for source, record in self._sources.items():
            content = content_key(record.path, record.hash)
            if content is not None and record.copy_of is None and source not in read_anew:
                self._by_content[content] = source, record
        self._writing = False

    def finish(self, committed: float) -> None:
        """Renew the store's indexes, publish, and drop what nobody reads since the time `committed`."""
        with storing(self._location.uri):
            # a process that reads the version before this run may be in the middle of a question
            self._writer.optimize(keep_since=committed or self.manifest.committed)
            recall = self._writer.index_vectors()
            known = self.manifest
            changed = (known.version, known.sources) != (self._writer.version, self._sources)
            # a repair begins with a table of its own, which no manifest names yet
            if recall or changed or self._publish_at_end:
                self._publish(recall)
            self._writer.drop_other_tables()

    @property
    def _writer(self) -> TableWriter | DatabaseWriter:
        if self._location.taken_over:
            raise written_by_another(self._location.uri)
        return self._own_writer

    @cached_property
    def _own_writer(self) -> TableWriter | DatabaseWriter:
        if self.manifest.generation == 0:
            # says from the first write that the folder is ours
            self.manifest = self.manifest.publish(self._location)
        manifest = self.manifest
        known = manifest.table, manifest.version, manifest.settings.dimension
        if isinstance(self._location, Database):
            return DatabaseWriter(self._location, *known)
        return TableWriter(self._location.uri, *known)

    def _take(self, made: Iterable[Made | pa.Table], meter: Meter) -> None:
        """Gather what is made of the sources, and write it in batches."""
        from adaptive_rag.ingest import Failure

        for part in made:
            if isinstance(part, Failure):
                self._report.failed.append(part)
            elif isinstance(part, tuple):
                self._ended.append(part)
                self._report.copies += part[1].copy_of is not None
            else:
                self._add(part)
                last = part[-1].chunk["source"] if isinstance(part, list) else part["source"][-1].as_py()
                meter.tell(self._report.chunks, last)

    def _keep(self, source: str, record: SourceRecord, chunks: Sequence[Chunk]) -> None:
        """Take a source as the chunks that it had."""
        for start in range(0, 0 if record.copy_of else len(chunks), CHUNKS_PER_STEP):
            step = chunks[start : start + CHUNKS_PER_STEP]
            self._add(self._vectorizer.rows(step, [record.doc] * len(step)))
        self._ended.append((Work(source, 0), record))

    def _add(self, rows: list[TableRow] | pa.Table) -> None:
        """Take rows; those of a table are of sources whose records were taken before."""
        if isinstance(rows, list):
            self._rows += rows
        else:
            self._tables.append(rows)
        docs = [row.doc for row in rows] if isinstance(rows, list) else rows[DOC].to_pylist()
        self._made.update(docs)
        self._report.chunks += len(docs)
        due = time.monotonic() - self._published_at > SECONDS_PER_PUBLISH
        if due or len(self._rows) + sum(map(len, self._tables)) >= ROWS_PER_WRITE:
            self._write(publish=due and not self._publish_at_end)

    def _write(self, *, publish: bool) -> None:
        """Write rows of complete sources, and of an incomplete one where it fills a batch by itself."""
        import pyarrow as pa

        complete = [
            (item, record)
            for item, record in self._ended
            if record.copy_of in self._sources or self._made[record.doc] == record.chunks
        ]
        whole = {record.doc for _, record in complete}
        ready = [row for row in self._rows if row.doc in whole]
        if len(self._rows) - len(ready) >= ROWS_PER_WRITE:
            ready = self._rows
        self._writing = True
        with storing(self._location.uri):
            if ready:
                self._writer.add(ready)
            if self._tables:
                self._writer.copy(pa.concat_tables(self._tables))
                self._tables = []
            self._partly_written = (self._partly_written | {row.doc for row in ready}) - whole
            self._rows = [] if ready is self._rows else [row for row in self._rows if row.doc not in whole]
            for item, record in complete:
                if item.replaces is None:
                    self._report.added += 1
                else:
                    self._report.updated += 1
                    self._stale.append(item.replaces.doc)
                self._sources[item.source] = record
            self._ended = [pair for pair in self._ended if pair[1].doc not in whole]
            if publish and not self._partly_written:
                self._publish()
        self._writing = False

    def _publish(self, recall: dict[str, float] | None = None) -> None:
        live = {record.doc for record in self._sources.values()}
        self._writer.remove([doc for doc in self._stale if doc not in live])
        self._stale = []
        self._writer.index_words()
        version = self._writer.version
        self.manifest = replace(
            self.manifest,
            version=version,
            chunks=self._counted(),
            sources=dict(self._sources),
            recall=recall or self.manifest.recall,
            committed=time.time(),
            files=self._sealed(version),
        ).publish(self._location)
        self._published_at = time.monotonic()

    def _counted(self) -> int:
        """Return how many chunks the sources have, once the table was found to hold as many."""
        chunks = count_chunks(self._sources)
        if chunks != self._writer.count():
            raise written_by_another(self._location.uri)
        return chunks

    def _sealed(self, version: int) -> dict[str, Seal]:
        """Return the checksums of a version's files, once those that it replaces were found whole.

        LanceDB joined them into new files: what was damaged in the old ones is in the new ones too. A
        database looks after its files by itself.
        """
        known = self.manifest.files
        if isinstance(self._location, Database):
            return {}
        files = seal_files(self._location, self.manifest.table, version, known)
        replaced = {file: seal for file, seal in known.items() if file not in files}
        present = self._location.sizes(replaced)
        there = {file: seal for file, seal in replaced.items() if file in present}
        # a bucket would have to be fetched for its contents
        contents = self._location.path is not None
        if found := changed_files(self._location, there, contents=contents):
            raise damaged(self._location.uri, found)
        return files
