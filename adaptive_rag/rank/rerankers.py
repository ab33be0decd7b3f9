"""What scores the candidates again, between search and answer: one table of rerankers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from adaptive_rag.context import Context, Reranker
from adaptive_rag.llm.steps import SCORE, Ask
from adaptive_rag.models.cross_encoder import CrossEncoder, ScoringError, load_reranker
from adaptive_rag.rank.judged import join_scores
from adaptive_rag.rank.score import ScoreRequest
from adaptive_rag.search.fusion import min_max, with_scores
from adaptive_rag.state import Candidate

# Candidates that are read for each chunk that the answer gets: by a chat model, by a cross-encoder.
MODEL_READS, CROSS_ENCODER_READS = 2, 3
CROSS_ENCODER_WEIGHT = 0.6
# Of the user's context, in characters: the passage must keep its place among the tokens of a pair.
CONTEXT_CHARACTERS = 400


@dataclass(frozen=True)
class RerankRequest:
    """A question, the context it is asked in, and its candidates, best first by `scores["fused"]`."""

    question: str
    context: str
    candidates: Sequence[Candidate]
    k: int
    # scores all candidates without a model, 0-10
    score_locally: Callable[[], list[float]]
    # what `cross-encoder` loads
    model: str = ""


# A reranker yields the skills that it wants performed and returns the candidates, best first.
Ranking: TypeAlias = Generator[list[Ask[Any, Any]], Any, list[Candidate]]
Rerank: TypeAlias = Callable[[RerankRequest], Ranking]


def prepare_reranker(context: Context) -> None:
    """Load what the run's reranker needs, so that a wrong setting fails before anything is run.

    Raises:
        ConfigurationError: the cross-encoder cannot be found or loaded.
        MissingExtraError: it needs a package that is not installed.
    """
    if context.rerank and context.reranker == "cross-encoder":
        load_reranker(context.reranker_model)


def keep_order(request: RerankRequest) -> Ranking:
    """Leave the candidates as the search fused them."""
    yield from ()
    return list(request.candidates)


def score_together(request: RerankRequest) -> Ranking:
    """Let a chat model score the first candidates in one call, and weigh that with the local scores."""
    local = request.score_locally()
    read = list(request.candidates[: MODEL_READS * request.k])
    scoring = ScoreRequest(request.question, request.context, read, lambda: local[: len(read)])
    [outcome] = yield [Ask(SCORE, scoring)]
    return _join(request, local, read, outcome.result.scores if outcome.by == "model" else [])


def score_one_by_one(request: RerankRequest) -> Ranking:
    """Let a chat model score each of the first candidates in a call of its own, all at once."""
    local = request.score_locally()
    read = list(request.candidates[: MODEL_READS * request.k])
    outcomes = yield [
        Ask(SCORE, ScoreRequest(request.question, request.context, [candidate], partial(list, (score,))))
        for candidate, score in zip(read, local, strict=False)
    ]
    # A model's scale and the local one do not mix: where one call failed, none counts.
    by_model = all(outcome.by == "model" for outcome in outcomes)
    return _join(request, local, read, [outcome.result.scores[0] for outcome in outcomes] if by_model else [])


def _join(
    request: RerankRequest, local: list[float], read: list[Candidate], by_model: list[float]
) -> list[Candidate]:
    if not by_model:
        return by_relevance(request.candidates, local)
    judged = [with_scores(c, judged=score) for c, score in zip(read, by_model, strict=True)]
    return by_relevance(read, join_scores(read, local[: len(read)], judged))


def cross_encode(request: RerankRequest) -> Ranking:
    """Let a cross-encoder read the first candidates; where it fails, the fused order stands.

    relevance = 10 * (0.6 * cross-encoder + 0.4 * fused), the first 0-1, the second min-max scaled.
    """
    encoder = load_reranker(request.model)
    read = list(request.candidates[: CROSS_ENCODER_READS * request.k])
    try:
        scored = mix(encoder, request, read)
        said = f"scored by the cross-encoder {encoder.name}"
    except ScoringError as error:
        scored = list(request.candidates)
        said = f"the cross-encoder {encoder.name} failed ({error}); the fused order stands"
    # No model is asked: this puts into the trace who scored.
    none_needed = ScoreRequest(request.question, request.context, [], list)
    yield [Ask(SCORE, none_needed, locally_because=said)]
    return scored


def mix(encoder: CrossEncoder, request: RerankRequest, read: list[Candidate]) -> list[Candidate]:
    """Return the candidates that were read with `scores["cross_encoder"]` and relevance, best first."""
    question = " ".join(part for part in (request.question, request.context[:CONTEXT_CHARACTERS]) if part)
    crossed = encoder.score(question, [candidate["text"] for candidate in read])
    # Scaled over all candidates: among the first ones alone the last would seem to be worth nothing.
    fused = min_max(np.array([candidate["scores"]["fused"] for candidate in request.candidates]))[: len(read)]
    mixed = 10 * (CROSS_ENCODER_WEIGHT * crossed + (1 - CROSS_ENCODER_WEIGHT) * fused)
    marked = [with_scores(c, cross_encoder=float(s)) for c, s in zip(read, crossed, strict=True)]
    return by_relevance(marked, [round(float(score), 4) for score in mixed])


def by_relevance(candidates: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """Return the candidates that have a score, with their relevance, best first."""
    scored = [with_scores(c, relevance=score) for c, score in zip(candidates, scores, strict=False)]
    return sorted(scored, key=lambda candidate: -candidate["scores"]["relevance"])


RERANKERS: dict[Reranker, Rerank] = {
    # The policy of the skills decides whether a chat model scores: listwise and auto ask for it, fused never.
    "auto": score_together,
    "fused": score_together,
    "listwise": score_together,
    "pointwise": score_one_by_one,
    "cross-encoder": cross_encode,
    "none": keep_order,
}
