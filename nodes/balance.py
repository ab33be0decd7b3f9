"""Opinion questions: select passages from every side, without near-duplicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.llm.request import Asking
from adaptive_rag.nodes.rerank import by_rank, score, select_from, select_in_turn, selected
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.optional import attempt
from adaptive_rag.query.history import full_question
from adaptive_rag.query.viewpoints import topic_of
from adaptive_rag.rank.agreement import agreements, decide_sides, hear_other_side, taken_sides
from adaptive_rag.rank.branches import attribute, take_first_of_each
from adaptive_rag.rank.relevance import score_opinions, with_feedback
from adaptive_rag.rank.rerankers import reranker_of
from adaptive_rag.rank.scoring import by_relevance
from adaptive_rag.rank.selection import compare, cover
from adaptive_rag.rank.stances import LABELS
from adaptive_rag.rank.window import READING, ReadingBudget, Window, choose_window, planned_size, ranked_by
from adaptive_rag.search.fusion import join_branches
from adaptive_rag.search.search import fusion_method, weigh
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import Candidate, Decision, Hit, Query, StrategyState
from adaptive_rag.text.vectors import Scores

# Number of candidates that are ordered for coverage before the selection, as a multiple of k.
COVERED = 4
# Minimum number of candidates whose sides are determined: with a small k, a side would often look missing.
MIN_JUDGED = 10
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
        return (yield from select_in_turn(state, take_first_of_each(hits, size[0]), context, size))
    if context.uses("rerank"):
        hits[0] = attempt("feedback", partial(_towards_first_hits, hits[0], state, context), hits[0])
    candidates = attribute(join_branches(hits), hits)
    if not context.uses("rerank"):
        scored = candidates
    elif reranker_of(context).branches == "scored":
        opinions = partial(score_opinions, source, topic_of(full_question(state)), candidates)
        scored = by_relevance(candidates, attempt("relevance", opinions, by_rank(candidates)))
    else:
        scored = yield from score(state, candidates, context, reading)
    window = choose_window(context, state["analysis"], scored, reading)
    chosen, decisions = window.candidates, list[Decision]()
    if context.uses("balance") and chosen:
        has_viewpoints = any(hit["label"] is not None for hit in hits)
        chosen, decisions = yield from _select(state, context, window, has_viewpoints=has_viewpoints)
    documents, reasons = window.keep(chosen)
    return selected(state, documents, candidates, [*decisions, *reasons])


def _select(
    state: StrategyState, context: Context, window: Window, *, has_viewpoints: bool
) -> Asking[tuple[list[Candidate], list[Decision]]]:
    """Return k candidates from every side, labelled with the side or viewpoint, and the decisions."""
    source, k, ranked = source_of(context, state), window.size, window.candidates
    vectors = source.vectors([candidate["id"] for candidate in ranked])
    n = min(max(COVERED * k, MIN_JUDGED), len(ranked))
    order = attempt("diversity", partial(cover, vectors, ranked_by(ranked), n), list(range(n)))
    diverse = [ranked[i] for i in order]
    judged = diverse[: max(k + 1, MIN_JUDGED)]
    scores = _read_agreements(state, source, judged)
    if has_viewpoints:
        local = draw_named(diverse, viewpoints_by_side(state["queries"]), k)
    else:
        local = [judged[i] for i in hear_other_side(scores, k)]
    chosen, by_model = yield from select_from(state, diverse, local, context)
    agreement_of = dict(zip([candidate["id"] for candidate in judged], scores, strict=True))
    chosen = _label(state, source, chosen[:k], agreement_of)
    labels = list(dict.fromkeys(label for candidate in chosen for label in candidate["labels"]))
    why = compare(chosen, ranked)
    why = f"the model's choice; {why}" if by_model else why
    return chosen, [Decision(what="draw", chosen=labels, why=why), decide_sides(scores)]


def _label(
    state: StrategyState, source: ChunkSource, chosen: list[Candidate], agreement_of: Mapping[str, Scores]
) -> list[Candidate]:
    """Label the chosen passages with their sides; of named viewpoints, keep those on the passages' sides.

    `agreement_of` has, by id, the agreements of all passages that are compared to find the sides.
    """
    new = [candidate for candidate in chosen if candidate["id"] not in agreement_of]
    new_agreements = zip([c["id"] for c in new], _read_agreements(state, source, new), strict=True)
    agreement_of = {**agreement_of, **dict(new_agreements)}
    sides_of = dict(zip(agreement_of, taken_sides(list(agreement_of.values())), strict=True))
    viewpoint_side = {
        query["label"]: query.get("side", "other") for query in state.get("queries", []) if "label" in query
    }

    def labels(candidate: Candidate) -> list[str]:
        sides = sides_of[candidate["id"]]
        if not viewpoint_side:
            return [LABELS[side] for side in sides]
        kept_sides = (*sides, "other") if sides else ("for", "against", "other")
        return [label for label in candidate["labels"] if viewpoint_side.get(label, "other") in kept_sides]

    return [{**candidate, "labels": labels(candidate)} for candidate in chosen]


def _read_agreements(state: StrategyState, source: ChunkSource, candidates: list[Candidate]) -> list[Scores]:
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

    The candidates are given best first; their labels are the viewpoints that a model named, each of which was
    searched for by itself, the strongest first.
    """
    chosen: list[Candidate] = []
    for labels in sides:
        chosen_ids = {candidate["id"] for candidate in chosen}
        speaking = [
            (candidate["labels"].index(label), label, candidate)
            for candidate in candidates[: NEAR * k]
            for label in labels
            if candidate["id"] not in chosen_ids and label in candidate["labels"]
        ]
        if speaking:
            _, label, strongest = min(speaking, key=lambda entry: entry[0])
            others = [other for other in strongest["labels"] if other != label]
            chosen.append({**strongest, "labels": [label, *others]})
    chosen_ids = {candidate["id"] for candidate in chosen}
    return [*chosen, *(c for c in candidates if c["id"] not in chosen_ids)][:k]
