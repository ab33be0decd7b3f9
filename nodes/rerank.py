"""The shared scoring: how well does each candidate answer the question, in its context?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.llm.request import Asking, Request
from adaptive_rag.nodes.step import Steps, Update, step
from adaptive_rag.rank.relevance import score_candidates
from adaptive_rag.rank.rerank import (
    MODEL_READS,
    RerankRequest,
    add_missed,
    ask_to_score,
    by_relevance,
    join_scores,
    keep_window,
    ranked_by,
    reserve_for_context,
    threshold,
)
from adaptive_rag.rank.rerankers import RERANKERS
from adaptive_rag.search.search import search, summarise
from adaptive_rag.state import Candidate, Decision, Query, StrategyState


@step
def rerank(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Order the candidates by relevance to the question and keep the window."""
    context = context_of(runtime)
    early = state.get("early_scored", [])
    if early and context.uses("rerank"):
        candidates = add_missed(state["candidates"], early)
        local = score_locally(state, candidates, context)
        scored = by_relevance(candidates, join_scores(candidates, local, early))
    else:
        scored = yield from score(state, state["candidates"], context)
    cut_at = threshold(ranked_by(scored))
    plan = state.get("plan")
    situation = plan.get("situation", "") if plan else ""
    reserves = bool(situation and context.uses("rerank") and scored)
    if reserves:
        scored = reserve_for_context(source_of(context), situation, scored, context.k)
    documents, decisions = keep_window(scored, context, state["analysis"], cut_at=cut_at)
    if reserves:
        why = "the last passages were chosen for the user's situation"
        decisions.append(Decision(what="situation", chosen=situation, why=why))
    return selected(state, documents, scored, decisions)


def selected(
    state: StrategyState, documents: list[Candidate], candidates: list[Candidate], decisions: list[Decision]
) -> Update:
    """Return the update of a strategy's last step: its documents, and what they were selected from."""
    return {
        "documents": [{**document, "route": state["query_type"]} for document in documents],
        "record": {"candidates": summarise(candidates), "decisions": decisions},
    }


def score(
    state: StrategyState, candidates: list[Candidate], context: Context, *, locally_because: str = ""
) -> Asking[list[Candidate]]:
    """Give every candidate its relevance, best first; also how the other strategies score theirs."""
    if not context.uses("rerank") or not candidates:
        return candidates
    request = RerankRequest(
        question=state["question"],
        context=state.get("implied_context", ""),
        candidates=candidates,
        k=context.k,
        score_locally=lambda: score_locally(state, candidates, context),
        scoring=context.scoring,
        model=context.retrieval.reranker_model,
        locally_because=locally_because,
    )
    return (yield from RERANKERS[context.retrieval.reranker](request))


def score_locally(state: StrategyState, candidates: list[Candidate], context: Context) -> list[float]:
    """Score candidates without a model, 0-10, by the texts that the search used."""
    queries = state.get("queries", [])
    return score_candidates(source_of(context), state["question"], candidates, queries=queries)


def search_to_score(
    state: StrategyState, text: str | Callable[[], str], context: Context
) -> tuple[list[Request[Any]], list[Candidate]]:
    """Return the request to score what a text finds, and the candidates that it would score.

    It is made while the model prepares the query, which saves a round. The scores hold for the question,
    so they stay true whatever query finds a candidate again. Without a model nothing is searched.
    """
    has_model = context.model is not None or context.models.fast_model is not None
    if context.retrieval.reranker != "auto" or not context.uses("rerank") or not has_model:
        return [], []
    query = Query(text=text if isinstance(text, str) else text())
    found, _ = search(source_of(context), [query], context, state["analysis"])
    read = found[: MODEL_READS * context.k]
    return [ask_to_score(state["question"], state.get("user_context", ""), read)] if read else [], read
