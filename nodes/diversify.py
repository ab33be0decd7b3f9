"""Analytical questions: keep a set that is relevant and covers the aspects."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.open import source_of
from adaptive_rag.llm.steps import SELECT, Ask
from adaptive_rag.nodes.rerank import score
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.rank.diversity import SELECTORS
from adaptive_rag.rank.select import SelectRequest
from adaptive_rag.rank.window import keep_window, threshold
from adaptive_rag.search.branches import gather
from adaptive_rag.search.search import summarise
from adaptive_rag.state import Candidate, Decision, StrategyState

# Candidates that a model chooses from, as a multiple of k.
READ_BY_MODEL = 2


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
        local = [scored[i] for i in SELECTORS[context.diversity](vectors, relevance, context.k)]
        scored, by = yield from choose(state["question"], scored, local, context)
        decisions.append(Decision(what="selection", chosen=by or context.diversity, why="the set counts"))
    documents, window = keep_window(scored, context, state["analysis"], cut_at=cut_at)
    return {
        "documents": [{**document, "route": state["query_type"]} for document in documents],
        "record": {"candidates": summarise(candidates), "decisions": [*decisions, *window]},
    }


def choose(
    question: str, candidates: list[Candidate], local: list[Candidate], context: Context
) -> Generator[list[Ask[Any, Any]], Any, tuple[list[Candidate], str]]:
    """Return the set that a model chose, where the setting asks for it and it did; else the local one."""
    if context.selection != "model":
        return local, ""
    # What was chosen locally is always among what the model reads.
    chosen = {candidate["id"] for candidate in local}
    read = [*local, *(c for c in candidates if c["id"] not in chosen)][: READ_BY_MODEL * context.k]
    request = SelectRequest(question, read, len(local), lambda: list(range(len(local))))
    [outcome] = yield [Ask(SELECT, request)]
    if outcome.by == "stand-in":
        return local, ""
    return [read[number - 1] for number in outcome.result.passages], "the model's choice"
