"""Opinion questions: name the sides from which the matter can be seen."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.retrieval.alpha import OPINION_ALPHA
from adaptive_rag.retrieval.expansion import keywords
from adaptive_rag.retrieval.search import prepare
from adaptive_rag.skills import VIEWPOINTS, Ask
from adaptive_rag.skills.viewpoints import ViewpointsRequest
from adaptive_rag.sources import source_of
from adaptive_rag.state import Query, SearchPlan, StrategyState
from adaptive_rag.steps import Steps, step


@step
def viewpoints(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Name the viewpoints; each is searched as "question + viewpoint" beside the question itself."""
    context = context_of(runtime)
    question = state["question"]
    # Opinions rarely have the form of a question, so its bare words are compared with them too.
    queries = [
        Query(text=question, dense=0.5, sparse=1.0),
        Query(text=keywords(question), dense=0.5, sparse=0.0),
    ]
    named = False
    if context.fan_out:
        [outcome] = yield [Ask(VIEWPOINTS, ViewpointsRequest(question, context.viewpoints))]
        named = outcome.by == "model"
        queries += [Query(text=f"{question} {view}", label=view) for view in outcome.result.viewpoints]
    prepare(source_of(context), [query["text"] for query in queries])
    return {
        "queries": queries,
        "viewpoints_named": named,
        "plan": SearchPlan(alpha=OPINION_ALPHA, by_meaning=False, why="opinions share few words"),
        "record": {"queries": [query["text"] for query in queries]},
    }
