"""Factual questions: make the query say what the passage will say."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.retrieval.search import first_hits
from adaptive_rag.skills import ENHANCE, Ask
from adaptive_rag.skills.enhance import EnhanceRequest
from adaptive_rag.sources import source_of
from adaptive_rag.state import Query, StrategyState
from adaptive_rag.steps import Steps, step


@step
def enhance(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Enhance the question into a query for the index."""
    context = context_of(runtime)
    question = state["question"]
    query = question
    if context.enhance:
        request = EnhanceRequest(question, lambda: first_hits(source_of(context), question))
        [outcome] = yield [Ask(ENHANCE, request)]
        query = outcome.result.query
    return {"queries": [Query(text=query)], "record": {"queries": [query]}}
