"""Runs jobs: brings the index of a collection in line with its documents, and records the result.

The table of jobs is the source of truth. A job whose worker died is started again, so each step can be
repeated. A worker holds a lock on its collection, which the system releases when the process ends, for
whatever reason.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from langchain_core.embeddings import Embeddings
from sqlalchemy import Engine, func, select, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from adaptive_rag.context import Context
from adaptive_rag.context.caller import served_error
from adaptive_rag.index import Index, IndexReport, Progress
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import SourceRecord, read_manifest
from adaptive_rag.index.report import NothingReadError
from adaptive_rag.index.sources import remove_sources
from adaptive_rag.ingest import Failure, Site, SourceFile
from adaptive_rag.ingest.archives import owners_of
from adaptive_rag.ingest.web import is_address
from adaptive_rag.private import make_folder
from adaptive_rag.server.folders import CollectionFolder, collection_folders, finish_deleting, folder_of
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Collection, Document, Job, JobState, Thread, now

log = logging.getLogger(__name__)

MOST_ATTEMPTS = 5
SECONDS_PER_NOTE = 1.0
MOST_PROBLEMS = 1000
# Documents of a job that are read in one turn; then it is another person's turn.
DOCUMENTS_PER_TURN = 50
_CANCELLED = "was not indexed: the job was cancelled"
OPEN = (JobState.QUEUED, JobState.RUNNING)


class Cancelled(KeyboardInterrupt):
    """Somebody cancelled the job; as after Ctrl-C, what is complete is kept."""


class Stopped(KeyboardInterrupt):
    """The worker has to end; another one continues the job."""


@dataclass(frozen=True)
class Workshop:
    """The settings that indexing needs; they can be sent to another process."""

    data: Path
    embeddings: str | Embeddings | None = None
    web: Mapping[str, Any] = field(default_factory=dict)


def workshop_of(settings: ServerSettings, operator: Context) -> Workshop:
    """Return the part of the operator's settings that indexing needs."""
    return Workshop(settings.data, operator.embeddings, operator.web.model_dump())


def work_off(workshop: Workshop, engine: Engine, stops: Callable[[], bool]) -> None:
    """Run the waiting jobs that no other worker runs, one of each person in turn."""
    turns = dict[str | None, int]()
    while not stops() and (begun := _begin_any(workshop, engine, turns, stops)):
        if not _is_known(engine, begun):  # the collection was deleted meanwhile
            folder_of(workshop.data, begun).remove()


def _begin_any(
    workshop: Workshop, engine: Engine, turns: dict[str | None, int], stops: Callable[[], bool]
) -> str | None:
    """Run a job of the person whose turn it is; return its collection, or None if there is nothing to run.

    The person whose last turn was longest ago comes first, then the one whose job is oldest.
    """
    query = select(Job.asked_by, Job.collection_id, func.min(Job.created)).where(Job.state.in_(OPEN))
    with Session(engine) as db:
        rows = db.execute(query.group_by(Job.asked_by, Job.collection_id)).all()
    for person, collection_id, _ in sorted(rows, key=lambda row: (turns.get(row[0], 0), row[2])):
        folder = folder_of(workshop.data, collection_id)
        make_folder(folder.path)
        try:
            with FileLock(folder.path / "jobs.lock", timeout=0):
                if job := _begin_next(engine, collection_id, person):
                    turns[person] = max(turns.values(), default=0) + 1
                    _Run(workshop, engine, folder, job, stops).end()
                return collection_id
        except Timeout:
            continue  # the holder of the lock looks once more after releasing it
    return None


def _is_known(engine: Engine, collection_id: str) -> bool:
    with Session(engine) as db:
        return db.get(Collection, collection_id) is not None


def clear_leftovers(data: Path, engine: Engine) -> None:
    """Clean up after an interruption: deleted collections, and files that were being written.

    Folders without a collection or document in this database are left alone: it may be the wrong database,
    or empty.
    """
    with Session(engine) as db:
        if engine.dialect.name == "sqlite":  # only one server uses it: no earlier question is still running
            db.execute(update(Thread).values(asked=None))
            db.commit()
    unknown = list[Path]()
    finish_deleting(data)
    # listed before the database is asked which are known: a collection gets its row before its folder
    for folder in collection_folders(data):
        if _is_known(engine, folder.path.name):
            with folder.changing():
                folder.clear_partial()
                with Session(engine) as db:
                    unknown += folder.unknown(_documents(db, folder.path.name))
        else:
            unknown.append(folder.path)
    if unknown:
        log.warning(
            "%d of the folders in %s belong to no collection or document of this database, and are left as "
            "they are. To move them aside, stop the server and run: adaptive-rag move-aside",
            len(unknown),
            data.absolute() / "collections",
        )


