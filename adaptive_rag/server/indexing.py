"""Runs jobs: updates the index of a collection to its documents, and records the result.

The table of jobs is the source of truth. A job whose worker died is started again, so each step can be
repeated. A worker holds a file lock on its collection, which the system releases when the process ends.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from langchain_core.embeddings import Embeddings
from sqlalchemy import Engine, Row, func, select, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from adaptive_rag.context import Context
from adaptive_rag.context.caller import served_error
from adaptive_rag.errors import AdaptiveRAGError
from adaptive_rag.index import Index, IndexReport, Progress
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import SourceRecord, read_manifest
from adaptive_rag.index.report import NothingReadError
from adaptive_rag.index.sources import remove_sources
from adaptive_rag.ingest import Failure, Site, SourceFile
from adaptive_rag.ingest.archives import owners_of
from adaptive_rag.ingest.web import is_address
from adaptive_rag.private import make_folder
from adaptive_rag.server.folders import (
    CollectionFolder,
    collection_folders,
    folder_of,
    remove_deleted_collections,
    version_of,
)
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Collection, Document, Job, JobState, Thread, now

log = logging.getLogger(__name__)

MOST_ATTEMPTS = 5
PROGRESS_SECONDS = 1.0
MOST_PROBLEMS = 1000
# In characters, of what is stored about a document or one of its files.
_LONGEST_PROBLEM = 2000
# A job reads so many documents in one turn, and so many bytes, or one larger document. Then the jobs of other
# people have their turn. Embedding 1 MB of plain text takes a minute or two.
DOCUMENTS_PER_TURN, BYTES_PER_TURN = 50, 1_000_000
_CANCELLED = "the job was cancelled"
OPEN_STATES = (JobState.QUEUED, JobState.RUNNING)


class Cancelled(KeyboardInterrupt):
    """The job was cancelled. Like Ctrl-C, this keeps the documents that are complete."""


class Stopped(KeyboardInterrupt):
    """The worker must end; another one continues the job."""


@dataclass(frozen=True)
class IndexingSettings:
    """The settings that indexing needs, in a form that can be sent to another process."""

    data: Path
    embeddings: str | Embeddings | None = None
    web: Mapping[str, Any] = field(default_factory=dict)


def make_indexing_settings(settings: ServerSettings, operator: Context) -> IndexingSettings:
    """Return the settings that indexing needs."""
    return IndexingSettings(settings.data, operator.embeddings, operator.web.model_dump())


def run_waiting_jobs(settings: IndexingSettings, engine: Engine, should_stop: Callable[[], bool]) -> None:
    """Run jobs until none waits, or until `should_stop` returns True; people and collections take turns.

    Raises:
        OSError: no job can be run but those of a collection whose folder cannot be used.
    """
    last_turns = dict[str | None, int]()  # person or collection -> the number of their last turn
    while not should_stop() and (collection_id := _run_next_job(settings, engine, last_turns, should_stop)):
        if not _collection_exists(engine, collection_id):  # the collection was deleted meanwhile
            folder_of(settings.data, collection_id).remove()


def _run_next_job(
    settings: IndexingSettings,
    engine: Engine,
    last_turns: dict[str | None, int],
    should_stop: Callable[[], bool],
) -> str | None:
    """Run one turn of a job; return the id of its collection, or None if no job can be run.

    The person whose last turn was longest ago comes first, then the collection, then the oldest job.
    """
    query = select(Job.asked_by, Job.collection_id, func.min(Job.created)).where(Job.state.in_(OPEN_STATES))
    with Session(engine) as db:
        rows = db.execute(query.group_by(Job.asked_by, Job.collection_id)).all()

    def order(row: Row[str | None, str, datetime]) -> tuple[int, int, datetime]:
        person, collection_id, created = row
        return last_turns.get(person, 0), last_turns.get(collection_id, 0), created

    failure: OSError | None = None
    for person, collection_id, _ in sorted(rows, key=order):
        folder = folder_of(settings.data, collection_id)
        try:
            make_folder(folder.path)
            with FileLock(folder.path / "jobs.lock", timeout=0):
                if job := _start_next_job(engine, folder, person):
                    turn = max(last_turns.values(), default=0) + 1
                    last_turns |= {person: turn, collection_id: turn}
                    _JobTurn(settings, engine, folder, job, should_stop).run()
                return collection_id
        except Timeout:
            continue  # another worker has the lock, and looks for jobs again when it is done
        except OSError as error:  # for example, the folder belongs to another user
            failure = error
    if failure:
        raise failure
    return None


def _collection_exists(engine: Engine, collection_id: str) -> bool:
    with Session(engine) as db:
        return db.get(Collection, collection_id) is not None


def clear_leftovers(data: Path, engine: Engine) -> None:
    """Clean up after an interruption: remove deleted collections, and files that were being written.

    Folders without a row in this database are only reported, since it may be the wrong or an empty database.
    """
    with Session(engine) as db:
        if engine.dialect.name == "sqlite":  # it has only one server, so no question is still running
            db.execute(update(Thread).values(asked=None))
            db.commit()
    unknown = list[Path]()
    remove_deleted_collections(data)
    # The folders are listed before the rows are read, because a collection gets its row before its folder.
    for folder in collection_folders(data):
        if _collection_exists(engine, folder.path.name):
            with folder.lock_documents(is_patient=True):
                folder.remove_partial()
                with Session(engine) as db:
                    unknown += folder.find_unknown(_list_documents(db, folder.path.name))
        else:
            unknown.append(folder.path)
    if unknown:
        log.warning(
            "%d of the folders in %s belong to no collection or document of this database, and are left as "
            "they are. To move them aside, stop the server and run: adaptive-rag move-aside",
            len(unknown),
            data.absolute() / "collections",
        )


def _list_documents(db: Session, collection_id: str) -> Sequence[Document]:
    return db.scalars(select(Document).where(Document.collection_id == collection_id)).all()


def documents_being_indexed(db: Session, collection_id: str) -> set[str]:
    """Return the ids of the documents that a job is reading now."""
    jobs = select(Job).where(Job.collection_id == collection_id, Job.state == JobState.RUNNING)
    return {name for job in db.scalars(jobs) for name in _plan_turn(db, job)[0]}


def _start_next_job(engine: Engine, folder: CollectionFolder, person: str | None) -> str | None:
    """Mark a person's next job as running and return its id; None if there is none, or it is ended instead.

    The caller holds the lock of the collection, so a job that is marked as running has lost its worker. A job
    that was cancelled, or was started too often, is ended.
    """
    of_person = (Job.collection_id == folder.path.name, Job.asked_by.is_not_distinct_from(person))
    waiting = select(Job).where(*of_person, Job.state.in_(OPEN_STATES))
    with Session(engine) as db:
        # Only one: a person may have jobs by the thousand, each with the ids of a thousand documents.
        job = db.scalar(waiting.order_by(Job.started.is_(None), Job.created, Job.id).limit(1))
        if job is None:
            return None
        if job.is_cancelled:
            _end_early(db, folder, job, JobState.CANCELLED, _CANCELLED)
        elif job.attempts >= MOST_ATTEMPTS:
            job.error = f"Its worker ended unexpectedly {job.attempts} times, so it was given up."
            _end_early(db, folder, job, JobState.FAILED, "the job was given up")
        else:
            job.state, job.started = JobState.RUNNING, job.started or now()
            job.attempts += 1
            db.commit()
            return job.id
    return None


def _end_early(db: Session, folder: CollectionFolder, job: Job, state: JobState, reason: str) -> None:
    """End a job, and record what the index has of the documents that the job has not recorded.

    Older text of replaced documents is hidden from answers, and removed by another job.
    """
    with folder.lock_documents(is_patient=True):
        collection = db.get(Collection, job.collection_id)
        if collection is None:
            return  # deleted a moment ago
        if outdated := _record_unread(db, folder, job, reason):
            collection.hidden = sorted({*collection.hidden, *outdated})
            removal: dict[str, Any] = {"kind": "remove", "details": {"documents": []}}
            db.add(Job(collection_id=collection.id, asked_by=job.asked_by, **removal))
        job.state, job.ended = state, now()
        db.commit()


def _record_unread(db: Session, folder: CollectionFolder, job: Job, reason: str) -> list[str]:
    """Record the documents that a job has not recorded; return those of which the index has older text."""
    try:
        records = indexed_sources(folder.index)
    except AdaptiveRAGError:  # why the job failed
        records = None
    sources = sources_by_document(records or {})
    open_jobs = select(Job).where(
        Job.collection_id == job.collection_id, Job.id != job.id, Job.state.in_(OPEN_STATES)
    )
    waiting = {document for other in db.scalars(open_jobs) for document in _remaining_documents(other)}
    outdated = list[str]()
    for row in _list_documents(db, job.collection_id):
        is_recorded = row.chunks is not None or row.problem is not None
        if row.id not in job.details["documents"] or is_recorded or row.id in waiting:
            continue
        indexed = [records[source] for source in sources.get(row.name, ())] if records else []
        if records is None or not all(_is_current(record, row) for record in indexed):
            outdated.append(row.name)
        elif indexed:
            row.chunks = sum(record.chunks for record in indexed)
            row.notes = [note for record in indexed for note in record.notes][:100]
        # Whether all files of an archive, or the newest pages of a site, were read is not known.
        is_complete = row.chunks is not None and row.name in (records or ()) and not is_address(row.name)
        if not is_complete:
            extent = "was not indexed" if row.chunks is None else "may be indexed only in part"
            row.problem = f"{row.name} {extent}: {reason}. Index it again, or delete it."
    return outdated


def _is_current(record: SourceRecord, row: Document) -> bool:
    """Return whether indexed text is that of the document's current content, or of a file in it."""
    is_in_archive = version_of(row) in Path(record.path or "").parts
    return is_address(row.name) or record.hash == row.digest or is_in_archive


