"""Collections: documents that are searched together, and the roles of their members."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from adaptive_rag.index import Index
from adaptive_rag.query.suggestions import suggest_questions
from adaptive_rag.server.access import thread_asks
from adaptive_rag.server.accounts import find_user
from adaptive_rag.server.api.documents import FILE_CHANGES
from adaptive_rag.server.api.forms import Form, Page, Route, WindowQuery, fetch_page
from adaptive_rag.server.calls import (
    AdminCall,
    AnyCall,
    AskCall,
    Call,
    CollectionCall,
    ManageCall,
    SeeCall,
    UserName,
    count,
)
from adaptive_rag.server.indexing import indexed_sources
from adaptive_rag.server.problems import COLLECTION_NAME, NOT_EMPTY, Problem, require_found
from adaptive_rag.server.roles import Action, Role
from adaptive_rag.server.shown import TEXT_READS, measure_collection, select_collections
from adaptive_rag.server.tables import Collection, Feedback, Membership, Thread, User

router = APIRouter(prefix="/collections", tags=["collections"])
# A name is used in URLs and in names of models; "." and ".." mean something else in a URL.
Name = Annotated[str, Field(pattern=COLLECTION_NAME, examples=["handbook"])]


class Example(Form):
    """A question that a collection answers."""

    question: str = Field(max_length=500, pattern=NOT_EMPTY, examples=["How long is the notice period?"])
    user_context: str = Field("", max_length=2000, description="The situation of the person who asks it.")
    type: Route | None = Field(None, description="The kind of question.")


Description = Annotated[str, Field(max_length=2000)]
Examples = Annotated[
    list[Example], Field(max_length=8, description="Example questions, which the page offers.")
]


class NewCollection(Form):
    """A new collection."""

    name: Name
    description: Description = ""
    examples: Examples = Field(default_factory=list)


class CollectionChange(Form):
    """The fields of a collection to change; the others stay."""

    description: Description | None = None
    examples: Examples | None = None


class CollectionShown(Form):
    """A collection."""

    name: str
    description: str
    examples: list[Example]
    role: Role = Field(description="Your role in it.")
    may: list[Action] = Field(description="What you may do in it: what your role and your token allow.")
    roles: list[Role] = Field(description="The roles that you may give to others in it.")
    documents: int
    chunks: int
    bytes: int
    created: datetime


class GivenRole(Form):
    """The role of a user in a collection."""

    role: Role


class MemberShown(GivenRole):
    """A member of a collection."""

    name: str


@router.get("")
def list_collections(call: AnyCall, window: WindowQuery) -> Page[CollectionShown]:
    """List the collections that you may see."""
    query = select_collections(call.caller, Action.SEE)
    return fetch_page(call.db, query, window, lambda row: _describe_collection(call, row))


@router.post("", status_code=201)
def create_collection(new: NewCollection, call: AdminCall) -> CollectionShown:
    """Create an empty collection."""
    row = Collection(**new.model_dump())
    call.db.add(row)
    call.record_event("collection.create", new.name)
    try:
        call.db.commit()
    except IntegrityError:
        detail = f"There is a collection {new.name!r} already."
        raise Problem(409, detail, type="name_taken") from None
    return _describe_collection(call, row)


@router.get("/{collection}")
def show_collection(call: SeeCall) -> CollectionShown:
    """Show a collection and its size."""
    return _describe_collection(call, call.collection)


@router.get("/{collection}/questions", dependencies=[count("heavy read")])
async def suggest(call: AskCall, source: Annotated[str | None, Query(max_length=1000)] = None) -> list[str]:
    """Suggest questions, made from the headings of the documents; none if nothing is indexed.

    `source`: only questions about one document, by the name that citations have.
    """
    return await TEXT_READS.run(call.caller.id, _suggest, call, source)


def _suggest(call: CollectionCall, source: str | None) -> list[str]:
    target, has_model = call.services.search_target(call.collection), call.services.model.is_set(call.db)
    call.db.close()
    if not indexed_sources(target.index):
        return []
    index = Index.open_rows(target.index).without(target.hidden)
    return suggest_questions(index if source is None else index.only({source}), has_model=has_model)


@router.patch("/{collection}", dependencies=[count("change")])
def change_collection(change: CollectionChange, call: ManageCall) -> CollectionShown:
    """Change the description and the example questions of a collection."""
    for name, value in change.model_dump(exclude_none=True).items():
        setattr(call.collection, name, value)
    call.commit("collection.change", call.collection.name)
    return show_collection(call)


@router.delete("/{collection}", status_code=204)
async def delete_collection(call: ManageCall) -> None:
    """Delete a collection with its documents, its index, and the conversations over it."""
    await FILE_CHANGES.run(call.caller.id, _delete_collection, call)


def _delete_collection(call: CollectionCall) -> None:
    folder = call.folder
    with call.lock_documents():  # an upload in progress would create the folder again
        asking = select(Thread.id).where(thread_asks(call.collection.id))
        threads = call.db.scalars(asking).all()
        call.record_event("collection.delete", call.collection.name)
        # Feedback on a thread contains its questions and answers, also if it belongs to another collection.
        call.db.execute(delete(Feedback).where(Feedback.thread_id.in_(asking)))
        call.db.execute(delete(Thread).where(Thread.id.in_(asking)))
        call.db.delete(call.collection)
        call.db.flush()
        # Before the commit, because nobody could repeat it without the collection.
        call.services.conversations.forget(*threads)
        call.db.commit()
    folder.remove()


@router.get("/{collection}/members")
def list_members(call: ManageCall, window: WindowQuery) -> Page[MemberShown]:
    """List the members of a collection; admins of the server have all rights without being members."""
    query = (
        select(User.name, Membership.role)
        .join(Membership, Membership.user_id == User.id)
        .where(Membership.collection_id == call.collection.id)
        .order_by(User.name)
    )
    return fetch_page(call.db, query, window, lambda name, role: MemberShown(name=name, role=role))


@router.put("/{collection}/members/{user}", dependencies=[count("change")])
def set_member(user: UserName, new_role: GivenRole, call: ManageCall) -> MemberShown:
    """Give a user a role in a collection."""
    member = require_found(find_user(call.db, user), "user")
    _require_may_give(call, new_role.role)
    if existing := call.db.get(Membership, (call.collection.id, member.id)):
        _require_may_give(call, existing.role)
    call.db.merge(Membership(collection_id=call.collection.id, user_id=member.id, role=new_role.role))
    call.commit("member.set", f"{call.collection.name}: {member.name}, {new_role.role}")
    return MemberShown(name=member.name, role=new_role.role)


@router.delete("/{collection}/members/{user}", status_code=204, dependencies=[count("change")])
def remove_member(user: UserName, call: ManageCall) -> None:
    """Remove a user from a collection."""
    member = require_found(find_user(call.db, user), "user")
    membership = require_found(call.db.get(Membership, (call.collection.id, member.id)), "member")
    _require_may_give(call, membership.role)
    call.db.delete(membership)
    call.commit("member.remove", f"{call.collection.name}: {member.name}")


def _require_may_give(call: CollectionCall, role: Role) -> None:
    """Refuse (403) to give or take away a role that allows more than the caller's own."""
    if role not in call.caller.roles_to_give(call.collection.id):
        detail = f"The role {role} allows more than yours, so you can neither give it nor take it away."
        raise Problem(403, detail, type="role_too_low")


def _describe_collection(call: Call, row: Collection) -> CollectionShown:
    role = call.caller.role_in(row.id)
    assert role is not None, "only collections that the caller may see are described"
    return CollectionShown(
        name=row.name,
        description=row.description,
        examples=[Example(**example) for example in row.examples],
        role=role,
        may=sorted(call.caller.actions_in(row.id) - {Action.SERVE}),
        roles=call.caller.roles_to_give(row.id),
        created=row.created,
        **measure_collection(call.db, row)._asdict(),
    )
