"""Scores candidates again, by a chat model, a cross-encoder, the reader, or locally."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from pydantic import BaseModel, Field

from adaptive_rag.context import Context
from adaptive_rag.context.groups import ScoringSettings
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.llm.numbers import read_scores
from adaptive_rag.llm.passages import cut_texts, format_passages
from adaptive_rag.llm.request import Asking, Reply, Request
from adaptive_rag.models.cross_encoder import ScoringError, find_reranker, warn_once
from adaptive_rag.models.reader import load_reader
from adaptive_rag.rank.window import largest_size
from adaptive_rag.search.fusion import with_scores
from adaptive_rag.state import Candidate
from adaptive_rag.text.reading import Reader, passage_of
from adaptive_rag.text.vectors import Scores, min_max

# Candidates that are read for each passage of the answer: by a chat model, by a cross-encoder.
MODEL_READS, CROSS_ENCODER_READS = 2, 3
# Characters of passage text in a prompt: every candidate is in it, and relevance shows in few sentences.
SCORING_BUDGET = 8_000
# Candidates that a model gave at least this much of 10 stay, even if the later search missed them.
WORTH_KEEPING = 5.0
AS_BY_DEFAULT = ScoringSettings()
# Scores of both kinds that are needed to translate one scale into the other.
COMMON = 3
# Of the user's context, in characters: the passage must keep its place among the tokens of a pair.
CONTEXT_CHARACTERS = 400


class PassageScores(BaseModel):
    """A relevance for each candidate, 0 (useless) to 10 (answers the question), in their order."""

    scores: list[float] = Field(description="One number from 0 to 10 a passage, in order.")


@dataclass(frozen=True)
class RerankRequest:
    """A question, the context it is asked in, and its candidates, best first by `scores["fused"]`."""

    question: str
    context: str
    candidates: Sequence[Candidate]
    k: int
    # scores all candidates without a model, 0-10
    score_locally: Callable[[], list[float]]
    # what a chat model is told in place of an empty context
    no_context: str = ""
    # how a chat model is asked, and what its scores count
    scoring: ScoringSettings = AS_BY_DEFAULT
    # what `cross-encoder` loads
    model: str = ""
    # what `reader` asks; by its name or live, None for the shipped one
    reader: str | Reader | None = None
    # why `auto` is not to ask a chat model; empty where it may
    locally_because: str = ""


# A reranker yields what it asks a chat model, and returns the candidates, best first.
Rerank: TypeAlias = Callable[[RerankRequest], Asking[list[Candidate]]]


def ask_to_score(
    question: str,
    context: str,
    candidates: Sequence[Candidate],
    *,
    scoring: ScoringSettings = AS_BY_DEFAULT,
    budget: int = SCORING_BUDGET,
    by_setting: bool = False,
    locally_because: str = "",
) -> Request[PassageScores]:
    """Ask the model for one score a candidate, all in one call; `budget` counts characters of passages.

    With `scoring.missing` a reply for one candidate that holds no number counts that much.
    """
    n, lowest = len(candidates), scoring.lowest

    def check(result: PassageScores) -> PassageScores:
        if len(result.scores) != n:
            raise ValueError(f"expected {n} scores, got {len(result.scores)}")
        if any(not lowest <= score <= 10 for score in result.scores):
            raise ValueError(f"every score must lie between {lowest} and 10, got {result.scores!r}")
        return result

    def read(value: Any) -> dict[str, Any]:
        try:
            return {"scores": read_scores(value, n)}
        except ValueError:
            if scoring.missing is None or n > 1:
                raise
            return {"scores": [scoring.missing]}

    return Request(
        "score",
        PassageScores,
        values=lambda: {
            "question": question,
            "context": context or "(none)",
            "n": str(n),
            "lowest": str(lowest),
            "passages": format_passages(cut_texts(candidates, scoring.characters), budget),
        },
        read=read,
        check=check,
        bounds={
            "scores": {
                "items": {"type": "integer", "minimum": lowest, "maximum": 10},
                "minItems": n,
                "maxItems": n,
            }
        },
        shortened=lambda: ask_to_score(
            question, context, candidates, scoring=scoring, budget=budget // 3, by_setting=by_setting
        ),
        by_setting=by_setting,
        optional=True,
        locally_because=locally_because,
    )


def keep_order(request: RerankRequest) -> Asking[list[Candidate]]:
    """Leave the candidates as the search fused them."""
    yield from ()
    return list(request.candidates)


def score_locally(request: RerankRequest) -> Asking[list[Candidate]]:
    """Score the candidates without a model."""
    return (yield from _score_once(request, because="reranker = 'fused' scores without a chat model"))


def score_if_planned(request: RerankRequest) -> Asking[list[Candidate]]:
    """Let a chat model score the first candidates in one call, where the planned calls leave room."""
    return (yield from _score_once(request, because=request.locally_because))


def score_together(request: RerankRequest) -> Asking[list[Candidate]]:
    """Let a chat model score the first candidates in one call."""
    return (yield from _score_once(request, by_setting=True))


def score_one_by_one(request: RerankRequest) -> Asking[list[Candidate]]:
    """Let a chat model score each of the first candidates in a call of its own, all at once."""
    read = _first(request, MODEL_READS)
    told = request.context or request.no_context
    replies = yield [
        ask_to_score(request.question, told, [c], scoring=request.scoring, by_setting=True) for c in read
    ]
    # A model's scale and the local one do not mix: where one call failed, none counts.
    scores = [reply.result.scores[0] for reply in replies if reply.result is not None]
    return _ranked(request, read, scores if len(scores) == len(read) else [])


def cross_encode(request: RerankRequest) -> Asking[list[Candidate]]:
    """Let a cross-encoder read the first candidates; where none is or it fails, the search's order stands.

    relevance = 10 * (weight * cross-encoder + (1 - weight) * fused), the first 0-1, the second min-max
    scaled, and the weight 0.6 by default. Why there is none stands in the trace, and once in a warning.
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
    """Let the reader read the first candidates together with the question.

    relevance is as `cross_encode` has it, of the chance that the passage answers.
    """
    read = _first(request, CROSS_ENCODER_READS)
    reading = load_reader(request.reader).read(_pair_text(request), [passage_of(each) for each in read])
    answers = np.array([passage.answers for passage in reading.passages])
    marked = [with_scores(c, reader=round(float(each), 4)) for c, each in zip(read, answers, strict=True)]
    yield from _say("scored by the reader")
    return _mixed_with_search(request, marked, answers)


