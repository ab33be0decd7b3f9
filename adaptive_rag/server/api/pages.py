"""Long lists, a page at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from fastapi import Depends, Query
from pydantic import BaseModel, Field
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

Item = TypeVar("Item")


class Page(BaseModel, Generic[Item]):
    """A part of a list."""

    items: list[Item]
    total: int = Field(description="Items of the whole list.")


class Window(NamedTuple):
    """Which items of a list are asked for."""

    limit: int
    offset: int


def _part(
    limit: Annotated[int, Query(ge=1, le=500, description="Items of a page.")] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31, description="Items before the page.")] = 0,
) -> Window:
    return Window(limit, offset)


# The part of a list that is asked for.
Part = Annotated[Window, Depends(_part)]


def page_of(
    db: Session, query: Select[*tuple[Any, ...]], part: Part, show: Callable[..., Item]
) -> Page[Item]:
    """Return a page of what a query finds; `show` is given what it selects, row by row."""
    total = db.scalar(select(func.count()).select_from(query.order_by(None).subquery())) or 0
    rows = db.execute(query.limit(part.limit).offset(part.offset))
    return Page(items=[show(*row) for row in rows], total=total)
