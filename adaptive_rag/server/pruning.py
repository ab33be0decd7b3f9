"""Removes what only grows: jobs that ended long ago, and old entries of the audit log."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from fastapi.concurrency import run_in_threadpool
from sqlalchemy import Engine, delete
from sqlalchemy.orm import Session

from adaptive_rag.server.problems import database_error_types
from adaptive_rag.server.tables import Event, Job, now
from adaptive_rag.text.redaction import redact

log = logging.getLogger(__name__)

# A job's report is for those who wait for it; the documents keep what could not be read of them.
JOBS_KEPT = timedelta(days=30)
_PAUSE_SECONDS = 24 * 3600.0


def remove_old_rows(engine: Engine, audit_days: int) -> None:
    """Delete jobs that ended long ago, and entries of the audit log after some days; 0 keeps all of these."""
    with Session(engine) as db:
        db.execute(delete(Job).where(Job.ended < now() - JOBS_KEPT))
        if audit_days:
            db.execute(delete(Event).where(Event.at < now() - timedelta(days=audit_days)))
        db.commit()


async def remove_old_rows_daily(engine: Engine, audit_days: int) -> None:
    """Delete old rows now and each day, until the task is cancelled."""
    while True:
        try:
            await run_in_threadpool(remove_old_rows, engine, audit_days)
        except database_error_types() as error:
            log.warning("Old jobs and audit entries stay until tomorrow: %s", redact(str(error)))
        await asyncio.sleep(_PAUSE_SECONDS)