def _documents(db: Session, collection_id: str) -> Sequence[Document]:
    return db.scalars(select(Document).where(Document.collection_id == collection_id)).all()


def _begin_next(engine: Engine, collection_id: str, person: str | None) -> str | None:
    """Start a person's next job and return its id. A running job has lost its worker, whose lock we hold."""
    own = Job.asked_by.is_not_distinct_from(person)
    with Session(engine) as db:
        waiting = select(Job).where(Job.collection_id == collection_id, own, Job.state.in_(OPEN))
        for job in db.scalars(waiting.order_by(Job.started.is_(None), Job.created, Job.id)):
            if job.is_cancelled:
                _close(job, JobState.CANCELLED)
                _give_up(db, job, _CANCELLED)
            elif job.attempts >= MOST_ATTEMPTS:
                _close(job, JobState.FAILED)
                job.error = f"Its worker ended unexpectedly {job.attempts} times, so it was given up."
                _give_up(db, job, "was not indexed: the job was given up")
            else:
                job.state, job.started, job.attempts = JobState.RUNNING, now(), job.attempts + 1
                db.commit()
                return job.id
            db.commit()
    return None


def _close(job: Job, state: JobState) -> None:
    job.state, job.ended = state, now()


def _give_up(db: Session, job: Job, why: str) -> None:
    """Record for a job's unread documents that no job will read them."""
    for row in _documents(db, job.collection_id):
        if row.id in job.details["documents"] and row.chunks is None and row.problem is None:
            row.problem = f"{row.name} {why}. Index it again, or delete it."


