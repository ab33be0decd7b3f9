"""Jobs: work on a collection that continues after its request was answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import ConfigDict, Field
from sqlalchemy import select

from adaptive_rag.server.api.forms import Form, Page, WindowQuery, fetch_page
from adaptive_rag.server.calls import CollectionCall, ReadCall, RowId, WriteCall, count
from adaptive_rag.server.followers import Follower, Stopped
from adaptive_rag.server.tables import Job, JobState

router = APIRouter(prefix="/collections/{collection}/jobs", tags=["jobs"])
EXAMPLE: dict[str, Any] = {
    "id": "5f0c6a9e4a7f4d0f9a86f1f6ab3f2c11", "kind": "index", "state": "done", "done": 42, "total": 42,
    "problems": [], "error": None, "is_cancelled": False, "attempts": 1, "created": "2026-05-04T10:00:00Z",
    "started": "2026-05-04T10:00:01Z", "ended": "2026-05-04T10:00:04Z",
}  # fmt: skip


class ProblemShown(Form):
    """A document that could not be read, or only in part."""

    document: str
    problem: str


class JobShown(Form):
    """A job and its progress."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    id: str
    kind: str = Field(description="index, remove, or rebuild.")
    state: JobState
    done: int = Field(description="Passages written.")
    total: int | None = Field(description="Passages to write; null until it is known.")
    problems: list[ProblemShown] = Field(
        [], description="Documents that could not be read, or only in part; empty in lists."
    )
    error: str | None = Field(description="Why the whole job failed.")
    is_cancelled: bool = Field(description="Whether somebody cancelled it; it ends soon after.")
    attempts: int = Field(
        description="How often it was started. It is started again if its worker ends unexpectedly."
    )
    created: datetime
    started: datetime | None
    ended: datetime | None


# The problems of one job may have megabytes.
_LISTED = [name for name in JobShown.model_fields if name != "problems"]


def _find_job(call: ReadCall, job: RowId) -> Job:
    return call.row(Job, job)


ReadableJob = Annotated[Job, Depends(_find_job)]


def add_job(call: CollectionCall, kind: str, documents: Sequence[str] = ()) -> Job:
    """Add a job for documents, given by their ids."""
    details = {"documents": list(documents)}
    job = Job(collection_id=call.collection.id, kind=kind, details=details, asked_by=call.caller.id)
    call.db.add(job)
    call.db.flush()
    return job


@router.get("")
def list_jobs(call: ReadCall, window: WindowQuery, state: JobState | None = None) -> Page[JobShown]:
    """List the jobs of a collection, the newest first."""
    query = select(*(getattr(Job, name) for name in _LISTED)).where(Job.collection_id == call.collection.id)
    if state is not None:
        query = query.where(Job.state == state)

    def show(*values: Any) -> JobShown:
        return JobShown(**dict(zip(_LISTED, values, strict=True)))

    return fetch_page(call.db, query.order_by(Job.created.desc(), Job.id), window, show)


@router.get("/{job}")
def show_job(job: ReadableJob) -> JobShown:
    """Show a job with the documents that it could not read."""
    return JobShown.model_validate(job)


@router.post("/{job}/cancel", status_code=202, dependencies=[count("cancel")])
def cancel_job(job: ReadableJob, call: WriteCall) -> JobShown:
    """Cancel a job. What it has indexed stays. A job that has ended does not change."""
    if job.ended is None:
        job.is_cancelled = True
        call.commit("job.cancel", f"{call.collection.name}/{job.id}")
    return JobShown.model_validate(job)


async def _join_followers(job: ReadableJob, call: ReadCall) -> AsyncIterator[Follower]:
    await run_in_threadpool(call.db.close)
    with call.services.followers.follow(call.caller, job) as follower:
        yield follower


@router.get("/{job}/events", response_class=EventSourceResponse)
async def follow_job(
    follower: Annotated[Follower, Depends(_join_followers)],
) -> AsyncIterator[ServerSentEvent]:
    """Follow a job: an event "progress" after each change, and "end" with the last state.

    If the job was deleted, or the caller may no longer read it, the data of "end" is empty. If the server is
    stopped, the stream ends without "end".
    """
    shown: JobShown | None = JobShown.model_validate(follower.job)
    while shown is not None and shown.ended is None:
        yield ServerSentEvent(event="progress", data=shown)
        previous = shown
        while shown == previous:
            try:
                row = await follower.next()
            except Stopped:
                return
            shown = JobShown.model_validate(row) if row is not None else None
    yield ServerSentEvent(event="end", data=shown.model_dump(mode="json") if shown else {})
