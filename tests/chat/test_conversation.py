"""Threads feed follow-ups, are found again by name, and a user's profile is added, shown and forgotten."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from adaptive_rag import build_graph
from adaptive_rag.context import Context
from adaptive_rag.conversation import Threads, check_name, forget_profile, read_profile, write_profile
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.testing import ScriptedChatModel
from tests.traces import stand_ins

THREAD = {"configurable": {"thread_id": "one"}}
ALWAYS = {"retrieval": {"rewrites": "always"}}


WALL = "The sea wall of Saltmere is 2,340 metres long [1]."


def talking(town, said=None, **settings):
    """Return what answers questions in a situation, and the scripted model that it asks."""
    model = ScriptedChatModel(script={} if said is None else {"generate": said})
    settings = {"route": "contextual", "checkpointer": InMemorySaver(), **settings}
    return AdaptiveRAG(town, model=model, **settings), model


def asked_for(model, step):
    return [messages[-1].text for name, messages in model.asked if name == step]


def test_every_turn_of_the_thread_reaches_the_follow_up(town):
    rag, model = talking(town, WALL)
    for question in ("How long is the sea wall?", "And how high is it?", "When was it finished?"):
        rag.invoke(question, THREAD)
    second, third = asked_for(model, "contextualize")
    assert "How long is the sea wall?" in second
    assert "2,340 metres long" in second
    assert "And how high is it?" in third
    assert "How long is the sea wall?" in third


def test_a_question_is_answered_after_a_message_whose_answer_was_interrupted(town):
    graph = build_graph().compile(checkpointer=InMemorySaver())
    context = Context(index=town)
    graph.invoke(
        {"messages": [("user", "When was Saltmere founded?")]},
        THREAD,
        context=context,
        interrupt_before=["generate"],
    )
    output = graph.invoke({"question": "How long is the sea wall?"}, THREAD, context=context)
    assert (output["question"], "2,340" in output["answer"]) == ("How long is the sea wall?", True)
    assert [message.type for message in output["messages"]] == ["human", "human", "ai"]
    later = graph.invoke({"messages": [("user", "When was Saltmere founded?")]}, THREAD, context=context)
    assert "1142" in later["answer"]


def test_what_opens_a_thread_is_no_follow_up_and_is_not_rewritten(town):
    rag, model = talking(town)
    output = rag.invoke("How long is the sea wall?", THREAD)
    assert model.skills == ["score", "generate"]
    assert stand_ins(output) == [("contextualize", "only follow-ups are made to stand alone")]
    rag.invoke("And how high is it?", THREAD)
    # The first candidates are scored while the question is made to stand alone.
    assert sorted(model.skills[2:4]) == ["contextualize", "score"] and model.skills[4:] == ["generate"]


def test_what_opens_a_thread_is_rewritten_where_every_question_is_without_another_threads_turns(town):
    rag, model = talking(town, **ALWAYS)
    rag.invoke("How long is the sea wall?", THREAD)
    rag.invoke("And how high is it?", {"configurable": {"thread_id": "two"}})
    first, second = asked_for(model, "contextualize")
    assert "(none)" in first and "How long" not in second


def test_the_budget_of_a_thread_begins_anew_with_every_question(town):
    rag, _ = talking(town, WALL, route="factual", budget={"max_llm_calls": 2})
    for _ in range(3):
        output = rag.invoke("How long is the sea wall of Saltmere?", THREAD)
        assert sum(record.get("calls", 0) for record in output["trace"]) == 2


def test_a_profile_is_added_to_what_the_asker_says_as_it_is_when_they_ask(town):
    store = InMemoryStore()
    write_profile(store, "ada", "I keep forty sheep.")
    rag, model = talking(town, store=store, user_id="ada", **ALWAYS)
    rag.invoke(
        {"question": "What should I do before a flood?", "user_context": "I live by the quay."}, THREAD
    )
    write_profile(store, "ada", "I rent a flat.")
    rag.invoke("And after it?", THREAD)
    first, second = asked_for(model, "contextualize")
    assert "I live by the quay.\nI keep forty sheep." in first
    assert "I live by the quay.\nI rent a flat." in second
    assert "sheep" not in second


def test_what_the_asker_says_is_kept_where_the_last_question_or_the_profile_said_it_too(town):
    store = InMemoryStore()
    write_profile(store, "ada", "flat")
    rag, _ = talking(town, store=store, user_id="ada", route="contextual")
    rag.invoke("I rent a flat. How should I prepare for a flood?", THREAD)
    for _ in range(2):
        asked = {"question": "How should I prepare for a storm?", "user_context": "I rent a flat"}
        message = rag.invoke(asked, THREAD)["messages"][-1]
        assert message.response_metadata["user_context"] == "I rent a flat\nflat"


def test_nobody_else_sees_a_profile(town):
    store = InMemoryStore()
    write_profile(store, "ada", "I keep forty sheep.")
    for asker in ({"user_id": "bob"}, {}):
        rag, model = talking(town, store=store, checkpointer=None, **asker, **ALWAYS)
        rag.invoke("What should I do?")
        assert model.skills.count("contextualize") == 1
        assert not any("sheep" in message.text for _, messages in model.asked for message in messages)


def test_a_profile_is_shown_and_forgotten():
    store = InMemoryStore()
    write_profile(store, "ada", "  I keep sheep. ")
    assert read_profile(store, "ada") == "I keep sheep."
    assert forget_profile(store, "ada") is True
    assert read_profile(store, "ada") == ""
    assert forget_profile(store, "ada") is False


def test_a_profile_that_is_too_long_is_refused():
    with pytest.raises(ConfigurationError, match="at most 2,000"):
        write_profile(InMemoryStore(), "ada", "x" * 3000)


def test_threads_in_a_file_are_continued_by_name(town, tmp_path):
    file = tmp_path / "kept" / "conversations.sqlite"
    model = ScriptedChatModel(script={"generate": WALL})
    for question in ("How long is the sea wall?", "And how high is it?"):
        with Threads.open(file) as threads:
            rag = AdaptiveRAG(town, model=model, route="contextual", checkpointer=threads.saver)
            rag.invoke(question, THREAD)
    [followed_up] = asked_for(model, "contextualize")
    assert "How long is the sea wall?" in followed_up
    with Threads.open(file) as threads:
        assert [thread.name for thread in threads.names()] == ["one"]
        threads.forget("one")
        assert threads.names() == []


def test_conversations_are_listed_by_their_last_turn_without_reading_the_earlier_ones(town, tmp_path):
    with Threads.open(tmp_path / "conversations.sqlite") as threads:
        rag = AdaptiveRAG(town, checkpointer=threads.saver)
        for name in ("two", "one", "two"):
            rag.invoke("How long is the sea wall?", {"configurable": {"thread_id": name}})
        earlier = "SELECT thread_id, max(checkpoint_id) FROM checkpoints WHERE checkpoint_ns = '' GROUP BY 1"
        with threads.saver.cursor() as cursor:
            cursor.execute(
                "UPDATE checkpoints SET checkpoint = x'ff' WHERE (thread_id, checkpoint_id) NOT IN "
                f"({earlier})"
            )
        assert [thread.name for thread in threads.names()] == ["two", "one"]


def test_what_utf_8_cannot_encode_is_no_part_of_a_name():
    assert check_name(" caf\udce9 ") == "caf?"


async def test_threads_in_a_file_serve_asynchronous_calls(town, tmp_path):
    with Threads.open(tmp_path / "conversations.sqlite") as threads:
        rag = AdaptiveRAG(town, checkpointer=threads.saver, store=threads.store, user_id="ada")
        await rag.ainvoke("How long is the sea wall?", THREAD)
        [latest, *_] = [state async for state in rag.graph.aget_state_history(THREAD)]
        assert latest == await rag.graph.aget_state(THREAD)
        assert len(latest.values["messages"]) == 2
        await threads.saver.adelete_thread("one")
        assert threads.names() == []


def test_no_turn_is_lost_if_two_programs_continue_a_conversation(town, tmp_path):
    file = tmp_path / "conversations.sqlite"
    questions = ["How long is the sea wall?", "How high is the sea wall?"] * 2
    both_began = Barrier(2)

    def chat(question):
        with Threads.open(file) as threads:
            rag = AdaptiveRAG(town, checkpointer=threads.saver)
            both_began.wait(30)
            with threads.turn("one", lambda: None):
                rag.invoke(question, THREAD)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(chat, questions))
    with Threads.open(file) as threads:
        messages = AdaptiveRAG(town, checkpointer=threads.saver).graph.get_state(THREAD).values["messages"]
    assert sorted(message.text for message in messages[::2]) == sorted(questions)


def test_a_file_is_made_in_the_users_own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with Threads.open("~/kept.sqlite"):
        assert (tmp_path / "kept.sqlite").exists()


def test_an_error_of_something_else_does_not_blame_the_file(tmp_path):
    with pytest.raises(BrokenPipeError), Threads.open(tmp_path / "kept.sqlite"):
        raise BrokenPipeError
    with (
        pytest.raises(ConfigurationError, match="cannot be read or written: database or disk is full"),
        Threads.open(tmp_path / "kept.sqlite"),
    ):
        raise sqlite3.OperationalError("database or disk is full")


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "notes.txt").write_text("this is no database " * 100)
    with (
        pytest.raises(ConfigurationError, match=r"notes\.txt"),
        Threads.open(tmp_path / "notes.txt") as threads,
    ):
        threads.names()
