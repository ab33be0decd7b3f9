"""Work ends at its deadline, and where nobody waits for it, in whatever thread it runs."""

import asyncio
import threading
import time
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

from adaptive_rag import AdaptiveRAG
from adaptive_rag.context import Context, make_context
from adaptive_rag.deadline import check_deadline, deadline, in_time
from adaptive_rag.errors import DeadlineError
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.nodes import step as steps
from adaptive_rag.nodes.step import Update, step
from adaptive_rag.optional import attempt, leaving_out
from adaptive_rag.testing import arun_node

STATE = {"question": "How long?"}


def test_work_without_a_deadline_goes_on() -> None:
    check_deadline()
    assert list(in_time(range(3))) == [0, 1, 2]


def test_a_deadline_that_has_passed_is_told_in_its_words() -> None:
    with deadline(0, "It took 0 s."), pytest.raises(DeadlineError, match=r"^It took 0 s\.$"):
        check_deadline()
    check_deadline()


def test_a_part_ends_with_the_whole_and_not_the_whole_with_a_part() -> None:
    with deadline(60) as whole:
        with deadline(0), pytest.raises(DeadlineError):
            check_deadline()
        check_deadline()
        whole.abandon()
        with deadline(60), pytest.raises(DeadlineError, match="Nobody waits"):
            check_deadline()


def test_a_loop_ends_before_its_next_item() -> None:
    done = []
    with deadline(60) as found, pytest.raises(DeadlineError):
        for number in in_time(range(10)):
            done.append(number)
            if number == 2:
                found.abandon()
    assert done == [0, 1, 2]


def test_a_part_that_may_fail_does_not_hide_the_deadline() -> None:
    with leaving_out(), deadline(0), pytest.raises(DeadlineError):
        attempt("spelling", check_deadline, None)


def test_a_cancelled_step_ends_the_thread_that_it_runs_in() -> None:
    began, ended = threading.Event(), threading.Event()

    @step
    def busy(state: Any, runtime: Runtime[Context]) -> Update:
        began.set()
        try:
            for _ in in_time(range(600)):
                time.sleep(0.05)
        except DeadlineError:
            ended.set()
            raise
        return {}

    async def leave() -> None:
        work = asyncio.ensure_future(arun_node(busy, STATE, make_context()))
        while not began.is_set():
            await asyncio.sleep(0.01)
        work.cancel()
        await asyncio.wait({work})

    asyncio.run(leave())
    assert ended.wait(10)


class SlowIndex(MemoryIndex):
    """An index whose searches take longer than the question may."""

    def search(self, *args: Any, **kwargs: Any) -> Any:
        time.sleep(0.3)
        return super().search(*args, **kwargs)


@pytest.mark.few(5)
@pytest.mark.parametrize("path", ["invoke", "ainvoke", "stream", "astream"])
@pytest.mark.parametrize("route", ["factual", "opinion"])
def test_a_question_that_takes_too_long_fails_without_a_model(
    monkeypatch: pytest.MonkeyPatch, path: str, route: str
) -> None:
    monkeypatch.setattr(steps, "FINISHING_SECONDS", 0.1)
    rag = AdaptiveRAG(SlowIndex.from_texts(["The wall is 4 metres high."]), route=route)
    asked = {"input": "How high is the wall?", "context": {"budget": {"deadline_s": 0.1}}}

    async def astream() -> None:
        async for _ in rag.astream(**asked, steps=True):
            pass

    ways = {
        "invoke": lambda: rag.invoke(**asked),
        "ainvoke": lambda: asyncio.run(rag.ainvoke(**asked)),
        "stream": lambda: list(rag.stream(**asked, steps=True)),
        "astream": lambda: asyncio.run(astream()),
    }
    with pytest.raises(DeadlineError, match=r"the 0\.1 s of budget\.deadline_s and the 0\.1 s"):
        ways[path]()


def test_a_run_that_goes_on_with_a_kept_state_has_its_time_anew() -> None:
    kept = {**STATE, "started_at": time.time() - 3600}

    @step
    def late(state: Any, runtime: Runtime[Context]) -> Update:
        check_deadline()
        return {"answer": "in time"}

    assert asyncio.run(arun_node(late, kept, make_context()))["answer"] == "in time"


def test_an_agent_is_told_that_a_question_took_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "FINISHING_SECONDS", 0.0)
    rag = AdaptiveRAG(MemoryIndex.from_texts(["The wall is 4 metres high."]), budget={"deadline_s": 1e-5})
    assert "not answered within" in rag.as_tool().invoke({"question": "How high is the wall?"})


def test_each_question_of_an_agents_run_has_its_own_time(
    monkeypatch: pytest.MonkeyPatch, town: MemoryIndex
) -> None:
    """LangGraph hands what controls a run to all graphs within it, so it says nothing of a later question."""
    monkeypatch.setattr(steps, "FINISHING_SECONDS", 0.0)
    rag = AdaptiveRAG(town, budget={"deadline_s": 1.5})
    rag.invoke("How high is the sea wall?", context={"budget": {"deadline_s": 60}})  # loads what it needs

    def agent(state: dict[str, Any]) -> dict[str, Any]:
        first = rag.invoke({"question": "When was Saltmere founded?"})
        time.sleep(1.6)
        second = rag.invoke({"question": "How long is the sea wall?"})
        return {"answers": [first["answer"], second["answer"]]}

    graph = StateGraph(dict)
    graph.add_node("agent", agent)
    graph.add_edge(START, "agent")
    assert "2,340" in graph.compile().invoke({})["answers"][1]
