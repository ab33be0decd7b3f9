"""Opinion questions: let every viewpoint be heard."""

from __future__ import annotations

from adaptive_rag.nodes.rerank import score
from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.retrieval.balance import balanced_draw
from adaptive_rag.retrieval.branches import gather
from adaptive_rag.retrieval.search import summarise
from adaptive_rag.state import Decision, StrategyState
from adaptive_rag.steps import Steps, step


@step
def balance(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Join the branches, each chunk once, and draw from the viewpoints in turn."""
    context = context_of(runtime)
    hits = sorted(state["hits"], key=lambda hit: hit["order"])
    candidates = gather(hits)
    scored = yield from score(state, candidates, context)
    views = [hit["query"]["label"] for hit in hits if "label" in hit["query"]]
    chosen = balanced_draw(scored, views if context.balance else [], context.k)
    decision = Decision(what="draw", chosen=views, why="one chunk of every viewpoint, then by score")
    return {
        "documents": [{**scored[i], "route": state["query_type"]} for i in chosen],
        "record": {"candidates": summarise(scored), "decisions": [decision]},
    }
