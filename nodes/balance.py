"""Opinion questions: let every viewpoint be heard."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.open import source_of
from adaptive_rag.nodes.diversify import choose
from adaptive_rag.nodes.rerank import score
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.expansion import matter
from adaptive_rag.rank.balance import attribute, draw_named
from adaptive_rag.rank.diversity import cover
from adaptive_rag.rank.relevance import score_opinions, with_feedback
from adaptive_rag.rank.stances import label_sides
from adaptive_rag.search.alpha import OPINION_ALPHA
from adaptive_rag.search.branches import gather
from adaptive_rag.search.fusion import with_scores
from adaptive_rag.search.search import summarise
from adaptive_rag.state import Decision, Hit, StrategyState

# Chunks that are put in order for the draw, as a multiple of k.
DRAWN_FROM = 4


@step
def balance(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Join the branches, each chunk once, and draw so that little is said twice and every side is named."""
    context = context_of(runtime)
    hits = sorted(state["hits"], key=lambda hit: hit["order"])
    if context.rerank:
        hits[0] = _towards_first_hits(hits[0], context)
    candidates = attribute(gather(hits), hits)
    if not context.rerank:
        scored = candidates
    elif context.reranker in ("auto", "fused"):
        relevance = score_opinions(source_of(context), matter(state["question"]), candidates)
        scored = [with_scores(c, relevance=r) for c, r in zip(candidates, relevance, strict=True)]
        scored = sorted(scored, key=lambda candidate: -candidate["scores"]["relevance"])
    else:
        scored = yield from score(state, candidates, context)
    key = "relevance" if scored and "relevance" in scored[0]["scores"] else "fused"
    views = [hit["label"] for hit in hits if hit["label"] is not None]
    decisions = []
    if context.balance and scored:
        source = source_of(context)
        vectors = source.vectors([candidate["id"] for candidate in scored])
        order = cover(vectors, [c["scores"][key] for c in scored], DRAWN_FROM * context.k)
        spread = [scored[i] for i in order]
        local = draw_named(spread, views, context.k) if views else spread[: context.k]
        scored, by = yield from choose(state["question"], spread, local, context)
        if not views:
            scored = scored[: context.k]
            sentences = source.sentences([candidate["id"] for candidate in scored])
            scored = label_sides(state["question"], scored, sentences)
            views = list(dict.fromkeys(label for candidate in scored for label in candidate["labels"]))
        decisions = [Decision(what="draw", chosen=views, why=by or "every side, nothing said twice")]
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
