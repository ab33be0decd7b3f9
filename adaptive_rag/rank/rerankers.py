"""The rerankers that `retrieval.reranker` names: a chat model, a cross-encoder, the reader, or none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from adaptive_rag.context import Context
from adaptive_rag.context.groups import Mechanism
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.llm.request import Asking
from adaptive_rag.models.cross_encoder import ScoringError, find_reranker, warn_once
from adaptive_rag.models.reader import load_reader
from adaptive_rag.optional import attempt
from adaptive_rag.rank.scoring import Rerank, RerankRequest, ask_to_score, by_relevance, join_scores
from adaptive_rag.rank.window import largest_size
from adaptive_rag.search.fusion import with_scores
from adaptive_rag.state import Candidate
from adaptive_rag.text.reading import passage_of
from adaptive_rag.text.vectors import Scores, min_max

# Candidates read for each passage of the answer, by a chat model and by a cross-encoder.
MODEL_READS, CROSS_ENCODER_READS = 2, 3
# Ends the reason for which a cross-encoder has not scored; a cache tells the failure by it.
SEARCH_STANDS = "the scores of the search stand"
# Most characters of the user's context: the pair must have tokens left for the passage.
CONTEXT_CHARACTERS = 400


def keep_order(request: RerankRequest) -> Asking[list[Candidate]]:
    """Keep the order of the search."""
    yield from ()
    return list(request.candidates)


def score_together(
    request: RerankRequest, *, by_setting: bool = False, locally_because: str = ""
) -> Asking[list[Candidate]]:
    """Let a chat model score the first candidates in one call; without its reply, score all of them locally.

    `by_setting`: whether the call is made even if the planned calls leave no room for it. `locally_because`:
    why no model is asked; "" to use the request's reason, if it has one.
    """
    first = _first(request, MODEL_READS)
    [reply] = yield [
        ask_to_score(
            request.question,
            _context_of(request),
            first,
            scoring=request.settings.scoring,
            by_setting=by_setting,
            locally_because=locally_because or ("" if by_setting else request.locally_because),
        )
    ]
    return _rank(request, first, reply.result.scores if reply.result is not None else [])


def score_one_by_one(request: RerankRequest) -> Asking[list[Candidate]]:
    """Let a chat model score each of the first candidates in its own call, all calls at once."""
    first = _first(request, MODEL_READS)
    context, scoring = _context_of(request), request.settings.scoring
    replies = yield [
        ask_to_score(request.question, context, [c], scoring=scoring, by_setting=True) for c in first
    ]
    # The model's scale and the local one do not mix: if one call failed, no reply counts.
    scores = [reply.result.scores[0] for reply in replies if reply.result is not None]
    return _rank(request, first, scores if len(scores) == len(first) else [])


def cross_encode(request: RerankRequest) -> Asking[list[Candidate]]:
    """Let a cross-encoder score the first candidates; if it is missing or fails, keep the search's order.

    relevance = 10 * (weight * cross-encoder + (1 - weight) * fused). The cross-encoder's score is 0-1, the
    fused score is min-max scaled, and the weight is 0.6 by default. A failure is reported in the trace, and
    once as a warning.
    """
    first, name = _first(request, CROSS_ENCODER_READS), request.settings.retrieval.reranker_model
    try:
        encoder = find_reranker(name)
        scores = encoder.score(_pair_text(request), [candidate["text"] for candidate in first])
    except ScoringError as error:
        why = f"the cross-encoder {name} does not score ({error}); {SEARCH_STANDS}"
        warn_once(name, why)
        yield from _note(why)
        return list(request.candidates)
    scored = [with_scores(c, cross_encoder=float(s)) for c, s in zip(first, scores, strict=True)]
    yield from _note(f"scored by the cross-encoder {encoder.name}")
    return _mix_with_search(request, scored, scores)


def read_together(request: RerankRequest) -> Asking[list[Candidate]]:
    """Let the reader score the first candidates together with the question.

    relevance is computed as in `cross_encode`, from the probability that the passage answers.
    """
    first = _first(request, CROSS_ENCODER_READS)
    reader = load_reader(request.settings.reader)
    read = partial(reader.read, _pair_text(request), [passage_of(c) for c in first])
    if (reading := attempt("reader", read, None)) is None:
        yield from _note(f"the reader does not score; {SEARCH_STANDS}")
        return list(request.candidates)
    scores = np.array([passage.answers for passage in reading.passages])
    scored = [with_scores(c, reader=round(float(s), 4)) for c, s in zip(first, scores, strict=True)]
    yield from _note("scored by the reader")
    return _mix_with_search(request, scored, scores)


@dataclass(frozen=True)
class Reranker:
    """A reranker, and what the steps do differently with it."""

    rerank: Rerank
    # how the candidates of several sub-questions or viewpoints are ordered: all together by `rerank`, each
    # branch by its local scores, or each branch as it was found
    branches: Literal["together", "scored", "kept"] = "together"
    # whether each candidate costs a call
    calls_each: bool = False
    # whether a chat model may score what the plain question finds while the query is still being prepared
    asks_early: bool = False
    # the mechanism without which `fused` takes its place
    needs: Mechanism | None = None


RERANKERS: dict[str, Reranker] = {
    "auto": Reranker(score_together, branches="scored", asks_early=True),
    "fused": Reranker(
        partial(score_together, locally_because="reranker = 'fused' scores without a chat model"),
        branches="scored",
    ),
    "listwise": Reranker(partial(score_together, by_setting=True)),
    "pointwise": Reranker(score_one_by_one, calls_each=True),
    "cross-encoder": Reranker(cross_encode),
    "reader": Reranker(read_together, needs="reader"),
    "none": Reranker(keep_order, branches="kept"),
}


def reranker_of(context: Context) -> Reranker:
    """Return the reranker that the settings name."""
    return RERANKERS[context.retrieval.reranker]


def check_calls(context: Context) -> None:
    """Raise an error if the budget is too small for the calls of a reranker that scores one by one.

    Raises:
        ConfigurationError: candidates could never be scored one by one.
    """
    steps = context.models.steps
    asks_model = context.has_model() and context.uses("rerank") and "score" in steps
    if not asks_model or not reranker_of(context).calls_each:
        return
    scores = MODEL_READS * largest_size(context)
    classifies = context.route is None and context.uses("analysis") and context.routing.classify != "router"
    rewrites = "contextualize" in steps and context.retrieval.rewrites != "follow-ups"
    preparations = max("enhance" in steps, ("infer" in steps) + rewrites)
    calls = scores + preparations + (classifies and "classify" in steps) + 1  # the answer
    limit = context.budget.max_llm_calls
    if calls > limit:
        raise ConfigurationError(
            f"retrieval.reranker = {context.retrieval.reranker!r} makes 2 * k = {scores} calls in addition "
            f"to the others, but budget.max_llm_calls = {limit}. Set it to at least {calls}, or lower k."
        )


def _first(request: RerankRequest, reads: int) -> list[Candidate]:
    return list(request.candidates[: reads * request.k])


def _context_of(request: RerankRequest) -> str:
    """Return the user's context as a chat model is told it."""
    return request.context or request.settings.models.no_context


