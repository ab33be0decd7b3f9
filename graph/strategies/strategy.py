"""The record that defines a strategy, and builders for the two usual shapes of its graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from adaptive_rag.answer.request import AnswerStyle
from adaptive_rag.context import Context
from adaptive_rag.nodes import retrieve, retrieve_branch
from adaptive_rag.nodes.step import Step
from adaptive_rag.state import Branch, Query, StrategyOutput, StrategyState

StrategyGraph: TypeAlias = StateGraph[StrategyState, Context, StrategyState, StrategyOutput]


@dataclass(frozen=True)
class Strategy:
    """A way to find passages for one kind of question, and to answer from them."""

    name: str
    # a description for the shell and the evaluation
    purpose: str
    build: Callable[[], StrategyGraph]
    style: AnswerStyle
    # hexadecimal colour for drawings of the strategy
    colour: str
    # whether the router may choose it; if not, only `route=` selects it
    routable: bool = True


def build_pipeline(prepare: Step, select: Step) -> StrategyGraph:
    """Build the graph: prepare -> retrieve -> select."""
    graph: StrategyGraph = StateGraph(StrategyState, context_schema=Context, output_schema=StrategyOutput)
    graph.add_sequence([(step.name, step) for step in (prepare, retrieve, select)])
    graph.add_edge(START, prepare.name)
    graph.add_edge(select.name, END)
    return graph


def build_fan_out(split: Step, join: Step) -> StrategyGraph:
    """Build the graph: split => retrieve, once for each branch => join."""
    graph: StrategyGraph = StateGraph(StrategyState, context_schema=Context, output_schema=StrategyOutput)
    graph.add_node(split.name, split)
    graph.add_node("retrieve", retrieve_branch, input_schema=Branch)
    graph.add_node(join.name, join)
    graph.add_edge(START, split.name)
    graph.add_conditional_edges(split.name, send_each_branch, ["retrieve"])
    graph.add_edge("retrieve", join.name)
    graph.add_edge(join.name, END)
    return graph


def send_each_branch(state: StrategyState) -> list[Send]:
    """Return a retrieval for the question itself, and one for each labelled query."""
    branches: list[tuple[str | None, list[Query]]] = [
        (None, [query for query in state["queries"] if "label" not in query]),
        *((query["label"], [query]) for query in state["queries"] if "label" in query),
    ]
    return [
        Send(
            "retrieve",
            Branch(
                order=order,
                label=label,
                queries=queries,
                plan=state.get("plan"),
                analysis=state["analysis"],
                index_version=state.get("index_version"),
                started_at=state.get("started_at"),
            ),
        )
        for order, (label, queries) in enumerate(branches)
    ]
