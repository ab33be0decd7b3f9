"""Long lists, a page at a time."""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

Limit = Annotated[int, Query(ge=1, le=500, description="Items of a page.")]
Offset = Annotated[int, Query(ge=0, le=2**31, description="Items before the page.")]


Item = TypeVar("Item")


class Page(BaseModel, Generic[Item]):
    """A part of a list."""

    items: list[Item]
    total: int = Field(description="Items of the whole list.")


def page_of(db: Session, query: Select[Any], limit: int, offset: int) -> tuple[list[Any], int]:
    """Return the rows of a page, and how many there are in all."""
    total = db.scalar(select(func.count()).select_from(query.order_by(None).subquery())) or 0
    return list(db.scalars(query.limit(limit).offset(offset))), total
