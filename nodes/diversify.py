"""Analytical questions: keep a set that is relevant and covers the aspects."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.nodes.rerank import score, selected
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.rank.diversify import SELECTORS, select
from adaptive_rag.rank.window import READING, ReadingBudget, choose_window, ranked_by
from adaptive_rag.search.fusion import join_branches
from adaptive_rag.state import Decision, StrategyState

# A model's score for the whole question would favour one aspect.
LOCALLY = "analytical questions are scored by what their branches found"


@step
def diversify(state: StrategyState, runtime: Runtime[Context], reading: ReadingBudget = READING) -> Steps:
    """Join the branches, each chunk once, and select for relevance and coverage."""
    context = context_of(runtime)
    candidates = join_branches(state["hits"])
    scored = yield from score(state, candidates, context, reading, locally_because=LOCALLY)
    window = choose_window(context, state["analysis"], scored, reading)
    scored = window.candidates
    decisions: list[Decision] = []
    if context.uses("diversify") and scored:
        diversity = context.retrieval.diversity
        vectors = source_of(context).vectors([candidate["id"] for candidate in scored])
        local = [scored[i] for i in SELECTORS[diversity](vectors, ranked_by(scored), window.size)]
        scored, by_model = yield from select(state["question"], scored, local, context.retrieval.selection)
        chosen = "the model's choice" if by_model else diversity
        decisions.append(Decision(what="selection", chosen=chosen, why="the aspects count together"))
    documents, reasons = window.keep(scored)
    return selected(state, documents, candidates, [*decisions, *reasons])
