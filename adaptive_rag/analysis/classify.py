"""Asks a chat model for the question's type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.analysis.parse import parse_question
from adaptive_rag.context import Context
from adaptive_rag.llm.messages import format_history
from adaptive_rag.llm.replies import pick
from adaptive_rag.llm.request import Asking, Request
from adaptive_rag.state import QUERY_TYPES, DecidedBy, QueryAnalysis, QueryType, Turn

_LABEL = re.compile(rf"\b({'|'.join(QUERY_TYPES)})", re.I)
# "not factual", "isn't really an opinion": a type that the model rules out.
_DENIED = re.compile(
    rf"\b(?:not|n't|isn.t|rather than|instead of|never)\s+(?:an?\s+|\w+ly\s+)?(?:{'|'.join(QUERY_TYPES)})",
    re.I,
)

_FIRST_PERSON = lx.SINGULAR_FIRST | lx.PLURAL_FIRST | lx.POSSESSIVE_FIRST


class Classification(BaseModel):
    """The question's type."""

    type: QueryType = Field(description="factual, analytical, opinion or contextual")
    reason: str = Field("", max_length=300, description="Why, in at most one sentence.")


def classify_by_model(
    analysis: QueryAnalysis, question: str, user_context: str, history: Sequence[Turn], context: Context
) -> Asking[QueryAnalysis]:
    """Have a chat model decide where `routing.classify` says so; without a usable reply the router does."""
    routing = context.routing
    unsure = context.has_model() and analysis["decided_by"] == "hedge"
    if routing.classify == "router" or (routing.classify == "unsure" and not unsure):
        return analysis
    every = routing.classify == "model"
    request = ask_to_classify(question, user_context, history, fallback=routing.fallback, by_setting=every)
    [reply] = yield [request]
    answer: Classification | None = reply.result
    if answer is None:
        return {**analysis, "reason": f"{analysis['reason']}; the model did not decide: {reply.reason}"}
    why = f"the router was {analysis['reason']}"
    if every:
        why = f"a model classifies every question (the router: {analysis['reason']})"
    if answer is request.otherwise:
        why += f"; the model's reply named no type, so routing.fallback decided: {answer.type}"
    else:
        why += f"; the model decided: {answer.reason or answer.type}"
    return decided(analysis, answer.type, "model", why)


def by_its_kind(analysis: QueryAnalysis, question: str, threshold: float) -> QueryAnalysis:
    """Return the analysis of a question with nothing to lean on: no conversation, no word on who asks.

    "When was it founded?" is put to the documents, so "it" is their subject, and the question goes to the
    likeliest of the other types. One in the first person still depends on who asks, and "What about
    Sundays?" on what was said.
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
    """Return the analysis of a question that was left open between two types, where its wording tells.

    What may be contextual is so where the asker is `situated`, that is, says of themselves what it may depend
    on. "Consequences of the outage" asks no fact, so of factual and analytical it is rather the second.
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
    """Return the analysis with a type that the router did not choose."""
    return {**analysis, "type": route, "decided_by": by, "reason": why, "alternatives": []}


def ask_to_classify(
    question: str,
    user_context: str,
    history: Sequence[Turn],
    *,
    fallback: QueryType | None = None,
    by_setting: bool = False,
) -> Request[Classification]:
    """Ask the model for the type; without a usable reply the router's decision stands.

    Args:
        question: what the user asked.
        user_context: what the user says of themselves.
        history: the conversation before the question, oldest first.
        fallback: the type for a reply that names none; of several that it names the first counts then.
        by_setting: the caller wants every question classified, beyond the calls that are planned.
    """
    return Request(
        "classify",
        Classification,
        values=lambda: {
            "question": question,
            "user_context": user_context or "(none given)",
            "history": format_history(history) or "(none)",
        },
        read=_read if fallback is None else _read_first,
        otherwise=Classification(type=fallback, reason="") if fallback else None,
        by_setting=by_setting,
    )


def _read(value: Any) -> dict[str, Any]:
    """Read a type in any case, alone or in a sentence that names no other."""
    value, reason = _split(value)
    named = {match.lower() for match in _LABEL.findall(str(value))}
    if len(named) != 1 or _DENIED.search(str(value)):
        raise ValueError(f"expected one of {', '.join(QUERY_TYPES)}, got {str(value)[:80]!r}")
    return {"type": named.pop(), "reason": reason}


def _read_first(value: Any) -> dict[str, Any]:
    """Read the first type that is named: where a form has one for it, else anywhere."""
    try:
        answer, reason = _split(value)
    except ValueError:  # a form without a place for the type
        answer, reason = "", ""
    # What a form gives as the type stands for it; its reason may speak of the others.
    if found := _LABEL.search(str(answer if answer else value)):
        return {"type": found[0].lower(), "reason": reason}
    raise ValueError(f"expected one of {', '.join(QUERY_TYPES)}, got {str(value)[:80]!r}")


def _split(value: Any) -> tuple[Any, str]:
    """Return what a reply gives as the type, and the reason that it gives."""
    reason = ""
    if isinstance(value, Mapping):
        plain = {str(key).lower(): item for key, item in value.items()}
        reason = str(plain.get("reason") or "")[:300]
        rest = {key: item for key, item in plain.items() if key != "reason"}
        value = pick(rest, "type", "query_type", "question_type", "category", "classification", "label")
    elif isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value, reason
