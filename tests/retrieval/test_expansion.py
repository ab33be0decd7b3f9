import numpy as np
import pytest

from adaptive_rag.retrieval.alpha import BASE_ALPHA
from adaptive_rag.retrieval.expansion import (
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
    assert plan.parts[1].text.startswith("How high is it?\n") and "1968" in plan.parts[1].text
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


def test_a_scenario_stays_in_a_follow_up():
    assert "goats" in plan_contextual("How high is it?", SCENARIO, TALK).parts[1].text


def test_without_any_context_the_question_stands_alone():
    plan = plan_contextual("How high is the wall?", "", [])
    assert [(part.text, part.dense, part.sparse) for part in plan.parts] == [
        ("How high is the wall?", 1.0, 1.0)
    ]
    assert plan.alpha == BASE_ALPHA
    assert contextual_query("How high is the wall?", "", []) == "How high is the wall?"


def test_long_turns_are_cut_and_old_ones_left_out():
    turns = [{"role": "agent", "text": f"turn{i} " + "x" * 2000} for i in range(9)]
    text = contextual_query("And now?", "", turns)
    assert "turn4" not in text and "turn5" in text and len(text) < 2200


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
    assert len(set(stance_viewpoints("Should walls be raised?", n))) == n


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
