"""Opinion questions: name the viewpoints from which the matter can be seen."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.history import full_question
from adaptive_rag.query.viewpoints import ask_for_viewpoints, keywords, matter
from adaptive_rag.rank.window import READING, ReadingBudget, planned_size
from adaptive_rag.search.fusion import OPINION_ALPHA
from adaptive_rag.search.search import prepare
from adaptive_rag.state import Query, SearchPlan, StrategyState


@step
def viewpoints(state: StrategyState, runtime: Runtime[Context], reading: ReadingBudget = READING) -> Steps:
    """Search for the matter, and for "question + viewpoint" of each viewpoint that a model names."""
    context = context_of(runtime)
    question = full_question(state)
    asked = matter(question)
    # Opinions rarely have the form of a question, so its bare words are compared with them too.
    queries = [
        Query(text=asked, dense=0.5, sparse=1.0),
        Query(text=keywords(asked), dense=0.5, sparse=0.0),
    ]
    if context.uses("fan-out"):
        n = context.retrieval.viewpoints
        if n == "k":
            n, _ = planned_size(context, state["analysis"], reading)
        [reply] = yield [ask_for_viewpoints(question, n)]
        if reply.result is not None:
            named = reply.result.viewpoints
            sides = reply.result.sides or ["other"] * len(named)
            queries += [
                Query(text=f"{question} {view}", label=view, side=side)
                for view, side in zip(named, sides, strict=True)
            ]
    prepare(source_of(context, state), [query["text"] for query in queries])
    return {
        "queries": queries,
        "plan": SearchPlan(alpha=OPINION_ALPHA, dense_only=False, why="opinions share few words"),
    }
