"""Factual questions: make the query say what the passage will say."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.nodes.rerank import search_to_score
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.enhance import ask_to_enhance
from adaptive_rag.query.history import full_question
from adaptive_rag.query.parts import full_parts
from adaptive_rag.rank.rerank import early_scores
from adaptive_rag.rank.window import READING, ReadingBudget
from adaptive_rag.state import Candidate, Query, StrategyState


@step
def enhance(state: StrategyState, runtime: Runtime[Context], reading: ReadingBudget = READING) -> Steps:
    """Rewrite the question into a query; meanwhile the model scores what the question itself finds."""
    context = context_of(runtime)
    query, scored = full_question(state), list[Candidate]()
    parts = full_parts(state)
    share = 1 / len(parts)
    queries = [Query(text=part, dense=share, sparse=share, part=True) for part in parts]
    if len(parts) == 1:
        queries = [Query(text=query)]
    if context.uses("enhance"):
        scoring, candidates = search_to_score(state, query, context, reading)
        reply, *scores = yield [ask_to_enhance(query), *scoring]
        scored = early_scores(candidates, scores)
        if reply.result is not None:
            queries = [Query(text=reply.result.query)]
    return {"queries": queries, "plan": None, "early_scored": scored}
