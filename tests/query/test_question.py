"""What a caller passed: which text is the question, and what was said before it."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.query.question import MAX_QUESTION, read_question
from adaptive_rag.state import Turn

CHAT = [HumanMessage("Who are you?"), AIMessage("A helper."), HumanMessage("How long is it?")]
TURNS = [Turn(role="user", text="Who are you?"), Turn(role="agent", text="A helper.")]


def test_a_question_is_stripped_of_the_blanks_around_it() -> None:
    assert read_question({"question": "  How long is it?\n"}) == ("How long is it?", [])


def test_a_conversation_that_ends_with_the_user_asks_that() -> None:
    assert read_question({"messages": CHAT}) == ("How long is it?", TURNS)


def test_a_new_message_wins_over_the_question_that_the_thread_kept() -> None:
    assert read_question({"question": "an earlier one", "messages": CHAT})[0] == "How long is it?"


def test_a_question_is_asked_after_a_conversation_that_ends_with_the_agent() -> None:
    assert read_question({"question": "How long?", "messages": CHAT[:2]}) == ("How long?", TURNS)


def test_a_history_that_is_given_wins_over_the_messages() -> None:
    history = [Turn(role="user", text="I rent.")]
    assert read_question({"messages": CHAT, "history": history}) == ("How long is it?", history)


def test_only_what_user_and_agent_said_is_history() -> None:
    messages = [SystemMessage("Be kind."), ToolMessage("42", tool_call_id="1"), AIMessage(""), *CHAT]
    assert read_question({"messages": messages}) == ("How long is it?", TURNS)


def test_a_message_in_parts_is_read_as_its_text() -> None:
    message = HumanMessage([{"type": "text", "text": "How long "}, {"type": "text", "text": "is it?"}])
    assert read_question({"messages": [message]})[0] == "How long is it?"


@pytest.mark.parametrize(
    "state",
    [{}, {"question": ""}, {"question": " \t\n"}, {"messages": []}, {"messages": [HumanMessage(" ")]}],
)
def test_no_question_is_refused(state: Any) -> None:
    with pytest.raises(ConfigurationError, match="The question is empty"):
        read_question(state)


@pytest.mark.parametrize("question", [None, 7, ["How long?"]])
def test_a_question_that_is_no_text_is_refused(question: Any) -> None:
    with pytest.raises(ConfigurationError, match="expected a text"):
        read_question({"question": question})


def test_a_question_may_be_long_but_no_document() -> None:
    assert read_question({"question": "a" * MAX_QUESTION})[0] == "a" * MAX_QUESTION
    with pytest.raises(ConfigurationError, match="20,001 characters; at most 20,000"):
        read_question({"question": "a" * (MAX_QUESTION + 1)})


@pytest.mark.parametrize("turn", [{"role": "robot", "text": "x"}, {"role": "user"}, "a text"])
def test_a_turn_without_role_or_text_is_refused(turn: Any) -> None:
    with pytest.raises(ConfigurationError, match=r'expected turns like .*"role": "user"'):
        read_question({"question": "How long?", "history": [turn]})
