"""Opinion questions: name the sides from which the matter can be seen."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.open import source_of
from adaptive_rag.llm.steps import VIEWPOINTS, Ask
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.expansion import keywords, matter
from adaptive_rag.query.viewpoints import ViewpointsRequest
from adaptive_rag.search.alpha import OPINION_ALPHA
from adaptive_rag.search.search import prepare
from adaptive_rag.state import Query, SearchPlan, StrategyState


@step
def viewpoints(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Name the viewpoints; what a model named is searched as "question + viewpoint" beside the question."""
    context = context_of(runtime)
    question = state["question"]
    asked = matter(question)
    # Opinions rarely have the form of a question, so its bare words are compared with them too.
    queries = [
        Query(text=asked, dense=0.5, sparse=1.0),
        Query(text=keywords(asked), dense=0.5, sparse=0.0),
    ]
    if context.fan_out:
        [outcome] = yield [Ask(VIEWPOINTS, ViewpointsRequest(question, context.viewpoints))]
        # General stances find what the question finds: without a model the draw tells the sides apart.
        if outcome.by == "model":
            queries += [Query(text=f"{question} {view}", label=view) for view in outcome.result.viewpoints]
    prepare(source_of(context), [query["text"] for query in queries])
    return {
        "queries": queries,
        "plan": SearchPlan(alpha=OPINION_ALPHA, by_meaning=False, why="opinions share few words"),
        "record": {"queries": [query["text"] for query in queries]},
    }
