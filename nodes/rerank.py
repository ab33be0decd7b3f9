"""The scoring of all strategies: how well each candidate answers the question in its context."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.llm.request import Asking, Request
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.nodes.step import Steps, Update, step
from adaptive_rag.optional import attempt
from adaptive_rag.query.history import full_question, spelt_question
from adaptive_rag.rank.relevance import best_sentence, score_candidates
from adaptive_rag.rank.rerankers import MODEL_READS, RERANKERS, reranker_of
from adaptive_rag.rank.scoring import RerankRequest, add_missed, ask_to_score, by_relevance, join_scores
from adaptive_rag.rank.selection import compare, select
from adaptive_rag.rank.window import (
    READING,
    ReadingBudget,
    choose_window,
    planned_size,
    ranked_by,
    reading_size,
)
from adaptive_rag.search.fusion import with_scores
from adaptive_rag.search.search import search, summarise
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import Candidate, Decision, Phrase, Query, StrategyState
from adaptive_rag.text.phrases import decide, say
from adaptive_rag.text.vectors import min_max

# One place is reserved for the user's situation for every so many passages.
PASSAGES_PER_PLACE = 4
# Says in the trace where the call for the scores is.
EARLY = "it was asked in the step before the search, while the query was prepared"


@step
def rerank(state: StrategyState, runtime: Runtime[Context], reading: ReadingBudget = READING) -> Steps:
    """Order the candidates by relevance to the question and keep the window."""
    context = context_of(runtime)
    early_scored = state.get("early_scored", [])
    decisions: list[Decision] = []
    if early_scored and context.uses("rerank"):
        candidates = add_missed(state["candidates"], early_scored)
        local = score_locally(state, candidates, context)
        relevance = join_scores(candidates, local, early_scored, context.scoring.weight)
        scored = by_relevance(candidates, relevance)
        decisions.append(Decision(what="scores", chosen="the model's", why=EARLY))
    else:
        scored = yield from score(state, state["candidates"], context, reading)
    window = choose_window(context, state["analysis"], scored, reading)
    chosen = window.candidates
    plan = state.get("plan")
    situation = plan.get("situation", "") if plan else ""
    reserves_places = bool(situation and context.uses("rerank") and chosen)
    if reserves_places:
        source = source_of(context, state)
        reserve = partial(reserve_for_context, source, situation, chosen, window.size)
        chosen = attempt("situation", reserve, chosen)
    documents, reasons = window.keep(chosen)
    decisions += reasons
    if reserves_places:
        why = f"{compare(documents, window.candidates)}, for the user's situation"
        decisions.append(Decision(what="situation", chosen=situation, why=why))
    return selected(state, documents, scored, decisions)


def reserve_for_context(
    source: ChunkSource, situation: str, candidates: Sequence[Candidate], k: int
) -> list[Candidate]:
    """Return the candidates with the last of the first k places given to those nearest the user's situation.

    A short situation ("I am a nurse") hardly changes the vector of the question that it is joined to, and an
    irrelevant one must not displace the best passages. It therefore decides only the last places, by the sum
    of the relevance and the best sentence's similarity to the situation, both min-max scaled.
    """
    places = k // PASSAGES_PER_PLACE
    if not places or len(candidates) <= k - places:
        return list(candidates)
    sentences = source.sentences([candidate["id"] for candidate in candidates])
    # Headings count here: "If you farm" says whom a passage is written for.
    similarity = best_sentence(load_minilm().encode([situation])[0], [s.vectors for s in sentences])
    ranked = [with_scores(c, situation=float(value)) for c, value in zip(candidates, similarity, strict=True)]
    total = min_max(np.array(ranked_by(candidates))) + min_max(similarity)
    rest = range(k - places, len(ranked))
    reserved = sorted(sorted(rest, key=lambda i: -total[i])[:places])
    others = [i for i in rest if i not in reserved]
    return [*ranked[: k - places], *(ranked[i] for i in [*reserved, *others])]


def selected(
    state: StrategyState, documents: list[Candidate], candidates: list[Candidate], decisions: list[Decision]
) -> Update:
    """Return the update of a strategy's last step: its documents and the candidates they come from."""
    return {
        "documents": [{**document, "route": state["query_type"]} for document in documents],
        "record": {"candidates": summarise(candidates), "decisions": decisions},
    }


