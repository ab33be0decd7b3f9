"""The whole graph: classify, branch to a strategy, generate."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal, TypeVar

from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field, create_model

from adaptive_rag.context import CallerSettings, Context
from adaptive_rag.context.groups import RetrievalSettings
from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.graph.strategies.hedge import build_hedge
from adaptive_rag.nodes import classify, generate
from adaptive_rag.nodes.classify import SMALL_TALK, check_name, chosen_strategy
from adaptive_rag.nodes.step import cache_policy
from adaptive_rag.rank.rerankers import RERANKERS
from adaptive_rag.recipes import NAMES as RECIPES
from adaptive_rag.state import InputState, OutputState, RetrievalState, State

SettingsT = TypeVar("SettingsT", bound=BaseModel)


def build_graph(
    form: type[CallerSettings] | None = None,
) -> StateGraph[State, Context, InputState, OutputState]:
    """Build the graph; compile it as it is, or with your own checkpointer, store or cache.

    Without a form, callers may set every setting; with one, only the settings that the form holds.
    """
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        State, context_schema=form or context_schema(), input_schema=InputState, output_schema=OutputState
    )
    styles = {name: strategy.style for name, strategy in STRATEGIES.items()}
    graph.add_node("generate", generate.given(styles=styles), cache_policy=cache_policy("generate"))
    graph.add_edge("generate", END)
    _branch(graph, then="generate")
    return graph


def build_retrieval_graph() -> StateGraph[State, Context, InputState, RetrievalState]:
    """Build the graph without its answer, for callers that want the documents only."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        State, context_schema=context_schema(), input_schema=InputState, output_schema=RetrievalState
    )
    _branch(graph, then=END)
    return graph


def context_schema() -> type[Context]:
    """Return the settings with the names from the tables as literal types, so that a form offers them."""
    retrieval = _narrowed(RetrievalSettings, reranker=Literal[tuple(RERANKERS)])
    route, recipe = Literal[tuple(STRATEGIES)] | None, Literal[RECIPES] | None
    return _narrowed(Context, route=route, recipe=recipe, retrieval=retrieval)


def _narrowed(settings: type[SettingsT], **kinds: Any) -> type[SettingsT]:
    """Return a settings class in which the given fields have another type; all else stays the same."""
    fields: dict[str, Any] = {}
    for name, kind in kinds.items():
        known = settings.model_fields[name]
        default = {"default_factory": kind} if known.default_factory else {"default": known.default}
        fields[name] = (kind, Field(description=known.description, **default))
    return create_model(settings.__name__, __base__=settings, __doc__=settings.__doc__, **fields)


def check_names(context: Context) -> None:
    """Check that the route and the reranker are in their tables.

    Raises:
        ConfigurationError: there is no such strategy or reranker.
    """
    check_name("route", context.route, STRATEGIES)
    check_name("retrieval.reranker", context.retrieval.reranker, RERANKERS)


def _branch(graph: StateGraph[Any, Any, Any, Any], *, then: str) -> None:
    strategies = {name: strategy.build().compile() for name, strategy in STRATEGIES.items()}
    routable = {name: compiled for name, compiled in strategies.items() if STRATEGIES[name].routable}
    branches: dict[str, Any] = {**strategies, "hedge": build_hedge(routable).compile()}
    graph.add_node("classify", classify.given(routes=tuple(STRATEGIES)))
    graph.add_edge(START, "classify")
    ways: dict[Hashable, str] = {SMALL_TALK: then, **{name: name for name in branches}}
    graph.add_conditional_edges("classify", chosen_strategy, ways)
    for name, branch in branches.items():
        colour = STRATEGIES[name].colour if name in STRATEGIES else None
        graph.add_node(name, branch, cache_policy=cache_policy(name), metadata={"colour": colour})
        graph.add_edge(name, then)
