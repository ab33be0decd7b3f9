"""Opinion questions: select passages from every side, without near-duplicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.nodes.rerank import score, select_from, select_in_turn, selected
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.optional import attempt
from adaptive_rag.query.history import full_question
from adaptive_rag.query.viewpoints import matter
from adaptive_rag.rank.agreement import agreements, decide_sides, hear_other_side, taken_sides
from adaptive_rag.rank.branches import attribute, take_first_of_each
from adaptive_rag.rank.relevance import score_opinions, with_feedback
from adaptive_rag.rank.scoring import by_relevance
from adaptive_rag.rank.selection import compare, cover
from adaptive_rag.rank.stances import LABELS
from adaptive_rag.rank.window import READING, ReadingBudget, choose_window, planned_size, ranked_by
from adaptive_rag.search.fusion import join_branches
from adaptive_rag.search.search import fusion_method, weigh
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import Candidate, Decision, Hit, Query, StrategyState
from adaptive_rag.text.vectors import Scores

# Number of chunks that are ordered for coverage before the selection, as a multiple of k.
DRAWN_FROM = 4
# Minimum number of chunks whose sides are determined, so that a small k does not make a side look missing.
SIDES_OF = 10
# The strongest candidate of a side is looked for among the first NEAR * k candidates. Those further down
# support a viewpoint in general, but do not address the question.
NEAR = 2


@step
def balance(state: StrategyState, runtime: Runtime[Context], reading: ReadingBudget = READING) -> Steps:
    """Join the branches without duplicate chunks, and select passages from every side."""
    context = context_of(runtime)
    source = source_of(context, state)
    hits = sorted(state["hits"], key=lambda hit: hit["order"])
    if context.retrieval.draw == "in-turn":
        size = planned_size(context, state["analysis"], reading)
        drawn = take_first_of_each(hits, size[0])
        return (yield from select_in_turn(state, drawn, context, size))
    if context.uses("rerank"):
        hits[0] = attempt("feedback", partial(_towards_first_hits, hits[0], state, context), hits[0])
    candidates = attribute(join_branches(hits), hits)
    if not context.uses("rerank"):
        scored = candidates
    elif context.retrieval.reranker in ("auto", "fused"):
        scored = by_relevance(candidates, score_opinions(source, matter(full_question(state)), candidates))
    else:
        scored = yield from score(state, candidates, context, reading)
    window = choose_window(context, state["analysis"], scored, reading)
    scored, k = window.candidates, window.size
    views = [hit["label"] for hit in hits if hit["label"] is not None]
    decisions: list[Decision] = []
    if context.uses("balance") and scored:
        vectors = source.vectors([candidate["id"] for candidate in scored])
        most = min(max(DRAWN_FROM * k, SIDES_OF), len(scored))
        first = list(range(most))
        apart = attempt("diversity", partial(cover, vectors, ranked_by(scored), most), first)
        spread = [scored[i] for i in apart]
        judged = spread[: max(k + 1, SIDES_OF)]
        held = _agreements(state, source, judged)
        if views:
            local = draw_named(spread, viewpoints_by_side(state["queries"]), k)
        else:
            local = [judged[i] for i in hear_other_side(held, k)]
        scored, by_model = yield from select_from(state, spread, local, context)
        scored = _labelled(state, source, scored[:k], dict(zip([c["id"] for c in judged], held, strict=True)))
        views = list(dict.fromkeys(label for candidate in scored[:k] for label in candidate["labels"]))
        why = compare(scored[:k], window.candidates)
        why = f"the model's choice; {why}" if by_model else why
        decisions = [Decision(what="draw", chosen=views, why=why), decide_sides(held)]
    documents, reasons = window.keep(scored)
    return selected(state, documents, candidates, [*decisions, *reasons])


def _labelled(
    state: StrategyState, source: ChunkSource, chosen: list[Candidate], judged: Mapping[str, Scores]
) -> list[Candidate]:
    """Label the chosen passages with their sides, or keep of the named viewpoints those that they speak for.

    `judged` has the agreements of the passages by which the middle between the sides is determined.
    """
    beyond = [candidate for candidate in chosen if candidate["id"] not in judged]
    held = {**judged, **dict(zip([c["id"] for c in beyond], _agreements(state, source, beyond), strict=True))}
    taken = dict(zip(held, taken_sides(list(held.values())), strict=True))
    side_of = {
        query["label"]: query.get("side", "other") for query in state.get("queries", []) if "label" in query
    }

    def labels(candidate: Candidate) -> list[str]:
        sides = taken[candidate["id"]]
        if not side_of:
            return [LABELS[side] for side in sides]
        spoken_for = (*sides, "other") if sides else ("for", "against", "other")
        return [label for label in candidate["labels"] if side_of.get(label, "other") in spoken_for]

    return [{**candidate, "labels": labels(candidate)} for candidate in chosen]


def _agreements(state: StrategyState, source: ChunkSource, candidates: list[Candidate]) -> list[Scores]:
    sentences = source.sentences([candidate["id"] for candidate in candidates]) if candidates else []
    neither: list[Scores] = [np.zeros(0) for _ in candidates]
    return attempt("sides", partial(agreements, full_question(state), candidates, sentences), neither)


def _towards_first_hits(hit: Hit, state: StrategyState, context: Context) -> Hit:
    """Move the query towards its first hits, since opinions on one matter use many different words."""
    method = fusion_method(context)
    if not hit["candidates"] or method not in ("weighted", "dense"):
        return hit
    alpha = 1.0
    if method == "weighted":
        alpha, _ = weigh(hit["candidates"], context, state["analysis"], state.get("plan"))
    return {**hit, "candidates": with_feedback(source_of(context, state), hit["candidates"], alpha=alpha)}


def viewpoints_by_side(queries: Sequence[Query]) -> list[list[str]]:
    """Group the viewpoints by side; a viewpoint whose side is not known forms a group of its own."""
    sides: dict[str, list[str]] = {}
    for query in queries:
        if "label" in query:
            side = query.get("side", "other")
            sides.setdefault(query["label"] if side == "other" else side, []).append(query["label"])
    return list(sides.values())


def draw_named(candidates: Sequence[Candidate], sides: Sequence[Sequence[str]], k: int) -> list[Candidate]:
    """Return k candidates: first the strongest one for each side, then the rest in order.

    Use it for viewpoints that a model named for this question, each of which was searched for by itself.

    Args:
        candidates: best first; their labels are their viewpoints, the strongest first.
        sides: the viewpoints of each side, as `viewpoints_by_side` returns them.
        k: how many candidates to keep.
    """
    chosen: list[Candidate] = []
    for labels in sides:
        taken = {candidate["id"] for candidate in chosen}
        spoken = [
            (candidate["labels"].index(label), label, candidate)
            for candidate in candidates[: NEAR * k]
            for label in labels
            if candidate["id"] not in taken and label in candidate["labels"]
        ]
        if spoken:
            _, label, strongest = min(spoken, key=lambda found: found[0])
            others = [other for other in strongest["labels"] if other != label]
            chosen.append({**strongest, "labels": [label, *others]})
    ids = {candidate["id"] for candidate in chosen}
    return [*chosen, *(c for c in candidates if c["id"] not in ids)][:k]
