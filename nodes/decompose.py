"""Analytical questions: split the question into the aspects it has."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.open import source_of
from adaptive_rag.llm.steps import DECOMPOSE, Ask
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.decompose import DecomposeRequest
from adaptive_rag.search.search import first_hits, prepare
from adaptive_rag.state import Query, StrategyState


@step
def decompose(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Split the question into sub-questions; the question itself is searched beside them."""
    context = context_of(runtime)
    question = state["question"]
    queries = [Query(text=question)]
    if context.fan_out:
        request = DecomposeRequest(
            question, context.sub_questions, lambda: first_hits(source_of(context), question)
        )
        [outcome] = yield [Ask(DECOMPOSE, request)]
        queries += [Query(text=text, label=text) for text in outcome.result.sub_questions]
        prepare(source_of(context), [query["text"] for query in queries])
    return {"queries": queries, "plan": None, "record": {"queries": [query["text"] for query in queries]}}
