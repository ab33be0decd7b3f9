"""Analytical questions: keep a set that is relevant and covers the aspects."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.nodes.rerank import score
from adaptive_rag.retrieval.branches import gather
from adaptive_rag.retrieval.diversity import SELECTORS
from adaptive_rag.retrieval.search import summarise
from adaptive_rag.retrieval.window import keep_window, threshold
from adaptive_rag.sources import source_of
from adaptive_rag.state import Decision, StrategyState
from adaptive_rag.steps import Steps, step


@step
def diversify(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Join the branches, each chunk once, and select for relevance and coverage."""
    context = context_of(runtime)
    candidates = gather(state["hits"])
    scored = yield from score(state, candidates, context)
    key = "relevance" if scored and "relevance" in scored[0]["scores"] else "fused"
    relevance = [candidate["scores"][key] for candidate in scored]
    cut_at, decisions = threshold(relevance), list[Decision]()
    if context.diversify and scored:
        vectors = source_of(context).vectors([candidate["id"] for candidate in scored])
        scored = [scored[i] for i in SELECTORS[context.diversity](vectors, relevance, context.k)]
        decisions.append(Decision(what="selection", chosen=context.diversity, why="the set counts"))
    documents, window = keep_window(scored, context, state["analysis"], cut_at=cut_at)
    return {
        "documents": [{**document, "route": state["query_type"]} for document in documents],
        "record": {"candidates": summarise(candidates), "decisions": [*decisions, *window]},
    }
