"""The audit log, for admins of the server."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy import select

from adaptive_rag.server.access import Administrator
from adaptive_rag.server.api.pages import Limit, Offset, Page, page_of
from adaptive_rag.server.database import Db
from adaptive_rag.server.tables import Event

router = APIRouter(prefix="/events", tags=["users"])


class EventShown(BaseModel):
    """What somebody did."""

    at: datetime
    user: str | None = Field(description="Who did it, by their name of that time.")
    address: str | None = Field(description="From where.")
    action: str = Field(examples=["collection.delete"])
    subject: str = Field(description="What it was done to.")


@router.get("")
def list_events(db: Db, caller: Administrator, limit: Limit = 100, offset: Offset = 0) -> Page[EventShown]:
    """List what was done, the latest first."""
    rows, total = page_of(db, select(Event).order_by(Event.id.desc()), limit, offset)
    return Page(items=[EventShown.model_validate(row, from_attributes=True) for row in rows], total=total)
