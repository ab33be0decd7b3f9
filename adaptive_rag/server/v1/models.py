"""Models: each collection that a caller may read, and each route over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter
from openai.types import Model
from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.server.access import Caller
from adaptive_rag.server.calls import AnyCall
from adaptive_rag.server.problems import not_found
from adaptive_rag.server.tables import Collection

router = APIRouter(prefix="/models")
# The model name for the router's own choice, and the name of the collection that may be left out.
BY_ITSELF, DEFAULT = "adaptive", "default"


class ModelList(BaseModel):
    """The models."""

    object: Literal["list"] = "list"
    data: list[Model]


@dataclass(frozen=True)
class AskedModel:
    """What a model's name stands for: a collection, and a route if one is named."""

    collection: Collection
    route: str | None = None


@router.get("", response_model_exclude_unset=True)
def list_models(call: AnyCall) -> ModelList:
    """List what you can ask: `COLLECTION` and `COLLECTION:ROUTE` for each collection that you may read.

    A collection's name alone lets each question take the way that suits it. For your only collection, or
    the one called `default`, `adaptive` and the names of the routes alone do the same.
    """
    readable = select(Collection).where(call.caller.open_ones())
    rows = list(call.db.scalars(readable.order_by(Collection.name)))
    named = {name: row for row in rows for name in (row.name, *(f"{row.name}:{way}" for way in STRATEGIES))}
    if (default := _default_of(rows)) is not None:
        named = {name: default for name in (BY_ITSELF, *STRATEGIES)} | named
    return ModelList(object="list", data=[_shown(name, row) for name, row in named.items()])


@router.get("/{model}", response_model_exclude_unset=True)
def show_model(model: str, call: AnyCall) -> Model:
    """Show a model."""
    return _shown(model, find_model(call.db, call.caller, model).collection)


def find_model(db: Session, caller: Caller, model: str) -> AskedModel:
    """Return what a model's name stands for, or refuse with 404; names of collections take precedence."""
    readable = select(Collection).where(caller.open_ones())
    name, colon, route = model.partition(":")
    found = db.scalar(readable.where(Collection.name == name))
    if found is not None and (route in STRATEGIES or not colon):
        return AskedModel(found, route or None)
    if found is None and (model == BY_ITSELF or model in STRATEGIES):
        default = _default_of(list(db.scalars(readable)))
        if default is not None:
            return AskedModel(default, None if model == BY_ITSELF else model)
    raise not_found("model")


def _default_of(rows: list[Collection]) -> Collection | None:
    return rows[0] if len(rows) == 1 else next((row for row in rows if row.name == DEFAULT), None)


def _shown(name: str, row: Collection) -> Model:
    made = int(row.created.timestamp())
    return Model(id=name, created=made, object="model", owned_by="adaptive-rag")