def _remaining_documents(job: Job) -> list[str]:
    """Return the ids of the documents that a job has not read yet."""
    return list(job.details.get("left", job.details["documents"]))


def _plan_turn(db: Session, job: Job) -> tuple[list[str], float]:
    """Return the ids of the smallest documents left, for a job's next turn, and how many turns are left."""
    remaining = _remaining_documents(job)
    sizes = dict.fromkeys(remaining, 0)
    query = select(Document.id, Document.size).where(Document.id.in_(remaining))
    sizes |= {name: size for name, size in db.execute(query)}
    smallest = sorted(remaining, key=sizes.__getitem__)[:DOCUMENTS_PER_TURN]
    totals = list(accumulate(sizes[name] for name in smallest))
    count = max(1, bisect_right(totals, BYTES_PER_TURN))
    turns_left = sum(sizes.values()) / max(1, sum(sizes[name] for name in smallest[:count]))
    return smallest[:count], max(1.0, turns_left)


class _JobTurn:
    """One turn of a job: indexes some of its documents and records their results."""

    def __init__(
        self,
        settings: IndexingSettings,
        engine: Engine,
        folder: CollectionFolder,
        job_id: str,
        should_stop: Callable[[], bool],
    ) -> None:
        self._settings, self._engine, self._folder = settings, engine, folder
        self._job_id, self._should_stop = job_id, should_stop
        self._last_progress = 0.0
        # Passages that earlier turns have indexed, and the number of turns of this length that are left.
        self._done_before, self._turns_left = 0, 1.0

    def run(self) -> None:
        """Run the job, and record how it ended."""
        try:
            self._run_job()
        except Stopped:
            with Session(self._engine) as db:
                if job := db.get(Job, self._job_id):
                    job.state, job.attempts = JobState.QUEUED, job.attempts - 1
                    db.commit()
        except OperationalError:
            raise  # the database failed, not the job: the next worker starts it again
        except Cancelled:
            self._end_early(JobState.CANCELLED, None, _CANCELLED)
        except Exception as error:  # whatever it is, the job has failed, and the next job runs
            if _collection_exists(self._engine, self._folder.path.name):  # else its folder was deleted
                self._end_early(JobState.FAILED, str(served_error(error)), "the job failed")

    def _run_job(self) -> None:
        with Session(self._engine, expire_on_commit=False) as db:
            job = db.get(Job, self._job_id)
            collection = db.get(Collection, job.collection_id) if job else None
            if job is None or collection is None:
                return  # deleted a moment ago
            rows = _list_documents(db, collection.id)
            hidden = set(collection.hidden)
            this_turn, self._turns_left = _plan_turn(db, job)
        is_rebuild = job.kind == "rebuild"
        later_turns = [name for name in _remaining_documents(job) if name not in this_turn]
        documents = rows if is_rebuild else [row for row in rows if row.id in this_turn]
        self._done_before = job.details.get("done", 0)
        self._remove_unlisted(rows, hidden)
        report = self._index(documents, is_rebuild=is_rebuild) if documents else IndexReport()
        self._remove_replaced(documents)
        self._record_results(documents, report, hidden, later_turns)

    def _remove_unlisted(self, rows: Sequence[Document], hidden: set[str]) -> None:
        """Remove sources from the index that belong to no document, or to a deleted one."""
        listed = {row.name for row in rows} - hidden
        records = indexed_sources(self._folder.index).items()
        self._remove([name for name, record in records if listed.isdisjoint(owners_of(name, record.start))])

    def _remove_replaced(self, documents: Sequence[Document]) -> None:
        """Remove the old text of documents whose new content could not be read."""
        records = indexed_sources(self._folder.index)
        files = {row.name: row.digest for row in documents if not is_address(row.name)}
        self._remove([name for name in files.keys() & records.keys() if records[name].hash != files[name]])

    def _remove(self, sources: list[str]) -> None:
        if sources:
            remove_sources(self._folder.index, sources)

    def _index(self, documents: Sequence[Document], *, is_rebuild: bool) -> IndexReport:
        web = dict(self._settings.web)
        files: list[SourceFile | Site] = [
            Site(row.name, **web) if is_address(row.name) else SourceFile(self._folder.file_of(row), row.name)
            for row in documents
        ]
        try:
            return Index.build(
                files,
                self._folder.index,
                embeddings=self._settings.embeddings,
                progress=self._report_progress,
                rebuild=is_rebuild,
            )
        except NothingReadError as error:
            return IndexReport(failed=list(error.failed))

    def _report_progress(self, progress: Progress) -> None:
        if self._should_stop():
            raise Stopped
        if time.monotonic() - self._last_progress < PROGRESS_SECONDS:
            return
        self._last_progress = time.monotonic()
        with Session(self._engine) as db:
            job = db.get(Job, self._job_id)
            if job is None or job.is_cancelled:
                raise Cancelled
            job.done = self._done_before + progress.done
            if progress.total:  # else it waits for the first file
                job.total = self._done_before + round(progress.total * self._turns_left)
            db.commit()

    def _record_results(
        self, documents: Sequence[Document], report: IndexReport, hidden: set[str], later_turns: Sequence[str]
    ) -> None:
        """Record the result of each document; end the job, or queue it again for its remaining documents."""
        records = indexed_sources(self._folder.index)
        sources = sources_by_document(records)
        with self._folder.lock_documents(is_patient=True), Session(self._engine) as db:
            indexed = {name: [records[source] for source in cited_as] for name, cited_as in sources.items()}
            problems = _record_documents(db, documents, report, indexed)
            if job := db.get(Job, self._job_id):
                job.problems = [*job.problems, *problems][:MOST_PROBLEMS]
                job.done = self._done_before + report.chunks
                if later_turns:
                    job.details = {**job.details, "left": later_turns, "done": job.done}
                    job.state, job.attempts = JobState.QUEUED, 0
                else:
                    job.total, job.state, job.ended = job.done, JobState.DONE, now()
                if collection := db.get(Collection, job.collection_id):
                    # indexed by this job, but deleted once more meanwhile
                    deleted_again = sources.keys() - {
                        row.name for row in documents if db.get(Document, row.id)
                    }
                    collection.hidden = [
                        name for name in collection.hidden if name not in hidden or name in deleted_again
                    ]
            db.commit()
            self._folder.remove_retired()

    def _end_early(self, state: JobState, error: str | None, reason: str) -> None:
        with Session(self._engine) as db:
            if job := db.get(Job, self._job_id):
                job.error = error
                _end_early(db, self._folder, job, state, reason)


