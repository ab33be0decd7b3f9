"""The first step: determine the type of the question, and so the strategy that answers it."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from typing import Any

from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from adaptive_rag.analysis import analyse
from adaptive_rag.analysis.ontology import Ontology, load_ontology
from adaptive_rag.analysis.question_types import TYPE_NAMES, describe_types
from adaptive_rag.analysis.wording import adjust_by_wording, with_reasons, with_type
from adaptive_rag.context import Context, context_of, is_served, live_key
from adaptive_rag.context.caller import check_text, newest_turns, user_of
from adaptive_rag.conversation import read_profile
from adaptive_rag.errors import ConfigurationError, did_you_mean
from adaptive_rag.index.index import source_of
from adaptive_rag.llm.messages import format_history
from adaptive_rag.llm.replies import pick
from adaptive_rag.llm.request import Asking, Request
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.optional import attempt
from adaptive_rag.query.follow_up import complete
from adaptive_rag.query.history import join_context, own_words, read_question, split_situation
from adaptive_rag.query.parts import split_question
from adaptive_rag.query.small_talk import reply_to_small_talk
from adaptive_rag.query.spelling import IN_FULL, Spelt, correct_spelling
from adaptive_rag.rank.rerankers import RERANKERS, check_calls
from adaptive_rag.search.search import prepare
from adaptive_rag.search.words import check_lexical
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import NO_ANSWER, ROUTED_TYPES, Decision, QueryAnalysis, RoutedType, State, Turn
from adaptive_rag.text.phrases import decide, say
from adaptive_rag.text.words import terms

# The name of the edge for input that asks nothing about the documents.
SMALL_TALK = "small talk"
_TYPE_NAME = re.compile(rf"\b({'|'.join(ROUTED_TYPES)})", re.I)
# "not factual", "isn't really an opinion": a type that the model rules out.
_DENIED_TYPE = re.compile(
    rf"\b(?:not|n't|isn.t|rather than|instead of|never)\s+(?:an?\s+|\w+ly\s+)?(?:{'|'.join(ROUTED_TYPES)})",
    re.I,
)


class Classification(BaseModel):
    """The question's type."""

    type: RoutedType = Field(description=TYPE_NAMES)
    reason: str = Field("", max_length=300, description="Why, in at most one sentence.")


@step
def classify(state: State, runtime: Runtime[Context], routes: Collection[str] = ROUTED_TYPES) -> Steps:
    """Choose the strategy: the caller's route, else the router's choice, or a model's where one is asked."""
    context = context_of(runtime)
    started_at = time.time()
    check_name("route", context.route, routes)
    check_name("retrieval.reranker", context.retrieval.reranker, RERANKERS)
    check_calls(context)
    question, history = read_question(state)
    if is_served(runtime):
        check_text("question", question, context.serving.max_question, "max_question")
        history = newest_turns(history, context.serving)
    source = source_of(context)
    check_lexical(source, context)
    spelt, subject, decisions = _read_in_full(question, history, source, context)
    prepare(source, [f"{spelt}\n{subject}" if subject else spelt])
    profile = read_profile(runtime.store, user_of(runtime, context))
    own = own_words(state)
    user_context = join_context(own, profile)
    analysis = _analyse(question, user_context, history, context)
    small_talk = partial(reply_to_small_talk, question, source, situated=bool(own or subject))
    recognised = attempt("small talk", small_talk, None) if context.uses("analysis") else None
    reply, kind = recognised or ("", "")
    if reply:
        analysis = with_type(analysis, analysis["type"], "local", say("small_talk", kind=kind))
    elif context.route is not None:
        analysis = with_type(analysis, context.route, "caller", say("route_fixed", type=context.route))
    elif not context.uses("analysis"):
        analysis = with_type(analysis, "factual", "caller", say("without_analysis"))
    else:
        analysis = yield from classify_by_model(analysis, question, user_context, history, context)
    analysis = _hedged(analysis, hedges=context.uses("hedge"))
    if analysis["type"] == "contextual" and context.uses("context"):
        situation, spelt = attempt("situation", partial(split_situation, spelt), ("", spelt))
        if situation:
            decisions.append(decide("situation", situation, say("told_by_question")))
        if situation not in own:
            # It is stored like the profile, so that a thread does not keep it as the user's own words.
            profile = join_context(situation, profile)
            user_context = join_context(own, profile)
    decisions.insert(0, decide("type", analysis["type"], *analysis["reasons"]))
    return {
        **_FRESH,
        "question": question,
        "question_read": question,
        "reply": reply,
        "spelt_question": spelt,
        "subject": subject,
        "user_context": user_context,
        "profile": profile,
        "fingerprint": _fingerprint(context, source),
        "history": history,
        "query_type": analysis["type"],
        "analysis": analysis,
        "started_at": started_at,
        "index_version": getattr(source, "version", None),
        "record": {"decisions": decisions},
    }


