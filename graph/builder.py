"""The whole graph: classify, branch to a strategy, generate."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any, Literal, TypeVar

from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field, create_model

from adaptive_rag.context import CallerSettings, Context
from adaptive_rag.context.groups import RetrievalSettings
from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.graph.strategies.hedge import build_hedge
from adaptive_rag.llm.messages import PROMPTS, prompt_names
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
    """Build the graph, which can be compiled with a checkpointer, a store or a cache.

    Without a form, callers may set every setting; with one, only the settings that are fields of the form.
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
    """Build the graph without the step `generate`, for callers that only need the documents."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        State, context_schema=context_schema(), input_schema=InputState, output_schema=RetrievalState
    )
    _branch(graph, then=END)
    return graph


def context_schema() -> type[Context]:
    """Return the settings with strategies, recipes and rerankers as literals, so that a form lists them."""
    retrieval = _with_types(RetrievalSettings, reranker=Literal[tuple(RERANKERS)])
    route, recipe = Literal[tuple(STRATEGIES)] | None, Literal[RECIPES] | None
    return _with_types(Context, route=route, recipe=recipe, retrieval=retrieval)


def _with_types(settings: type[SettingsT], **types: Any) -> type[SettingsT]:
    """Return a settings class in which the given fields have another type."""
    fields: dict[str, Any] = {}
    for name, type_ in types.items():
        declared = settings.model_fields[name]
        default = {"default_factory": type_} if declared.default_factory else {"default": declared.default}
        fields[name] = (type_, Field(description=declared.description, **default))
    return create_model(settings.__name__, __base__=settings, __doc__=settings.__doc__, **fields)


def check_names(context: Context) -> None:
    """Check that the route, the reranker and the prompts exist.

    Raises:
        ConfigurationError: there is no such strategy, reranker or prompt.
    """
    check_name("route", context.route, STRATEGIES)
    check_name("retrieval.reranker", context.retrieval.reranker, RERANKERS)
    if (folder := context.models.prompts) is not None:
        known = sorted({*prompt_names(PROMPTS), *(f"generate-{name}" for name in STRATEGIES)})
        for name in prompt_names(Path(folder).expanduser()):
            check_name("a prompt in models.prompts", name, known)


def _branch(graph: StateGraph[Any, Any, Any, Any], *, then: str) -> None:
    """Add the step `classify` and the strategies to a graph; each strategy leads to the node `then`."""
    strategies = {name: _compile(strategy.build()) for name, strategy in STRATEGIES.items()}
    routable = {name: compiled for name, compiled in strategies.items() if STRATEGIES[name].routable}
    branches: dict[str, Any] = {**strategies, "hedge": _compile(build_hedge(routable))}
    graph.add_node("classify", classify.given(routes=tuple(STRATEGIES)))
    graph.add_edge(START, "classify")
    targets: dict[Hashable, str] = {SMALL_TALK: then, **{name: name for name in branches}}
    graph.add_conditional_edges("classify", chosen_strategy, targets)
    for name, branch in branches.items():
        colour = STRATEGIES[name].colour if name in STRATEGIES else None
        graph.add_node(name, branch, cache_policy=cache_policy(name), metadata={"colour": colour})
        graph.add_edge(name, then)


def _compile(strategy: StateGraph[Any, Any, Any, Any]) -> Runnable[Any, dict[str, Any]]:
    """Compile a strategy so that it returns only its output.

    For `astream_events`, LangGraph streams a subgraph and writes what it streams to the state around it, by
    default every field: the two strategies of a hedge would both write the question.
    """
    compiled = strategy.compile()

    def keep_output(state: dict[str, Any]) -> dict[str, Any]:
        return {key: state[key] for key in compiled.output_channels if key in state}

    return compiled | RunnableLambda(keep_output)
