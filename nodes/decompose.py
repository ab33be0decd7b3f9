"""Analytical questions: split the question into sub-questions, one for each aspect."""

from __future__ import annotations

from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.llm.replies import exactly, texts
from adaptive_rag.llm.request import Request
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.history import full_question
from adaptive_rag.rank.window import MOST_BRANCHES, READING, ReadingBudget, branch_count
from adaptive_rag.search.search import prepare
from adaptive_rag.state import Query, StrategyState


class SubQuestions(BaseModel):
    """Questions that together cover the main one."""

    sub_questions: list[str] = Field(min_length=1, max_length=MOST_BRANCHES, description="The sub-questions.")


@step
def decompose(state: StrategyState, runtime: Runtime[Context], reading: ReadingBudget = READING) -> Steps:
    """Prepare a query for the question, and one for each sub-question that a model splits it into.

    There is no local way to split it: adding a salient word of the first hits to the question ("... economy
    addressing") gives no question, and finds the same chunks as the question itself.
    """
    context = context_of(runtime)
    question = full_question(state)
    queries = [Query(text=question)]
    if context.uses("fan-out"):
        n = branch_count(context.retrieval.sub_questions, context, state["analysis"], reading)
        [reply] = yield [ask_to_decompose(question, n)]
        if reply.result is not None:
            queries += [Query(text=text, label=text) for text in reply.result.sub_questions]
        prepare(source_of(context, state), [query["text"] for query in queries])
    return {"queries": queries, "plan": None}


def ask_to_decompose(question: str, n: int) -> Request[SubQuestions]:
    """Ask the model for exactly n different sub-questions."""
    return Request(
        "decompose",
        SubQuestions,
        values=lambda: {"question": question, "n": str(n)},
        read=lambda value: {"sub_questions": exactly(n, texts(value, "sub-questions"), "sub-questions")},
        bounds={"sub_questions": {"minItems": n, "maxItems": n}},
    )
