"""Reading a conversation: what the agent asked and the user answered, what was told, and who asks."""

import pytest

from adaptive_rag.query.history import read_talk
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
    plain = read_talk("How high is it?", "", [user("When was it built?"), agent(BUILT)])
    assert (
        read_talk("How high is it?", "", [user("When was it built?"), agent(f"{BUILT} {courtesy}")]) == plain
    )
    assert plain.told == ["When was it built?", BUILT] and plain.settled == []


@pytest.mark.parametrize("reply", ["Yes", "no, not yet.", "I do", "In Ohio", "35"])
def test_a_question_and_its_answer_are_settled(reply: str) -> None:
    talk = read_talk("Can I get a valve?", "", [agent(ASKED), user(reply)])
    assert talk.settled == [ASKED, reply] and talk.told == []


def test_the_question_may_itself_be_the_answer() -> None:
    talk = read_talk("Yes, since May", "", [user("Can I get a valve?"), agent(ASKED)])
    assert talk.settled == [ASKED] and talk.told == ["Can I get a valve?"]


@pytest.mark.parametrize("reply", ["What does a valve cost?", "valve prices", "in which towns"])
def test_a_question_in_vain_is_told(reply: str) -> None:
    offer = "Shall I explain the flood zones too?"
    history = [agent(f"{BUILT} {offer}")]
    for talk in (read_talk(reply, "", history), read_talk("And then?", "", [*history, user(reply)])):
        assert talk.settled == []
        assert talk.told[0] == f"{BUILT} {offer}"


@pytest.mark.parametrize("turn", [f"{BUILT} {ASKED}", f"{ASKED} {BUILT}"])
def test_a_turn_that_tells_and_asks_is_divided(turn: str) -> None:
    talk = read_talk("Can I get a valve?", "", [agent(turn), user("Yes")])
    assert talk.settled == [ASKED, "Yes"] and talk.told == [BUILT]


def test_a_question_needs_no_mark() -> None:
    talk = read_talk("Can I get a valve?", "", [agent("are you the owner of the house"), user("No")])
    assert talk.settled == ["are you the owner of the house", "No"]


def test_what_a_user_says_unasked_is_told() -> None:
    talk = read_talk("How high is it?", "", [user("Tell me about the sea wall.")])
    assert talk.settled == [] and talk.told == ["Tell me about the sea wall."]


def test_a_context_that_repeats_the_turns_is_no_situation() -> None:
    history = [user("Can I get a valve?"), agent(ASKED), user("Yes")]
    assert read_talk("And a pump?", f"{ASKED} Yes", history).situation == ""
    assert read_talk("And a pump?", f"User: Can I get a valve?\nAgent: {ASKED}", history).situation == ""


def test_an_own_sentence_beside_a_repeated_talk_is_the_situation() -> None:
    history = [user("When was it built?"), agent(BUILT)]
    context = f"User: When was it built?\nAssistant: {BUILT}\n{SITUATION}"
    assert read_talk("How high is it?", context, history).situation == SITUATION


def test_a_transcript_is_read_as_turns_where_no_agent_speaks_in_the_history() -> None:
    transcript = f"{SITUATION}\nUser: When was it built?\nAssistant: {BUILT}"
    given = read_talk("How high is it?", SITUATION, [user("When was it built?"), agent(BUILT)])
    assert read_talk("How high is it?", transcript, []) == given
    assert read_talk("How high is it?", transcript, [user("When was it built?")]) == given


def test_nothing_said_leaves_nothing() -> None:
    talk = read_talk("How high is it?", "", [])
    assert (talk.situation, talk.settled, talk.told) == ("", [], [])
    talk = read_talk("How high is it?", " \n", [user(""), agent("?"), agent(""), user("Thanks!")])
    assert (talk.situation, talk.settled, talk.told) == ("", [], [])
