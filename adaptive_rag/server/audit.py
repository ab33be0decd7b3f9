"""The audit log: who did what, from where."""

from __future__ import annotations

from fastapi import Request
from sqlalchemy.orm import Session

from adaptive_rag.server.access import Caller
from adaptive_rag.server.tables import Event


def note(db: Session, request: Request, caller: Caller | str | None, action: str, subject: str = "") -> None:
    """Add a line to the audit log; it is kept where the route commits."""
    name = caller.name if isinstance(caller, Caller) else caller
    db.add(Event(user=name, address=address_of(request)[:64], action=action, subject=subject[:1000]))


def address_of(request: Request) -> str:
    """Return from where a request comes; behind a trusted proxy, what that says."""
    return request.client.host if request.client else ""
