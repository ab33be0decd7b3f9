"""Reading what a caller passed: the question, the turns before it, what they mean for it, and who asks."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.query.history import MAX_QUESTION, parse_history, read_question, split_situation
from adaptive_rag.state import Turn

BUILT = "The sea wall of Saltmere was finished in 1968."
ASKED = "Do you own a house in the flood zone?"
SITUATION = "I live on the ground floor and keep goats."


def agent(text: str) -> Turn:
    return Turn(role="agent", text=text)


def user(text: str) -> Turn:
    return Turn(role="user", text=text)


@pytest.mark.parametrize(
    "courtesy", ["Would you like to know more?", "Does that help?", "Anything else I can help you with?"]
)
def test_a_courtesy_says_nothing(courtesy: str) -> None:
    plain = parse_history("How high is it?", "", [user("When was it built?"), agent(BUILT)])
    assert (
        parse_history("How high is it?", "", [user("When was it built?"), agent(f"{BUILT} {courtesy}")])
        == plain
    )
    assert plain.other_turns == ["When was it built?", BUILT] and plain.answered == []


@pytest.mark.parametrize("reply", ["Yes", "no, not yet.", "I do", "In Ohio", "35"])
def test_a_question_of_the_agent_is_kept_with_its_answer(reply: str) -> None:
    said = parse_history("Can I get a valve?", "", [agent(ASKED), user(reply)])
    assert said.answered == [ASKED, reply] and said.other_turns == []


def test_the_question_may_itself_be_the_answer() -> None:
    said = parse_history("Yes, since May", "", [user("Can I get a valve?"), agent(ASKED)])
    assert said.answered == [ASKED] and said.other_turns == ["Can I get a valve?"]


@pytest.mark.parametrize("reply", ["What does a valve cost?", "valve prices", "in which towns"])
def test_a_question_in_vain_is_another_turn(reply: str) -> None:
    offer = "Shall I explain the flood zones too?"
    history = [agent(f"{BUILT} {offer}")]
    for said in (parse_history(reply, "", history), parse_history("And then?", "", [*history, user(reply)])):
        assert said.answered == []
        assert said.other_turns[0] == f"{BUILT} {offer}"


@pytest.mark.parametrize("turn", [f"{BUILT} {ASKED}", f"{ASKED} {BUILT}"])
def test_a_turn_that_tells_and_asks_is_divided(turn: str) -> None:
    said = parse_history("Can I get a valve?", "", [agent(turn), user("Yes")])
    assert said.answered == [ASKED, "Yes"] and said.other_turns == [BUILT]


def test_a_question_needs_no_mark() -> None:
    said = parse_history("Can I get a valve?", "", [agent("are you the owner of the house"), user("No")])
    assert said.answered == ["are you the owner of the house", "No"]


def test_what_a_user_says_unasked_is_another_turn() -> None:
    said = parse_history("How high is it?", "", [user("Tell me about the sea wall.")])
    assert said.answered == [] and said.other_turns == ["Tell me about the sea wall."]


def test_a_context_that_repeats_the_turns_is_no_situation() -> None:
    history = [user("Can I get a valve?"), agent(ASKED), user("Yes")]
    assert parse_history("And a pump?", f"{ASKED} Yes", history).situation == ""
    assert parse_history("And a pump?", f"User: Can I get a valve?\nAgent: {ASKED}", history).situation == ""


def test_an_own_sentence_beside_repeated_turns_is_the_situation() -> None:
    history = [user("When was it built?"), agent(BUILT)]
    context = f"User: When was it built?\nAssistant: {BUILT}\n{SITUATION}"
    assert parse_history("How high is it?", context, history).situation == SITUATION


def test_a_transcript_is_read_as_turns_where_no_agent_speaks_in_the_history() -> None:
    transcript = f"{SITUATION}\nUser: When was it built?\nAssistant: {BUILT}"
    given = parse_history("How high is it?", SITUATION, [user("When was it built?"), agent(BUILT)])
    assert parse_history("How high is it?", transcript, []) == given
    assert parse_history("How high is it?", transcript, [user("When was it built?")]) == given


def test_a_label_before_what_the_user_says_makes_no_transcript() -> None:
    about, asked = "User: Anna, nurse on ward 3", [user("When was it built?")]
    said = parse_history("How high is it?", about, asked)
    assert (said.situation, said.other_turns) == (about, ["When was it built?"])


def test_nothing_said_leaves_nothing() -> None:
    said = parse_history("How high is it?", "", [])
    assert (said.situation, said.answered, said.other_turns) == ("", [], [])
    said = parse_history("How high is it?", " \n", [user(""), agent("?"), agent(""), user("Thanks!")])
    assert (said.situation, said.answered, said.other_turns) == ("", [], [])


CHAT = [HumanMessage("Who are you?"), AIMessage("A helper."), HumanMessage("How long is it?")]
TURNS = [Turn(role="user", text="Who are you?"), Turn(role="agent", text="A helper.")]


@pytest.mark.parametrize(
    "history",
    [
        [("user", "Who are you?"), ("ai", "A helper.")],
        [{"role": "user", "content": "Who are you?"}, {"role": "assistant", "content": "A helper."}],
        [HumanMessage("Who are you?"), AIMessage("A helper.")],
    ],
)
def test_the_history_may_be_given_as_messages(history: Any) -> None:
    assert read_question({"question": "How long?", "history": history}) == ("How long?", TURNS)


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
    given: Any = {"question": "How long is it?", "history": messages[:-1]}
    assert read_question(given) == ("How long is it?", TURNS)


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


@pytest.mark.parametrize(
    "turn", [{"role": "robot", "text": "x"}, {"role": "user"}, {"role": "user", "text": 7}, "x"]
)
def test_a_turn_without_role_or_text_is_refused(turn: Any) -> None:
    with pytest.raises(ConfigurationError, match=r'expected turns like .*"role": "user"'):
        read_question({"question": "How long?", "history": [turn]})


@pytest.mark.parametrize(
    ("question", "told", "asked"),
    [
        ("I run a bakery. How do I prepare for a flood?", "I run a bakery.", "How do I prepare for a flood?"),
        (
            "Can I stay at home? My flat is on the third floor.",
            "My flat is on the third floor.",
            "Can I stay at home?",
        ),
        ("It is my car. It was flooded. Am I insured?", "It is my car. It was flooded.", "Am I insured?"),
        ("The car is mine. Who pays for a flood?", "The car is mine.", "Who pays for a flood?"),
    ],
)
def test_what_a_question_tells_of_the_asker_is_read_apart(question: str, told: str, asked: str) -> None:
    assert split_situation(question) == (told, asked)


@pytest.mark.parametrize(
    "question",
    [
        "How do I prepare for a flood?",
        "The Long Wall has 14 gates. Who closes them?",  # nothing of the asker
        "I run a bakery. Does that help?",  # what is asked says nothing alone
        "I would like to prepare for a flood.",  # nothing is asked
        "World War I ended in 1918. When did it start?",  # a numeral
        "The mine was flooded in 1912. Who reopened it?",
    ],
)
def test_a_question_stays_whole_where_nothing_can_be_read_apart(question: str) -> None:
    assert split_situation(question) == ("", question)
