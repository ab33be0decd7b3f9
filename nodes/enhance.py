"""Factual questions: make the query say what the passage will say."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.llm.steps import ENHANCE, Ask
from adaptive_rag.nodes.rerank import early_score, judgements
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.enhance import EnhanceRequest
from adaptive_rag.state import Candidate, Query, StrategyState


@step
def enhance(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Enhance the question into a query for the index; a model scores the question's own hits meanwhile."""
    context = context_of(runtime)
    question = state["question"]
    query, judged = question, list[Candidate]()
    if context.enhance:
        early = early_score(state, question, context)
        outcome, *scored = yield [Ask(ENHANCE, EnhanceRequest(question)), *early]
        query, judged = outcome.result.query, judgements(early, scored)
    return {"queries": [Query(text=query)], "plan": None, "judged": judged, "record": {"queries": [query]}}
