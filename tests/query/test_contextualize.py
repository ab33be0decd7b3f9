import numpy as np
import pytest

from adaptive_rag.context import Context
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.query.expansion import (
    FOLLOW_UP_ALPHA,
    JOINED_ALPHA,
    aspect_queries,
    contextual_query,
    feedback_scores,
    keywords,
    matter,
    plan_contextual,
    salient_terms,
    stance_viewpoints,
)
from adaptive_rag.search.fusion import fuse
from adaptive_rag.search.search import search_parts
from adaptive_rag.state import Turn

TALK = [
    {"role": "user", "text": "When was the sea wall of Saltmere built?"},
    {"role": "agent", "text": "It was finished in 1968 after seven years of work."},
]
ASKED = [
    {"role": "agent", "text": "Do you own a house in the flood zone?"},
    {"role": "user", "text": "Yes"},
]
SCENARIO = "I live on the ground floor and keep goats."


def test_a_follow_up_averages_the_question_with_and_without_the_talk():
    plan = plan_contextual("How high is it?", "", TALK)
    assert [(part.dense, part.sparse) for part in plan.parts] == [(0.5, 1.0), (0.5, 0.0)]
    assert plan.parts[0].text == "How high is it?"
    assert plan.parts[1].text == f"How high is it?\n{TALK[1]['text']}\n{TALK[0]['text']}"
    assert plan.alpha == FOLLOW_UP_ALPHA and plan.by_meaning


def test_clarifying_questions_and_scenario_are_joined_to_the_question():
    plan = plan_contextual("Can I get a valve?", SCENARIO, ASKED)
    joined, bare = plan.parts
    assert joined.text == f"Can I get a valve?\n{SCENARIO}\nDo you own a house in the flood zone?\nYes"
    assert "goats" not in bare.text and "flood zone" in bare.text
    assert (joined.dense, bare.dense) == (1.0, 0.0)
    assert joined.sparse + bare.sparse == 1.0  # the question's words count once, the scenario's half
    assert plan.alpha == JOINED_ALPHA and not plan.by_meaning


def test_a_context_that_repeats_the_talk_is_no_scenario():
    echo = "User: When was the sea wall of Saltmere built?\nAssistant: It was finished in 1968."
    assert plan_contextual("How high is it?", echo, TALK) == plan_contextual("How high is it?", "", TALK)


def test_a_transcript_passed_as_context_is_read_as_talk():
    echo = f"User: {TALK[0]['text']}\nAssistant: {TALK[1]['text']}"
    assert plan_contextual("How high is it?", echo, []) == plan_contextual("How high is it?", "", TALK)


MIXED = {
    "greeting": [{"role": "agent", "text": "I answer questions on flood prevention."}, *ASKED],
    "telling sentence": [
        {"role": "agent", "text": f"The rule depends on the place of the house. {ASKED[0]['text']}"},
        ASKED[1],
    ],
    "another matter first": [*TALK, *ASKED],
    "another matter last": [*ASKED, *TALK],
    "an offer in vain": [
        {"role": "agent", "text": f"{TALK[1]['text']} Shall I explain the groynes?"},
        {"role": "user", "text": "Is the harbour older?"},
        *ASKED,
    ],
    "no scenario": [*TALK, *ASKED],
}


@pytest.mark.parametrize("kind", MIXED)
def test_a_mixed_conversation_lies_between_the_two(kind):
    plan = plan_contextual("Can I get a valve?", "" if kind == "no scenario" else SCENARIO, MIXED[kind])
    assert len(plan.parts) <= 3 and all(part.text.startswith("Can I get a valve?") for part in plan.parts)
    assert sum(part.dense for part in plan.parts) == pytest.approx(1)
    assert sum(part.sparse for part in plan.parts) == pytest.approx(1)
    assert JOINED_ALPHA < plan.alpha < FOLLOW_UP_ALPHA
    # Words of what was told never reach BM25; what the user answered always does.
    assert all("1968" not in part.text for part in plan.parts if part.sparse)
    assert all("flood zone" in part.text for part in plan.parts)


def test_the_more_was_told_the_less_the_situation_counts():
    def weight_of_scenario(turns):
        parts = plan_contextual("Can I get a valve?", SCENARIO, turns).parts
        return sum(part.dense for part in parts if "goats" in part.text)

    weights = [weight_of_scenario([*TALK * times, *ASKED]) for times in range(4)]
    assert weights == sorted(weights, reverse=True) and weights[0] == 1.0 and 0 < weights[3] < weights[1]


