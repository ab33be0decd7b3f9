"""Chooses how many ranked candidates are read: the caller's `k`, a profile's window, or a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

import numpy as np

from adaptive_rag.context import Context
from adaptive_rag.context.groups import Profile
from adaptive_rag.search.fusion import IN_DOMAIN, OFF_DOMAIN
from adaptive_rag.state import Candidate, Complexity, Decision, Phrase, QueryAnalysis
from adaptive_rag.text.phrases import decide, say
from adaptive_rag.text.tokens import count_tokens

# How many passages a profile reads, and the factor for the question's complexity, in tenths.
BASE: dict[Profile, int] = {"conservative": 3, "balanced": 5, "aggressive": 8}
BY_COMPLEXITY: dict[Complexity, int] = {"basic": 8, "intermediate": 10, "advanced": 13}
# Further factors for questions in the domain and outside it, in tenths.
IN_DOMAIN_TENTHS, OFF_DOMAIN_TENTHS = 11, 7
# The profile that is used instead if the confidence is low.
WIDER: dict[Profile, Profile] = {"conservative": "balanced", "balanced": "aggressive"}
# Most sub-questions or viewpoints of one question, as their settings allow.
MOST_BRANCHES = 50
# Scores that differ by less are equal: the computed mean of equal numbers may be above each of them.
ROUNDING = 1e-9


@dataclass(frozen=True)
class ReadingBudget:
    """How much a strategy reads if neither `k` nor a profile is set: many short or few long passages."""

    # tokens of passage text: four full chunks of 1,000 characters
    tokens: int = 1000
    # minimum number of passages, however long they are, and maximum, however short
    least: int = 4
    most: int = 10
    # whether candidates far below the others are dropped
    drops_weak: bool = True


# Tokens of passages that are read without a chat model: as many as the reader can take. With half as many, a
# tenth less of the evidence is found (`python -m benchmarks.real`).
READ_LOCALLY = 2000
# The budget of a strategy that sets none.
READING = ReadingBudget()


@dataclass(frozen=True)
class Window:
    """The candidates that may be read, and how many of them are."""

    # best first, without the dropped ones
    candidates: list[Candidate]
    size: int
    why: Phrase
    # the score below which candidates were dropped; None if all may be read
    limit: float | None = None
    # number of candidates before any was dropped
    found: int = 0

    def keep(self, chosen: Sequence[Candidate]) -> tuple[list[Candidate], list[Decision]]:
        """Return the chosen candidates that fit into the window, and the decisions for the trace."""
        kept, size = list(chosen[: self.size]), min(self.size, self.found)
        why = [self.why] if size == self.size else [self.why, say("no_more_found")]
        decisions = [decide("window", size, *why)]
        if self.limit is not None and len(kept) < size:
            decisions.append(decide("window", len(kept), say("others_score_under", limit=self.limit)))
        return kept, decisions


def choose_window(
    context: Context, analysis: QueryAnalysis, ranked: Sequence[Candidate], budget: ReadingBudget
) -> Window:
    """Return the window over all candidates of a question, which are given best first.

    Candidates that score below the mean minus the standard deviation are dropped, but at least one is kept.
    If `k` is set, none are dropped. With a profile, every strategy drops weak candidates; with a budget, only
    if `drops_weak` is set.
    """
    size, why = reading_size(context, analysis, ranked, budget)
    drops = context.k is None and (context.profile is not None or budget.drops_weak)
    if not drops or not context.uses("window") or not ranked:
        return Window(list(ranked), size, why, found=len(ranked))
    scores = ranked_by(ranked)
    limit = float(np.mean(scores) - np.std(scores))
    strong = [c for c, score in zip(ranked, scores, strict=True) if score >= limit - ROUNDING]
    return Window(strong or list(ranked[:1]), size, why, limit, len(ranked))


def reading_size(
    context: Context, analysis: QueryAnalysis, ranked: Sequence[Candidate], budget: ReadingBudget
) -> tuple[int, Phrase]:
    """Return how many passages are read, and why: by `k`, else by the profile, else by the budget.

    Without a chat model, reading costs no tokens, so the budget is at least `READ_LOCALLY` tokens.
    """
    if context.model is None and budget.tokens < READ_LOCALLY:
        budget = replace(budget, tokens=READ_LOCALLY)
    return given_size(context, analysis) or fitting_size(ranked, budget)


def planned_size(context: Context, analysis: QueryAnalysis, budget: ReadingBudget) -> tuple[int, Phrase]:
    """Return how many passages to expect before the search, and why; by default the budget's minimum."""
    return given_size(context, analysis) or (budget.least, say("least"))


def branch_count(
    setting: int | Literal["k"], context: Context, analysis: QueryAnalysis, budget: ReadingBudget
) -> int:
    """Return how many sub-questions or viewpoints a setting asks for; "k" is as many as passages are read."""
    n = planned_size(context, analysis, budget)[0] if setting == "k" else setting
    return min(n, MOST_BRANCHES)


def largest_size(context: Context) -> int:
    """Return the most passages that any question is expected to read under these settings."""
    if context.k is not None:
        return context.k
    if context.profile is None:
        return READING.least
    profile = context.profile
    if context.routing.low_confidence:
        profile = WIDER.get(profile, profile)
    return (BASE[profile] * max(BY_COMPLEXITY.values()) + 5) // 10 * IN_DOMAIN_TENTHS // 10


def given_size(context: Context, analysis: QueryAnalysis) -> tuple[int, Phrase] | None:
    """Return how many passages the settings ask for, and why; None if they leave it to the budget."""
    if context.k is not None:
        return context.k, say("given_k")
    return None if context.profile is None else window_size(context.profile, context, analysis)


def window_size(profile: Profile, context: Context, analysis: QueryAnalysis) -> tuple[int, Phrase]:
    """Return how many passages a profile reads for a question, and why.

    base * complexity rounded half up, then * domain rounded down: 5 * 1.3 = 7, and 7 * 1.1 = 7; 5 * 0.7 = 3.
    """
    reasons = [say("profile", profile=profile)]
    if profile in WIDER and analysis["confidence"] < context.routing.low_confidence:
        profile = WIDER[profile]
        reasons.append(say("wider_profile", profile=profile, confidence=analysis["confidence"]))
    complexity, relevance = analysis["complexity"], analysis["domain_relevance"]
    size = (BASE[profile] * BY_COMPLEXITY[complexity] + 5) // 10
    reasons.append(say("complexity", complexity=complexity))
    if relevance > IN_DOMAIN:
        size = size * IN_DOMAIN_TENTHS // 10
        reasons.append(say("in_domain"))
    elif relevance < OFF_DOMAIN:
        size = size * OFF_DOMAIN_TENTHS // 10
        reasons.append(say("off_domain"))
    return max(1, size), say("by_profile", reasons=reasons)


def fitting_size(ranked: Sequence[Candidate], budget: ReadingBudget) -> tuple[int, Phrase]:
    """Return how many of the best candidates fit into a budget, and why."""
    totals = accumulate(count_tokens(candidate["text"]) for candidate in ranked[: budget.most])
    size = sum(total <= budget.tokens for total in totals)
    if size < min(budget.least, len(ranked)):
        return min(budget.least, len(ranked)), say("least_of", tokens=budget.tokens)
    return size, say("fits_tokens", tokens=budget.tokens, n=budget.most)


def ranked_by(candidates: Sequence[Candidate]) -> list[float]:
    """Return the scores that order the candidates: their relevance, else the fused score."""
    all_scores = (candidate["scores"] for candidate in candidates)
    return [scores["relevance"] if "relevance" in scores else scores["fused"] for scores in all_scores]
