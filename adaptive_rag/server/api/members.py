"""Members of a collection: who may do what in it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict
from sqlalchemy import select

from adaptive_rag.server.access import CurrentCaller, OwnCollection
from adaptive_rag.server.api.pages import Page, Part, page_of
from adaptive_rag.server.api.users import user_named
from adaptive_rag.server.audit import note
from adaptive_rag.server.database import Db
from adaptive_rag.server.problems import not_found
from adaptive_rag.server.tables import Membership, Role, User

router = APIRouter(prefix="/collections/{collection}/members", tags=["collections"])
Member = Annotated[str, Path(max_length=100)]


class GivenRole(BaseModel):
    """The role that somebody has in a collection."""

    model_config = ConfigDict(extra="forbid")

    role: Role


class MemberShown(GivenRole):
    """A member of a collection."""

    name: str


@router.get("")
def list_members(found: OwnCollection, db: Db, part: Part) -> Page[MemberShown]:
    """List the members of a collection; admins of the server may do all in it without being members."""
    query = (
        select(User.name, Membership.role)
        .join(Membership, Membership.user_id == User.id)
        .where(Membership.collection_id == found.id)
        .order_by(User.name)
    )
    return page_of(db, query, part, lambda name, role: MemberShown(name=name, role=role))


@router.put("/{user}")
def set_member(
    user: Member, given: GivenRole, found: OwnCollection, db: Db, caller: CurrentCaller, request: Request
) -> MemberShown:
    """Give a user a role in a collection."""
    member = user_named(db, user)
    db.merge(Membership(collection_id=found.id, user_id=member.id, role=given.role))
    note(db, request, caller, "member.set", f"{found.name}: {member.name}, {given.role}")
    db.commit()
    return MemberShown(name=member.name, role=given.role)


@router.delete("/{user}", status_code=204)
def remove_member(
    user: Member, found: OwnCollection, db: Db, caller: CurrentCaller, request: Request
) -> None:
    """Take a user's role in a collection from them."""
    member = user_named(db, user)
    row = db.get(Membership, (found.id, member.id))
    if row is None:
        raise not_found("member")
    db.delete(row)
    note(db, request, caller, "member.remove", f"{found.name}: {member.name}")
    db.commit()
