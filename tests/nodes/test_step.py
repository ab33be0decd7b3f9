"""A step's generator on both paths: what it does between its requests must hold nothing up."""

import asyncio
import threading
from typing import Any

import pytest
from langgraph.runtime import Runtime

from adaptive_rag.context import CallerSettings, Context, make_context
from adaptive_rag.errors import ServedError
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.rank.scoring import ask_to_score
from adaptive_rag.testing import arun_node, run_node
from tests.llm.made import request_for

STATE = {"question": "How long?"}


async def test_work_between_requests_does_not_hold_the_event_loop() -> None:
    started, loop_ran = threading.Event(), threading.Event()

    @step
    def patient(state: Any, runtime: Runtime[Context]) -> Steps:
        yield [request_for("enhance")]
        started.set()
        assert loop_ran.wait(20), "the event loop was held"
        return {"answer": "waited"}

    work = asyncio.ensure_future(arun_node(patient, STATE, make_context()))
    while not started.is_set() and not work.done():
        await asyncio.sleep(0.001)
    loop_ran.set()
    assert (await work)["answer"] == "waited"


async def test_the_trace_says_why_a_request_had_no_result_on_both_paths() -> None:
    @step
    def asking(state: Any, runtime: Runtime[Context]) -> Steps:
        [first] = yield [request_for("enhance")]
        second, third = yield [request_for("classify"), request_for("score")]
        return {"answer": f"{first.reason}; {second.reason}; {third.reason}"}

    for update in (run_node(asking, STATE, make_context()), await arun_node(asking, STATE, make_context())):
        reason = "no chat model is configured"
        assert update["answer"] == f"{reason}; {reason}; {reason}"
        entries = update["trace"][-1]["stand_ins"]
        assert [entry["skill"] for entry in entries] == ["enhance", "classify", "score"]
        assert {entry["reason"] for entry in entries} == {reason}


@pytest.mark.parametrize(
    ("why", "told"),
    [
        ("the cross-encoder /srv/models/own does not score", "the server's log says why"),
        ("the search's order stands", "the search's order stands"),
    ],
)
def test_a_servers_caller_reads_no_path_in_the_trace_and_its_operator_does(
    why: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    @step
    def scoring(state: Any, runtime: Runtime[Context]) -> Steps:
        [reply] = yield [ask_to_score("How long?", "", [], locally_because=why)]
        return {"answer": reply.reason}

    own = run_node(scoring, STATE, make_context())
    served = run_node(scoring, STATE, CallerSettings())  # type: ignore[arg-type]
    for update, reason in ((own, why), (served, told)):
        assert update["answer"] == update["trace"][-1]["stand_ins"][0]["reason"] == reason
    assert [record.getMessage() for record in caplog.records] == [f"No usable reply in scoring: {why}"] * (
        why != told
    )


async def test_a_servers_caller_reads_a_reference_where_a_step_fails() -> None:
    @step
    def failing(state: Any, runtime: Runtime[Context]) -> Steps:
        raise FileNotFoundError("/srv/private")
        yield []

    own, served = (make_context(), FileNotFoundError, "private"), (CallerSettings(), ServedError, "log")
    for context, kind, words in (own, served):
        with pytest.raises(kind, match=words):
            run_node(failing, STATE, context)  # type: ignore[arg-type]
        with pytest.raises(kind, match=words):
            await arun_node(failing, STATE, context)  # type: ignore[arg-type]
