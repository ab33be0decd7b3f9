"""Sharing of threads: by name, by their address, or with everybody who may read their collection."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.server.access import caller_of, collections_of_thread
from adaptive_rag.server.accounts import find_user
from adaptive_rag.server.api.forms import Form
from adaptive_rag.server.calls import CHANGING, OwnThreadCall, ThreadCall, UserName
from adaptive_rag.server.problems import found, not_found
from adaptive_rag.server.quotas import check_shares
from adaptive_rag.server.roles import Role
from adaptive_rag.server.tables import Collection, OpenTo, Share, User

router = APIRouter(prefix="/threads/{thread}/sharing", tags=["threads"])

_WAYS = {OpenTo.LINK: "by its address", OpenTo.COLLECTION: "with everybody who may read the collection"}


class Reach(Form):
    """Who may read a thread besides the people it is shared with by name."""

    open_to: OpenTo = Field(
        description="Nobody else (`people`), who has its address (`link`), or everybody (`collection`). All "
        "of them must be allowed to read its collection."
    )


class PersonShown(Form):
    """Somebody a thread is shared with by name."""

    name: str
    since: datetime


class Sharing(Reach):
    """Who may read a thread besides its owner. They cannot change it."""

    people: list[PersonShown]


@router.get("")
def show_sharing(call: OwnThreadCall) -> Sharing:
    """Show who may read a thread of yours."""
    query = select(User.name, Share.created).join(User, User.id == Share.user_id)
    rows = call.db.execute(query.where(Share.thread_id == call.thread.id).order_by(User.name))
    people = [PersonShown(name=name, since=since) for name, since in rows]
    return Sharing(open_to=call.thread.open_to, people=people)


@router.put("", dependencies=[CHANGING])
def set_reach(reach: Reach, call: OwnThreadCall) -> Sharing:
    """Open a thread of yours to more readers of its collection, or close it again."""
    before = call.thread.open_to
    if reach.open_to is not before:
        call.thread.open_to = reach.open_to
        if reach.open_to is OpenTo.PEOPLE:
            _commit(call, "thread.unshare", _WAYS[before])
        else:
            _commit(call, "thread.share", _WAYS[reach.open_to])
    return show_sharing(call)


@router.put("/{user}", dependencies=[CHANGING])
def share_with(user: UserName, call: OwnThreadCall) -> Sharing:
    """Share a thread of yours with a user who may read its collections."""
    person = find_user(call.db, user)
    # The refusal is that of an unknown name, so that it does not tell who has an account.
    asked = collections_of_thread(call.db, call.thread)
    if person is None or not all(_may_read(call.db, person, each.id) for each in asked):
        raise not_found("user")
    if person.id != call.caller.id and call.db.get(Share, (call.thread.id, person.id)) is None:
        check_shares(call.db, call.thread)
        call.db.merge(Share(thread_id=call.thread.id, user_id=person.id))
        _commit(call, "thread.share", f"with {person.name}")
    return show_sharing(call)


@router.delete("/{user}", status_code=204)
def end_sharing(user: UserName, call: OwnThreadCall) -> None:
    """End the sharing of a thread of yours with a user."""
    person = found(find_user(call.db, user), "user")
    call.db.delete(found(call.db.get(Share, (call.thread.id, person.id)), "user"))
    _commit(call, "thread.unshare", f"with {user}")


def _may_read(db: Session, person: User, collection_id: str) -> bool:
    reader = caller_of(db, person, Role.ADMIN)
    return not person.is_disabled and reader.role_in(collection_id) is not None


def _commit(call: ThreadCall, action: str, how: str) -> None:
    collection = call.db.get_one(Collection, call.thread.collection_id).name
    call.commit(action, f"{collection}: {call.thread.id}, {how}")
