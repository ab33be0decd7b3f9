"""Factual questions: rewrite the question into a query that resembles the passage it looks for."""

from __future__ import annotations

import re

from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from adaptive_rag.context import Context, context_of
from adaptive_rag.llm.replies import text_in
from adaptive_rag.llm.request import Request
from adaptive_rag.nodes.rerank import search_to_score
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.history import full_question
from adaptive_rag.query.parts import full_parts
from adaptive_rag.rank.scoring import early_scores
from adaptive_rag.rank.window import READING, ReadingBudget
from adaptive_rag.state import Candidate, Query, StrategyState


class EnhancedQuery(BaseModel):
    """A query for the index."""

    query: str = Field(min_length=1, max_length=1000, description="The rewritten search query.")


@step
def enhance(state: StrategyState, runtime: Runtime[Context], reading: ReadingBudget = READING) -> Steps:
    """Rewrite the question into a query; meanwhile the model scores what the question itself finds.

    Without a model, the question is searched for as it is, with one query for each of its parts.
    """
    context = context_of(runtime)
    question, scored = full_question(state), list[Candidate]()
    parts = full_parts(state)
    share = 1 / len(parts)
    queries = [Query(text=part, dense=share, sparse=share, part=True) for part in parts]
    if len(parts) == 1:
        queries = [Query(text=question)]
    if context.uses("enhance"):
        scoring, candidates = search_to_score(state, question, context, reading)
        reply, *scores = yield [ask_to_enhance(question), *scoring]
        scored = early_scores(candidates, scores)
        if reply.result is not None:
            queries = [Query(text=reply.result.query)]
    return {"queries": queries, "plan": None, "early_scored": scored}


def ask_to_enhance(question: str) -> Request[EnhancedQuery]:
    """Ask the model for a search query that shares at least one word with the question."""
    names = ("query", "rewritten_query", "search_query", "enhanced_query", "rewritten_question")

    def check(result: EnhancedQuery) -> EnhancedQuery:
        question_stems = _stems(question)
        if question_stems and not question_stems & _stems(result.query):
            raise ValueError(f"the query {result.query[:80]!r} has no word in common with the question")
        return result

    return Request(
        "enhance",
        EnhancedQuery,
        values=lambda: {"question": question},
        read=lambda value: {"query": text_in(value, "query", *names)},
        check=check,
    )


def _stems(text: str) -> set[str]:
    # The first four letters stay the same in a plural or another tense. Only Latin words are compared,
    # since a query may be written in the language of the documents.
    return {word[:4].lower() for word in re.findall(r"[A-Za-z0-9]{4,}", text)}
