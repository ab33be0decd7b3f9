"""Decides how many of the ranked candidates reach the answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adaptive_rag.context import Context, Profile
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.rank.relevance import best_sentence
from adaptive_rag.search.fusion import with_scores
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import Candidate, Complexity, Decision, QueryAnalysis
from adaptive_rag.text.vectors import min_max

BASE: dict[Profile, int] = {"conservative": 3, "balanced": 5, "aggressive": 8}
BY_COMPLEXITY: dict[Complexity, float] = {"basic": 0.8, "intermediate": 1.0, "advanced": 1.3}
# One place in so many is reserved for the user's situation.
PASSAGES_PER_PLACE = 4


def window_size(context: Context, analysis: QueryAnalysis) -> tuple[int, str]:
    """Return how many chunks to keep, and why."""
    if context.profile is None:
        return context.k, "k"
    size = BASE[context.profile] * BY_COMPLEXITY[analysis["complexity"]]
    relevance = analysis["domain_relevance"]
    size *= 1.1 if relevance > 0.8 else 0.7 if relevance < 0.3 else 1.0
    return max(1, round(size)), f"{context.profile} profile, {analysis['complexity']} question"


def threshold(scores: Sequence[float]) -> float:
    """Return the score under which a candidate is dropped: the mean less the standard deviation."""
    return float(np.mean(scores) - np.std(scores)) if scores else 0.0


def keep_window(
    candidates: Sequence[Candidate], context: Context, analysis: QueryAnalysis, *, cut_at: float | None = None
) -> tuple[list[Candidate], list[Decision]]:
    """Return the first candidates, and the decisions for the trace; one is kept whatever it scores.

    `cut_at` is the threshold, where it was taken from more candidates than these.
    """
    size, why = window_size(context, analysis)
    kept = list(candidates[:size])
    decisions = [Decision(what="window", chosen=size, why=why)]
    if context.uses("window") and kept:
        limit = threshold(ranked_by(candidates)) if cut_at is None else cut_at
        scores = zip(kept, ranked_by(kept), strict=True)
        strong = [candidate for candidate, score in scores if score >= limit] or kept[:1]
        if len(strong) < len(kept):
            decisions.append(
                Decision(what="window", chosen=len(strong), why=f"the others score under {limit:.3f}")
            )
        kept = strong
    return kept, decisions


def reserve_for_context(
    source: ChunkSource, situation: str, candidates: Sequence[Candidate], k: int
) -> list[Candidate]:
    """Return the candidates, the last of the first k places given to those nearest to the user's situation.

    A short situation ("I am a nurse") hardly moves the vector of the question that it is joined to, and
    an irrelevant one must not displace the best passages: so it decides the last places alone, by
    relevance and the best sentence's similarity to the situation, both min-max scaled.
    """
    places = k // PASSAGES_PER_PLACE
    if not places or len(candidates) <= k - places:
        return list(candidates)
    sentences = source.sentences([candidate["id"] for candidate in candidates])
    # Headings count here: "If you farm" says for whom a passage is written.
    near = best_sentence(load_minilm().encode([situation])[0], [found.vectors for found in sentences])
    relevance = min_max(np.array([candidate["scores"]["relevance"] for candidate in candidates]))
    ranked = [with_scores(c, situation=float(value)) for c, value in zip(candidates, near, strict=True)]
    worth = relevance + min_max(near)
    last = range(k - places, len(ranked))
    reserved = sorted(sorted(last, key=lambda i: -worth[i])[:places])
    others = [i for i in last if i not in reserved]
    return [*ranked[: k - places], *(ranked[i] for i in [*reserved, *others])]


def ranked_by(candidates: Sequence[Candidate]) -> list[float]:
    """Return the scores that order the candidates: their relevance, else what the search fused."""
    found = [candidate["scores"] for candidate in candidates]
    return [scores["relevance"] if "relevance" in scores else scores["fused"] for scores in found]
