"""Executes the plan of an indexing run: collects rows, writes them in batches, publishes complete sources."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from langchain_core.embeddings import Embeddings

from adaptive_rag.index.cache import EmbeddingCache
from adaptive_rag.index.cluster import Cluster
from adaptive_rag.index.files import changed_files, damage_error, seal_files
from adaptive_rag.index.location import Location
from adaptive_rag.index.manifest import Manifest, Seal, SourceRecord, concurrent_write_error, count_chunks
from adaptive_rag.index.plan import Plan, Work, content_key
from adaptive_rag.index.postgres.database import Database
from adaptive_rag.index.postgres.writer import DatabaseWriter
from adaptive_rag.index.progress import Meter, Progress
from adaptive_rag.index.read_ahead import reading_ahead
from adaptive_rag.index.report import IndexReport, NothingReadError
from adaptive_rag.index.row_maker import CHUNKS_PER_STEP, Contents, Result, make_rows
from adaptive_rag.index.store_errors import explain_write_errors
from adaptive_rag.index.table import DOC, TableRow, TableWriter
from adaptive_rag.index.vectorize import Vectorizer, load_model_of
from adaptive_rag.ingest import Failure
from adaptive_rag.state import Chunk

if TYPE_CHECKING:
    import pyarrow as pa

Rescue = Callable[[Sequence[Failure]], Mapping[str, tuple[SourceRecord, Sequence[Chunk]]]]
ROWS_PER_WRITE = 1024
SECONDS_PER_PUBLISH = 30.0
# The longest time that a question may take, and so read a replaced state.
SECONDS_PER_QUESTION = 600.0


class IndexingRun:
    """One indexing run: collects rows, writes them in batches and regularly publishes complete sources.

    A table version is published only if it contains no partial source. So a reader of the index, at any
    moment and after any crash, sees each source either in its old or in its new state.
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
        self._row_counts: Counter[str] = Counter()  # rows made so far, by source key
        self._finished: list[tuple[Work, SourceRecord]] = []
        self._by_content: Contents = {}
        self._partly_written: set[str] = set()
        self._writing = False
        self._published_at = time.monotonic()

    def apply(self, plan: Plan, rescue: Rescue | None = None, cluster: Cluster | None = None) -> None:
        """Do the work of a plan, update the store's indexes, and remove data that nobody reads any more.

        `rescue` returns chunks for sources that could not be read; with it, a run may end without a source.
        If `cluster` is given, its workers read and embed.
        """
        settings, committed = self.manifest.settings, self.manifest.committed
        meter = Meter(sum(item.size for item in plan.work), self._progress)

        def report(source: str) -> None:
            meter.report(self._report.chunks, source)

        with (
            reading_ahead(() if cluster else plan.work, report) as texts,
            closing(EmbeddingCache(self._location.path)) as cache,
        ):
            passed = None if self._embeddings == settings.embeddings else self._embeddings
            model = load_model_of(self._location.uri, settings.embeddings, passed)
            self._vectorizer = Vectorizer(model, settings, cache)
            try:
                self.drop_removed(plan)
                results: Generator[Result | pa.Table, None, None]
                if cluster is None:
                    results = make_rows(texts, settings, self._vectorizer, self._by_content, meter)
                else:
                    results = cluster.make_tables(plan.work, settings, self._by_content, meter)
                with closing(results):
                    self._collect(results, meter)
                if rescue is not None:
                    for source, (record, chunks) in rescue(self._report.failed).items():
                        self._add_rescued(source, record, chunks)
                elif self._report.failed and not self._sources and not self._finished:
                    raise NothingReadError(self._report.failed)
                self._write(publish=not self._publish_at_end)
                self._writing = True  # an interruption has nothing more to publish
                self.finish(committed)
            except KeyboardInterrupt as error:
                if not (self._writing or self._publish_at_end):
                    self._write(publish=True)
                kept = len(self.manifest.sources)
                state = f"{kept:,} sources are complete and kept." if kept else "No source is complete yet."
                error.add_note(f"{state} Run the same command again to continue from here.")
                raise
            finally:
                maker = cluster or self._vectorizer
                self._report.embedding_seconds, self._report.texts_embedded = maker.seconds, maker.embedded
                cache.trim()

    def remove_replaced(self) -> None:
        """Remove the files that the last run joined into one, once nobody reads them any more."""
        manifest, data_folder = self.manifest, f"{self.manifest.table}.lance/data"
        folders = [name.rpartition("/")[0] for name in manifest.files]
        is_joined = folders.count(data_folder) == 1 and f"{manifest.table}.lance/_deletions" not in folders
        is_unread = time.time() - manifest.committed > SECONDS_PER_QUESTION
        if is_joined and is_unread and len(self._location.names(data_folder)) > 1:
            writer = self._writer
            assert isinstance(writer, TableWriter)  # the manifest of a database lists no files
            with explain_write_errors(self._location.uri):
                writer.remove_replaced()
                if writer.version != manifest.version:  # its indexes were not in order
                    self._publish()

    def drop_removed(self, plan: Plan) -> None:
        """Drop removed sources; other sources with the same content take over their chunks."""
        self._writing = True
        self._sources.update(plan.restamped)
        renamed = dict[str, tuple[str, str]]()
        for source, (successor, record) in plan.successors.items():
            renamed[self._sources[source].doc] = successor, record.doc
            self._sources[successor] = record
        for source, record in self._sources.items():
            if record.copy_of in plan.successors:
                successor, owner = plan.successors[record.copy_of]
                self._sources[source] = replace(record, copy_of=successor, doc=owner.doc)
        if renamed:
            with explain_write_errors(self._location.uri):
                self._writer.copy_renamed(renamed)
        self._stale = [self._sources.pop(source).doc for source in plan.removed]
        self._report.moved, self._report.removed = plan.moved, len(plan.removed) - plan.moved
        read_again = {item.source for item in plan.work}
        for source, record in self._sources.items():
            content = content_key(record.path, record.hash)
            if content is not None and record.copy_of is None and source not in read_again:
                self._by_content[content] = source, record
        self._writing = False

    def finish(self, committed: float) -> None:
        """Update the store's indexes, publish, and remove versions that no question reads any more."""
        with explain_write_errors(self._location.uri):
            # a running question may still read the version before this run, or an earlier one
            earliest_start = time.time() - SECONDS_PER_QUESTION
            self._writer.optimize(keep_since=min(committed or self.manifest.committed, earliest_start))
            recall = self._writer.index_vectors()
            manifest = self.manifest
            has_changed = (manifest.version, manifest.sources) != (self._writer.version, self._sources)
            # a repair starts with a new table, which no manifest names yet
            if recall or has_changed or self._publish_at_end:
                self._publish(recall)
            self._writer.drop_other_tables()

    @property
    def _writer(self) -> TableWriter | DatabaseWriter:
        if self._location.taken_over:
            raise concurrent_write_error(self._location.uri)
        return self._opened_writer

    @cached_property
    def _opened_writer(self) -> TableWriter | DatabaseWriter:
        if self.manifest.generation == 0:
            # from the first write on, the manifest shows that the folder is an index
            self.manifest = self.manifest.publish(self._location)
        manifest = self.manifest
        arguments = manifest.table, manifest.version, manifest.settings.dimension
        if isinstance(self._location, Database):
            return DatabaseWriter(self._location, *arguments)
        return TableWriter(self._location.uri, *arguments)

    def _collect(self, results: Iterable[Result | pa.Table], meter: Meter) -> None:
        """Collect rows and records as they are made, and write them in batches."""
        for result in results:
            if isinstance(result, Failure):
                self._report.failed.append(result)
            elif isinstance(result, tuple):
                self._finished.append(result)
                self._report.copies += result[1].copy_of is not None
            else:
                self._add(result)
                last_source = (
                    result[-1].chunk["source"] if isinstance(result, list) else result["source"][-1].as_py()
                )
                meter.report(self._report.chunks, last_source)

    def _add_rescued(self, source: str, record: SourceRecord, chunks: Sequence[Chunk]) -> None:
        """Add a source with its old chunks, which are embedded again."""
        for start in range(0, 0 if record.copy_of else len(chunks), CHUNKS_PER_STEP):
            step = chunks[start : start + CHUNKS_PER_STEP]
            self._add(self._vectorizer.rows(step, [record.doc] * len(step)))
        self._finished.append((Work(source, 0), record))

    def _add(self, rows: list[TableRow] | pa.Table) -> None:
        """Add rows; an Arrow table must come after the records of its sources."""
        if isinstance(rows, list):
            self._rows += rows
        else:
            self._tables.append(rows)
        docs = [row.doc for row in rows] if isinstance(rows, list) else rows[DOC].to_pylist()
        self._row_counts.update(docs)
        self._report.chunks += len(docs)
        is_due = time.monotonic() - self._published_at > SECONDS_PER_PUBLISH
        if is_due or len(self._rows) + sum(map(len, self._tables)) >= ROWS_PER_WRITE:
            self._write(publish=is_due and not self._publish_at_end)

    def _write(self, *, publish: bool) -> None:
        """Write the rows of complete sources, and all rows if those of incomplete ones fill a batch."""
        import pyarrow as pa

        complete = [(item, record) for item, record in self._finished if self._is_complete(record)]
        complete_docs = {record.doc for _, record in complete}
        ready_rows = [row for row in self._rows if row.doc in complete_docs]
        waiting_rows = [row for row in self._rows if row.doc not in complete_docs]
        if len(waiting_rows) >= ROWS_PER_WRITE:
            ready_rows, waiting_rows = self._rows, []
        self._writing = True
        with explain_write_errors(self._location.uri):
            if ready_rows:
                self._remove_earlier((row.chunk["source"], row.doc) for row in ready_rows)
                self._writer.add(ready_rows)
            if self._tables:
                rows = pa.concat_tables(self._tables)
                self._remove_earlier(zip(rows["source"].to_pylist(), rows[DOC].to_pylist(), strict=True))
                self._writer.copy(rows)
                self._tables = []
            self._partly_written = (self._partly_written | {row.doc for row in ready_rows}) - complete_docs
            self._rows = waiting_rows
            for item, record in complete:
                if (replaced := self._sources.get(item.source)) is None:
                    self._report.added += 1
                else:
                    self._report.updated += 1
                    self._stale.append(replaced.doc)
                self._sources[item.source] = record
            self._finished = [pair for pair in self._finished if pair[1].doc not in complete_docs]
            # an index with sources to come is published as unfinished, not as empty
            is_begun = self._sources or self.manifest.version is not None
            if publish and is_begun and not self._partly_written:
                self._publish()
        self._writing = False

    def _remove_earlier(self, keys: Iterable[tuple[str, str]]) -> None:
        """Remove the rows of sources that were read again with the same content, and so have the same key.

        A file may be incomplete or missing when the run is planned, because it is just being written.
        """
        docs = {doc for source, doc in keys if source in self._sources and self._sources[source].doc == doc}
        self._writer.remove([*(docs - self._partly_written)])

    def _is_complete(self, record: SourceRecord) -> bool:
        """Return whether all chunks of a source are made, now or by an earlier run."""
        owner = self._sources.get(record.copy_of) if record.copy_of else None
        # an owner that has changed may still be in its old state, with other chunks
        is_stored = owner is not None and owner.doc == record.doc
        return is_stored or self._row_counts[record.doc] == record.chunks

    def _publish(self, recall: dict[str, float] | None = None) -> None:
        live_docs = {record.doc for record in self._sources.values()}
        self._writer.remove([doc for doc in self._stale if doc not in live_docs])
        self._stale = []
        self._writer.index_words()
        version, chunks = self._writer.version, count_chunks(self._sources)
        if chunks != self._writer.count():
            raise concurrent_write_error(self._location.uri)
        self.manifest = replace(
            self.manifest,
            version=version,
            chunks=chunks,
            sources=dict(self._sources),
            recall=recall or self.manifest.recall,
            committed=time.time(),
            files=self._seal_files(version),
        ).publish(self._location)
        self._published_at = time.monotonic()

    def _seal_files(self, version: int) -> dict[str, Seal]:
        """Return the checksums of a version's files, after checking that the files it replaces are intact.

        LanceDB joined the replaced files into new ones, so damage in them is in the new ones too. A database
        manages its own files.
        """
        known_files = self.manifest.files
        if isinstance(self._location, Database):
            return {}
        files = seal_files(self._location, self.manifest.table, version, known_files)
        replaced = {file: seal for file, seal in known_files.items() if file not in files}
        present = self._location.sizes(replaced)
        remaining = {file: seal for file, seal in replaced.items() if file in present}
        # in a bucket, a comparison of contents would have to fetch all files
        compares_contents = self._location.path is not None
        if problems := changed_files(self._location, remaining, contents=compares_contents):
            raise damage_error(self._location.uri, problems)
        return files
