"""Contextual questions: put who asks, and what was said before, into the query."""

from __future__ import annotations

from adaptive_rag.nodes.rerank import early_score, judgements
from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.skills import CONTEXTUALIZE, Ask
from adaptive_rag.skills.contextualize import ContextualizeRequest
from adaptive_rag.state import Candidate, Query, StrategyState
from adaptive_rag.steps import Steps, step


@step
def contextualize(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Resolve the question against context and history; a model scores the first hits meanwhile."""
    context = context_of(runtime)
    question, user_context = state["question"], state.get("user_context", "")
    queries, implied, judged = [Query(text=question)], user_context, list[Candidate]()
    if context.contextualize:
        request = ContextualizeRequest(question, user_context, state.get("history", []))
        early = early_score(state, CONTEXTUALIZE.stand_in(request).query, context)
        outcome, *scored = yield [Ask(CONTEXTUALIZE, request), *early]
        judged = judgements(early, scored)
        implied = outcome.result.context
        queries = [Query(text=text) for text in dict.fromkeys([outcome.result.query, question])]
    return {
        "queries": queries,
        "implied_context": implied,
        "judged": judged,
        "record": {"queries": [query["text"] for query in queries]},
    }
