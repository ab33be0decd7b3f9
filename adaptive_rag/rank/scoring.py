"""Scores candidates with a chat model, and joins its scores with the local ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from pydantic import BaseModel, Field

from adaptive_rag.context import Context
from adaptive_rag.context.groups import ScoringSettings
from adaptive_rag.llm.numbers import read_scores
from adaptive_rag.llm.passages import cut_texts, format_passages
from adaptive_rag.llm.request import Asking, Reply, Request
from adaptive_rag.search.fusion import with_scores
from adaptive_rag.state import Candidate

# Characters of passage text in a prompt. It contains every candidate; a few sentences show the relevance.
SCORING_BUDGET = 8_000
# Candidates that a model scored at least this much of 10 are kept, even if the later search missed them.
WORTH_KEEPING = 5.0
DEFAULTS = ScoringSettings()
# Minimum number of candidates with both scores for mapping one scale to the other.
MIN_PAIRS = 3


class PassageScores(BaseModel):
    """A relevance for each candidate, 0 (useless) to 10 (answers the question), in their order."""

    scores: list[float] = Field(description="One number from 0 to 10 a passage, in order.")


@dataclass(frozen=True)
class RerankRequest:
    """A question, its context, and its candidates, best first by `scores["fused"]`."""

    question: str
    context: str
    candidates: Sequence[Candidate]
    k: int
    # scores all candidates without a model, 0-10
    score_locally: Callable[[], list[float]]
    settings: Context
    # why `auto` must not call a chat model; empty if it may
    locally_because: str = ""


# A reranker yields requests to a chat model, and returns the candidates, best first.
Rerank: TypeAlias = Callable[[RerankRequest], Asking[list[Candidate]]]


def ask_to_score(
    question: str,
    context: str,
    candidates: Sequence[Candidate],
    *,
    scoring: ScoringSettings = DEFAULTS,
    budget: int = SCORING_BUDGET,
    by_setting: bool = False,
    locally_because: str = "",
) -> Request[PassageScores]:
    """Ask the model for one score per candidate, all in one call; `budget` counts characters of passages.

    If `scoring.missing` is set, it is the score for a reply on a single candidate that contains no number.
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


def early_scores(candidates: Sequence[Candidate], replies: Sequence[Reply[Any]]) -> list[Candidate]:
    """Return the candidates with the scores that a model gave them early; empty if it gave none."""
    return [
        with_scores(candidate, judged=score)
        for reply in replies
        if reply.result is not None
        for candidate, score in zip(candidates, reply.result.scores, strict=True)
    ]


def add_missed(candidates: Sequence[Candidate], scored: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, plus those that a model scored well early but the search then missed."""
    present = {candidate["id"] for candidate in candidates}
    missed = [c for c in scored if c["id"] not in present and c["scores"]["judged"] >= WORTH_KEEPING]
    return [*candidates, *missed]


def join_scores(
    candidates: Sequence[Candidate],
    local: Sequence[float],
    scored: Sequence[Candidate],
    weight: float = DEFAULTS.weight,
) -> list[float]:
    """Return the weighted mean of the model's score and the local one, 0 to 10.

    The local score counts too, because the model's whole numbers often tie. The scores of one question do
    not affect another question.

    If the model gave no score, the local score is mapped to the model's scale by a straight line, which is
    fitted to the candidates that have both. The result may not exceed the model's highest score.

    `local` are the candidates' scores without a model; `scored` have the model's as `scores["judged"]`.
    """
    by_model = {candidate["id"]: candidate["scores"]["judged"] for candidate in scored}
    with_local = list(zip([candidate["id"] for candidate in candidates], local, strict=True))
    slope, intercept, highest = _fit_line(
        [(score, by_model[id_]) for id_, score in with_local if id_ in by_model]
    )

    def estimate(score: float) -> float:
        return float(min(max(intercept + slope * score, 0.0), highest))

    return [weight * by_model.get(id_, estimate(score)) + (1 - weight) * score for id_, score in with_local]


def by_relevance(candidates: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """Return the candidates that have a score, with it as their relevance, best first."""
    scored = [with_scores(c, relevance=score) for c, score in zip(candidates, scores, strict=False)]
    return sorted(scored, key=lambda candidate: -candidate["scores"]["relevance"])


def _fit_line(pairs: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Return slope, intercept and upper bound of the line from local scores to a model's."""
    if not pairs:
        return 1.0, 0.0, 10.0
    x, y = np.array(pairs).T
    can_fit = len(pairs) >= MIN_PAIRS and np.ptp(x) >= 1e-6
    slope, intercept = np.polyfit(x, y, 1) if can_fit else (0.0, 0.0)
    # If the model disagrees with the local order, the local score does not predict the model's.
    if slope <= 0:
        slope, intercept = 0.0, y.mean()
    return float(slope), float(intercept), float(y.max())
