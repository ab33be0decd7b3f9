"""Models: one for each collection that a caller may ask, and one for each route over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter
from openai.types import Model
from pydantic import BaseModel
from sqlalchemy.orm import Session

from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.server.access import Caller
from adaptive_rag.server.calls import AnyCall
from adaptive_rag.server.problems import require_found
from adaptive_rag.server.roles import Action
from adaptive_rag.server.shown import select_collections
from adaptive_rag.server.tables import Collection

router = APIRouter(prefix="/models")
# The name of the model whose route the router chooses, and the collection whose name may be left out.
ROUTER_MODEL, DEFAULT_COLLECTION = "adaptive", "default"


class ModelList(BaseModel):
    """A list of models."""

    object: Literal["list"] = "list"
    data: list[Model]


@dataclass(frozen=True)
class RequestedModel:
    """The meaning of a model's name: a collection, and a route if it names one."""

    collection: Collection
    route: str | None = None


@router.get("", response_model_exclude_unset=True)
def list_models(call: AnyCall) -> ModelList:
    """List what you can ask: `COLLECTION` and `COLLECTION:ROUTE` for each collection that you may ask.

    With a collection's name alone, the router chooses the route of each question. For your only collection,
    or the one called `default`, the names `adaptive` and `ROUTE` do the same.
    """
    return ModelList(
        object="list",
        data=[_describe_model(name, model) for name, model in _list_models(call.db, call.caller).items()],
    )


@router.get("/{model}", response_model_exclude_unset=True)
def show_model(model: str, call: AnyCall) -> Model:
    """Show a model."""
    return _describe_model(model, find_model(call.db, call.caller, model))


def find_model(db: Session, caller: Caller, model: str) -> RequestedModel:
    """Return the model of a name; refuse (404) if there is none."""
    return require_found(_list_models(db, caller).get(model), "model")


def _list_models(db: Session, caller: Caller) -> dict[str, RequestedModel]:
    """Return the models that a caller may ask; names of collections take precedence over names of routes."""
    rows = db.scalars(select_collections(caller, Action.ASK)).all()
    default = (
        rows[0] if len(rows) == 1 else next((row for row in rows if row.name == DEFAULT_COLLECTION), None)
    )
    routes: dict[str, str | None] = {ROUTER_MODEL: None} | {route: route for route in STRATEGIES}
    models = {name: RequestedModel(default, route) for name, route in routes.items() if default is not None}
    for row in rows:
        models[row.name] = RequestedModel(row)
        models |= {f"{row.name}:{route}": RequestedModel(row, route) for route in STRATEGIES}
    return models


def _describe_model(name: str, model: RequestedModel) -> Model:
    created = int(model.collection.created.timestamp())
    return Model(id=name, created=created, object="model", owned_by="adaptive-rag")
