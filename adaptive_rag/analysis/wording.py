"""Adjusts the type of a question by its wording where the router was unsure or had no context."""

from __future__ import annotations

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.analysis.parse import parse_question
from adaptive_rag.state import DecidedBy, QueryAnalysis

_FIRST_PERSON = lx.SINGULAR_FIRST | lx.PLURAL_FIRST | lx.POSSESSIVE_FIRST


def by_its_kind(analysis: QueryAnalysis, question: str, threshold: float) -> QueryAnalysis:
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
    unsure = likely[others[0]] < threshold * left
    why = f"{analysis['reason']}; nothing was said before it and nobody says who asks, so it is {others[0]}"
    return {
        **analysis,
        "type": others[0],
        "decided_by": "hedge" if unsure else "local",
        "reason": f"{why} or {others[1]}" if unsure else why,
        "alternatives": [others[1]] if unsure else [],
    }


def by_its_wording(analysis: QueryAnalysis, *, situated: bool) -> QueryAnalysis:
    """Return the analysis of a question that was left open between two types, adjusted by its wording.

    A question that may be contextual is contextual where the user is `situated`, that is, describes their own
    situation. "Consequences of the outage" asks for no fact, so between factual and analytical it is rather
    analytical.
    """
    open_types = {analysis["type"], *analysis["alternatives"]}
    if situated and "contextual" in analysis["alternatives"]:
        why = f"{analysis['reason']}; the asker says who asks, so it is contextual"
        return decided(analysis, "contextual", "local", why)
    asks_no_fact = analysis["intent"] in ("conceptual", "comparison")
    if open_types == {"factual", "analytical"} and analysis["type"] == "factual" and asks_no_fact:
        why = f"{analysis['reason']}; its words ask for an analysis rather than a fact"
        return {**analysis, "type": "analytical", "alternatives": ["factual"], "reason": why}
    return analysis


def decided(analysis: QueryAnalysis, route: str, by: DecidedBy, why: str) -> QueryAnalysis:
    """Return the analysis with a type that was decided elsewhere than in the router."""
    return {**analysis, "type": route, "decided_by": by, "reason": why, "alternatives": []}
