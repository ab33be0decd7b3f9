"""The shared scoring: how well does each candidate answer the question, in its context?"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.open import source_of
from adaptive_rag.llm.steps import SCORE, Ask, Outcome
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.expansion import QueryPart
from adaptive_rag.rank.judged import add_missed, join_scores
from adaptive_rag.rank.relevance import score_candidates
from adaptive_rag.rank.rerankers import MODEL_READS, RERANKERS, RerankRequest, by_relevance
from adaptive_rag.rank.score import ScoreRequest
from adaptive_rag.rank.situation import seat_situation
from adaptive_rag.rank.window import keep_window, threshold
from adaptive_rag.search.fusion import with_scores
from adaptive_rag.search.search import search, summarise
from adaptive_rag.state import Candidate, Decision, Query, StrategyState


@step
def rerank(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Order the candidates by relevance to the question and keep the window."""
    context = context_of(runtime)
    judged = state.get("judged", [])
    if judged and context.rerank:
        candidates = add_missed(state["candidates"], judged)
        local = score_locally(state, candidates, context)
        scored = by_relevance(candidates, join_scores(candidates, local, judged))
    else:
        scored = yield from score(state, state["candidates"], context)
    pool = [candidate["scores"].get("relevance", candidate["scores"]["fused"]) for candidate in scored]
    plan = state.get("plan")
    situation = plan.get("situation", "") if plan else ""
    seated = bool(situation and context.rerank and scored)
    if seated:
        scored = seat_situation(source_of(context), situation, scored, context.k)
    documents, decisions = keep_window(scored, context, state["analysis"], cut_at=threshold(pool))
    if seated:
        why = "the last places go to what the asker's situation calls for"
        decisions.append(Decision(what="situation", chosen=situation, why=why))
    return {
        "documents": [{**document, "route": state["query_type"]} for document in documents],
        "record": {"candidates": summarise(scored), "decisions": decisions},
    }


def score(
    state: StrategyState, candidates: list[Candidate], context: Context
) -> Generator[list[Ask[Any, Any]], Any, list[Candidate]]:
    """Give every candidate its relevance, best first; also how the other strategies score theirs."""
    if not context.rerank or not candidates:
        return candidates
    request = RerankRequest(
        question=state["question"],
        context=state.get("implied_context", ""),
        candidates=candidates,
        k=context.k,
        score_locally=lambda: score_locally(state, candidates, context),
        model=context.reranker_model,
    )
    return (yield from RERANKERS[context.reranker](request))


def score_locally(state: StrategyState, candidates: list[Candidate], context: Context) -> list[float]:
    """Score candidates without a model, 0-10, by the texts that the search used."""
    parts = [
        QueryPart(query["text"], query.get("dense", 1.0), query.get("sparse", 1.0))
        for query in state.get("queries", [])
        if "label" not in query
    ]
    return score_candidates(source_of(context), state["question"], candidates, parts=parts)


def early_score(state: StrategyState, text: str, context: Context) -> list[Ask[Any, Any]]:
    """Return the wish to score the hits of a text while a model prepares the query: one round less.

    The scores hold for the question, so they stay true whatever query finds the candidate again.
    """
    if context.reranker != "auto" or not context.rerank or (context.model or context.fast_model) is None:
        return []
    found, _ = search(source_of(context), [Query(text=text)], context, state["analysis"])
    read = found[: MODEL_READS * context.k]
    request = ScoreRequest(state["question"], state.get("user_context", ""), read, lambda: [0.0] * len(read))
    return [Ask(SCORE, request)] if read else []


def judgements(asks: list[Ask[Any, Any]], outcomes: list[Outcome[Any]]) -> list[Candidate]:
    """Return the candidates that a model scored early; none where it did not."""
    return [
        with_scores(candidate, judged=score)
        for ask, outcome in zip(asks, outcomes, strict=True)
        if outcome.by == "model"
        for candidate, score in zip(ask.request.candidates, outcome.result.scores, strict=True)
    ]
