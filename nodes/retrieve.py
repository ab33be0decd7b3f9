"""The shared search: dense and sparse candidates for each text, fused into one ranking."""

from __future__ import annotations

import time

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.context.caller import shown_to_callers
from adaptive_rag.deadline import check_deadline
from adaptive_rag.errors import AdaptiveRAGError, DeadlineError
from adaptive_rag.index.index import source_of
from adaptive_rag.nodes.step import Update, question_deadline, step
from adaptive_rag.search.search import search, summarise
from adaptive_rag.state import Branch, Candidate, Decision, Hit, StrategyState, TraceRecord
from adaptive_rag.text.redaction import redact


@step
def retrieve(state: StrategyState, runtime: Runtime[Context]) -> Update:
    """Search for the question in all its texts."""
    context = context_of(runtime)
    queries = state["queries"]
    candidates, decision = search(
        source_of(context, state), queries, context, state["analysis"], state.get("plan")
    )
    return {
        "candidates": candidates,
        "record": {
            "queries": [query["text"] for query in queries],
            "candidates": summarise(candidates),
            "decisions": [decision],
        },
    }


def retrieve_branch(state: Branch, runtime: Runtime[Context]) -> dict[str, list[Hit]]:
    """Search for one branch of a fan-out; one that fails says so in the trace and stops no other."""
    context = context_of(runtime)
    started = time.perf_counter()
    queries, label = state["queries"], state["label"]
    record: TraceRecord = {"step": "retrieve", "queries": [query["text"] for query in queries]}
    found: list[Candidate] = []
    try:
        with shown_to_callers(runtime), question_deadline(state.get("started_at"), runtime):
            check_deadline()
            found, decision = search(
                source_of(context, state), queries, context, state["analysis"], state["plan"]
            )
        if label is not None:
            found = found[: context.retrieval.branch_candidates]
        record["candidates"] = summarise(found)
        record["decisions"] = [decision]
    except DeadlineError:
        raise
    except (AdaptiveRAGError, OSError, RuntimeError, ValueError) as error:
        if label is None:
            # Without the question's own search there is nothing to fall back on.
            raise
        reason = redact(f"{type(error).__name__}: {error}")
        record["decisions"] = [Decision(what="branch", chosen="nothing found", why=reason)]
    record["ms"] = round((time.perf_counter() - started) * 1000, 3)
    return {"hits": [Hit(order=state["order"], label=label, candidates=found, record=record)]}
