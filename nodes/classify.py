"""The first step: what kind of question is this, and which strategy shall answer it?"""

from __future__ import annotations

import difflib
import hashlib
import time
from collections.abc import Collection
from functools import cache
from typing import Any

from langgraph.runtime import Runtime

from adaptive_rag.analysis import UNSURE_THRESHOLD, analyse
from adaptive_rag.analysis.classify import ask_to_classify
from adaptive_rag.analysis.ontology import Ontology, load_ontology
from adaptive_rag.context import Context, context_of, live_key
from adaptive_rag.conversation import read_profile
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.index import source_of
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.history import join_context, read_question
from adaptive_rag.rank.rerankers import RERANKERS
from adaptive_rag.search.search import prepare
from adaptive_rag.search.words import check_lexical
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import QUERY_TYPES, DecidedBy, Decision, QueryAnalysis, State


@step
def classify(state: State, runtime: Runtime[Context], routes: Collection[str] = QUERY_TYPES) -> Steps:
    """Choose the strategy: the caller's, the router's, or the model's where the router is unsure."""
    context = context_of(runtime)
    started_at = time.time()
    check_name("route", context.route, routes)
    check_name("retrieval.reranker", context.retrieval.reranker, RERANKERS)
    question, history = read_question(state)
    source = source_of(context)
    check_lexical(source, context)
    prepare(source, [question])
    profile = read_profile(runtime.store, context.user_id) if context.user_id else ""
    # A thread keeps the asker's words with the profile as it was; only the words are theirs.
    own = (state.get("user_context") or "").removesuffix(state.get("profile", ""))
    user_context = join_context(own, profile)
    ontology = _ontology(context.ontology) if context.ontology else None
    analysis = analyse(question, user_context=user_context, history=history, ontology=ontology)
    if context.route is not None:
        why = f"the caller fixed the route to {context.route}"
        analysis = _decided(analysis, context.route, "caller", why)
    elif not context.uses("analysis"):
        why = "without analysis every question goes to factual"
        analysis = _decided(analysis, "factual", "caller", why)
    elif context.model is not None and analysis["probabilities"][analysis["type"]] < UNSURE_THRESHOLD:
        [reply] = yield [ask_to_classify(question, user_context, history)]
        if (answer := reply.result) is not None:
            why = f"the router was unsure ({analysis['reason']}); the model decided: "
            analysis = _decided(analysis, answer.type, "model", why + (answer.reason or answer.type))
    if not context.uses("hedge"):
        analysis = {**analysis, "alternatives": []}
    return {
        **_FRESH,
        "question": question,
        "user_context": user_context,
        "profile": profile,
        "fingerprint": _fingerprint(context, source),
        "history": history,
        "query_type": analysis["type"],
        "analysis": analysis,
        "started_at": started_at,
        "record": {"decisions": [Decision(what="type", chosen=analysis["type"], why=analysis["reason"])]},
    }


def chosen_strategy(state: State) -> str:
    """Name the strategy that the analysis chose, or the hedge where it left two open; the edge reads it."""
    return "hedge" if state["analysis"]["alternatives"] else state["query_type"]


def check_name(setting: str, name: str | None, known: Collection[str]) -> None:
    """Refuse a name that is in no table.

    Raises:
        ConfigurationError: the name is not known; the message gives the nearest one.
    """
    if name is None or name in known:
        return
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ConfigurationError(f"{setting} = {name!r} is not usable: expected one of {', '.join(known)}.{hint}")


# What an earlier question of the same thread left behind must not reach this one's answer.
_FRESH: dict[str, Any] = {
    "queries": [],
    "implied_context": "",
    "candidates": [],
    "documents": [],
    "answer": "",
    "citations": [],
    "grounding": 0.0,
    "abstained": False,
}


@cache
def _ontology(path: str) -> Ontology:
    return load_ontology(path)


def _decided(analysis: QueryAnalysis, route: str, by: DecidedBy, reason: str) -> QueryAnalysis:
    return {**analysis, "type": route, "decided_by": by, "reason": reason, "alternatives": []}


def _fingerprint(context: Context, source: ChunkSource) -> str:
    """Return what stands for the settings and the state of the index in a cache key."""
    version = getattr(source, "version", None)
    index = live_key(source) if version is None else f"{context.index}@{version}"
    return hashlib.sha256(f"{context.fingerprint()} {index}".encode()).hexdigest()
