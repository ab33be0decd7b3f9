"""The shared scoring: how well does each candidate answer the question, in its context?"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.retrieval.fusion import with_scores
from adaptive_rag.retrieval.judged import add_missed, join_scores
from adaptive_rag.retrieval.scoring import score_candidates
from adaptive_rag.retrieval.search import fused_search, summarise
from adaptive_rag.retrieval.window import keep_window
from adaptive_rag.skills import SCORE, Ask, Outcome
from adaptive_rag.skills.score import ScoreRequest
from adaptive_rag.sources import source_of
from adaptive_rag.state import Candidate, Query, StrategyState
from adaptive_rag.steps import Steps, step


@step
def rerank(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Order the candidates by relevance to the question and keep the window."""
    context = context_of(runtime)
    judged = state.get("judged", [])
    if judged and context.rerank:
        candidates = add_missed(state["candidates"], judged)
        local = score_candidates(source_of(context), state["question"], candidates)
        scored = _by_relevance(candidates, join_scores(candidates, local, judged))
    else:
        scored = yield from score(state, state["candidates"], context)
    documents, decisions = keep_window(scored, context, state["analysis"])
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
    # A model reads twice what the answer will; without one every candidate is scored.
    read = candidates[: 2 * context.k]
    implied = state.get("implied_context", "")
    local = score_candidates(source_of(context), state["question"], candidates)

    if context.reranker == "pointwise":
        asks = [
            Ask(SCORE, ScoreRequest(state["question"], implied, [c], lambda s=s: [s]))
            for c, s in zip(read, local, strict=False)
        ]  # type: ignore[misc]
        outcomes = yield asks
        # A model's scale and the local one do not mix: where one call failed, none counts.
        by_model = all(outcome.by == "model" for outcome in outcomes)
        scores = [outcome.result.scores[0] for outcome in outcomes] if by_model else []
    else:
        request = ScoreRequest(state["question"], implied, read, lambda: local[: len(read)])
        [outcome] = yield [Ask(SCORE, request)]
        scores = outcome.result.scores if outcome.by == "model" else []
    if not scores:
        return _by_relevance(candidates, local)
    judged = [with_scores(c, judged=score) for c, score in zip(read, scores, strict=True)]
    return _by_relevance(read, join_scores(read, local[: len(read)], judged))


def early_score(state: StrategyState, text: str, context: Context) -> list[Ask[Any, Any]]:
    """Return the wish to score the hits of a text while a model prepares the query: one round less.

    The scores hold for the question, so they stay true whatever query finds the candidate again.
    """
    if context.reranker != "auto" or not context.rerank or (context.model or context.fast_model) is None:
        return []
    [found], _ = fused_search(source_of(context), [Query(text=text)], context, state["analysis"])
    read = found[: 2 * context.k]
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


def _by_relevance(candidates: list[Candidate], scores: list[float]) -> list[Candidate]:
    scored = [with_scores(c, relevance=score) for c, score in zip(candidates, scores, strict=False)]
    return sorted(scored, key=lambda candidate: -candidate["scores"]["relevance"])
