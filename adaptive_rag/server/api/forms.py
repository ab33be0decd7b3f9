"""Models that many routes share: the base of requests and responses, names of strategies, pages."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from fastapi import Depends, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import Select
from sqlalchemy.orm import Session

from adaptive_rag.graph.strategies import NAMES
from adaptive_rag.server.database import fetch_window

Item = TypeVar("Item")


class Form(BaseModel):
    """A request or a response; unknown fields of a request are refused."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


def check_one_of(name: str, names: Collection[str]) -> str:
    """Return a name that is one of `names`; otherwise raise ValueError with the possible names."""
    if name not in names:
        raise ValueError(f"expected one of {', '.join(names)}")
    return name


# The name of a strategy in the table of strategies.
Route = Annotated[
    str,
    AfterValidator(lambda name: check_one_of(name, NAMES)),
    Field(json_schema_extra={"enum": list(NAMES)}),
]


class Page(BaseModel, Generic[Item]):
    """A page of a list."""

    items: list[Item]
    total: int = Field(description="Number of items in the whole list.")


class Window(NamedTuple):
    """The requested range of a list."""

    limit: int
    offset: int


def _window(
    limit: Annotated[int, Query(ge=1, le=500, description="Items of a page.")] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31, description="Items before the page.")] = 0,
) -> Window:
    return Window(limit, offset)


WindowQuery = Annotated[Window, Depends(_window)]


def fetch_page(
    db: Session, query: Select[*tuple[Any, ...]], window: Window, to_item: Callable[..., Item]
) -> Page[Item]:
    """Return a page of a query's results; `to_item` converts the columns of a row to an item."""
    rows, total = fetch_window(db, query, *window)
    return Page(items=[to_item(*row) for row in rows], total=total)
