"""Contextual questions: put who asks, and what was said before, into the query."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.skills import CONTEXTUALIZE, Ask
from adaptive_rag.skills.contextualize import ContextualizeRequest
from adaptive_rag.state import Query, StrategyState
from adaptive_rag.steps import Steps, step


@step
def contextualize(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Resolve the question against the user's context and the history."""
    context = context_of(runtime)
    question, user_context = state["question"], state.get("user_context", "")
    queries, implied = [Query(text=question)], user_context
    if context.contextualize:
        request = ContextualizeRequest(question, user_context, state.get("history", []))
        [outcome] = yield [Ask(CONTEXTUALIZE, request)]
        implied = outcome.result.context
        queries = [Query(text=text) for text in dict.fromkeys([outcome.result.query, question])]
    return {
        "queries": queries,
        "implied_context": implied,
        "record": {"queries": [query["text"] for query in queries]},
    }
