"""Questions in their context: what of it is searched for, how much it counts, and what a model may change."""

import pytest

from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.nodes.contextualize import MAX_CONTEXT, NEED_ALPHA, ask_to_contextualize, is_off_topic
from adaptive_rag.nodes.contextualize import contextual_query as query_in
from adaptive_rag.nodes.contextualize import plan_contextual as plan_in
from adaptive_rag.query.history import parse_history
from adaptive_rag.search.fusion import fuse
from adaptive_rag.search.search import sum_scores
from adaptive_rag.state import Turn

TALK = [
    {"role": "user", "text": "When was the sea wall of Saltmere built?"},
    {"role": "agent", "text": "It was finished in 1968 after seven years of work."},
]
ASKED = [{"role": "agent", "text": "Do you own a house in the flood zone?"}, {"role": "user", "text": "Yes"}]
SCENARIO = "I live on the ground floor and keep goats."


def plan_contextual(question, user_context, history, **more):
    return plan_in(question, parse_history(question, user_context, history), **more)


def contextual_query(question, user_context, history):
    return query_in(question, parse_history(question, user_context, history))


def test_clarifying_questions_and_scenario_are_joined_to_the_question():
    queries, plan = plan_contextual("Can I get a valve?", SCENARIO, ASKED)
    joined, bare = queries
    assert joined["text"] == f"Can I get a valve?\n{SCENARIO}\nDo you own a house in the flood zone?\nYes"
    assert "goats" not in bare["text"] and "flood zone" in bare["text"]
    assert (joined["dense"], bare["dense"]) == (1.0, 0.0)
    assert joined["sparse"] + bare["sparse"] == 1.0  # the question's words count once, the scenario's half
    assert plan["alpha"] == NEED_ALPHA and not plan["dense_only"]


MIXED = {
    "greeting": [{"role": "agent", "text": "I answer questions on flood prevention."}, *ASKED],
    "telling sentence": [
        {"role": "agent", "text": f"The rule depends on the place of the house. {ASKED[0]['text']}"},
        ASKED[1],
    ],
    "another matter first": [*TALK, *ASKED],
}


def test_a_scenario_stays_in_a_follow_up():
    queries, plan = plan_contextual("How high is it?", SCENARIO, TALK)
    assert plan["situation"] == SCENARIO and any(
        "goats" in query["text"] for query in queries if query["dense"]
    )
    assert "goats" in contextual_query("How high is it?", SCENARIO, TALK)


PASSAGES = [
    "A return valve in the drain is paid for owners of a house in the flood zone.",
    "A return valve in the drain costs tenants two crowns a month.",
    "The sea wall of Saltmere is nine metres high.",
    "The church of Saltmere is forty metres high.",
    "The sea wall was paid for by the province.",
    "Goats are moved to the high pasture when the alarm sounds.",
]
OWNER, WALL = PASSAGES[0], PASSAGES[2]
COURTESY = {"role": "agent", "text": f"{TALK[1]['text']} Does that help?"}


@pytest.mark.parametrize(
    ("question", "context", "history", "expected"),
    [
        ("How high is it?", "", TALK, WALL),
        ("How high is it?", "", [TALK[0], COURTESY], WALL),
        ("How high is it?", "", [*ASKED, TALK[0], COURTESY], WALL),
        ("How high is it?", "", TALK[:1], WALL),
        ("Who pays for my valve?", SCENARIO, ASKED, OWNER),
        ("Who pays for my valve?", SCENARIO, MIXED["greeting"], OWNER),
        ("Who pays for my valve?", SCENARIO, MIXED["telling sentence"], OWNER),
        ("Who pays for my valve?", SCENARIO, MIXED["another matter first"], OWNER),
        ("Who pays for my valve?", "", [*TALK, *ASKED], OWNER),
        # The question stands alone; the talk before it was about something else.
        ("How high is the sea wall of Saltmere?", "", ASKED, WALL),
        ("Who pays for a valve for owners in the flood zone?", "", TALK, OWNER),
    ],
)
def test_the_right_passage_leads_in_mixed_conversations(question, context, history, expected):
    queries, plan = plan_contextual(question, context, history)
    index = MemoryIndex.from_texts(PASSAGES)
    found = sum_scores(index, queries, limit=50, only="dense" if plan["dense_only"] else None)
    assert fuse(found, method="weighted", alpha=plan["alpha"])[0]["text"] == expected


def test_without_any_context_the_question_stands_alone():
    queries, plan = plan_contextual("How high is the wall?", "", [])
    assert queries == [{"text": "How high is the wall?", "dense": 1.0, "sparse": 1.0}]
    assert plan is None
    assert contextual_query("How high is the wall?", "", []) == "How high is the wall?"


def test_long_turns_are_cut_and_old_ones_left_out():
    turns = [{"role": "agent", "text": f"turn{i} " + "x" * 2000} for i in range(9)]
    text = contextual_query("And now?", "", turns)
    assert "turn2" not in text and "turn3" in text and len(text) < 3200
    assert text.index("turn8") < text.index("turn3")  # an encoder cuts at the end


def test_a_long_interview_is_cut_too():
    turns = [{"role": "agent", "text": f"Do you own house{i}?"} for i in range(60)]
    answers = [{"role": "user", "text": f"Yes {'x' * 2000}"}] * 60
    interview = [turn for pair in zip(turns, answers, strict=True) for turn in pair]
    queries, _ = plan_contextual("And now?", "", interview)
    for text in (queries[0]["text"], contextual_query("And now?", "", interview)):
        assert "house39" not in text and "house40" in text and len(text) < 11_000


def test_a_situation_may_stay_out_of_the_texts_and_keep_its_place() -> None:
    history = [Turn(role="agent", text="Are you the owner?"), Turn(role="user", text="Yes")]
    queries, plan = plan_contextual("Can I get barriers?", "I keep bees.", history, situated=False)
    assert [query["text"] for query in queries] == ["Can I get barriers?\nAre you the owner?\nYes"]
    assert plan["situation"] == "I keep bees." and plan["alpha"] == NEED_ALPHA
    alone, alone_plan = plan_contextual("Can I get barriers?", "I keep bees.", [], situated=False)
    assert [query["text"] for query in alone] == ["Can I get barriers?"] and alone_plan[
        "situation"
    ] == "I keep bees."


def test_nothing_is_off_the_topic_of_an_empty_source() -> None:
    assert not is_off_topic(MemoryIndex.from_texts([]), "a flood in the hills", "a flood")


@pytest.mark.parametrize(
    ("given", "kept"), [(SCENARIO, SCENARIO), ("x" * 3000, "x" * MAX_CONTEXT), ("", "a farmer")]
)
def test_a_context_that_the_user_gave_is_kept_in_their_own_words(given: str, kept: str) -> None:
    read = ask_to_contextualize("And goats?", given, TALK).read
    said = {"context": "a farmer", "query": "What about goats?"}
    assert read is not None and read(said) == {"context": kept, "query": "What about goats?"}


def test_the_model_is_shown_who_asks_and_what_was_said() -> None:
    values = ask_to_contextualize("And goats?", SCENARIO, TALK).values()
    assert values["user_context"] == SCENARIO
    assert values["history"] == f"user: {TALK[0]['text']}\nagent: {TALK[1]['text']}"
