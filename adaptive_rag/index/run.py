"""An indexing run over a plan: collects rows, writes them in batches and publishes complete sources."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from langchain_core.embeddings import Embeddings

from adaptive_rag.index.ahead import reading_ahead
from adaptive_rag.index.cache import EmbeddingCache
from adaptive_rag.index.cluster import Cluster
from adaptive_rag.index.faults import storing
from adaptive_rag.index.files import changed_files, damaged, seal_files
from adaptive_rag.index.location import Location
from adaptive_rag.index.making import CHUNKS_PER_STEP, Contents, Made, make_rows
from adaptive_rag.index.manifest import (
    Manifest,
    Seal,
    SourceRecord,
    count_chunks,
    written_by_another,
)
from adaptive_rag.index.plan import Meter, Plan, Progress, Work, content_key
from adaptive_rag.index.postgres.database import Database
from adaptive_rag.index.postgres.writer import DatabaseWriter
from adaptive_rag.index.report import IndexReport, nothing_read
from adaptive_rag.index.table import DOC, TableRow, TableWriter
from adaptive_rag.index.vectorize import Vectorizer
from adaptive_rag.models.embeddings import load_embeddings
from adaptive_rag.state import Chunk

if TYPE_CHECKING:
    import pyarrow as pa

    from adaptive_rag.ingest import Failure, SourceText

    Rescue = Callable[[Sequence[Failure]], Mapping[str, tuple[SourceRecord, Sequence[Chunk]]]]

ROWS_PER_WRITE = 1024
SECONDS_PER_PUBLISH = 30.0
# By then, a question that started on a replaced state has ended.
SECONDS_PER_QUESTION = 600.0


class IndexingRun:
    """One indexing run: collects rows, writes them in batches and regularly publishes complete sources.

    A table version is published only when it contains no partial source. So a reader of the index, at
    any moment and after any crash, sees each source either as it was or as it is.
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
        self._made: Counter[str] = Counter()  # rows made so far, by source key
        self._ended: list[tuple[Work, SourceRecord]] = []
        self._by_content: Contents = {}
        self._partly_written: set[str] = set()
        self._writing = False
        self._published_at = time.monotonic()

    def apply(self, plan: Plan, rescue: Rescue | None = None, cluster: Cluster | None = None) -> None:
        """Do the work of a plan, update the store's indexes, and remove data that nobody reads any more.

        `rescue` returns chunks for sources that could not be read; with it, a run may end with no source.
        If `cluster` is given, its workers read and embed.
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
            self._writing = True  # an interruption has nothing more to publish
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
        """Remove the files that the last run joined into one, once unread: they take as much room again."""
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
        """Drop the sources that are gone; other sources with the same content take over their chunks."""
        self._writing = True
        self._sources.update(plan.restamped)
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
        self._stale = [self._sources.pop(source).doc for source in plan.removed]
        self._report.moved, self._report.removed = plan.moved, len(plan.removed) - plan.moved
        read_anew = {item.source for item in plan.work}
        for source, record in self._sources.items():
            content = content_key(record.path, record.hash)
            if content is not None and record.copy_of is None and source not in read_anew:
                self._by_content[content] = source, record
        self._writing = False

    def finish(self, committed: float) -> None:
        """Update the store's indexes, publish, and remove versions that no question reads any more."""
        with storing(self._location.uri):
            # a question may still be answered with the version before this run, or with an earlier one
            begun = time.time() - SECONDS_PER_QUESTION
            self._writer.optimize(keep_since=min(committed or self.manifest.committed, begun))
            recall = self._writer.index_vectors()
            known = self.manifest
            changed = (known.version, known.sources) != (self._writer.version, self._sources)
            # a repair starts with a new table, which no manifest names yet
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
            # from the first write on, the manifest shows that the folder is ours
            self.manifest = self.manifest.publish(self._location)
        manifest = self.manifest
        known = manifest.table, manifest.version, manifest.settings.dimension
        if isinstance(self._location, Database):
            return DatabaseWriter(self._location, *known)
        return TableWriter(self._location.uri, *known)

    def _take(self, made: Iterable[Made | pa.Table], meter: Meter) -> None:
        """Collect the rows and records that are made, and write them in batches."""
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
        """Keep a source with its old chunks, and embed them again."""
        for start in range(0, 0 if record.copy_of else len(chunks), CHUNKS_PER_STEP):
            step = chunks[start : start + CHUNKS_PER_STEP]
            self._add(self._vectorizer.rows(step, [record.doc] * len(step)))
        self._ended.append((Work(source, 0), record))

    def _add(self, rows: list[TableRow] | pa.Table) -> None:
        """Add rows; for rows in an Arrow table, the records of their sources were added before."""
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
        """Write rows of complete sources, and of an incomplete source if it fills a batch by itself."""
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
        """Return the number of chunks of the sources, after checking that the table holds as many."""
        chunks = count_chunks(self._sources)
        if chunks != self._writer.count():
            raise written_by_another(self._location.uri)
        return chunks

    def _sealed(self, version: int) -> dict[str, Seal]:
        """Return the checksums of a version's files, after checking that the files it replaces are intact.

        LanceDB joined these into new files, so damage in the old files is in the new ones too. A database
        looks after its own files.
        """
        known = self.manifest.files
        if isinstance(self._location, Database):
            return {}
        files = seal_files(self._location, self.manifest.table, version, known)
        replaced = {file: seal for file, seal in known.items() if file not in files}
        present = self._location.sizes(replaced)
        there = {file: seal for file, seal in replaced.items() if file in present}
        # to compare contents in a bucket, all files would have to be fetched
        contents = self._location.path is not None
        if found := changed_files(self._location, there, contents=contents):
            raise damaged(self._location.uri, found)
        return files
