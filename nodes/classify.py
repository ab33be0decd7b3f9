"""The first step: what kind of question is this, and which way shall it go?"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

from langgraph.runtime import Runtime

from adaptive_rag.analysis import UNSURE_THRESHOLD, analyse
from adaptive_rag.analysis.classify import ClassifyRequest
from adaptive_rag.analysis.ontology import Ontology
from adaptive_rag.context import Context, context_of
from adaptive_rag.conversation import join_context, read_profile
from adaptive_rag.graph.caching import fingerprint
from adaptive_rag.index.open import source_of
from adaptive_rag.llm.steps import CLASSIFY, Ask
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.question import read_question
from adaptive_rag.rank.rerankers import prepare_reranker
from adaptive_rag.search.search import prepare
from adaptive_rag.state import Decision, QueryAnalysis, State


@step
def classify(state: State, runtime: Runtime[Context]) -> Steps:
    """Decide the question's type: by the caller's word, locally, or by the model where unsure."""
    context = context_of(runtime)
    started_at = time.time()
    prepare_reranker(context)
    question, history = read_question(state)
    prepare(source_of(context), [question])
    profile = read_profile(runtime.store, context.user_id)
    # A thread keeps the asker's words with the profile as it was; only the words are theirs.
    own = (state.get("user_context") or "").removesuffix(state.get("profile", ""))
    user_context = join_context(own, profile)
    ontology = _ontology(context.ontology) if context.ontology else None
    analysis = analyse(question, user_context=user_context, history=history, ontology=ontology)
    if context.route is not None:
        analysis = _fixed(analysis, context)
    elif context.model is not None and analysis["probabilities"][analysis["type"]] < UNSURE_THRESHOLD:
        [outcome] = yield [Ask(CLASSIFY, ClassifyRequest(question, user_context, history, analysis))]
        if outcome.by == "model":
            analysis = _by_model(analysis, outcome.result)
    if not context.hedge:
        analysis = {**analysis, "alternatives": []}
    return {
        **_FRESH,
        "question": question,
        "user_context": user_context,
        "profile": profile,
        "fingerprint": fingerprint(context),
        "history": history,
        "query_type": analysis["type"],
        "analysis": analysis,
        "started_at": started_at,
        "record": {
            "decisions": [Decision(what="type", chosen=analysis["type"], why=analysis["reason"])],
        },
    }


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
    "trace": [],
}


@cache
def _ontology(path: str) -> Ontology:
    from adaptive_rag.analysis.ontology import load_ontology

    return load_ontology(path)


def _fixed(analysis: QueryAnalysis, context: Context) -> QueryAnalysis:
    assert context.route is not None
    reason = f"the caller fixed the route to {context.route}"
    return {**analysis, "type": context.route, "decided_by": "caller", "reason": reason, "alternatives": []}


def _by_model(analysis: QueryAnalysis, answer: Any) -> QueryAnalysis:
    reason = f"locally unsure ({analysis['reason']}); the model decided: {answer.reason or answer.type}"
    return {**analysis, "type": answer.type, "decided_by": "model", "reason": reason, "alternatives": []}
