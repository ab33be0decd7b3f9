"""Decides how many of the ranked candidates reach the answer."""

from __future__ import annotations

from collections.abc import Sequence

from adaptive_rag.context import Context, Profile
from adaptive_rag.state import Candidate, Complexity, Decision, QueryAnalysis

BASE: dict[Profile, int] = {"conservative": 3, "balanced": 5, "aggressive": 8}
BY_COMPLEXITY: dict[Complexity, float] = {"basic": 0.8, "intermediate": 1.0, "advanced": 1.3}


def window_size(context: Context, analysis: QueryAnalysis) -> tuple[int, str]:
    """Return how many chunks to keep, and why."""
    if context.profile is None:
        return context.k, "k"
    size = BASE[context.profile] * BY_COMPLEXITY[analysis["complexity"]]
    relevance = analysis["domain_relevance"]
    size *= 1.1 if relevance > 0.8 else 0.7 if relevance < 0.3 else 1.0
    return max(1, round(size)), f"{context.profile} profile, {analysis['complexity']} question"


def keep_window(
    candidates: Sequence[Candidate], context: Context, analysis: QueryAnalysis
) -> tuple[list[Candidate], list[Decision]]:
    """Return the first candidates, and the decision for the trace."""
    size, why = window_size(context, analysis)
    return list(candidates[:size]), [Decision(what="window", chosen=size, why=why)]