def select_from(
    state: StrategyState, candidates: list[Candidate], local: list[Candidate], context: Context
) -> Asking[tuple[list[Candidate], bool]]:
    """Return the selected candidates, and whether a model chose them; otherwise they are the local choice."""
    settings = context.retrieval
    characters = settings.selection_characters.get(state["query_type"])
    return (yield from select(_question_of(state), candidates, local, settings.selection, characters))


def select_in_turn(
    state: StrategyState, drawn: list[Candidate], context: Context, size: tuple[int, Phrase]
) -> Steps:
    """Keep the first of the candidates that the branches found, or those that a model selects from them."""
    k, size_reason = size
    documents, by_model = yield from select_from(state, drawn, drawn[:k], context)
    chosen = "the model's choice" if by_model else "in turn"
    why = say("as_branches_found", n=len(drawn))
    decisions = [decide("selection", chosen, why), decide("window", len(documents), size_reason)]
    return selected(state, documents, drawn, decisions)


def score(
    state: StrategyState,
    candidates: list[Candidate],
    context: Context,
    reading: ReadingBudget,
    *,
    locally_because: str = "",
) -> Asking[list[Candidate]]:
    """Score every candidate for relevance and return them best first; the other strategies use this too."""
    if not context.uses("rerank") or not candidates:
        return candidates
    user_context = state.get("implied_context", "")
    reranker = reranker_of(context)
    if reranker.needs and not context.uses(reranker.needs):
        reranker = RERANKERS["fused"]
    k, _ = reading_size(context, state["analysis"], candidates, reading)
    if reranker.calls_each:  # the number of calls must be known before the budget is checked
        k, _ = planned_size(context, state["analysis"], reading)
    request = RerankRequest(
        question=_question_of(state) if user_context else _text_to_score(state, context),
        context=user_context,
        candidates=candidates,
        k=k,
        score_locally=lambda: score_locally(state, candidates, context),
        settings=context,
        locally_because=locally_because,
    )
    return (yield from reranker.rerank(request))


def _question_of(state: StrategyState) -> str:
    """Return the question, without the subject of a follow-up where the queries contain the conversation."""
    return spelt_question(state) if "situation" in (state.get("plan") or {}) else full_question(state)


def _text_to_score(state: StrategyState, context: Context) -> str:
    """Return the text that candidates are scored for: the question, or the rewritten query."""
    queries = state.get("queries", [])
    return queries[0]["text"] if context.scoring.against == "query" and queries else _question_of(state)


def score_locally(state: StrategyState, candidates: list[Candidate], context: Context) -> list[float]:
    """Score candidates without a model, 0-10, by the texts that the search used.

    Where the question has several parts, a candidate gets the score of the part that it answers best.
    """
    return attempt("relevance", partial(_score_locally, state, candidates, context), by_rank(candidates))


def by_rank(candidates: Sequence[Candidate]) -> list[float]:
    """Return scores that keep the order of the search, for candidates whose scoring failed."""
    return [10 * (1 - i / len(candidates)) for i in range(len(candidates))]


def _score_locally(state: StrategyState, candidates: list[Candidate], context: Context) -> list[float]:
    queries, source = state.get("queries", []), source_of(context, state)
    if parts := [query for query in queries if query.get("part")]:
        scores = [score_candidates(source, part["text"], candidates, queries=[part]) for part in parts]
        return [max(part_scores) for part_scores in zip(*scores, strict=True)]
    return score_candidates(source, _question_of(state), candidates, queries=queries)


def search_to_score(
    state: StrategyState, text: str, context: Context, reading: ReadingBudget = READING
) -> tuple[list[Request[Any]], list[Candidate]]:
    """Return a request to score what a text finds, and the candidates that it would score.

    The request is made while the model prepares the query, which saves a round. The scores are for the
    question, so they stay valid whichever query finds a candidate again. Without a model, nothing is
    searched.
    """
    asks_model = context.has_model() and "score" in context.models.steps and context.uses("rerank")
    # Scores for the rewritten query can only be requested once it has been rewritten.
    if not asks_model or context.scoring.against != "question" or not reranker_of(context).asks_early:
        return [], []
    candidates, _ = search(source_of(context, state), [Query(text=text)], context, state["analysis"])
    k, _ = reading_size(context, state["analysis"], candidates, reading)
    candidates = candidates[: MODEL_READS * k]
    if not candidates:
        return [], []
    user_context = state.get("user_context", "") or context.models.no_context
    return [ask_to_score(_question_of(state), user_context, candidates, scoring=context.scoring)], candidates
