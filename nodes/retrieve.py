"""The search of all strategies: dense and sparse candidates for each query, fused into one ranking."""

from __future__ import annotations

import time

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.context.caller import shown_to_callers
from adaptive_rag.deadline import check_deadline
from adaptive_rag.errors import DeadlineError
from adaptive_rag.index.index import source_of
from adaptive_rag.nodes.step import Update, question_deadline, step
from adaptive_rag.search.search import search, summarise
from adaptive_rag.state import Branch, Candidate, Decision, Hit, SearchPlan, StrategyState, TraceRecord
from adaptive_rag.text.redaction import redact


@step
def retrieve(state: StrategyState, runtime: Runtime[Context]) -> Update:
    """Search with all queries of the question."""
    candidates, record = _search(state, context_of(runtime), state.get("plan"))
    return {"candidates": candidates, "record": record}


def retrieve_branch(state: Branch, runtime: Runtime[Context]) -> dict[str, list[Hit]]:
    """Search for one branch of a fan-out; a branch that fails is noted in the trace and stops no other."""
    context = context_of(runtime)
    started = time.perf_counter()
    label, candidates = state["label"], list[Candidate]()
    try:
        with shown_to_callers(runtime), question_deadline(state.get("started_at"), runtime):
            check_deadline()
            limit = context.retrieval.branch_candidates if label is not None else None
            candidates, record = _search(state, context, state["plan"], limit)
    except DeadlineError:
        raise
    except Exception as error:  # clients of stores and embedding models have errors of their own
        if label is None:
            raise  # there is no fallback for the question's own search
        reason = redact(f"{type(error).__name__}: {error}")
        failed = Decision(what="branch", chosen="nothing found", why=reason)
        record = {"queries": [query["text"] for query in state["queries"]], "decisions": [failed]}
    record = {"step": "retrieve", **record, "ms": round((time.perf_counter() - started) * 1000, 3)}
    return {"hits": [Hit(order=state["order"], label=label, candidates=candidates, record=record)]}


def _search(
    state: StrategyState | Branch, context: Context, plan: SearchPlan | None, limit: int | None = None
) -> tuple[list[Candidate], TraceRecord]:
    """Return at most `limit` candidates, and the trace record of their search."""
    queries, source = state["queries"], source_of(context, state)
    candidates, decision = search(source, queries, context, state["analysis"], plan)
    return candidates[:limit], {
        "queries": [query["text"] for query in queries],
        "candidates": summarise(candidates[:limit]),
        "decisions": [decision],
    }