def test_a_scenario_stays_in_a_follow_up():
    plan = plan_contextual("How high is it?", SCENARIO, TALK)
    assert plan.situation == SCENARIO and any("goats" in part.text for part in plan.parts if part.dense)
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
    plan = plan_contextual(question, context, history)
    index = MemoryIndex.from_texts(PASSAGES)
    found = search_parts(index, plan.parts, Context(), by_meaning=plan.by_meaning)
    assert fuse(found, method="weighted", alpha=plan.alpha)[0]["text"] == expected


def test_without_any_context_the_question_stands_alone():
    plan = plan_contextual("How high is the wall?", "", [])
    assert [(part.text, part.dense, part.sparse) for part in plan.parts] == [
        ("How high is the wall?", 1.0, 1.0)
    ]
    assert plan.alpha is None
    assert contextual_query("How high is the wall?", "", []) == "How high is the wall?"


def test_long_turns_are_cut_and_old_ones_left_out():
    turns = [{"role": "agent", "text": f"turn{i} " + "x" * 2000} for i in range(9)]
    text = contextual_query("And now?", "", turns)
    assert "turn2" not in text and "turn3" in text and len(text) < 3200
    assert text.index("turn8") < text.index("turn3")  # an encoder cuts at the end


def test_feedback_ranks_as_the_moved_query_would():
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(8, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query = vectors[0] + 0.1
    query /= np.linalg.norm(query)
    moved = query + 0.5 * vectors[[0, 3]].mean(axis=0)
    expected = vectors @ (moved / np.linalg.norm(moved))
    found = feedback_scores(vectors @ query, vectors, [0, 3])
    assert found / np.linalg.norm(moved) == pytest.approx(expected, abs=1e-5)
    assert feedback_scores(vectors @ query, vectors, []) is not None


def test_keywords_drop_the_form_of_the_question_and_never_everything():
    assert keywords("Should the use of child performers be banned?") == "use child performers banned"
    assert keywords("What is it?") == "What is it?"


def test_salient_terms_are_shared_new_and_not_two_forms_of_one(make):
    hits = [
        make(str(i), text)
        for i, text in enumerate(["walls groyne tide", "wall groynes", "groyne dike tide", "reed"])
    ]
    assert set(salient_terms("sea wall", hits, 2)) <= {"groyne", "groynes", "tide"}
    assert len(salient_terms("sea wall", hits, 9)) == len({"groyne", "tide", "dike", "reed"})


def test_a_coordinated_question_falls_into_its_parts_first(make):
    parts = aspect_queries("How did the storm begin and why did the wall fail?", [], 4)
    assert parts[:2] == ["How did the storm begin", "why did the wall fail"]
    assert len(set(parts)) == 4


@pytest.mark.parametrize("n", range(1, 9))
def test_there_are_as_many_aspects_and_stances_as_asked_for(n):
    assert len(set(aspect_queries("Why do walls fail?", [], n))) == n
    assert len(set(stance_viewpoints(n))) == n


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What do people think of the claim that walls last?", "walls last?"),
        ("What are the different views on raising the wall?", "raising the wall?"),
        ("What are the arguments for and against the wall?", "the wall?"),
        ("Is it right to say that walls last?", "walls last?"),
        ("Do you agree that walls last?", "walls last?"),
        ("Should the wall be raised?", "Should the wall be raised?"),
        ("What do people think about on Sundays?", "on Sundays?"),
        ("Do people agree that walls last?", "Do people agree that walls last?"),
        ("What are the views on ", "What are the views on "),
    ],
)
def test_the_frame_of_a_question_after_views_is_no_part_of_the_matter(question, asked):
    assert matter(question) == asked


def test_a_situation_may_stay_out_of_the_texts_and_keep_its_place() -> None:
    history = [Turn(role="agent", text="Are you the owner?"), Turn(role="user", text="Yes")]
    plan = plan_contextual("Can I get barriers?", "I keep bees.", history, situated=False)
    assert [part.text for part in plan.parts] == ["Can I get barriers?\nAre you the owner?\nYes"]
    assert plan.situation == "I keep bees." and plan.alpha == JOINED_ALPHA
    alone = plan_contextual("Can I get barriers?", "I keep bees.", [], situated=False)
    assert [part.text for part in alone.parts] == ["Can I get barriers?"] and alone.situation
