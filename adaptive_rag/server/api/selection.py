"""What a question can be narrowed to: folders, fields for conditions, and the size of a selection."""

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
from adaptive_rag.server.api.several import Names, OfSeveral, collections_open_to
from adaptive_rag.server.calls import LOOKING, AnyCall, ReadCall
from adaptive_rag.server.folders import LONGEST_NAME
from adaptive_rag.server.roles import Action
from adaptive_rag.server.selection import Selection
from adaptive_rag.server.tables import Document
from adaptive_rag.source import FiltersChunks, ListsChunks, ListsSources
from adaptive_rag.where import Kind, read_where

router = APIRouter(tags=["selection"])
MOST_FOLDERS, MOST_FIELDS, MOST_VALUES, LONGEST_VALUE = 500, 100, 20, 200


class FolderShown(Form):
    """A folder of a collection."""

    name: str = Field(description="Its whole path.")
    documents: int = Field(description="Documents below it.")


class FieldShown(Form):
    """A field that a condition can name."""

    name: str
    kind: Kind
    values: list[bool | int | float | str] = Field(description="Its most frequent values, at most 20.")


class SelectionOfSeveral(OfSeveral, Form):
    """Which documents of which collections."""

    only: Selection = Field(default_factory=Selection)


class SelectionShown(Form):
    """The size of a selection."""

    documents: int
    passages: int
    problem: str | None = Field(None, description="Why its condition cannot be used.")


@router.get("/collections/{collection}/folders")
def list_folders(
    call: ReadCall,
    folder: Annotated[str, Query(max_length=LONGEST_NAME, description="Those directly in this one.")] = "",
) -> list[FolderShown]:
    """List the folders of a collection's documents, at most 500."""
    start = f"{folder}/" if folder else ""
    ours = select(Document.name).where(Document.collection_id == call.collection.id)
    named = call.db.scalars(ours.where(Document.name.startswith(start, autoescape=True)))
    rest = (name[len(start) :].partition("/") for name in named if not is_address(name))
    held = Counter(first for first, slash, _ in rest if slash)
    return [FolderShown(name=start + name, documents=held[name]) for name in sorted(held)[:MOST_FOLDERS]]


@router.get("/fields", dependencies=[LOOKING])
def list_fields(collection: Annotated[Names, Query()], call: AnyCall) -> list[FieldShown]:
    """List the fields that a condition on these collections can name, with their most frequent values."""
    found = collections_open_to(call, collection, Action.READ)
    call.db.close()
    kinds: dict[str, Kind] = {}
    counts: dict[str, Counter[bool | int | float | str]] = {}
    for row in found:
        place = call.parts.index_of(row)
        index = call.parts.answering.index_of(place)
        assert isinstance(index, Index)
        for name, (kind, values) in index.common_values(MOST_VALUES).items():
            kinds[name] = kind if kinds.get(name, kind) == kind else "text"
            if name == "source" and len(found) > 1:
                values = {f"{row.name}/{value}": count for value, count in values.items()}
            counts.setdefault(name, Counter()).update(values)
    return [
        FieldShown(name=name, kind=kinds[name], values=_shown(counts[name]))
        for name in list(kinds)[:MOST_FIELDS]
    ]


def _shown(counts: Counter[bool | int | float | str]) -> list[bool | int | float | str]:
    common = (value for value, _ in counts.most_common(MOST_VALUES))
    return [value for value in common if not isinstance(value, str) or len(value) <= LONGEST_VALUE]


@router.post("/selection", dependencies=[LOOKING])
def measure_selection(asked: SelectionOfSeveral, call: AnyCall) -> SelectionShown:
    """Count the documents and passages of a selection, or say what is wrong with its condition."""
    found = collections_open_to(call, asked.collections, Action.READ)
    call.db.close()
    source = call.parts.answering.index_of(call.parts.index_of(*found))
    try:
        if condition := call.parts.answering.condition(asked.only):
            assert isinstance(source, FiltersChunks)
            source = source.where(read_where(condition))
        assert isinstance(source, ListsSources) and isinstance(source, ListsChunks)
        return SelectionShown(documents=len(source.sources()), passages=len(source))
    except InputError as error:
        return SelectionShown(documents=0, passages=0, problem=str(error))
