"""The whole graph: classify, branch to a strategy, generate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.types import CachePolicy
from pydantic import Field, create_model

from adaptive_rag.context import Context, RetrievalSettings
from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.graph.strategies.hedge import build_hedge
from adaptive_rag.nodes import classify, generate
from adaptive_rag.nodes.classify import check_name
from adaptive_rag.rank.rerankers import RERANKERS
from adaptive_rag.state import InputState, OutputState, RetrievalState, State


def route(state: State) -> str:
    """Name the strategy that the analysis chose, or the hedge where it left two open."""
    return "hedge" if state["analysis"]["alternatives"] else state["query_type"]


def build_graph() -> StateGraph[State, Context, InputState, OutputState]:
    """Build the graph; compile it as it is, or with a checkpointer, store or cache of yours."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        State, context_schema=context_schema(), input_schema=InputState, output_schema=OutputState
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
    """Return the settings with the names that the tables hold, so that a form offers them."""
    reranker_names: Any = Literal[tuple(RERANKERS)]
    route_names: Any = Literal[tuple(STRATEGIES)] | None
    rerankers = RetrievalSettings.model_fields["reranker"]
    retrieval = create_model(
        "RetrievalSettings",
        __base__=RetrievalSettings,
        __doc__=RetrievalSettings.__doc__,
        reranker=(reranker_names, Field(rerankers.default, description=rerankers.description)),
    )
    return create_model(
        "Context",
        __base__=Context,
        __doc__=Context.__doc__,
        route=(
            route_names,
            Field(None, description=Context.model_fields["route"].description),
        ),
        retrieval=(
            retrieval,
            Field(default_factory=retrieval, description=Context.model_fields["retrieval"].description),
        ),
    )


def check_names(context: Context) -> None:
    """Refuse a route or a reranker that is in no table.

    Raises:
        ConfigurationError: there is no such strategy or reranker.
    """
    check_name("route", context.route, STRATEGIES)
    check_name("retrieval.reranker", context.retrieval.reranker, RERANKERS)


def cache_policy(step: str) -> CachePolicy[Any]:
    """Return the policy of one node: its key holds all that its result depends on, and nothing else."""

    def key(state: Mapping[str, Any]) -> str:
        parts = json.dumps(
            {
                "step": step,
                "settings": state.get("fingerprint", ""),
                "question": state.get("question", ""),
                "user_context": state.get("user_context", ""),
                "history": state.get("history", []),
                "type": state.get("query_type", ""),
                "alternatives": state.get("analysis", {}).get("alternatives", []),
                "context": state.get("implied_context", ""),
                "documents": [document["id"] for document in state.get("documents", [])],
            },
            sort_keys=True,
            default=str,
        )
        return hashlib.sha256(parts.encode()).hexdigest()

    return CachePolicy(key_func=key)


def _branch(graph: StateGraph[Any, Any, Any, Any], *, then: str) -> None:
    strategies = {name: strategy.build().compile() for name, strategy in STRATEGIES.items()}
    routable = {name: compiled for name, compiled in strategies.items() if STRATEGIES[name].routable}
    branches: dict[str, Any] = {**strategies, "hedge": build_hedge(routable).compile()}
    graph.add_node("classify", classify.given(routes=tuple(STRATEGIES)))
    graph.add_edge(START, "classify")
    graph.add_conditional_edges("classify", route, list(branches))
    for name, branch in branches.items():
        colour = STRATEGIES[name].colour if name in STRATEGIES else None
        graph.add_node(name, branch, cache_policy=cache_policy(name), metadata={"colour": colour})
        graph.add_edge(name, then)
