from dataclasses import replace

from adaptive_rag.answer.by_side import OPINION_STYLE
from adaptive_rag.answer.factual import FACTUAL_STYLE
from adaptive_rag.answer.parts import answer_locally
from adaptive_rag.answer.request import Aspect
from adaptive_rag.answer.sides import NO_VIEW
from tests.answer.made import candidate, request, vector, without_markers

EAGER = replace(FACTUAL_STYLE, evidence=0.3)
PARTS = ("When was the ferry pier built", "Who repairs the ferry pier")
PIER = candidate("The ferry pier was built in 1957. The ferry pier is repaired by Amrita Solanki.")


def asked(document, *parts):
    made = request(" and ".join(parts), [document], style=EAGER)
    return replace(made, parts=[Aspect(part, vector(part)) for part in parts])


def test_each_question_of_several_has_a_line():
    _, answer = answer_locally(asked(PIER, *PARTS), abstains=True)

    first, second = answer.text.splitlines()
    assert first.startswith("The ferry pier was built in 1957.")
    assert second.startswith("The ferry pier is repaired by Amrita Solanki.")


def test_the_answer_says_of_which_question_the_documents_hold_nothing():
    _, answer = answer_locally(asked(PIER, PARTS[0], "what do herring gulls eat\nferry"), abstains=True)

    assert answer.text.splitlines()[-1] == "The documents hold nothing on “what do herring gulls eat”."
    assert {citation["marker"] for citation in answer.citations} == {1}


def test_a_sentence_that_answers_both_is_shown_once():
    both = candidate("The ferry pier was built in 1957 by Amrita Solanki, who repairs the ferry pier.")

    _, answer = answer_locally(asked(both, *PARTS), abstains=True)

    assert len(without_markers(answer)) == 1


def test_a_later_line_leaves_out_what_an_earlier_one_shows():
    pier = candidate("The ferry pier was built in 1957 with a crane. The crane of the pier sank.")

    _, answer = answer_locally(
        asked(pier, PARTS[0], "What sank with the crane of the ferry pier"), abstains=True
    )

    assert [citation["quote"] for citation in answer.citations] == [
        "The ferry pier was built in 1957 with a crane.",
        "The crane of the pier sank.",
    ]


def test_where_no_part_has_evidence_nothing_is_answered():
    evidence, answer = answer_locally(asked(PIER, "what do gulls eat", "why do gulls cry"), abstains=True)

    assert not evidence.sufficient
    assert answer is None


RULES = candidate("Buoyancy aids are needed on the water. The boathouse opens at six and closes at nine.")


def test_a_question_for_a_rule_that_was_taken_for_one_for_views_is_answered_by_the_rule():
    _, answer = answer_locally(
        request("are buoyancy aids needed", [RULES], style=OPINION_STYLE), abstains=False
    )

    assert without_markers(answer) == ["Buoyancy aids are needed on the water."]


def test_whoever_asks_for_views_in_words_is_told_that_there_are_none():
    question = "what do people think of buoyancy aids"

    _, answer = answer_locally(request(question, [RULES], style=OPINION_STYLE), abstains=False)

    assert answer.text.startswith(NO_VIEW)
