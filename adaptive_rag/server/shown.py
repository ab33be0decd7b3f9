"""What the REST API and the tools for agents show alike: collections, texts, and how sure an answer is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, Field
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from adaptive_rag.index.sources import join_chunks
from adaptive_rag.server.access import Caller
from adaptive_rag.server.gate import Turns
from adaptive_rag.server.roles import Action
from adaptive_rag.server.tables import Collection, Document
from adaptive_rag.state import Chunk, Outcome

# Reads of many passages: any part of a text loads the whole document.
TEXT_READS = Turns(2)


class Quality(BaseModel):
    """How far an answer can be trusted."""

    confidence: float | None = Field(
        description="How likely the passages that were read answer the question, 0 to 1; null if nothing "
        "judged them."
    )
    grounding: float = Field(
        description="Share of the answer's claims that the passages support; 1 for quotes of the documents."
    )
    outcome: Outcome = Field(
        description="What the answer is: an answer, the closest passages, which may not be one, or a refusal."
    )
    abstained: bool = Field(description="The documents do not hold an answer.")


def quality_of(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `Quality` from the graph's output or a stored message."""
    return {name: output[name] for name in Quality.model_fields}


class CollectionSize(NamedTuple):
    """How much a collection holds."""

    documents: int
    chunks: int
    bytes: int


class TextSpan(NamedTuple):
    """A part of a document's text as it is indexed. Positions count from the start of the whole text."""

    start: int
    end: int
    length: int
    text: str


def select_collections(caller: Caller, action: Action) -> Select[Collection]:
    """Return the query for the collections in which the caller may do an action, by name."""
    query = select(Collection).where(caller.collection_filter(action))
    return query.order_by(func.lower(Collection.name), Collection.name)


def measure_collection(db: Session, collection: Collection) -> CollectionSize:
    """Return the size of a collection."""
    counts = select(
        func.count(), func.coalesce(func.sum(Document.chunks), 0), func.coalesce(func.sum(Document.size), 0)
    ).where(Document.collection_id == collection.id)
    return CollectionSize._make(db.execute(counts).one())


def cut_text(chunks: Sequence[Chunk], start: int, end: int) -> TextSpan:
    """Return the part of a document's text between two positions, which are limited to the text."""
    length = chunks[-1]["end"] if chunks else 0
    start = min(start, length)
    end = max(start, min(end, length))
    return TextSpan(start, end, length, join_chunks(chunks, start, end))
