"""The audit log, for admins of the server."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from adaptive_rag.server.access import Administrator
from adaptive_rag.server.api.pages import Page, Part, page_of
from adaptive_rag.server.database import Db
from adaptive_rag.server.tables import Event

router = APIRouter(prefix="/events", tags=["users"])


class EventShown(BaseModel):
    """What somebody did."""

    model_config = ConfigDict(from_attributes=True)

    at: datetime
    user: str | None = Field(description="Who did it, by their name of that time.")
    address: str | None = Field(description="From where.")
    action: str = Field(examples=["collection.delete"])
    subject: str = Field(description="What it was done to.")


@router.get("")
def list_events(db: Db, caller: Administrator, part: Part) -> Page[EventShown]:
    """List what was done, the latest first."""
    return page_of(db, select(Event).order_by(Event.id.desc()), part, EventShown.model_validate)
