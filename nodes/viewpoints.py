"""Opinion questions: name the sides from which the matter can be seen."""

from __future__ import annotations

from langgraph.runtime import Runtime

from adaptive_rag.context import Context, context_of
from adaptive_rag.skills import VIEWPOINTS, Ask
from adaptive_rag.skills.viewpoints import ViewpointsRequest
from adaptive_rag.state import Query, StrategyState
from adaptive_rag.steps import Steps, step


@step
def viewpoints(state: StrategyState, runtime: Runtime[Context]) -> Steps:
    """Name the viewpoints; each is searched as "question + viewpoint" beside the question itself."""
    context = context_of(runtime)
    question = state["question"]
    queries = [Query(text=question)]
    if context.fan_out:
        [outcome] = yield [Ask(VIEWPOINTS, ViewpointsRequest(question, context.viewpoints))]
        queries += [Query(text=f"{question} {view}", label=view) for view in outcome.result.viewpoints]
    return {"queries": queries, "record": {"queries": [query["text"] for query in queries]}}
