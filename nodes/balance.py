"""Opinion questions: let every viewpoint be heard."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.nodes.diversify import choose
from adaptive_rag.nodes.rerank import score
from adaptive_rag.retrieval.alpha import OPINION_ALPHA
from adaptive_rag.retrieval.balance import attribute, draw_in_turn, draw_named
from adaptive_rag.retrieval.branches import gather
from adaptive_rag.retrieval.diversity import cover
from adaptive_rag.retrieval.fusion import with_scores
from adaptive_rag.retrieval.scoring import score_opinions, with_feedback
from adaptive_rag.retrieval.search import summarise
from adaptive_rag.sources import source_of
from adaptive_rag.state import Decision, Hit, StrategyState
from adaptive_rag.steps import Steps, step

# Chunks that are put in order for the draw, as a multiple of k.
DRAWN_FROM = 4


@step
def balance(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Join the branches, each chunk once, and draw from the viewpoints in turn."""
    context = context_of(runtime)
    hits = sorted(state["hits"], key=lambda hit: hit["order"])
    if context.rerank:
        hits[0] = _towards_first_hits(hits[0], context)
    candidates = attribute(gather(hits), hits)
    if not context.rerank:
        scored = candidates
    elif context.reranker in ("auto", "fused"):
        relevance = score_opinions(source_of(context), state["question"], candidates)
        scored = [with_scores(c, relevance=r) for c, r in zip(candidates, relevance, strict=True)]
        scored = sorted(scored, key=lambda candidate: -candidate["scores"]["relevance"])
    else:
        scored = yield from score(state, candidates, context)
    key = "relevance" if scored and "relevance" in scored[0]["scores"] else "fused"
    views = [hit["label"] for hit in hits if hit["label"] is not None]
    decisions = []
    if context.balance and scored:
        vectors = source_of(context).vectors([candidate["id"] for candidate in scored])
        order = cover(vectors, [c["scores"][key] for c in scored], DRAWN_FROM * context.k)
        draw = draw_named if state.get("viewpoints_named") else draw_in_turn
        local = draw([scored[i] for i in order], views, context.k)[: context.k]
        scored, by = yield from choose(state["question"], [scored[i] for i in order], local, context)
        why = by or "every viewpoint in turn, nothing said twice"
        decisions = [Decision(what="draw", chosen=views, why=why)]
    return {
        "documents": [{**document, "route": state["query_type"]} for document in scored[: context.k]],
        "record": {"candidates": summarise(candidates), "decisions": decisions},
    }


def _towards_first_hits(hit: Hit, context: Context) -> Hit:
    """Let the first hits say what the question means: opinions put one matter in many words."""
    if not hit["candidates"]:
        return hit
    alpha = OPINION_ALPHA if context.alpha is None else context.alpha
    return {**hit, "candidates": with_feedback(source_of(context), hit["candidates"], alpha=alpha)}
