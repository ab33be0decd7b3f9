"""Analytical questions: keep a set of passages that is relevant and covers the aspects."""

from __future__ import annotations

from functools import partial

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.llm.request import Asking
from adaptive_rag.nodes.rerank import score, score_locally, select_from, select_in_turn, selected
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.optional import attempt
from adaptive_rag.query.history import full_question
from adaptive_rag.rank.branches import join_by_rank, take_in_turn
from adaptive_rag.rank.rerankers import reranker_of
from adaptive_rag.rank.scoring import by_relevance
from adaptive_rag.rank.selection import compare, cover
from adaptive_rag.rank.window import READING, ReadingBudget, Window, choose_window, planned_size, ranked_by
from adaptive_rag.search.fusion import join_branches
from adaptive_rag.state import Candidate, Decision, Hit, Query, StrategyState

# The reason why no model scores them: its score for the whole question would favour one aspect.
LOCALLY = "analytical questions are scored by what their branches found"


@step
def diversify(state: StrategyState, runtime: Runtime[Context], reading: ReadingBudget = READING) -> Steps:
    """Join the branches without duplicate chunks, and select for relevance and coverage."""
    context = context_of(runtime)
    hits = sorted(state["hits"], key=lambda hit: hit["order"])
    if context.retrieval.draw == "in-turn":
        size = planned_size(context, state["analysis"], reading)
        return (yield from select_in_turn(state, take_in_turn(hits, size[0]), context, size))
    candidates = yield from _join(state, hits, context, reading)
    window = choose_window(context, state["analysis"], candidates, reading)
    chosen, decisions = window.candidates, list[Decision]()
    settings = context.retrieval
    is_selective = settings.diversity == "coverage" or settings.selection == "model"
    if context.uses("diversify") and chosen and is_selective:
        local = chosen[: window.size]
        if settings.diversity == "coverage":
            local = attempt("diversity", partial(_cover, state, context, window), local)
        chosen, by_model = yield from select_from(state, window.candidates, local, context)
        method = "the model's choice" if by_model else settings.diversity
        why = compare(chosen[: window.size], window.candidates)
        decisions.append(Decision(what="selection", chosen=method, why=why))
    documents, reasons = window.keep(chosen)
    return selected(state, documents, candidates, [*decisions, *reasons])


def _cover(state: StrategyState, context: Context, window: Window) -> list[Candidate]:
    """Select relevant passages that do not repeat each other."""
    candidates = window.candidates
    vectors = source_of(context, state).vectors([candidate["id"] for candidate in candidates])
    return [candidates[i] for i in cover(vectors, ranked_by(candidates), window.size)]


def _join(
    state: StrategyState, hits: list[Hit], context: Context, reading: ReadingBudget
) -> Asking[list[Candidate]]:
    """Return all candidates, best first; if they are scored locally, by their ranks in the branches."""
    if len(hits) > 1 and reranker_of(context).branches != "together":
        return join_by_rank([_ranked(state, hit, context) for hit in hits])
    return (yield from score(state, join_branches(hits), context, reading, locally_because=LOCALLY))


def _ranked(state: StrategyState, hit: Hit, context: Context) -> Hit:
    """Order a branch's candidates by their relevance to the branch's own text."""
    if not context.uses("rerank") or reranker_of(context).branches == "kept":
        return hit
    question = hit["label"] or full_question(state)
    queries = [Query(text=question)]
    branch: StrategyState = {**state, "spelt_question": question, "subject": "", "queries": queries}
    scores = score_locally(branch, hit["candidates"], context)
    return {**hit, "candidates": by_relevance(hit["candidates"], scores)}
