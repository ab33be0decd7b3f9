"""Contextual questions: put who asks, and what was said before, into the query."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.llm.request import Asking
from adaptive_rag.nodes.rerank import search_to_score
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.optional import attempt
from adaptive_rag.query.contextualize import (
    MAX_CONTEXT,
    ask_to_contextualize,
    ask_to_infer,
    contextual_query,
    is_follow_up,
    is_off_topic,
    plan_contextual,
)
from adaptive_rag.query.history import spelt_question
from adaptive_rag.rank.rerank import early_scores
from adaptive_rag.rank.window import READING, ReadingBudget
from adaptive_rag.search.search import prepare
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import Candidate, Decision, Query, SearchPlan, StrategyState, Turn


@step
def contextualize(state: StrategyState, runtime: Runtime[Context], reading: ReadingBudget = READING) -> Steps:
    """Make the question stand alone; meanwhile the model scores what the local query finds."""
    context = context_of(runtime)
    source = source_of(context, state)
    question, user_context = spelt_question(state), state.get("user_context", "")
    queries, implied, scored = [Query(text=question)], user_context, list[Candidate]()
    plan: SearchPlan | None = None
    decisions: list[Decision] = []
    if context.uses("context"):
        user_context = yield from _infer(state, context)
        known = question, user_context, state.get("history", [])
        scoring, candidates = search_to_score(state, lambda: contextual_query(*known), context, reading)
        rewriting = ask_to_contextualize(
            *known,
            no_context=context.models.no_context,
            locally_because=""
            if context.retrieval.rewrites != "follow-ups" or is_follow_up(*known)
            else "only follow-ups are made to stand alone",
        )
        reply, *scores = yield [rewriting, *scoring]
        scored = early_scores(candidates, scores)
        if reply.result is not None:
            implied = reply.result.context
            alone = context.retrieval.rewrites == "alone"
            texts = dict.fromkeys([reply.result.query] if alone else [reply.result.query, question])
            queries = [Query(text=text, dense=1 / len(texts), sparse=1 / len(texts)) for text in texts]
        else:
            implied = user_context[:MAX_CONTEXT]
            planned = attempt("follow-up", partial(_plan, source, *known), None)
            queries, plan, decisions = planned or (queries, plan, decisions)
    prepare(source, [query["text"] for query in queries], [implied] if implied else [])
    return {
        "queries": queries,
        "plan": plan,
        "implied_context": implied,
        "early_scored": scored,
        "record": {"decisions": decisions},
    }


def _plan(
    source: ChunkSource, question: str, user_context: str, history: Sequence[Turn]
) -> tuple[list[Query], SearchPlan | None, list[Decision]]:
    """Return the local queries; without the asker's situation where that leads away from every passage."""
    queries, plan = plan_contextual(question, user_context, history)
    if plan and plan["situation"]:
        bare, bare_plan = plan_contextual(question, user_context, history, situated=False)
        if is_off_topic(source, queries[0]["text"], bare[0]["text"]):
            why = "with it the question is further from every passage"
            return bare, bare_plan, [Decision(what="situation", chosen="not searched for", why=why)]
    return queries, plan, []


def _infer(state: StrategyState, context: Context) -> Asking[str]:
    """Return the asker's context: their own words, else what a model infers in a call of its own."""
    given = state.get("user_context", "")
    if given or "infer" not in context.models.steps:
        return given
    [reply] = yield [ask_to_infer(state["question"], state.get("history", []))]
    return reply.result.context if reply.result is not None else ""