def chosen_strategy(state: State) -> str:
    """Return the next node for the edge: the chosen strategy, "hedge", or `SMALL_TALK`.

    The hedge is chosen where the analysis left two strategies open.
    """
    if state.get("reply"):
        return SMALL_TALK
    return "hedge" if state["analysis"]["alternatives"] else state["query_type"]


def check_name(setting: str, name: str | None, known: Collection[str]) -> None:
    """Check that a name is in the table of known names.

    Raises:
        ConfigurationError: the name is not known; the message gives the nearest one.
    """
    if name is None or name in known:
        return
    raise ConfigurationError(
        f"{setting} = {name!r} is not usable: expected one of {', '.join(known)}.{did_you_mean(name, known)}"
    )


# Values that reset what an earlier question of the same thread left in the state.
_FRESH: dict[str, Any] = {
    "queries": [],
    "implied_context": "",
    "candidates": [],
    "documents": [],
    **NO_ANSWER,
}


def _analyse(question: str, user_context: str, history: Sequence[Turn], context: Context) -> QueryAnalysis:
    """Return the router's analysis, adjusted by the question's wording where it has no context.

    Several questions in one that all ask for a fact are factual: each of them is answered for itself.
    """
    routing = context.routing
    route = partial(
        analyse,
        user_context=user_context,
        history=history,
        ontology=_ontology(context.ontology) if context.ontology else None,
        threshold=routing.threshold,
        low_confidence=routing.low_confidence,
        learned=context.served.learned,
    )
    analysis = route(question)
    parts = attempt("parts", partial(split_question, question), [question])
    if analysis["type"] != "factual" and len(parts) > 1 and all(_may_be_factual(route(p)) for p in parts):
        return with_type(analysis, "factual", "local", say("parts_ask_for_facts"))
    return adjust_by_wording(analysis, question, user_context, history, routing)


def _may_be_factual(analysis: QueryAnalysis) -> bool:
    return "factual" in (analysis["type"], *analysis["alternatives"])


def _read_in_full(
    question: str, history: Sequence[Turn], source: ChunkSource, context: Context
) -> tuple[str, str, list[Decision]]:
    """Return the question and the subject that it lacks, both spelt as in the index, and the decisions.

    A follow-up that replaces a part of the question before it is returned as a complete question.
    """
    complete_question, subject = question, ""
    if context.uses("context"):
        finish = partial(complete, question, history)
        complete_question, subject = attempt("follow-up", finish, (question, ""))
    spelt, spelt_subject = Spelt(complete_question, {}, {}), Spelt(subject, {}, {})
    if context.uses("spelling"):
        spelt = attempt("spelling", partial(correct_spelling, complete_question, source), spelt)
        if subject:
            spelt_subject = attempt("spelling", partial(correct_spelling, subject, source), spelt_subject)
    subject = spelt_subject.question
    decisions = [decide("subject added", subject, say("leans_on_earlier"))] if subject else []
    if complete_question != question:
        decisions.append(decide("completed", complete_question, say("replaces_part")))
    for word, replacement in (spelt.read_as | spelt_subject.read_as).items():
        code = "spelt_in_full" if word.lower() in IN_FULL else f"spelt_{_kind_of_slip(word, replacement)}"
        if code == "spelt_alike" and not terms(replacement):
            code = "spelt_slip"  # replaced without a comparison: it changes nothing that is searched for
        decisions.append(decide("spelling", replacement, say(code, word=repr(word), other=repr(replacement))))
    for word, replacement in (spelt.kept | spelt_subject.kept).items():
        code = f"kept_{_kind_of_slip(word, replacement)}"
        decisions.append(decide("spelling", word, say(code, other=repr(replacement))))
    return spelt.question, subject, decisions


