"""The rerankers that `retrieval.reranker` names: a chat model, a cross-encoder, the reader, or none."""

from __future__ import annotations

import numpy as np

from adaptive_rag.context import Context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.llm.request import Asking
from adaptive_rag.models.cross_encoder import ScoringError, find_reranker, warn_once
from adaptive_rag.models.reader import load_reader
from adaptive_rag.rank.scoring import Rerank, RerankRequest, ask_to_score, by_relevance, join_scores
from adaptive_rag.rank.window import largest_size
from adaptive_rag.search.fusion import with_scores
from adaptive_rag.state import Candidate
from adaptive_rag.text.reading import passage_of
from adaptive_rag.text.vectors import Scores, min_max

# Candidates read for each passage of the answer, by a chat model and by a cross-encoder.
MODEL_READS, CROSS_ENCODER_READS = 2, 3
# Most characters of the user's context: the pair must have tokens left for the passage.
CONTEXT_CHARACTERS = 400


def keep_order(request: RerankRequest) -> Asking[list[Candidate]]:
    """Keep the order of the search."""
    yield from ()
    return list(request.candidates)


def score_locally(request: RerankRequest) -> Asking[list[Candidate]]:
    """Score the candidates without a model."""
    return (yield from _score_once(request, because="reranker = 'fused' scores without a chat model"))


def score_if_planned(request: RerankRequest) -> Asking[list[Candidate]]:
    """Let a chat model score the first candidates in one call, if the planned calls leave room for it."""
    return (yield from _score_once(request, because=request.locally_because))


def score_together(request: RerankRequest) -> Asking[list[Candidate]]:
    """Let a chat model score the first candidates in one call."""
    return (yield from _score_once(request, by_setting=True))


def score_one_by_one(request: RerankRequest) -> Asking[list[Candidate]]:
    """Let a chat model score each of the first candidates in its own call, all calls at once."""
    read = _first(request, MODEL_READS)
    told = request.context or request.no_context
    replies = yield [
        ask_to_score(request.question, told, [c], scoring=request.scoring, by_setting=True) for c in read
    ]
    # The model's scale and the local one do not mix: if one call failed, no reply counts.
    scores = [reply.result.scores[0] for reply in replies if reply.result is not None]
    return _ranked(request, read, scores if len(scores) == len(read) else [])


def cross_encode(request: RerankRequest) -> Asking[list[Candidate]]:
    """Let a cross-encoder score the first candidates; if it is missing or fails, keep the search's order.

    relevance = 10 * (weight * cross-encoder + (1 - weight) * fused). The cross-encoder's score is 0-1, the
    fused score is min-max scaled, and the weight is 0.6 by default. A failure is reported in the trace, and
    once as a warning.
    """
    read = _first(request, CROSS_ENCODER_READS)
    try:
        encoder = find_reranker(request.model)
        crossed = encoder.score(_pair_text(request), [candidate["text"] for candidate in read])
    except ScoringError as error:
        said = f"the cross-encoder {request.model} does not score ({error}); the scores of the search stand"
        warn_once(request.model, said)
        yield from _say(said)
        return list(request.candidates)
    marked = [with_scores(c, cross_encoder=float(s)) for c, s in zip(read, crossed, strict=True)]
    yield from _say(f"scored by the cross-encoder {encoder.name}")
    return _mixed_with_search(request, marked, crossed)


def read_together(request: RerankRequest) -> Asking[list[Candidate]]:
    """Let the reader score the first candidates together with the question.

    relevance is computed as in `cross_encode`, from the probability that the passage answers.
    """
    read = _first(request, CROSS_ENCODER_READS)
    reading = load_reader(request.reader).read(_pair_text(request), [passage_of(each) for each in read])
    answers = np.array([passage.answers for passage in reading.passages])
    marked = [with_scores(c, reader=round(float(each), 4)) for c, each in zip(read, answers, strict=True)]
    yield from _say("scored by the reader")
    return _mixed_with_search(request, marked, answers)


RERANKERS: dict[str, Rerank] = {
    "auto": score_if_planned,
    "fused": score_locally,
    "listwise": score_together,
    "pointwise": score_one_by_one,
    "cross-encoder": cross_encode,
    "reader": read_together,
    "none": keep_order,
}


def check_calls(context: Context) -> None:
    """Raise an error if the budget is too small for the calls of the pointwise reranker.

    Raises:
        ConfigurationError: candidates could never be scored one by one.
    """
    steps = context.models.steps
    asks = context.has_model() and context.uses("rerank") and "score" in steps
    if not asks or context.retrieval.reranker != "pointwise":
        return
    scores = MODEL_READS * largest_size(context)
    classifies = context.route is None and context.uses("analysis") and context.routing.classify != "router"
    rewrites = "contextualize" in steps and context.retrieval.rewrites != "follow-ups"
    prepares = max("enhance" in steps, ("infer" in steps) + rewrites)
    calls = scores + prepares + (classifies and "classify" in steps) + 1  # the answer
    limit = context.budget.max_llm_calls
    if calls > limit:
        raise ConfigurationError(
            f"retrieval.reranker = 'pointwise' makes 2 * k = {scores} calls beside the others, and "
            f"budget.max_llm_calls = {limit} does not hold them. Set it to at least {calls}, or lower k."
        )


def _first(request: RerankRequest, reads: int) -> list[Candidate]:
    return list(request.candidates[: reads * request.k])


def _pair_text(request: RerankRequest) -> str:
    return " ".join(part for part in (request.question, request.context[:CONTEXT_CHARACTERS]) if part)


def _say(who: str) -> Asking[None]:
    """Record in the trace what scored the candidates; no chat model is called."""
    yield [ask_to_score("", "", [], locally_because=who)]


def _mixed_with_search(request: RerankRequest, read: list[Candidate], scores: Scores) -> list[Candidate]:
    """Return candidates ranked by a model's scores, 0-1, mixed with the scores of the search."""
    # Scaled over all candidates: if scaled over the first ones only, the last of them would be worth nothing.
    fused = min_max(np.array([c["scores"]["fused"] for c in request.candidates]))[: len(read)]
    weight = request.scoring.weight
    mixed = 10 * (weight * scores + (1 - weight) * fused)
    return by_relevance(read, [round(float(score), 4) for score in mixed])


def _score_once(
    request: RerankRequest, *, by_setting: bool = False, because: str = ""
) -> Asking[list[Candidate]]:
    read = _first(request, MODEL_READS)
    [reply] = yield [
        ask_to_score(
            request.question,
            request.context or request.no_context,
            read,
            scoring=request.scoring,
            by_setting=by_setting,
            locally_because=because,
        )
    ]
    return _ranked(request, read, reply.result.scores if reply.result is not None else [])


def _ranked(request: RerankRequest, read: list[Candidate], by_model: list[float]) -> list[Candidate]:
    local = request.score_locally()
    if not by_model:
        return by_relevance(request.candidates, local)
    scored = [with_scores(c, judged=score) for c, score in zip(read, by_model, strict=True)]
    return by_relevance(read, join_scores(read, local[: len(read)], scored, request.scoring.weight))
