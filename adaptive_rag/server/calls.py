"""Dependencies of the routes: a request with its caller, and the collection or thread open to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Request
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from adaptive_rag.server.access import Caller, collection_open_to, identify, threads_of, threads_open_to
from adaptive_rag.server.audit import note
from adaptive_rag.server.database import Db, let_go
from adaptive_rag.server.folders import CollectionFolder
from adaptive_rag.server.problems import Problem, found
from adaptive_rag.server.rates import Rates
from adaptive_rag.server.roles import Action
from adaptive_rag.server.services import Services
from adaptive_rag.server.tables import Collection, Document, Job, OpenTo, Thread

Row = TypeVar("Row", Document, Job)
# What stands in a path: the id of a row, and the name of a user.
RowId = Annotated[str, Path(max_length=32)]
UserName = Annotated[str, Path(max_length=100)]


@dataclass(frozen=True)
class Call:
    """A request with an identified caller, and the services that its route uses."""

    request: Request
    db: Session
    parts: Services
    caller: Caller

    def note(self, action: str, subject: str = "") -> None:
        """Add a line to the audit log; it is stored when the route commits."""
        note(self.db, self.request, self.caller.name, action, subject)

    def commit(self, action: str, subject: str = "") -> None:
        """Store the changes of the route with a line in the audit log."""
        self.note(action, subject)
        self.db.commit()


@dataclass(frozen=True)
class CollectionCall(Call):
    """A request over a collection that is open to its caller."""

    collection: Collection

    @property
    def folder(self) -> CollectionFolder:
        """The folder of the collection; its name is not part of the path."""
        return self.parts.folder_of(self.collection)

    def row(self, table: type[Row], row_id: str) -> Row:
        """Return a document or a job of the collection, or refuse with 404."""
        query = select(table).where(table.id == row_id, table.collection_id == self.collection.id)
        row = found(self.db.scalar(query), table.__name__.lower())
        let_go(self.db)
        return row


@dataclass(frozen=True)
class ThreadCall(Call):
    """A request in one of the caller's own threads, or in one that is shared with them."""

    thread: Thread

    @property
    def is_own(self) -> bool:
        """Whether the thread is the caller's own."""
        return self.thread.owner_id == self.caller.id


def let_in(request: Request, db: Db) -> Call:
    """Identify the caller of a request. Every other dependency builds on this one."""
    caller = identify(request, db)
    let_go(db)
    return Call(request, db, request.app.state.services, caller)


AnyCall = Annotated[Call, Depends(let_in)]


def _for_admin(call: AnyCall) -> Call:
    if not call.caller.may_administer():
        raise Problem(403, "Only an admin of the server may do this, with a token of that role.")
    return call


def _may(action: Action) -> Callable[..., CollectionCall]:
    def find(collection: Annotated[str, Path(max_length=200)], call: AnyCall) -> CollectionCall:
        opened = collection_open_to(call.db, call.caller, collection, action)
        return CollectionCall(call.request, call.db, call.parts, call.caller, opened)

    return find


def _in(threads_of_caller: Callable[[Caller], Select[Thread]]) -> Callable[..., ThreadCall]:
    def find(thread: RowId, call: AnyCall) -> ThreadCall:
        row = found(call.db.scalar(threads_of_caller(call.caller).where(Thread.id == thread)), "thread")
        let_go(call.db)
        return ThreadCall(call.request, call.db, call.parts, call.caller, row)

    return find


def _counting(count: Callable[[Rates, Caller], None]) -> Any:
    async def count_call(call: AnyCall) -> None:
        count(call.parts.rates, call.caller)

    return Depends(count_call)


AdminCall = Annotated[Call, Depends(_for_admin)]
in_own_thread = _in(threads_of)
OwnThreadCall = Annotated[ThreadCall, Depends(in_own_thread)]
ReadableThreadCall = Annotated[
    ThreadCall, Depends(_in(lambda caller: threads_open_to(caller, OpenTo.LINK, OpenTo.COLLECTION)))
]
# Calls over the collection that a path names, if the caller's role allows it.
AskCall = Annotated[CollectionCall, Depends(_may(Action.ASK))]
VoteCall = Annotated[CollectionCall, Depends(_may(Action.VOTE))]
ReadCall = Annotated[CollectionCall, Depends(_may(Action.READ))]
WriteCall = Annotated[CollectionCall, Depends(_may(Action.WRITE))]
ManageCall = Annotated[CollectionCall, Depends(_may(Action.MANAGE))]
# In addition to these: rate limits of questions, of changes to what belongs to the caller, and of conditions
# that are measured or completed.
ASKING, CHANGING, LOOKING = map(_counting, (Rates.count_question, Rates.count_change, Rates.count_look))
