"""The audit log: who did what, from where."""

from __future__ import annotations

from datetime import timedelta

from fastapi import Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.server.machine import network_of
from adaptive_rag.server.tables import Event, now

SIGNED_IN = "sign-in"
# How long a machine counts as known after a user signed in from it.
KNOWN_PLACE = timedelta(days=90)
# Characters of a subject: more than the longest names of a collection and a document have together.
LONGEST_SUBJECT = 2000


def record_event(db: Session, address: str, name: str | None, action: str, subject: str = "") -> None:
    """Add an entry to the audit log, without committing."""
    db.add(Event(user=name, address=address[:64], action=action, subject=subject[:LONGEST_SUBJECT]))


def address_of(request: Request) -> str:
    """Return the address that a request comes from; a trusted proxy reports the caller's own."""
    return request.client.host if request.client else ""


def has_signed_in_from(db: Session, name: str, address: str) -> bool:
    """Return whether a user signed in from the network of this address within `KNOWN_PLACE`."""
    sign_ins = select(Event.address).where(Event.user == name, Event.action == SIGNED_IN)
    recent = sign_ins.where(Event.at > now() - KNOWN_PLACE).distinct()
    return any(network_of(known_address or "") == network_of(address) for known_address in db.scalars(recent))
