"""What performing a skill promises: few calls, in time, in parallel, and a stand-in where the model fails."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from langchain_core.exceptions import ContextOverflowError, ModelAPIError, ModelAuthenticationError

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.llm import exchange as exchange_module
from adaptive_rag.llm.ask import aperform, perform
from adaptive_rag.llm.steps import SKILLS, Ask
from adaptive_rag.testing import ScriptedChatModel
from tests.llm.made import budget, context, request_for

pytestmark = pytest.mark.usefixtures("no_backoff")


@pytest.fixture
def no_backoff(monkeypatch):
    monkeypatch.setattr(exchange_module, "BACKOFF", 0.001)


def ask(skill, **more):
    return Ask(SKILLS[skill], request_for(skill, **more))


async def both(asks, settings, left):
    """Perform on both paths; what they return must not differ."""
    sync = await asyncio.to_thread(perform, asks, settings(), left)
    return sync, await aperform(asks, settings(), left)


async def test_sync_and_async_give_the_same_outcomes():
    sync, asynchronous = await both(
        [ask("enhance"), ask("classify")], lambda: context(ScriptedChatModel()), budget()
    )
    assert sync == asynchronous
    assert [outcome.by for outcome in sync] == ["model", "model"]


async def test_tokens_and_calls_of_repetitions_are_counted():
    def settings():
        return context(ScriptedChatModel(script={"enhance": ["None", {"query": "Harbour Bridge"}]}))

    for [outcome] in await both([ask("enhance")], settings, budget()):
        assert (outcome.calls, outcome.rounds) == (2, 2)
        assert outcome.tokens["output"] == 1 + 3


async def test_without_a_model_the_stand_in_says_so():
    for [outcome] in await both([ask("enhance")], lambda: context(None), budget()):
        assert (outcome.by, outcome.reason, outcome.calls) == ("stand-in", "no chat model is configured", 0)


async def test_a_model_that_fails_twice_more_is_given_up_with_its_reason():
    model = ScriptedChatModel(script={"enhance": ModelAPIError("overloaded")})
    [outcome] = await aperform([ask("enhance")], context(model), budget())
    assert (outcome.by, outcome.calls, outcome.unreachable) == ("stand-in", 3, True)
    assert "overloaded" in outcome.reason


async def test_a_failure_that_passes_is_waited_out():
    model = ScriptedChatModel(script={"enhance": [ModelAPIError("overloaded"), {"query": "Harbour Bridge"}]})
    [outcome] = await aperform([ask("enhance")], context(model), budget())
    assert (outcome.by, outcome.calls) == ("model", 2)
    assert "overloaded" in outcome.notes[0]


@pytest.mark.parametrize("path", [perform, lambda *args: asyncio.run(aperform(*args))])
def test_a_refused_key_is_never_absorbed(path):
    model = ScriptedChatModel(script={"enhance": ModelAuthenticationError("bad key")})
    with pytest.raises(ConfigurationError, match="refused the key"):
        path([ask("enhance"), ask("viewpoints")], context(model), budget())
    assert model.skills.count("enhance") == 1


def test_an_error_of_any_other_kind_is_absorbed():
    model = ScriptedChatModel(script={"generate": KeyError("choices")})
    [outcome] = perform([ask("generate")], context(model), budget())
    assert (outcome.by, outcome.result.text) == ("stand-in", "Opened in 1932 [1].")
    assert "choices" in outcome.reason


def test_a_prompt_that_is_too_long_is_sent_again_with_shorter_passages():
    model = ScriptedChatModel(script={"generate": [ContextOverflowError("too long"), "Opened in 1932 [1]."]})
    long = "The Harbour Bridge was opened in 1932. " * 400
    request = request_for("generate")
    documents = [{**document, "text": long} for document in request.documents]
    request = type(request)(**{**vars(request), "documents": documents})
    [outcome] = perform([Ask(SKILLS["generate"], request)], context(model), budget())
    assert outcome.by == "model"
    first, second = (sum(len(m.text) for m in messages) for _, messages in model.asked)
    assert second < first / 2


@pytest.mark.parametrize("calls", [1, 2, 3])
async def test_the_call_budget_is_hard_and_counts_repetitions(calls):
    for [outcome] in await both(
        [ask("generate")],
        lambda: context(ScriptedChatModel(script={"generate": ""}), max_llm_calls=calls),
        budget(calls),
    ):
        assert outcome.by == "stand-in"
        assert outcome.calls == min(calls, 2)


def test_routing_leaves_the_last_call_to_the_answer():
    model = ScriptedChatModel(script={"enhance": "None"})
    [outcome] = perform([ask("enhance")], context(model), budget(2))
    assert (outcome.by, outcome.calls) == ("stand-in", 1)
    assert "budget" in outcome.reason


def test_a_spent_budget_makes_no_call():
    model = ScriptedChatModel()
    [outcome] = perform([ask("generate")], context(model, max_llm_calls=0), budget(0))
    assert (outcome.by, model.asked) == ("stand-in", [])
    assert outcome.reason == "the budget of 0 calls is spent"


async def test_a_model_that_hangs_is_left_behind_when_its_time_is_up():
    release = threading.Event()

    def hang(skill, messages):
        release.wait(30)
        return None

    started = time.monotonic()
    [outcome] = perform([ask("generate")], context(ScriptedChatModel(script=hang)), budget(seconds=0.2))
    assert time.monotonic() - started < 15
    release.set()
    assert (outcome.by, outcome.unreachable, outcome.calls) == ("stand-in", True, 1)
    assert outcome.reason == "the chat model did not finish within 0.2 s"


async def test_a_model_that_hangs_is_cancelled_on_the_event_loop():
    model = ScriptedChatModel(seconds=3600)
    [outcome] = await aperform([ask("generate")], context(model), budget(seconds=0.1))
    assert (outcome.by, outcome.unreachable) == ("stand-in", True)


async def test_a_routing_call_that_hangs_leaves_time_for_the_answer():
    model = ScriptedChatModel(seconds=3600)
    [outcome] = await aperform([ask("enhance")], context(model), budget(seconds=0.2))
    assert outcome.reason == "the chat model did not finish within 0.1 s"


def test_independent_asks_run_at_once_on_the_sync_path():
    together = threading.Barrier(2, timeout=20)

    def meet(skill, messages):
        together.wait()
        return None

    outcomes = perform(
        [ask("enhance"), ask("score")],
        context(ScriptedChatModel(script=meet)),
        budget(),
    )
    assert [outcome.by for outcome in outcomes] == ["model"] * 2


async def test_independent_asks_run_at_once_on_the_async_path():
    class Meeting(ScriptedChatModel):
        async def _agenerate(self, *args, **kwargs):
            await asyncio.wait_for(together.wait(), 20)
            return await super()._agenerate(*args, **kwargs)

    together = asyncio.Barrier(2)
    outcomes = await aperform([ask("enhance"), ask("score")], context(Meeting()), budget())
    assert [outcome.by for outcome in outcomes] == ["model"] * 2


async def test_while_models_are_waited_for_no_thread_is_held():
    before = threading.active_count()
    model = ScriptedChatModel(seconds=0.3)
    work = [asyncio.ensure_future(aperform([ask("enhance")], context(model), budget())) for _ in range(50)]
    await asyncio.sleep(0.15)
    assert len(model.asked) == 50
    assert threading.active_count() - before <= 1
    await asyncio.gather(*work)


async def test_a_stand_in_that_waits_does_not_hold_the_event_loop():
    started, loop_ran = threading.Event(), threading.Event()

    def first_hits():
        started.set()
        assert loop_ran.wait(20), "the event loop was held"
        return []

    work = asyncio.ensure_future(aperform([ask("decompose", first_hits=first_hits)], context(None), budget()))
    while not started.is_set():
        await asyncio.sleep(0.001)
    loop_ran.set()
    assert (await work)[0].by == "stand-in"


async def test_cancelling_ends_the_call():
    ended = []

    class Watched(ScriptedChatModel):
        async def _agenerate(self, *args, **kwargs):
            try:
                return await super()._agenerate(*args, **kwargs)
            finally:
                ended.append(True)

    model = Watched(seconds=3600)
    work = asyncio.ensure_future(aperform([ask("enhance")], context(model), budget(seconds=7200)))
    while not model.asked:
        await asyncio.sleep(0.001)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await asyncio.sleep(0)
    assert ended == [True]


def test_routing_is_kept_out_of_the_stream_of_messages():
    seen = {}

    class Tagged(ScriptedChatModel):
        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            seen["enhance"] = run_manager.inheritable_tags
            return super()._generate(messages, stop, run_manager, **kwargs)

    perform([ask("enhance")], context(Tagged()), budget())
    assert "nostream" in seen["enhance"]


def test_a_server_that_ignores_max_tokens_is_cut_off():
    model = ScriptedChatModel(script={"generate": "word " * 10_000})
    [outcome] = perform([ask("generate")], context(model, max_tokens=16), budget())
    assert len(outcome.result.text) < 16 * 8 + 10


def test_prompts_of_the_user_replace_the_built_in_ones(tmp_path):
    (tmp_path / "enhance.md").write_text('Be brief.\n---\nRewrite {question} as {"query": ...} {unknown}')
    model = ScriptedChatModel(script={"enhance": {"query": "Harbour Bridge"}})
    perform([ask("enhance")], context(model, prompts=str(tmp_path)), budget())
    [(_, [system, human])] = model.asked
    assert system.text == "Be brief."
    assert human.text == 'Rewrite When was the Harbour Bridge opened? as {"query": ...} {unknown}'


def test_a_prompt_folder_that_is_missing_is_named():
    with pytest.raises(ConfigurationError, match="no-such-folder"):
        perform([ask("enhance")], context(ScriptedChatModel(), prompts="no-such-folder"), budget())


def test_a_question_that_looks_like_a_placeholder_stays_what_it_is():
    from adaptive_rag.llm.messages import format_messages
    from adaptive_rag.rank.score import ScoreRequest

    request = ScoreRequest("What is {passages}?", "{n}", [], lambda: [])
    [_, human] = format_messages("score", request)
    assert "Question: What is {passages}?" in human.text
    assert "situation: {n}" in human.text


@pytest.mark.parametrize("skill", sorted(SKILLS))
def test_every_prompt_has_its_values_filled_in(skill):
    from adaptive_rag.llm.messages import format_messages

    request = request_for(skill)
    text = "\n".join(message.text for message in format_messages(skill, request))
    for name in [*request.prompt_values(), "style"]:
        assert f"{{{name}}}" not in text
    assert request.question in text


@pytest.mark.parametrize("kind", ["factual", "analytical", "opinion", "contextual"])
def test_every_type_of_question_has_its_way_of_answering(kind):
    from dataclasses import replace

    from adaptive_rag.llm.messages import format_messages, load_prompt

    [system, _] = format_messages("generate", replace(request_for("generate"), query_type=kind))
    assert load_prompt(f"generate-{kind}").strip() in system.text
