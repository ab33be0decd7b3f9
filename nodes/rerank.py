"""The shared scoring: how well does each candidate answer the question, in its context?"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.retrieval.fusion import with_scores
from adaptive_rag.retrieval.scoring import score_candidates
from adaptive_rag.retrieval.search import summarise
from adaptive_rag.retrieval.window import keep_window
from adaptive_rag.skills import SCORE, Ask
from adaptive_rag.skills.score import ScoreRequest
from adaptive_rag.sources import source_of
from adaptive_rag.state import Candidate, StrategyState
from adaptive_rag.steps import Steps, step


@step
def rerank(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Order the candidates by relevance to the question and keep the window."""
    context = context_of(runtime)
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

    def locally() -> list[float]:
        return score_candidates(source_of(context), state["question"], candidates)

    if context.reranker == "pointwise":
        asks = [Ask(SCORE, ScoreRequest(state["question"], implied, [c], lambda: [0.0])) for c in read]
        outcomes = yield asks
        # A model's scale and the local one do not mix: where one call failed, none counts.
        by_model = all(outcome.by == "model" for outcome in outcomes)
        scores = [outcome.result.scores[0] for outcome in outcomes] if by_model else locally()
    else:
        [outcome] = yield [Ask(SCORE, ScoreRequest(state["question"], implied, read, locally))]
        scores = outcome.result.scores
    scored = [with_scores(c, relevance=score) for c, score in zip(candidates, scores, strict=False)]
    return sorted(scored, key=lambda candidate: -candidate["scores"]["relevance"])