def _record_documents(
    db: Session, documents: Sequence[Document], report: IndexReport, indexed: Mapping[str, list[SourceRecord]]
) -> list[dict[str, Any]]:
    """Record the result of each document; return the problems for the job."""
    # Notes on sources without a text of their own: an archive, or a page that its site no longer has.
    notes = [note for note in report.notes if note.source not in report.sources]
    missing_pages = [Failure(note.source, note.text) for note in notes if is_address(note.source)]
    failures = [*report.failed, *missing_pages]
    reasons_of = defaultdict[str, list[str]](list)
    for failure in failures:
        for owner in owners_of(failure.source):
            reasons_of[owner].append(str(failure)[:_LONGEST_PROBLEM])
    problems = list[dict[str, Any]]()
    for document in documents:
        row = db.get(Document, document.id)
        if row is None or row.digest != document.digest:
            continue  # deleted or replaced meanwhile, for which there is another job
        records = indexed.get(row.name, [])
        reasons = reasons_of[row.name]
        row.chunks = sum(record.chunks for record in records) if records else None
        row.problem = "; ".join(reasons)[:_LONGEST_PROBLEM] or (
            None if records else f"{row.name} holds no text"
        )
        archive_notes = [note.text for note in notes if note.source == row.name and not is_address(row.name)]
        row_notes = [*archive_notes, *(note for record in records for note in record.notes)]
        row.notes = [note[:_LONGEST_PROBLEM] for note in row_notes[:100]]
        problems += [{"document": row.name, "problem": reason} for reason in reasons]
    return problems


def indexed_sources(index: Path) -> Mapping[str, SourceRecord]:
    """Return the source records of an index, by name; empty if there is no index yet."""
    manifest = read_manifest(open_location(index))
    return manifest.sources if manifest else {}


def sources_by_document(records: Mapping[str, SourceRecord]) -> Mapping[str, list[str]]:
    """Return the names by which answers cite each document: its own, or those of its files or pages."""
    sources: dict[str, list[str]] = {}
    for source, record in sorted(records.items()):
        for owner in dict.fromkeys(owners_of(source, record.start)):
            sources.setdefault(owner, []).append(source)
    return sources
