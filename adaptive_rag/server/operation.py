"""Endpoints for the operator: liveness, readiness and metrics."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy import func, select

from adaptive_rag.server.access import identify
from adaptive_rag.server.database import Db
from adaptive_rag.server.machine import Refused, admit_this_machine
from adaptive_rag.server.metrics import JOBS
from adaptive_rag.server.problems import PROBLEMS, Problem, not_found
from adaptive_rag.server.readiness import Ready
from adaptive_rag.server.services import ServicesDep
from adaptive_rag.server.tables import Job, JobState

router = APIRouter(tags=["operation"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def healthz() -> dict[str, Literal["ok"]]:
    """Report that the process runs."""
    return {"status": "ok"}


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", responses={503: {"model": Ready}})
async def readyz(services: ServicesDep, response: Response) -> Ready:
    """Report whether questions can be answered and documents indexed; 503 with the reason if not."""
    ready = await services.readiness.check()
    response.status_code = 200 if ready.status == "ready" else 503
    return ready


@router.get("/metrics", responses={404: PROBLEMS[404]}, response_class=Response)
def metrics(request: Request, services: ServicesDep, db: Db) -> Response:
    """Show metrics in the format of Prometheus, to this machine and to an admin of the server."""
    if not services.settings.metrics:
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