def _pair_text(request: RerankRequest) -> str:
    return " ".join(part for part in (request.question, request.context[:CONTEXT_CHARACTERS]) if part)


def _note(why: str) -> Asking[None]:
    """Record in the trace what scored the candidates; no chat model is called."""
    yield [ask_to_score("", "", [], locally_because=why)]


def _mix_with_search(request: RerankRequest, first: list[Candidate], scores: Scores) -> list[Candidate]:
    """Return candidates ranked by a model's scores, 0-1, mixed with the scores of the search."""
    # Scaled over all candidates: over the first ones alone, the last of them would have 0.
    fused = min_max(np.array([c["scores"]["fused"] for c in request.candidates]))[: len(first)]
    weight = request.settings.scoring.weight
    mixed = 10 * (weight * scores + (1 - weight) * fused)
    return by_relevance(first, [round(float(score), 4) for score in mixed])


def _rank(request: RerankRequest, first: list[Candidate], model_scores: list[float]) -> list[Candidate]:
    """Rank the first candidates by the model's scores and the local ones, or all by the local ones."""
    local, weight = request.score_locally(), request.settings.scoring.weight
    if not model_scores:
        return by_relevance(request.candidates, local)
    scored = [with_scores(c, judged=score) for c, score in zip(first, model_scores, strict=True)]
    return by_relevance(first, join_scores(first, local[: len(first)], scored, weight))
