"""Analytical questions: keep a set that is relevant and covers the aspects."""

from __future__ import annotations

from adaptive_rag.nodes.rerank import score
from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.retrieval.branches import gather
from adaptive_rag.retrieval.diversity import maximal_marginal_relevance
from adaptive_rag.retrieval.search import summarise
from adaptive_rag.retrieval.window import keep_window
from adaptive_rag.sources import source_of
from adaptive_rag.state import Decision, StrategyState
from adaptive_rag.steps import Steps, step


@step
def diversify(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Join the branches, each chunk once, and select for relevance and coverage."""
    context = context_of(runtime)
    candidates = gather(state["hits"])
    scored = yield from score(state, candidates, context)
    decisions: list[Decision] = []
    if context.diversify and scored:
        key = "relevance" if "relevance" in scored[0]["scores"] else "fused"
        vectors = source_of(context).vectors([candidate["id"] for candidate in scored])
        relevance = [candidate["scores"][key] for candidate in scored]
        chosen = maximal_marginal_relevance(vectors, relevance, context.k)
        scored = [scored[i] for i in chosen]
        decisions.append(Decision(what="selection", chosen="maximal marginal relevance", why="covers more"))
    documents, window = keep_window(scored, context, state["analysis"])
    return {
        "documents": [{**document, "route": state["query_type"]} for document in documents],
        "record": {"candidates": summarise(candidates), "decisions": [*decisions, *window]},
    }
