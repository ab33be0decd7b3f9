"""Collections: documents that are searched together, and who may."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError

from adaptive_rag.server.access import Administrator, CurrentCaller, OwnCollection, ReadableCollection
from adaptive_rag.server.api.pages import Page, Part, page_of
from adaptive_rag.server.audit import note
from adaptive_rag.server.database import Db
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.services import Parts
from adaptive_rag.server.tables import Collection, Document, Role, Thread
from adaptive_rag.state import QueryType

router = APIRouter(prefix="/collections", tags=["collections"])
# A name stands in addresses and in the names of models; "." and ".." mean something else there.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$", examples=["handbook"])]


class Example(BaseModel):
    """A question that a collection answers."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(max_length=500, pattern=r"\S", examples=["How long is the notice period?"])
    user_context: str = Field("", max_length=2000, description="The situation of whoever asks it.")
    type: QueryType | None = Field(None, description="What kind of question it is.")


Description = Annotated[str, Field(max_length=2000)]
Examples = Annotated[
    list[Example], Field(max_length=8, description="Questions to begin with, as the page offers them.")
]


class NewCollection(BaseModel):
    """A collection that is made."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    description: Description = ""
    examples: Examples = []


class CollectionChange(BaseModel):
    """What of a collection is changed; the rest stays."""

    model_config = ConfigDict(extra="forbid")

    description: Description | None = None
    examples: Examples | None = None


class CollectionShown(BaseModel):
    """A collection as its readers see it."""

    name: str
    description: str
    examples: list[Example]
    role: Role = Field(description="What you may do in it.")
    documents: int
    chunks: int
    bytes: int
    created: datetime


@router.get("")
def list_collections(db: Db, caller: CurrentCaller, part: Part) -> Page[CollectionShown]:
    """List the collections that you may read."""
    query = select(Collection).where(caller.readable()).order_by(Collection.name)
    return page_of(db, query, part, lambda row: _shown(db, row, caller.role_in(row.id)))


@router.post("", status_code=201)
def create_collection(new: NewCollection, db: Db, caller: Administrator, request: Request) -> CollectionShown:
    """Make an empty collection."""
    row = Collection(**new.model_dump())
    db.add(row)
    note(db, request, caller, "collection.create", new.name)
    try:
        db.commit()
    except IntegrityError:
        detail = f"There is a collection {new.name!r} already."
        raise Problem(409, detail, type="name_taken") from None
    return _shown(db, row, Role.ADMIN)


@router.get("/{collection}")
def show_collection(found: ReadableCollection, db: Db, caller: CurrentCaller) -> CollectionShown:
    """Show a collection and its size."""
    return _shown(db, found, caller.role_in(found.id))


@router.patch("/{collection}")
def change_collection(
    change: CollectionChange, found: OwnCollection, db: Db, caller: CurrentCaller, request: Request
) -> CollectionShown:
    """Describe a collection, and say what can be asked of it."""
    for name, value in change.model_dump(exclude_none=True).items():
        setattr(found, name, value)
    note(db, request, caller, "collection.change", found.name)
    db.commit()
    return _shown(db, found, caller.role_in(found.id))


@router.delete("/{collection}", status_code=204)
def delete_collection(
    found: OwnCollection, db: Db, caller: CurrentCaller, parts: Parts, request: Request
) -> None:
    """Delete a collection with its documents, its index, and the conversations over it."""
    folder = parts.folder_of(found)
    threads = db.scalars(select(Thread.id).where(Thread.collection_id == found.id)).all()
    note(db, request, caller, "collection.delete", found.name)
    db.delete(found)
    db.commit()
    for thread_id in threads:
        parts.conversations.forget(thread_id)
    folder.remove()


def _shown(db: Db, row: Collection, role: Role | None) -> CollectionShown:
    counts = select(
        func.count(),
        func.coalesce(func.sum(Document.chunks), 0),
        func.coalesce(func.sum(Document.size), 0),
    ).where(Document.collection_id == row.id)
    documents, chunks, size = db.execute(counts).one()
    return CollectionShown(
        name=row.name,
        description=row.description,
        examples=[Example(**each) for each in row.examples],
        role=role or Role.READER,
        documents=documents,
        chunks=chunks,
        bytes=size,
        created=row.created,
    )