def _kind_of_slip(word: str, replacement: str) -> str:
    return "apart" if replacement.replace(" ", "") == word else "alike"


@cache
def _ontology(path: str) -> Ontology:
    return load_ontology(path)


def _hedged(analysis: QueryAnalysis, *, hedges: bool) -> QueryAnalysis:
    """Note in the reason whether both open strategies are run; without the hedge, keep only the first."""
    if not analysis["alternatives"]:
        return analysis
    if hedges:
        return with_reasons(analysis, say("both_run"))
    why = say("without_hedge", type=analysis["type"])
    return with_reasons({**analysis, "decided_by": "local", "alternatives": []}, why)


def _fingerprint(context: Context, source: ChunkSource) -> str:
    """Return the part of a cache key that identifies the settings and the state of the index."""
    version = getattr(source, "version", None)
    index = live_key(source) if version is None else f"{context.index}@{version}"
    return hashlib.sha256(f"{context.fingerprint()} {index}".encode()).hexdigest()


def classify_by_model(
    analysis: QueryAnalysis, question: str, user_context: str, history: Sequence[Turn], context: Context
) -> Asking[QueryAnalysis]:
    """Ask a chat model to decide where `routing.classify` says so; the router's decision is the fallback."""
    routing = context.routing
    is_unsure = context.has_model() and analysis["decided_by"] == "hedge"
    if routing.classify == "router" or (routing.classify == "unsure" and not is_unsure):
        return analysis
    asks_always = routing.classify == "model"
    request = ask_to_classify(
        question, user_context, history, fallback=routing.fallback, by_setting=asks_always
    )
    [reply] = yield [request]
    result: Classification | None = reply.result
    if result is None:
        return with_reasons(analysis, say("model_did_not_decide", why=reply.reason))
    before = say("model_decides_all" if asks_always else "router_was", reasons=analysis["reasons"])
    why = say("model_decided", why=result.reason or result.type)
    if result is request.otherwise:
        why = say("fallback_decided", type=result.type)
    return with_type(analysis, result.type, "model", before, why)


def ask_to_classify(
    question: str,
    user_context: str,
    history: Sequence[Turn],
    *,
    fallback: RoutedType | None = None,
    by_setting: bool = False,
) -> Request[Classification]:
    """Ask the model for the type; without a usable reply, the router's decision stands.

    `fallback` is the type for a reply that names none; with it, the first of several named types counts.
    `by_setting`: whether the caller wants every question classified, beyond the planned calls.
    """
    return Request(
        "classify",
        Classification,
        values=lambda: {
            "types": describe_types(),
            "type_names": TYPE_NAMES,
            "question": question,
            "user_context": user_context or "(none given)",
            "history": format_history(history) or "(none)",
        },
        read=_read if fallback is None else _read_first,
        otherwise=Classification(type=fallback, reason="") if fallback else None,
        by_setting=by_setting,
    )


def _read(value: Any) -> dict[str, Any]:
    """Read a type, in upper or lower case, alone or in a sentence that names no other type."""
    value, reason = _split(value)
    types = {match.lower() for match in _TYPE_NAME.findall(str(value))}
    if len(types) != 1 or _DENIED_TYPE.search(str(value)):
        raise ValueError(f"expected one of {', '.join(ROUTED_TYPES)}, got {str(value)[:80]!r}")
    return {"type": types.pop(), "reason": reason}


def _read_first(value: Any) -> dict[str, Any]:
    """Read the first type that a reply names: in its field for the type if it has one, else anywhere."""
    try:
        type_field, reason = _split(value)
    except ValueError:  # an object without a field for the type
        type_field, reason = "", ""
    # The field for the type takes precedence: the reason may mention the other types.
    if match := _TYPE_NAME.search(str(type_field or value)):
        return {"type": match[0].lower(), "reason": reason}
    raise ValueError(f"expected one of {', '.join(ROUTED_TYPES)}, got {str(value)[:80]!r}")


def _split(value: Any) -> tuple[Any, str]:
    """Return what a reply gives as the type, and its reason."""
    reason = ""
    if isinstance(value, Mapping):
        fields = {str(key).lower(): item for key, item in value.items()}
        reason = str(fields.pop("reason", None) or "")[:300]
        value = pick(fields, "type", "query_type", "question_type", "category", "classification", "label")
    elif isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value, reason
