"""Whose words answer a question for one person's view."""

import numpy as np
import pytest

from adaptive_rag.answer.compose import answer_locally
from adaptive_rag.answer.people import Person, share_subject
from adaptive_rag.answer.styles import OPINION_STYLE
from tests.answer.made import candidate, request

pytestmark = pytest.mark.usefixtures("toneless")
MEETING = candidate(
    "Ms Dray: the lift is slow. Mr Pym: the lift is dear. Mr Holt: a lift is a front door.\n\n"
    "Mr Pym: the garden is wild. Ms Petrov: I like the garden.",
    source="minutes.txt",
)
MAIL = candidate(
    "I find the lift ugly.\n\nThe bins are full.",
    source="2024 lift.eml",
    metadata={"from": "Ada Dray <ada@fenn.example>", "subject": "Lift"},
)
LETTER = candidate("I say the lift is too loud.", source="Letter Marchetti.txt")
CHANCES = {"slow": 0.3, "dear": 0.5, "door": 0.4, "ugly": 0.2, "loud": 0.2, "wild": 0.1}


def asked_of(question, *documents, chances=CHANCES):
    return request(question, documents or (MEETING, MAIL, LETTER), chances, style=OPINION_STYLE)


def own_words(question, **more):
    asked = asked_of(question, **more)
    if asked.own_words is None:
        return None
    return [s.text for s, own in zip(asked.answer_sentences, asked.own_words.mask, strict=True) if own]


DRAY = ["Ms Dray: the lift is slow.", "I find the lift ugly.", "The bins are full."]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What does Ms Dray think of the lift?", DRAY),
        ("what does dray say about the lift", DRAY),
        ("What is Ada Dray's opinion on the lift?", DRAY),
        ("What did Dray write about the lift in her email?", DRAY[1:]),
        ("According to Mr Pym, what can one say against the lift?", ["Mr Pym: the lift is dear."]),
        ("What does Mr Pym think of the garden?", ["Mr Pym: the garden is wild."]),
        ("What does Marchetti say about the lift?", ["I say the lift is too loud."]),
        # that person says nothing on it, or nothing at all
        ("What does Ms Petrov think of the lift?", ["Ms Petrov: I like the garden."]),
        ("What does Mr Petrov think of the garden?", []),
        ("What does Mr Unger think of the lift?", []),
        # nobody's own view is asked for
        ("What do people think of the lift?", None),
        ("What do people think of Ms Dray's letter?", None),
        ("Did anyone object to what Mr Pym wants?", None),
        ("How slow is the lift for Ms Dray?", None),
    ],
)
def test_only_the_words_of_the_person_on_the_subject_answer(question, words):
    assert own_words(question) == words


def test_a_person_is_quoted_alone():
    evidence, text = answer_locally(asked_of("What does Mr Pym think of the lift?"), abstains=True)
    assert (evidence.outcome, text.text) == ("answer", "- Mr Pym: “the lift is dear.” [1]")


def test_where_the_person_says_nothing_on_it_only_their_other_words_are_shown():
    evidence, text = answer_locally(asked_of("What does Ms Petrov think of the lift?"), abstains=True)
    assert evidence.outcome == "closest"
    assert text.text.endswith("closest passages:**\n- Ms Petrov: “I like the garden.” [1]")


def test_where_the_person_is_unknown_the_closest_passages_are_shown():
    evidence, text = answer_locally(asked_of("What does Mr Unger think of the lift?"), abstains=True)
    assert evidence.outcome == "closest"
    assert "- Mr Pym: “the lift is dear.” [1]" in text.text


def test_a_report_on_the_sender_of_a_mail_is_on_that_person():
    report = candidate("Ada Dray asked for a newer lift. The lift is slow.", source="report.txt")
    asked = asked_of("What does Ada Dray think of the lift?", report, MAIL, chances={"asked": 0.8})
    assert asked.holders == ["Ada Dray", None, "Ada Dray", "Ada Dray"]


def test_the_words_of_the_person_are_shown_even_if_they_may_not_answer():
    asked = asked_of("What does Mr Pym think of the lift?", chances={"dear": 0.1})
    evidence, text = answer_locally(asked, abstains=True)

    assert evidence.outcome == "closest"
    assert text.text.endswith("- Mr Pym: “the lift is dear.” [1]")


@pytest.mark.parametrize(
    ("one", "other", "may_be"),
    [
        (Person("mr", ("greaves",)), Person("", ("h", "greaves")), True),
        (Person("", ("h", "greaves")), Person("", ("horace", "greaves")), True),
        (Person("", ("henry", "greaves")), Person("", ("horace", "greaves")), False),
        (Person("mr", ("petrov",)), Person("ms", ("petrov",)), False),
        (Person("dr", ("petrov",)), Person("ms", ("petrov",)), True),
        (Person("", ("tobias",)), Person("", ("tobias", "renner")), True),
        (Person("", ("renner",)), Person("", ("tobias",)), False),
    ],
)
def test_names_that_can_be_the_same_persons_match(one, other, may_be):
    assert one.may_be(other) == other.may_be(one) == may_be


def test_a_section_shares_the_words_of_its_heading():
    text = "Dog fee\n\nMs Dray: it is unjust.\n\nParking\n\nMs Dray: it is dear."
    sections = {"section_starts": {"0": "Dog fee", str(text.index("Parking")): "Parking"}}
    asked = asked_of("What does Ms Dray think of the dog fee?", candidate(text, metadata=sections))
    shares = share_subject(asked.question, asked.documents, asked.answer_sentences, {"ms", "dray"})
    assert np.allclose(shares, [1, 1, 0, 0])