def check_calls(context: Context) -> None:
    """Refuse a setting whose calls no budget of this size can hold.

    Raises:
        ConfigurationError: scoring one by one would never be done.
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


def early_scores(candidates: Sequence[Candidate], replies: Sequence[Reply[Any]]) -> list[Candidate]:
    """Return the candidates with the scores that a model gave them early; none where it gave none."""
    return [
        with_scores(candidate, judged=score)
        for reply in replies
        if reply.result is not None
        for candidate, score in zip(candidates, reply.result.scores, strict=True)
    ]


def add_missed(candidates: Sequence[Candidate], scored: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, and those that a model scored well early and the search then missed."""
    present = {candidate["id"] for candidate in candidates}
    missed = [c for c in scored if c["id"] not in present and c["scores"]["judged"] >= WORTH_KEEPING]
    return [*candidates, *missed]


def join_scores(
    candidates: Sequence[Candidate],
    local: Sequence[float],
    scored: Sequence[Candidate],
    weight: float = AS_BY_DEFAULT.weight,
) -> list[float]:
    """Return the weighted mean of the model's score and the local one, 0 to 10.

    The local one counts too since whole numbers tie often. A model's score and the local one of one question
    change nothing for another.

    Where the model gave none, the local score is brought to its scale by the straight line that fits the
    candidates which have both; it may not rise above what the model gave its best.

    `local` are the candidates' scores without a model; `scored` have the model's as `scores["judged"]`.
    """
    known = {candidate["id"]: candidate["scores"]["judged"] for candidate in scored}
    both = [(score, known[c["id"]]) for c, score in zip(candidates, local, strict=True) if c["id"] in known]
    slope, start, most = _line(both)

    def guess(score: float) -> float:
        return float(min(max(start + slope * score, 0.0), most))

    scores = [known.get(c["id"], guess(score)) for c, score in zip(candidates, local, strict=True)]
    return [weight * a + (1 - weight) * b for a, b in zip(scores, local, strict=True)]


def by_relevance(candidates: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """Return the candidates that have a score, with their relevance, best first."""
    scored = [with_scores(c, relevance=score) for c, score in zip(candidates, scores, strict=False)]
    return sorted(scored, key=lambda candidate: -candidate["scores"]["relevance"])


def _first(request: RerankRequest, reads: int) -> list[Candidate]:
    return list(request.candidates[: reads * request.k])


def _pair_text(request: RerankRequest) -> str:
    return " ".join(part for part in (request.question, request.context[:CONTEXT_CHARACTERS]) if part)


def _say(who: str) -> Asking[None]:
    """Put into the trace who scored; no chat model is asked."""
    yield [ask_to_score("", "", [], locally_because=who)]


def _mixed_with_search(request: RerankRequest, read: list[Candidate], scores: Scores) -> list[Candidate]:
    """Return candidates by what a model that reads them says, 0-1, and by the search."""
    # Scaled over all candidates: among the first ones alone the last would seem to be worth nothing.
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


def _line(both: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Return slope, start and upper bound of the line from local scores to a model's."""
    if not both:
        return 1.0, 0.0, 10.0
    x, y = np.array(both).T
    slope, start = np.polyfit(x, y, 1) if len(both) >= COMMON and np.ptp(x) >= 1e-6 else (0.0, 0.0)
    # Where the model disagrees with the local order, the local score says nothing about its own.
    if slope <= 0:
        slope, start = 0.0, y.mean()
    return float(slope), float(start), float(y.max())
