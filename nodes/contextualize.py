"""Contextual questions: put who asks, and what was said before, into the query."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.open import source_of
from adaptive_rag.llm.steps import CONTEXTUALIZE, Ask
from adaptive_rag.nodes.rerank import early_score, judgements
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.contextualize import ContextualizeRequest
from adaptive_rag.query.expansion import plan_contextual
from adaptive_rag.rank.situation import is_off_topic
from adaptive_rag.search.search import prepare
from adaptive_rag.state import Candidate, Decision, Query, SearchPlan, StrategyState


@step
def contextualize(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Resolve the question against context and history; a model scores the first hits meanwhile."""
    context = context_of(runtime)
    question, user_context = state["question"], state.get("user_context", "")
    queries, implied, judged = [Query(text=question)], user_context, list[Candidate]()
    plan: SearchPlan | None = None
    decisions: list[Decision] = []
    if context.contextualize:
        request = ContextualizeRequest(question, user_context, state.get("history", []))
        early = early_score(state, CONTEXTUALIZE.stand_in(request).query, context)
        outcome, *scored = yield [Ask(CONTEXTUALIZE, request), *early]
        judged = judgements(early, scored)
        implied = outcome.result.context
        if outcome.by == "model":
            texts = dict.fromkeys([outcome.result.query, question])
            queries = [Query(text=text, dense=1 / len(texts), sparse=1 / len(texts)) for text in texts]
        else:
            local = plan_contextual(question, user_context, request.history)
            if local.situation:
                bare = plan_contextual(question, user_context, request.history, situated=False)
                if is_off_topic(source_of(context), local.parts[0].text, bare.parts[0].text):
                    local, why = bare, "with it the question is further from every passage"
                    decisions = [Decision(what="situation", chosen="not searched for", why=why)]
            queries = [Query(text=part.text, dense=part.dense, sparse=part.sparse) for part in local.parts]
            if local.alpha is not None:
                plan = SearchPlan(
                    alpha=local.alpha,
                    by_meaning=local.by_meaning,
                    why=local.reason,
                    situation=local.situation,
                )
    prepare(source_of(context), [query["text"] for query in queries], [implied] if implied else [])
    return {
        "queries": queries,
        "plan": plan,
        "implied_context": implied,
        "judged": judged,
        "record": {"queries": [query["text"] for query in queries], "decisions": decisions},
    }