class _Run:
    """One run of a job, from its documents to the result of each."""

    def __init__(
        self,
        workshop: Workshop,
        engine: Engine,
        folder: CollectionFolder,
        job_id: str,
        stops: Callable[[], bool],
    ) -> None:
        self._workshop, self._engine, self._folder = workshop, engine, folder
        self._job_id, self._stops = job_id, stops
        self._noted = 0.0
        # passages of earlier turns, and how many turns of this length are left
        self._before, self._turns = 0, 1.0

    def end(self) -> None:
        """Run the job, and record how it ended whatever happens."""
        try:
            self._do()
        except Stopped:
            with Session(self._engine) as db:
                if job := db.get(Job, self._job_id):
                    job.state, job.attempts = JobState.QUEUED, job.attempts - 1
                    db.commit()
        except OperationalError:
            raise  # not the fault of the documents: the next worker starts the job again
        except Cancelled:
            self._close(JobState.CANCELLED, None, _CANCELLED)
        except Exception as error:  # any error: the job is marked as failed, and the next one runs
            self._close(JobState.FAILED, str(served_error(error)), "was not indexed: the job failed")

    def _do(self) -> None:
        with Session(self._engine, expire_on_commit=False) as db:
            job = db.get(Job, self._job_id)
            collection = db.get(Collection, job.collection_id) if job else None
            if job is None or collection is None:
                return  # deleted a moment ago
            rows = _documents(db, collection.id)
            hidden = set(collection.hidden)
        is_rebuild = job.kind == "rebuild"
        left = job.details.get("left", job.details["documents"])
        turn, later = set(left[:DOCUMENTS_PER_TURN]), left[DOCUMENTS_PER_TURN:]
        asked = rows if is_rebuild else [row for row in rows if row.id in turn]
        self._before = job.details.get("done", 0)
        self._turns = len(left) / len(turn) if turn else 1.0
        self._remove_unlisted(rows, hidden)
        report = self._index(asked, is_rebuild=is_rebuild) if asked else IndexReport()
        self._remove_replaced(asked)
        self._say(asked, report, hidden, later)

    def _remove_unlisted(self, rows: Sequence[Document], hidden: set[str]) -> None:
        """Remove from the index what belongs to no document, or to one that has been deleted."""
        kept = {row.name for row in rows} - hidden
        records = indexed_sources(self._folder.index).items()
        self._remove([name for name, record in records if kept.isdisjoint(owners_of(name, record.start))])

    def _remove_replaced(self, asked: Sequence[Document]) -> None:
        """Remove the old content of documents whose replacement could not be read."""
        records = indexed_sources(self._folder.index)
        files = {row.name: row.digest for row in asked if not is_address(row.name)}
        self._remove([name for name in files.keys() & records.keys() if records[name].hash != files[name]])

    def _remove(self, sources: list[str]) -> None:
        if sources:
            remove_sources(self._folder.index, sources)

    def _index(self, asked: Sequence[Document], *, is_rebuild: bool) -> IndexReport:
        web = dict(self._workshop.web)
        documents: list[SourceFile | Site] = [
            Site(row.name, **web) if is_address(row.name) else SourceFile(self._folder.file_of(row), row.name)
            for row in asked
        ]
        try:
            return Index.build(
                documents,
                self._folder.index,
                embeddings=self._workshop.embeddings,
                progress=self._progress,
                rebuild=is_rebuild,
            )
        except NothingReadError as error:
            return IndexReport(failed=list(error.failed))

    def _progress(self, progress: Progress) -> None:
        if self._stops():
            raise Stopped
        if time.monotonic() - self._noted < SECONDS_PER_NOTE:
            return
        self._noted = time.monotonic()
        with Session(self._engine) as db:
            job = db.get(Job, self._job_id)
            if job is None or job.is_cancelled:
                raise Cancelled
            job.done = self._before + progress.done
            job.total = self._before + round(progress.total * self._turns)
            db.commit()

    def _say(
        self, asked: Sequence[Document], report: IndexReport, hidden: set[str], later: Sequence[str]
    ) -> None:
        """Record the result of each document; end the job, or queue it again for its remaining documents."""
        # Notes on sources without their own text: a page that its site no longer has, or an archive.
        notes = [note for note in report.notes if note.source not in report.sources]
        gone = [Failure(note.source, note.text) for note in notes if is_address(note.source)]
        failed = [*report.failed, *gone]
        records = indexed_sources(self._folder.index)
        sources = sources_by_document(records)
        problems = list[dict[str, Any]]()
        with self._folder.changing(), Session(self._engine) as db:
            for before in asked:
                row = db.get(Document, before.id)
                if row is None or row.digest != before.digest:
                    continue  # deleted or replaced meanwhile, which has its own job
                found = [records[source] for source in sources.get(row.name, [])]
                reasons = [str(failure) for failure in failed if row.name in owners_of(failure.source)]
                row.chunks = sum(record.chunks for record in found) if found else None
                row.problem = "; ".join(reasons)[:2000] or (None if found else f"{row.name} holds no text")
                own = [note.text for note in notes if note.source == row.name and not is_address(row.name)]
                row.notes = [*own, *(note for record in found for note in record.notes)][:100]
                problems += [{"document": row.name, "problem": reason} for reason in reasons]
            if job := db.get(Job, self._job_id):
                job.problems = [*job.problems, *problems][:MOST_PROBLEMS]
                job.done = self._before + report.chunks
                if later:
                    job.details = {**job.details, "left": later, "done": job.done}
                    job.state, job.attempts = JobState.QUEUED, 0
                else:
                    job.total = job.done
                    _close(job, JobState.DONE)
                if collection := db.get(Collection, job.collection_id):
                    # indexed by this job, but deleted once more meanwhile
                    gone_again = sources.keys() - {row.name for row in asked if db.get(Document, row.id)}
                    collection.hidden = [
                        name for name in collection.hidden if name not in hidden or name in gone_again
                    ]
                db.flush()
            db.commit()
            self._folder.clear()

    def _close(self, state: JobState, error: str | None, why: str) -> None:
        with Session(self._engine) as db:
            if job := db.get(Job, self._job_id):
                _close(job, state)
                job.error = error
                _give_up(db, job, why)
                db.commit()


def indexed_sources(index: Path) -> Mapping[str, SourceRecord]:
    """Return the source records of an index, by name; empty if there is no index yet."""
    manifest = read_manifest(open_location(index))
    return manifest.sources if manifest else {}


def sources_by_document(records: Mapping[str, SourceRecord]) -> Mapping[str, list[str]]:
    """Return, for each document, the names under which it is cited: its own, its files' or its pages'."""
    found: dict[str, list[str]] = {}
    for source, record in sorted(records.items()):
        for owner in dict.fromkeys(owners_of(source, record.start)):
            found.setdefault(owner, []).append(source)
    return found
