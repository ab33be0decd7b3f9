"""Adjusts the type of a question by its wording if the router had no context."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.analysis.parse import parse_question
from adaptive_rag.context.groups import RoutingSettings
from adaptive_rag.optional import attempt
from adaptive_rag.state import DecidedBy, Phrase, QueryAnalysis, Turn
from adaptive_rag.text.phrases import join_reasons, say


def adjust_by_wording(
    analysis: QueryAnalysis,
    question: str,
    user_context: str,
    history: Sequence[Turn],
    routing: RoutingSettings,
) -> QueryAnalysis:
    """Return the router's analysis, adjusted by the question's wording if there is nothing else to go by."""
    if history or user_context:
        return analysis
    return attempt("wording", partial(avoid_contextual, analysis, question, routing), analysis)


def avoid_contextual(analysis: QueryAnalysis, question: str, routing: RoutingSettings) -> QueryAnalysis:
    """Replace the type contextual of a question that has neither a conversation nor a user context.

    "When was it founded?" is then about the subject of the documents, so it gets the likeliest of the other
    types. A question in the first person still depends on the user, and "What about Sundays?" on an earlier
    question, so both stay contextual.
    """
    open_types = {analysis["type"], *analysis["alternatives"]}
    parsed = parse_question(question)
    needs_context = parsed.references.openers or not lx.FIRST_PERSON.isdisjoint(parsed.words)
    if "contextual" not in open_types or needs_context:
        return analysis
    shares = {name: share for name, share in analysis["probabilities"].items() if name != "contextual"}
    best, second, *_ = sorted(shares, key=lambda name: -shares[name])
    is_unsure = (
        shares[best] < routing.threshold * sum(shares.values())
        or analysis["confidence"] < routing.low_confidence
    )
    reason = say("asked_by_nobody_or" if is_unsure else "asked_by_nobody", type=best, other_type=second)
    return with_reasons(
        {
            **analysis,
            "type": best,
            "decided_by": "hedge" if is_unsure else "local",
            "alternatives": [second] if is_unsure else [],
        },
        reason,
    )


def with_type(analysis: QueryAnalysis, route: str, by: DecidedBy, *reasons: Phrase) -> QueryAnalysis:
    """Return the analysis with a type that the router did not decide, and with these reasons only."""
    decision: QueryAnalysis = {**analysis, "type": route, "decided_by": by, "alternatives": [], "reasons": []}
    return with_reasons(decision, *reasons)


def with_reasons(analysis: QueryAnalysis, *reasons: Phrase) -> QueryAnalysis:
    """Return the analysis with further reasons."""
    all_reasons = [*analysis["reasons"], *reasons]
    return {**analysis, "reason": join_reasons(all_reasons), "reasons": all_reasons}
