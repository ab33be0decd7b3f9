"""Analytical questions: split the question into the aspects it has."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query import decompose as core
from adaptive_rag.search.search import first_hits, prepare
from adaptive_rag.state import Query, StrategyState


@step
def decompose(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Split the question into sub-questions; the question itself is searched beside them."""
    context = context_of(runtime)
    source, question = source_of(context), state["question"]
    queries = [Query(text=question)]
    if context.uses("fan-out"):
        n = context.retrieval.sub_questions
        sub_questions = yield from core.decompose(question, n, lambda: first_hits(source, question))
        queries += [Query(text=text, label=text) for text in sub_questions]
        prepare(source, [query["text"] for query in queries])
    return {"queries": queries, "plan": None}
