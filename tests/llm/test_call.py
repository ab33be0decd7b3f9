"""What asking a chat model promises: few calls, in time, in parallel, and a reason where no reply comes."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Literal

import pytest
from langchain_core.exceptions import ContextOverflowError, ModelAPIError, ModelInvalidRequestError
from langchain_core.runnables import RunnableLambda

from adaptive_rag.answer.draft import DraftQuestion, ask_to_draft
from adaptive_rag.answer.styles import FACTUAL_STYLE
from adaptive_rag.llm import exchange as exchange_module
from adaptive_rag.llm import structured
from adaptive_rag.llm.ask import aask, ask
from adaptive_rag.rank.scoring import ask_to_score
from adaptive_rag.rank.selection import ask_to_select
from adaptive_rag.testing import ScriptedChatModel
from tests.llm.made import QUESTION, budget, candidate, context, request_for

pytestmark = pytest.mark.usefixtures("no_backoff")


@pytest.fixture
def no_backoff(monkeypatch):
    monkeypatch.setattr(exchange_module, "BACKOFF", 0.001)


async def both(requests, settings, left):
    """Ask on both paths; what they return must not differ."""
    sync = await asyncio.to_thread(ask, requests, settings(), left)
    return sync, await aask(requests, settings(), left)


async def test_tokens_and_calls_of_repetitions_are_counted():
    def settings():
        return context(ScriptedChatModel(script={"enhance": ["None", {"query": "Harbour Bridge"}]}))

    for [reply] in await both([request_for("enhance")], settings, budget()):
        assert reply.calls == 2
        assert reply.tokens["output"] == 1 + 3


async def test_a_failure_is_not_waited_out_where_no_call_is_left(monkeypatch):
    monkeypatch.setattr(exchange_module, "BACKOFF", 3600)
    model = ScriptedChatModel(script={"enhance": ModelAPIError("overloaded")})
    asked = aask([request_for("enhance")], context(model), budget(calls=2, seconds=36_000))
    [reply] = await asyncio.wait_for(asked, 60)
    assert (reply.calls, reply.unreachable) == (1, True)
    assert reply.reason == "overloaded; the budget of 3 calls is spent"


class Formed(ScriptedChatModel):
    """A model that fills a form by its schema, unless its server refuses that."""

    def with_structured_output(self, schema, *, method: Literal["json_schema"] = "json_schema", **options):
        return self.bind(by_schema=True) | RunnableLambda(lambda message: message)


@pytest.mark.parametrize(("refuses_all", "method"), [(True, "json_schema"), (False, "plain")])
def test_a_form_counts_as_refused_only_where_the_same_request_gets_a_reply_without_it(
    monkeypatch, refuses_all, method
):
    monkeypatch.setattr(structured, "_refused", {})

    class Refusing(Formed):
        def _generate(self, *args, by_schema=False, **options):
            if by_schema or refuses_all:
                raise ModelInvalidRequestError("content_filter")
            return super()._generate(*args, **options)

    model = Refusing()
    [reply] = ask([request_for("enhance")], context(model), budget())
    assert (reply.result is None) is refuses_all
    assert structured.strictest_method(model) == method


def test_a_form_whose_refusal_names_it_counts_even_if_no_call_is_left_for_another(monkeypatch):
    monkeypatch.setattr(structured, "_refused", {})

    class Refusing(Formed):
        def _generate(self, *args, by_schema=False, **options):
            if by_schema:
                raise ModelInvalidRequestError("response_format is not supported")
            return super()._generate(*args, **options)

    model = Refusing()
    replies = [ask([request_for("enhance")], context(model), budget(2))[0] for _ in range(2)]
    assert [(reply.result is None, reply.calls) for reply in replies] == [(True, 1), (False, 1)]


@pytest.mark.parametrize("causes_itself", [False, True])
def test_an_error_of_any_other_kind_is_absorbed(causes_itself):
    error = KeyError("choices")
    error.__cause__ = error if causes_itself else None
    model = ScriptedChatModel(script={"generate": error})
    [reply] = ask([request_for("generate")], context(model), budget())
    assert reply.result is None
    assert "choices" in reply.reason


LONG = [candidate(number, "The Harbour Bridge was opened in 1932. " * 400) for number in (1, 2, 3)]


@pytest.mark.parametrize(
    "request_",
    [
        ask_to_draft(DraftQuestion(QUESTION), "factual", FACTUAL_STYLE, LONG, budget=12_000),
        ask_to_score(QUESTION, "", LONG, by_setting=True),
        ask_to_select(QUESTION, LONG, 2),
    ],
    ids=lambda request: request.step,
)
def test_a_prompt_that_is_too_long_is_sent_again_with_shorter_passages(request_):
    step = request_.step
    model = ScriptedChatModel(
        script=lambda *_: ContextOverflowError("too long") if model.skills == [step] else None
    )
    [reply] = ask([request_], context(model), budget())
    assert (reply.result is not None, reply.calls, model.skills) == (True, 2, [step, step])
    first, second = (sum(len(m.text) for m in messages) for _, messages in model.asked)
    assert second < first / 2


def test_the_steps_before_it_leave_the_last_call_to_the_answer():
    model = ScriptedChatModel(script={"enhance": "None"})
    [reply] = ask([request_for("enhance")], context(model), budget(2))
    assert (reply.result, reply.calls) == (None, 1)
    assert "budget" in reply.reason


async def test_a_model_that_hangs_before_the_answer_leaves_time_for_it():
    model = ScriptedChatModel(seconds=3600)
    [reply] = await aask([request_for("enhance")], context(model), budget(seconds=0.2))
    assert (reply.result, reply.unreachable) == (None, True)
    assert reply.reason == "the chat model did not finish within 0.1 s"


def test_independent_requests_run_at_once_on_the_sync_path():
    together = threading.Barrier(2, timeout=20)

    def meet(step, messages):
        together.wait()
        return None

    replies = ask(
        [request_for("enhance"), request_for("score")], context(ScriptedChatModel(script=meet)), budget()
    )
    assert all(reply.result is not None for reply in replies)


async def test_independent_requests_run_at_once_on_the_async_path():
    class Meeting(ScriptedChatModel):
        async def _agenerate(self, *args, **kwargs):
            await asyncio.wait_for(together.wait(), 20)
            return await super()._agenerate(*args, **kwargs)

    together = asyncio.Barrier(2)
    replies = await aask([request_for("enhance"), request_for("score")], context(Meeting()), budget())
    assert all(reply.result is not None for reply in replies)


async def test_while_models_are_waited_for_no_thread_is_held():
    before = threading.active_count()
    model = ScriptedChatModel(seconds=3600)
    settings = context(model), budget(seconds=7200)
    work = [asyncio.ensure_future(aask([request_for("enhance")], *settings)) for _ in range(50)]
    async with asyncio.timeout(60):
        while len(model.asked) < 50 or threading.active_count() - before > 1:
            await asyncio.sleep(0.005)
    for task in work:
        task.cancel()
    await asyncio.wait(work)


async def test_a_prompt_is_made_beside_the_event_loop():
    made_in = []
    asked = request_for("enhance")
    watched = replace(asked, values=lambda: made_in.append(threading.current_thread()) or asked.values())
    await aask([watched], context(ScriptedChatModel()), budget())
    assert made_in and threading.current_thread() not in made_in


async def cancel(step, model, began):
    """Ask a model, and cancel the request when the call has begun."""
    work = asyncio.ensure_future(aask([request_for(step)], context(model), budget(seconds=7200)))
    while not began() and not work.done():
        await asyncio.sleep(0.001)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(work, 20)


async def test_a_model_that_does_not_stream_answers_too():
    settings = lambda: context(ScriptedChatModel(disable_streaming=True))  # noqa: E731
    for [reply] in await both([request_for("generate")], settings, budget()):
        assert reply.result and reply.calls == 1


async def test_cancelling_ends_the_call():
    ended = []

    class Watched(ScriptedChatModel):
        async def _agenerate(self, *args, **kwargs):
            try:
                return await super()._agenerate(*args, **kwargs)
            finally:
                ended.append(True)

    model = Watched(seconds=3600)
    await cancel("enhance", model, lambda: model.asked)
    await asyncio.sleep(0)
    assert ended == [True]


async def test_cancelling_ends_the_call_even_if_closing_the_connection_fails():
    asked = []

    class Broken(ScriptedChatModel):
        async def _astream(self, messages, *args, **kwargs):
            asked.append(messages)
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                raise ModelAPIError("the connection broke while it was closed") from None
            yield

    await cancel("generate", Broken(), lambda: asked)
    assert len(asked) == 1


def test_what_steps_before_the_answer_say_is_kept_out_of_the_stream_of_messages():
    seen = {}

    class Tagged(ScriptedChatModel):
        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            seen["enhance"] = run_manager.inheritable_tags
            return super()._generate(messages, stop, run_manager, **kwargs)

    ask([request_for("enhance")], context(Tagged()), budget())
    assert "nostream" in seen["enhance"]
