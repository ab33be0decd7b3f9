"""The shared search: dense and sparse candidates for each query, fused into one ranking."""

from __future__ import annotations

import time
from typing import Any

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.errors import AdaptiveRAGError
from adaptive_rag.retrieval.fusion import merge
from adaptive_rag.retrieval.search import fused_search, summarise
from adaptive_rag.sources import source_of
from adaptive_rag.state import Branch, Hit, StrategyState, TraceRecord
from adaptive_rag.steps import Update, step


@step
def retrieve(state: StrategyState, runtime: Runtime[Context]) -> Update:
    """Search for every query and join what they found."""
    context = context_of(runtime)
    queries = state["queries"]
    lists, decision = fused_search(source_of(context), queries, context, state["analysis"])
    weights = [query.get("weight", 1 / len(queries)) for query in queries]
    candidates = merge(lists, weights, "fused")
    return {
        "candidates": candidates,
        "record": {
            "queries": [query["text"] for query in queries],
            "candidates": summarise(candidates),
            "decisions": [decision],
        },
    }


def retrieve_branch(state: Branch, runtime: Runtime[Context]) -> dict[str, list[Hit]]:
    """Search for one query of a fan-out; a branch that fails says so and spoils no other."""
    context = context_of(runtime)
    started = time.perf_counter()
    query = state["query"]
    record: TraceRecord = {"step": "retrieve", "queries": [query["text"]]}
    found: list[Any] = []
    try:
        [found], decision = fused_search(source_of(context), [query], context, state["analysis"])
        record["candidates"] = summarise(found)
        record["decisions"] = [decision]
    except (AdaptiveRAGError, OSError, RuntimeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        record["decisions"] = [{"what": "branch", "chosen": "nothing found", "why": reason}]
    record["ms"] = round((time.perf_counter() - started) * 1000, 3)
    return {"hits": [Hit(order=state["order"], query=query, candidates=found, record=record)]}
