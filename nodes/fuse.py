"""Questions that the router was unsure about: fuse the results of the two likeliest strategies."""

from __future__ import annotations

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from adaptive_rag.context import Context, context_of
from adaptive_rag.nodes.step import Update, step
from adaptive_rag.rank.window import Window, given_size
from adaptive_rag.search.fusion import fuse_rankings
from adaptive_rag.search.search import summarise
from adaptive_rag.state import HedgeState
from adaptive_rag.text.phrases import decide, say


@step
def fuse(state: HedgeState, runtime: Runtime[Context]) -> Update:
    """Fuse the rankings of the strategies by reciprocal rank, weighted by how likely each type is."""
    context = context_of(runtime)
    analysis = state["analysis"]
    routes = [state["query_type"], *analysis["alternatives"]]
    rankings = [[d for d in state["documents"] if d.get("route") == route] for route in routes]
    fused = fuse_rankings(rankings, [analysis["probabilities"][route] for route in routes])
    # Each strategy has already applied its own reading budget, and dropped weak passages by its own scores.
    longest_ranking = max(map(len, rankings)), say("as_longest")
    size, why = given_size(context, analysis) or longest_ranking
    documents, window = Window(fused, size, why, found=len(fused)).keep(fused)
    decision = decide("hedge", routes, *analysis["reasons"])
    return {
        "documents": Overwrite(documents),
        "record": {"candidates": summarise(documents), "decisions": [decision, *window]},
    }
