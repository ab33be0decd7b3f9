from dataclasses import replace

import pytest

from adaptive_rag.answer.evidence import (
    CLOSEST,
    WEIGHTS,
    format_abstention,
    judge_evidence,
    likelihood,
    nearest_quote,
)
from adaptive_rag.answer.styles import CONTEXTUAL_STYLE, FACTUAL_STYLE, STYLES
from adaptive_rag.state import QUERY_TYPES
from tests.answer.made import candidate, request

WALL = candidate(
    "The Long Wall was built between 1955 and 1958. It protects the low town from the sea. "
    "The wall has fourteen gates that are closed by hand."
)


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
@pytest.mark.parametrize(
    ("question", "sufficient"),
    [
        ("When was the Long Wall built?", True),
        ("How many gates has the wall?", True),
        ("What is the boiling point of tungsten?", False),
        ("Who won the World Cup?", False),
    ],
)
def test_evidence_is_what_speaks_to_the_question(style, question, sufficient):
    assert judge_evidence(request(question, [WALL], style=style)).sufficient is sufficient


def test_no_document_is_no_evidence():
    evidence = judge_evidence(request("When was the wall built?", []))

    assert not evidence.sufficient
    assert evidence.score == 0.0


def test_a_word_that_every_sentence_has_is_no_evidence():
    about_ai = candidate(
        "AI helps doctors with their patients. AI helps farmers with their crops. "
        "AI helps teachers with their pupils."
    )

    named = judge_evidence(request("Does AI predict earthquakes?", [about_ai])).measures["sentence"]
    rare = judge_evidence(request("Does AI help farmers?", [about_ai])).measures["sentence"]

    assert named < 0.5 < rare


def test_a_short_follow_up_is_judged_with_the_context():
    asked = request("And what about me?", [WALL], style=CONTEXTUAL_STYLE)
    told = request(
        "And what about me?", [WALL], style=CONTEXTUAL_STYLE, user_context="I live at the Long Wall."
    )

    assert judge_evidence(told).score > judge_evidence(asked).score


@pytest.mark.parametrize("measure", sorted(WEIGHTS))
def test_more_of_any_measure_is_more_evidence(measure):
    little = dict.fromkeys(WEIGHTS, 0.4)

    assert likelihood(little | {measure: 0.9}) > likelihood(little)


def test_every_type_has_a_style_and_facts_need_most_evidence():
    assert set(STYLES) == set(QUERY_TYPES)
    assert max(STYLES, key=lambda name: STYLES[name].evidence) == "factual"


def test_what_barely_suffices_is_given_as_the_closest_passages():
    found = judge_evidence(request("How old is the wall?", [WALL]))
    for threshold, sufficient, closest in [
        (found.score + 0.01, False, False),
        (found.score - CLOSEST / 2, True, True),
        (found.score - CLOSEST - 0.01, True, False),
    ]:
        style = replace(FACTUAL_STYLE, evidence=threshold)
        evidence = judge_evidence(request("How old is the wall?", [WALL], style=style))
        assert (evidence.sufficient, evidence.closest) == (sufficient, closest)


def test_a_refusal_quotes_what_came_nearest_on_one_line():
    wall = candidate("The Long Wall\nwas built after 1955, see [2]. It rains.", source="/in/b.pdf")
    quoted = nearest_quote(request("When was the wall built?", [wall]))
    text = format_abstention("Why?", ["Why?"], ["/in/b.pdf", "a.pdf"], quoted)
    assert "The nearest passage, in b.pdf, says: “The Long Wall was built after 1955, see " in text
    assert "[2]" not in text
    assert text.endswith("Others that were read stand in a.pdf.")


def test_the_abstention_says_what_was_searched_and_where():
    text = format_abstention("Why?", ["Why?", "why  so", "why so"], ["/in/b.pdf", "a.pdf", "/in/b.pdf"])

    assert text == (
        "The documents do not hold an answer to this question. I searched for “Why?” and “why so”. "
        "The nearest passages stand in b.pdf and a.pdf."
    )


def test_a_long_list_of_searches_is_cut():
    text = format_abstention("Why?", [f"query {n}" for n in range(9)], [])

    assert "“query 3” and 5 more" in text
    assert "nearest" not in text
