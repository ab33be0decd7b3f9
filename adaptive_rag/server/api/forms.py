"""Models that many routes share: forms, the names of strategies, and paged lists."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from fastapi import Depends, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from adaptive_rag.graph.strategies import NAMES

Item = TypeVar("Item")


class Form(BaseModel):
    """What is sent or answered: a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


def one_of(name: str, names: Collection[str]) -> str:
    """Return a name if it is one of some names."""
    if name not in names:
        raise ValueError(f"expected one of {', '.join(names)}")
    return name


# The name of a strategy in the table of strategies.
Route = Annotated[
    str, AfterValidator(lambda name: one_of(name, NAMES)), Field(json_schema_extra={"enum": list(NAMES)})
]
Confidence = Annotated[
    float | None,
    Field(
        description="How likely the passages that were read answer the question, 0 to 1; null where nothing "
        "judged them."
    ),
]
Grounding = Annotated[
    float,
    Field(
        description="Share of the answer's claims that the passages support; 1 for quotes of the documents."
    ),
]


class Page(BaseModel, Generic[Item]):
    """A part of a list."""

    items: list[Item]
    total: int = Field(description="Items of the whole list.")


class Window(NamedTuple):
    """The requested range of a list."""

    limit: int
    offset: int


def _window(
    limit: Annotated[int, Query(ge=1, le=500, description="Items of a page.")] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31, description="Items before the page.")] = 0,
) -> Window:
    return Window(limit, offset)


WindowAsked = Annotated[Window, Depends(_window)]


def page_of(
    db: Session, query: Select[*tuple[Any, ...]], window: Window, show: Callable[..., Item]
) -> Page[Item]:
    """Return a page of a query's results; `show` converts each row, given its columns."""
    total = db.scalar(select(func.count()).select_from(query.order_by(None).subquery())) or 0
    rows = db.execute(query.limit(window.limit).offset(window.offset))
    return Page(items=[show(*row) for row in rows], total=total)
