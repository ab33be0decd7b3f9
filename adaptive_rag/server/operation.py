"""For whoever runs the server: is it alive, can it answer, and what does it do."""

from __future__ import annotations

import asyncio
import shutil
from typing import Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, Field
from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError

from adaptive_rag.server.access import identify
from adaptive_rag.server.database import Db
from adaptive_rag.server.machine import Refused, admit_this_machine
from adaptive_rag.server.metrics import JOBS
from adaptive_rag.server.problems import PROBLEMS, Problem, not_found
from adaptive_rag.server.services import Parts, Services
from adaptive_rag.server.tables import Job, JobState

router = APIRouter(tags=["operation"])
# Below this the server says that it is not ready: an upload or an index would soon fail halfway.
LEAST_FREE_MEGABYTES = 200
MODEL_SECONDS = 2


class Ready(BaseModel):
    """Whether the parts that an answer needs are there."""

    status: Literal["ready", "not ready"]
    store: str = Field(description="ok, or what is wrong with the database.")
    disk: str = Field(description="ok, or what is wrong with the data folder.")
    model: str = Field(description="ok, none, or unreachable; without one, answers are made locally.")


@router.get("/healthz")
async def healthz() -> dict[str, Literal["ok"]]:
    """Say that the process runs."""
    return {"status": "ok"}


@router.get("/readyz", responses={503: {"model": Ready}})
def readyz(parts: Parts, db: Db, response: Response) -> Ready:
    """Say whether questions can be answered; 503 where the store or the disk fails."""
    store, disk = _check_store(db), _check_disk(parts)
    # Others need the connection while the model's address is tried.
    db.close()
    well = store == disk == "ok"
    response.status_code = 200 if well else 503
    model = asyncio.run(_check_model(parts))
    return Ready(status="ready" if well else "not ready", store=store, disk=disk, model=model)


@router.get("/metrics", responses={404: PROBLEMS[404]}, response_class=Response)
def metrics(request: Request, parts: Parts, db: Db) -> Response:
    """Show figures in Prometheus' form: to this machine, and to a server admin's token."""
    if not parts.settings.metrics:
        raise not_found("page")
    try:
        admit_this_machine(request.scope, (), "server.metrics")
    except Refused:
        if not identify(request, db).may_administer():
            raise Problem(403, "Only an admin of the server, or this machine, may see this.") from None
    counts = {
        state: count for state, count in db.execute(select(Job.state, func.count()).group_by(Job.state))
    }
    for state in JobState:
        JOBS.labels(state).set(counts.get(state, 0))
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


def _check_store(db: Db) -> str:
    try:
        db.execute(text("select 1"))
    except SQLAlchemyError:
        return "the database does not answer"
    return "ok"


def _check_disk(parts: Services) -> str:
    try:
        free = shutil.disk_usage(parts.settings.data).free // 2**20
    except OSError:
        return "the data folder cannot be read"
    return "ok" if free >= LEAST_FREE_MEGABYTES else f"{free} MB are free, of {LEAST_FREE_MEGABYTES} needed"


async def _check_model(parts: Services) -> str:
    """Tell whether the address of a model that is named by one can be connected to; nothing is asked."""
    context = parts.operator
    if not context.has_model():
        return "none"
    if context.models.base_url is None:
        return "ok"
    from httpx import URL

    address = URL(context.models.base_url)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        async with asyncio.timeout(MODEL_SECONDS):
            _, writer = await asyncio.open_connection(address.host, port)
    except (OSError, TimeoutError):
        return "unreachable"
    writer.close()
    return "ok"
