"""Dependencies of the routes: a request with its caller, and the collection or thread that its path names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Request
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from adaptive_rag.server.access import (
    Caller,
    identify,
    require_collection,
    select_own_threads,
    select_readable_threads,
)
from adaptive_rag.server.audit import record_event
from adaptive_rag.server.database import Db, release_connection
from adaptive_rag.server.folders import CollectionFolder
from adaptive_rag.server.problems import Problem, not_found, require_found
from adaptive_rag.server.roles import Action
from adaptive_rag.server.services import Services
from adaptive_rag.server.tables import Collection, Document, Job, OpenTo, Thread

Row = TypeVar("Row", Document, Job)
# Parts of paths: the id of a row, and the name of a user.
RowId = Annotated[str, Path(max_length=32)]
UserName = Annotated[str, Path(max_length=100)]


@dataclass(frozen=True)
class Call:
    """A request with an identified caller, and the services that its route uses."""

    request: Request
    db: Session
    services: Services
    caller: Caller

    def record_event(self, action: str, subject: str = "") -> None:
        """Add an entry to the audit log, without committing."""
        record_event(self.db, self.caller.address, self.caller.name, action, subject)

    def commit(self, action: str, subject: str = "") -> None:
        """Commit the changes of the route with an entry in the audit log."""
        self.record_event(action, subject)
        self.db.commit()

    def open_collection(self, name: str, action: Action) -> CollectionCall:
        """Return the call with a collection; refuse (404, 403) if the caller may not do the action in it."""
        row = require_collection(self.db, self.caller, name, action)
        return CollectionCall(self.request, self.db, self.services, self.caller, row)


@dataclass(frozen=True)
class CollectionCall(Call):
    """A request about a collection that is open to the caller."""

    collection: Collection

    @property
    def folder(self) -> CollectionFolder:
        """The folder of the collection; its name is not part of the path."""
        return self.services.folder_of(self.collection)

    @contextmanager
    def lock_documents(self) -> Iterator[None]:
        """Lock the documents of the collection during the block; refuse (404) if it was deleted meanwhile."""
        with self.folder.lock_documents():
            exists = self.db.get(Collection, self.collection.id, populate_existing=True) is not None
            release_connection(self.db)
            if exists:
                yield
        if not exists:
            self.folder.remove()  # the lock has created it again
            raise not_found("collection")

    def row(self, table: type[Row], row_id: str) -> Row:
        """Return a document or a job of the collection; refuse (404) if there is no such row."""
        query = select(table).where(table.id == row_id, table.collection_id == self.collection.id)
        row = require_found(self.db.scalar(query), table.__name__.lower())
        release_connection(self.db)
        return row


@dataclass(frozen=True)
class ThreadCall(Call):
    """A request about a thread of the caller, or one that is shared with them."""

    thread: Thread

    @property
    def is_own(self) -> bool:
        """Whether the thread is the caller's own."""
        return self.thread.owner_id == self.caller.id


def authenticate(request: Request, db: Db) -> Call:
    """Identify the caller of a request. Every other dependency builds on this one."""
    caller = identify(request, db)
    release_connection(db)
    return Call(request, db, request.app.state.services, caller)


AnyCall = Annotated[Call, Depends(authenticate)]


def _require_admin(call: AnyCall) -> Call:
    if not call.caller.may_administer():
        raise Problem(403, "Only an admin of the server may do this, with a token of that role.")
    return call


def _require_action(action: Action) -> Callable[..., CollectionCall]:
    def find(collection: Annotated[str, Path(max_length=200)], call: AnyCall) -> CollectionCall:
        return call.open_collection(collection, action)

    return find


def _find_thread_in(select_threads: Callable[[Caller], Select[Thread]]) -> Callable[..., ThreadCall]:
    def find(thread: RowId, call: AnyCall) -> ThreadCall:
        row = require_found(call.db.scalar(select_threads(call.caller).where(Thread.id == thread)), "thread")
        release_connection(call.db)
        return ThreadCall(call.request, call.db, call.services, call.caller, row)

    return find


def count(action: str) -> Any:
    """Return a dependency that counts a request against the rates of an action, as `Rates.count` names it."""

    async def count_call(call: AnyCall) -> None:
        call.services.rates.count(action, call.caller)

    return Depends(count_call)


AdminCall = Annotated[Call, Depends(_require_admin)]
find_own_thread = _find_thread_in(select_own_threads)
OwnThreadCall = Annotated[ThreadCall, Depends(find_own_thread)]
ReadableThreadCall = Annotated[
    ThreadCall,
    Depends(_find_thread_in(lambda caller: select_readable_threads(caller, OpenTo.LINK, OpenTo.COLLECTION))),
]
# Calls about the collection that a path names; refused if the caller may not do the action in it.
SeeCall = Annotated[CollectionCall, Depends(_require_action(Action.SEE))]
AskCall = Annotated[CollectionCall, Depends(_require_action(Action.ASK))]
VoteCall = Annotated[CollectionCall, Depends(_require_action(Action.VOTE))]
ReadCall = Annotated[CollectionCall, Depends(_require_action(Action.READ))]
WriteCall = Annotated[CollectionCall, Depends(_require_action(Action.WRITE))]
ManageCall = Annotated[CollectionCall, Depends(_require_action(Action.MANAGE))]
