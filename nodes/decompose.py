"""Analytical questions: split the question into the aspects it has."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.decompose import ask_to_decompose
from adaptive_rag.query.history import full_question
from adaptive_rag.rank.window import READING, ReadingBudget, planned_size
from adaptive_rag.search.search import prepare
from adaptive_rag.state import Query, StrategyState


@step
def decompose(state: StrategyState, runtime: Runtime[Context], reading: ReadingBudget = READING) -> Steps:
    """Search for the question, and for each sub-question that a model splits it into."""
    context = context_of(runtime)
    question = full_question(state)
    queries = [Query(text=question)]
    if context.uses("fan-out"):
        n = context.retrieval.sub_questions
        if n == "k":
            n, _ = planned_size(context, state["analysis"], reading)
        [reply] = yield [ask_to_decompose(question, n)]
        if reply.result is not None:
            queries += [Query(text=text, label=text) for text in reply.result.sub_questions]
        prepare(source_of(context, state), [query["text"] for query in queries])
    return {"queries": queries, "plan": None}
