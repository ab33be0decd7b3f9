"""Adjusts the type of a question by its wording where the router was unsure or had no context."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.analysis.parse import parse_question
from adaptive_rag.context.groups import RoutingSettings
from adaptive_rag.optional import attempt
from adaptive_rag.state import DecidedBy, Phrase, QueryAnalysis, Turn
from adaptive_rag.text.phrases import join_reasons, say

_FIRST_PERSON = lx.SINGULAR_FIRST | lx.PLURAL_FIRST | lx.POSSESSIVE_FIRST


def adjust_by_wording(
    analysis: QueryAnalysis,
    question: str,
    user_context: str,
    history: Sequence[Turn],
    routing: RoutingSettings,
    *,
    situated: bool,
) -> QueryAnalysis:
    """Return the router's analysis, adjusted by the question's wording where the router was unsure."""
    if not history and not user_context:
        analysis = attempt("wording", partial(avoid_contextual, analysis, question, routing), analysis)
    return attempt("wording", partial(settle_by_wording, analysis, situated=situated), analysis)


def avoid_contextual(analysis: QueryAnalysis, question: str, routing: RoutingSettings) -> QueryAnalysis:
    """Return the analysis of a question without a conversation or user context: not contextual, if possible.

    "When was it founded?" is asked of the documents, so "it" is their subject, and the question gets the
    likeliest of the other types. A question in the first person still depends on the user, and "What about
    Sundays?" on what was said before; both stay as they are.
    """
    likely = analysis["probabilities"]
    named = {analysis["type"], *analysis["alternatives"]}
    parsed = parse_question(question)
    depends = parsed.references.openers or not _FIRST_PERSON.isdisjoint(parsed.words)
    if "contextual" not in named or depends:
        return analysis
    left = sum(chance for route, chance in likely.items() if route != "contextual")
    others = sorted((route for route in likely if route != "contextual"), key=lambda r: -likely[r])
    unsure = likely[others[0]] < routing.threshold * left or analysis["confidence"] < routing.low_confidence
    why = say("asked_by_nobody_or" if unsure else "asked_by_nobody", type=others[0], other_type=others[1])
    return with_reasons(
        {
            **analysis,
            "type": others[0],
            "decided_by": "hedge" if unsure else "local",
            "alternatives": [others[1]] if unsure else [],
        },
        why,
    )


def settle_by_wording(analysis: QueryAnalysis, *, situated: bool) -> QueryAnalysis:
    """Return the analysis of a question that was left open between two types, adjusted by its wording.

    A question that may be contextual is contextual where the user is `situated`, that is, describes their own
    situation. "Consequences of the outage" asks for no fact, so between factual and analytical it is rather
    analytical.
    """
    open_types = {analysis["type"], *analysis["alternatives"]}
    if situated and "contextual" in analysis["alternatives"]:
        told = with_reasons(analysis, say("says_who_asks"))
        return with_type(told, "contextual", "local", *told["reasons"])
    asks_no_fact = analysis["intent"] in ("conceptual", "comparison")
    if open_types == {"factual", "analytical"} and analysis["type"] == "factual" and asks_no_fact:
        analytical: QueryAnalysis = {**analysis, "type": "analytical", "alternatives": ["factual"]}
        return with_reasons(analytical, say("asks_for_analysis"))
    return analysis


def with_type(analysis: QueryAnalysis, route: str, by: DecidedBy, *reasons: Phrase) -> QueryAnalysis:
    """Return the analysis with a type that was decided elsewhere than in the router."""
    decision: QueryAnalysis = {**analysis, "type": route, "decided_by": by, "alternatives": [], "reasons": []}
    return with_reasons(decision, *reasons)


def with_reasons(analysis: QueryAnalysis, *reasons: Phrase) -> QueryAnalysis:
    """Return the analysis with further reasons."""
    all_reasons = [*analysis["reasons"], *reasons]
    return {**analysis, "reason": join_reasons(all_reasons), "reasons": all_reasons}
