"""Sharing of threads: with people by name, by the thread's address, or with all of a collection."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.server.access import collections_of_thread, load_caller
from adaptive_rag.server.accounts import find_user
from adaptive_rag.server.api.forms import Form
from adaptive_rag.server.calls import OwnThreadCall, ThreadCall, UserName, count
from adaptive_rag.server.problems import not_found, require_found
from adaptive_rag.server.quotas import check_shares
from adaptive_rag.server.roles import Action, Role
from adaptive_rag.server.tables import Collection, OpenTo, Share, User

router = APIRouter(prefix="/threads/{thread}/sharing", tags=["threads"])

_LOG_TEXTS = {OpenTo.LINK: "by its address", OpenTo.COLLECTION: "with everybody who may read the collection"}


class Reach(Form):
    """Who may read a thread besides the people it is shared with by name."""

    open_to: OpenTo = Field(
        description="Nobody else (`people`), everybody who has its address (`link`), or everybody "
        "(`collection`). All of them must be allowed to read its collection."
    )


class PersonShown(Form):
    """A person with whom a thread is shared by name."""

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


@router.put("", dependencies=[count("change")])
def set_reach(reach: Reach, call: OwnThreadCall) -> Sharing:
    """Open a thread of yours to other readers of its collection, or close it again."""
    previous = call.thread.open_to
    if reach.open_to is not previous:
        call.thread.open_to = reach.open_to
        if reach.open_to is OpenTo.PEOPLE:
            _commit(call, "thread.unshare", _LOG_TEXTS[previous])
        else:
            _commit(call, "thread.share", _LOG_TEXTS[reach.open_to])
    return show_sharing(call)


@router.put("/{user}", dependencies=[count("change")])
def share_with(user: UserName, call: OwnThreadCall) -> Sharing:
    """Share a thread of yours with a user who may read its collections."""
    user_row = find_user(call.db, user)
    # A user without access is refused like an unknown name, so that nobody learns who has an account.
    collections = collections_of_thread(call.db, call.thread)
    if user_row is None or not all(_may_read(call.db, user_row, collection.id) for collection in collections):
        raise not_found("user")
    if user_row.id != call.caller.id and call.db.get(Share, (call.thread.id, user_row.id)) is None:
        check_shares(call.db, call.thread)
        call.db.merge(Share(thread_id=call.thread.id, user_id=user_row.id))
        _commit(call, "thread.share", f"with {user_row.name}")
    return show_sharing(call)


@router.delete("/{user}", status_code=204)
def end_sharing(user: UserName, call: OwnThreadCall) -> None:
    """Stop sharing a thread of yours with a user."""
    user_row = require_found(find_user(call.db, user), "user")
    call.db.delete(require_found(call.db.get(Share, (call.thread.id, user_row.id)), "user"))
    _commit(call, "thread.unshare", f"with {user}")


def _may_read(db: Session, user_row: User, collection_id: str) -> bool:
    reader = load_caller(db, user_row, Role.ADMIN)
    return not user_row.is_disabled and reader.may(Action.ASK, collection_id)


def _commit(call: ThreadCall, action: str, detail: str) -> None:
    collection = call.db.get_one(Collection, call.thread.collection_id).name
    call.commit(action, f"{collection}: {call.thread.id}, {detail}")
