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
from adaptive_rag.server.problems import found
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
    return ModelList(
        object="list", data=[_shown(name, model) for name, model in _models(call.db, call.caller).items()]
    )


@router.get("/{model}", response_model_exclude_unset=True)
def show_model(model: str, call: AnyCall) -> Model:
    """Show a model."""
    return _shown(model, find_model(call.db, call.caller, model))


def find_model(db: Session, caller: Caller, model: str) -> AskedModel:
    """Return the model of a name, or refuse with 404."""
    return found(_models(db, caller).get(model), "model")


def _models(db: Session, caller: Caller) -> dict[str, AskedModel]:
    """Return the models that a caller may ask; names of collections take precedence over those of routes."""
    rows = db.scalars(select(Collection).where(caller.open_ones()).order_by(Collection.name)).all()
    default = rows[0] if len(rows) == 1 else next((row for row in rows if row.name == DEFAULT), None)
    routes: dict[str, str | None] = {BY_ITSELF: None} | {route: route for route in STRATEGIES}
    models = {name: AskedModel(default, route) for name, route in routes.items() if default is not None}
    for row in rows:
        models[row.name] = AskedModel(row)
        models |= {f"{row.name}:{route}": AskedModel(row, route) for route in STRATEGIES}
    return models


def _shown(name: str, model: AskedModel) -> Model:
    made = int(model.collection.created.timestamp())
    return Model(id=name, created=made, object="model", owned_by="adaptive-rag")
