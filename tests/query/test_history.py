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


WHEN = "When was it built?"
OFFER = f"{BUILT} Shall I explain the flood zones too?"


@pytest.mark.parametrize(
    ("question", "turns", "answered", "others"),
    [
        # a courtesy says nothing
        ("How high is it?", [user(WHEN), agent(BUILT)], [], [WHEN, BUILT]),
        ("How high is it?", [user(WHEN), agent(f"{BUILT} Would you like to know more?")], [], [WHEN, BUILT]),
        ("How high is it?", [user(WHEN), agent(f"{BUILT} Does that help?")], [], [WHEN, BUILT]),
        ("How high is it?", [user(WHEN), agent(f"{BUILT} Anything else I can do?")], [], [WHEN, BUILT]),
        # a question of the agent is kept with its answer, which may be the question itself
        ("Can I get a valve?", [agent(ASKED), user("no, not yet.")], [ASKED, "no, not yet."], []),
        ("Can I get a valve?", [agent(ASKED), user("I do")], [ASKED, "I do"], []),
        ("Can I get a valve?", [agent(ASKED), user("In Ohio")], [ASKED, "In Ohio"], []),
        ("Can I get a valve?", [agent(ASKED), user("35")], [ASKED, "35"], []),
        ("Yes, since May", [user("Can I get a valve?"), agent(ASKED)], [ASKED], ["Can I get a valve?"]),
        # a question in vain is another turn
        ("And then?", [agent(OFFER), user("valve prices")], [], [OFFER, "valve prices"]),
        ("in which towns", [agent(OFFER)], [], [OFFER]),
        ("What does a valve cost?", [agent(OFFER)], [], [OFFER]),
        # a turn that tells and asks is divided
        ("Can I get a valve?", [agent(f"{BUILT} {ASKED}"), user("Yes")], [ASKED, "Yes"], [BUILT]),
        ("Can I get a valve?", [agent(f"{ASKED} {BUILT}"), user("Yes")], [ASKED, "Yes"], [BUILT]),
        # a question needs no mark
        ("A valve?", [agent("are you the owner of it"), user("No")], ["are you the owner of it", "No"], []),
        # what a user says unasked is another turn
        ("How high is it?", [user("Tell me about the sea wall.")], [], ["Tell me about the sea wall."]),
        ("How high is it?", [user(""), agent("?"), agent(""), user("Thanks!")], [], []),
        ("How high is it?", [], [], []),
    ],
)
def test_answers_to_the_agents_questions_are_told_from_other_turns(
    question: str, turns: list[Turn], answered: list[str], others: list[str]
) -> None:
    said = parse_history(question, " \n", turns)
    assert (said.situation, said.answered, said.other_turns) == ("", answered, others)


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


CHAT = [HumanMessage("Who are you?"), AIMessage("A helper."), HumanMessage("How long is it?")]
TURNS = [Turn(role="user", text="Who are you?"), Turn(role="agent", text="A helper.")]


LONG = HumanMessage([{"type": "text", "text": "How long "}, {"type": "text", "text": "is it?"}])
OTHERS = [SystemMessage("Be kind."), ToolMessage("42", tool_call_id="1"), AIMessage("")]


@pytest.mark.parametrize(
    ("given", "history"),
    [
        ({"question": "  How long is it?\n"}, []),
        ({"question": "How long is it?", "history": [("user", "Who are you?"), ("ai", "A helper.")]}, TURNS),
        ({"question": "How long is it?", "history": [*OTHERS, *CHAT[:2]]}, TURNS),
        # a conversation that ends with the user asks that; only what user and agent said is history
        ({"messages": CHAT}, TURNS),
        ({"messages": [*OTHERS, *CHAT]}, TURNS),
        ({"messages": [LONG]}, []),
        # a new message wins over the question that the thread kept
        ({"question": "an earlier one", "messages": CHAT}, TURNS),
        ({"question": "How long is it?", "messages": CHAT[:2]}, TURNS),
        # a question wins over a message that was read before and never answered
        ({"question": "How long is it?", "messages": CHAT[:1], "question_read": "Who are you?"}, TURNS[:1]),
        ({"question": "an earlier one", "messages": CHAT, "question_read": "an earlier one"}, TURNS),
        # a history that is given wins over the messages
        ({"messages": CHAT, "history": TURNS[:1]}, TURNS[:1]),
    ],
)
def test_the_question_and_what_was_said_before_are_read_in_every_form(given: Any, history: Any) -> None:
    assert read_question(given) == ("How long is it?", history)


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
        "The mine was flooded in 1912. Who reopened it?",
    ],
)
def test_a_question_stays_whole_where_nothing_can_be_read_apart(question: str) -> None:
    assert split_situation(question) == ("", question)
