"""Opinion questions: name the viewpoints that one can take on the topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.llm.replies import exactly, plain_item, texts
from adaptive_rag.llm.request import Request
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.query.history import full_question
from adaptive_rag.query.viewpoints import keywords, topic_of
from adaptive_rag.rank.window import MOST_BRANCHES, READING, ReadingBudget, branch_count
from adaptive_rag.search.fusion import OPINION_ALPHA
from adaptive_rag.search.search import prepare
from adaptive_rag.state import Query, SearchPlan, StrategyState

ViewpointSide = Literal["for", "against", "other"]


class Viewpoints(BaseModel):
    """Different, preferably opposed, viewpoints."""

    viewpoints: list[str] = Field(
        min_length=1, max_length=MOST_BRANCHES, description="Short names of viewpoints."
    )
    sides: list[ViewpointSide] = Field(
        default_factory=list, description="For each viewpoint: for what the question proposes, or against."
    )


@step
def viewpoints(state: StrategyState, runtime: Runtime[Context], reading: ReadingBudget = READING) -> Steps:
    """Prepare queries for the topic, and "question + viewpoint" for each viewpoint that a model names.

    There is no local way to name viewpoints: general stances ("benefits", "risks") find the same chunks as
    the question.
    """
    context = context_of(runtime)
    question = full_question(state)
    topic = topic_of(question)
    # Opinions rarely have the form of a question, so the question's content words are searched for as well.
    queries = [Query(text=topic, dense=0.5, sparse=1.0), Query(text=keywords(topic), dense=0.5, sparse=0.0)]
    if context.uses("fan-out"):
        n = branch_count(context.retrieval.viewpoints, context, state["analysis"], reading)
        [reply] = yield [ask_for_viewpoints(question, n)]
        if reply.result is not None:
            names = reply.result.viewpoints
            sides = reply.result.sides or ["other"] * len(names)
            queries += [
                Query(text=f"{question} {name}", label=name, side=side)
                for name, side in zip(names, sides, strict=True)
            ]
    prepare(source_of(context, state), [query["text"] for query in queries])
    return {
        "queries": queries,
        "plan": SearchPlan(alpha=OPINION_ALPHA, dense_only=False, why="opinions share few words"),
    }


def ask_for_viewpoints(question: str, n: int) -> Request[Viewpoints]:
    """Ask the model for exactly n different viewpoints."""

    def read(value: Any) -> dict[str, Any]:
        sides = value.get("sides") if isinstance(value, Mapping) else None
        if isinstance(value, Mapping):
            value = {key: item for key, item in value.items() if str(key).lower() != "sides"}
        given = texts(value, "viewpoints")
        names = exactly(n, given, "viewpoints")
        has_sides = isinstance(sides, list) and all(side in get_args(ViewpointSide) for side in sides)
        if sides is None or not has_sides or len(given) != len(sides):
            return {"viewpoints": names}
        # `names` lacks repeated and surplus viewpoints, so each side is looked up by its viewpoint.
        given_names = [plain_item(text).casefold() for text in given]
        return {"viewpoints": names, "sides": [sides[given_names.index(name.casefold())] for name in names]}

    return Request(
        "viewpoints",
        Viewpoints,
        values=lambda: {"question": question, "n": str(n)},
        read=read,
        bounds={"viewpoints": {"minItems": n, "maxItems": n}, "sides": {"minItems": n, "maxItems": n}},
    )
