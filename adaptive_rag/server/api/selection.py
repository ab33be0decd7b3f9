"""How a question can be narrowed: the folders, the fields for conditions, and the size of a selection."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy import select

from adaptive_rag.errors import InputError
from adaptive_rag.index import Index
from adaptive_rag.ingest.web import is_address
from adaptive_rag.server.api.forms import Form
from adaptive_rag.server.api.several import Names, WithCollections, require_collections
from adaptive_rag.server.calls import AnyCall, Call, ReadCall, count
from adaptive_rag.server.folders import LONGEST_NAME
from adaptive_rag.server.roles import Action
from adaptive_rag.server.selection import Selection
from adaptive_rag.server.shown import TEXT_READS
from adaptive_rag.server.tables import Document
from adaptive_rag.source import FiltersChunks, ListsChunks, ListsSources
from adaptive_rag.where import Kind, read_where

router = APIRouter(tags=["selection"])
MOST_FOLDERS, MOST_FIELDS, MOST_VALUES, LONGEST_VALUE = 500, 100, 20, 200


class FolderShown(Form):
    """A folder of a collection."""

    name: str = Field(description="The whole path.")
    documents: int = Field(description="Number of documents below it.")


class FieldShown(Form):
    """A field that a condition can use."""

    name: str
    kind: Kind
    values: list[bool | int | float | str] = Field(description="The most frequent values, at most 20.")


class SelectionOfSeveral(WithCollections, Form):
    """Which documents of which collections."""

    only: Selection = Field(default_factory=Selection)


class SelectionShown(Form):
    """The size of a selection."""

    documents: int
    passages: int
    problem: str | None = Field(None, description="Why the condition cannot be used.")


@router.get("/collections/{collection}/folders")
def list_folders(
    call: ReadCall,
    folder: Annotated[
        str, Query(max_length=LONGEST_NAME, description="Only the folders directly in this one.")
    ] = "",
) -> list[FolderShown]:
    """List the folders of a collection's documents, at most 500."""
    start = f"{folder}/" if folder else ""
    query = select(Document.name).where(Document.collection_id == call.collection.id)
    names = call.db.scalars(query.where(Document.name.startswith(start, autoescape=True)))
    parts = (name[len(start) :].partition("/") for name in names if not is_address(name))
    counts = Counter(subfolder for subfolder, slash, _ in parts if slash)
    return [FolderShown(name=start + name, documents=counts[name]) for name in sorted(counts)[:MOST_FOLDERS]]


@router.get("/fields", dependencies=[count("heavy read")])
async def list_fields(collection: Annotated[Names, Query()], call: AnyCall) -> list[FieldShown]:
    """List the fields that a condition on these collections can use, at most 100, with frequent values."""
    return await TEXT_READS.run(call.caller.id, _list_fields, collection, call)


def _list_fields(names: list[str], call: Call) -> list[FieldShown]:
    collections = require_collections(call, names, Action.READ)
    call.db.close()
    kinds: dict[str, Kind] = {}
    counts: dict[str, Counter[bool | int | float | str]] = {}
    for row in collections:
        target = call.services.search_target(row)
        index = call.services.answering.open_index(target)
        assert isinstance(index, Index)
        for name, (kind, values) in index.common_values(MOST_VALUES).items():
            kinds[name] = kind if kinds.get(name, kind) == kind else "text"
            if name == "source" and len(collections) > 1:
                values = {f"{row.name}/{value}": count for value, count in values.items()}
            counts.setdefault(name, Counter()).update(values)
    return [
        FieldShown(name=name, kind=kinds[name], values=_most_common(counts[name]))
        for name in list(kinds)[:MOST_FIELDS]
    ]


def _most_common(counts: Counter[bool | int | float | str]) -> list[bool | int | float | str]:
    common = (value for value, _ in counts.most_common(MOST_VALUES))
    return [value for value in common if not isinstance(value, str) or len(value) <= LONGEST_VALUE]


@router.post("/selection", dependencies=[count("heavy read")])
async def measure_selection(selection: SelectionOfSeveral, call: AnyCall) -> SelectionShown:
    """Count the documents and passages of a selection, or report what is wrong with its condition."""
    return await TEXT_READS.run(call.caller.id, _measure_selection, selection, call)


def _measure_selection(selection: SelectionOfSeveral, call: Call) -> SelectionShown:
    collections = require_collections(call, selection.collections, Action.READ)
    call.db.close()
    answering, target = call.services.answering, call.services.search_target(*collections)
    source = answering.open_index(target)
    try:
        if condition := answering.condition(selection.only, target):
            assert isinstance(source, FiltersChunks)
            source = source.where(read_where(condition))
        assert isinstance(source, ListsSources) and isinstance(source, ListsChunks)
        return SelectionShown(documents=len(source.sources()), passages=len(source))
    except InputError as error:
        return SelectionShown(documents=0, passages=0, problem=str(error))
