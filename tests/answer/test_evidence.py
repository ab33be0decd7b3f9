from dataclasses import replace
from functools import partial

import pytest

from adaptive_rag.answer.by_side import OPINION_STYLE
from adaptive_rag.answer.evidence import (
    CLOSEST,
    MIDDLE,
    format_abstention,
    judge_evidence,
    likelihood,
    nearest_quote,
    term_weights,
)
from adaptive_rag.answer.factual import FACTUAL_STYLE
from adaptive_rag.answer.for_situation import CONTEXTUAL_STYLE
from adaptive_rag.answer.styles import STYLES
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


@pytest.mark.parametrize(
    ("question", "sufficient"),
    [
        ("what did Lena Voss think of the marsh, of all things", True),
        ("what did Lena Voss think of tungsten, of all things", False),
        ("what are the arguments against the closure", True),
        ("what are the arguments against the closure of Smithfield", False),
    ],
)
def test_who_is_named_or_takes_a_side_is_evidence_for_views(question, sufficient):
    said = "**Lena Voss:** Concrete ages. The marsh grows upwards.\n\n**Tom Hale:** I oppose the closure."
    far = [{**candidate(said), "scores": {"dense": -1.0}}]

    assert judge_evidence(request(question, far, style=OPINION_STYLE)).sufficient is sufficient
    assert not judge_evidence(
        request(question, far, style=replace(OPINION_STYLE, heeds_speakers=False))
    ).sufficient


def test_the_name_of_a_file_says_what_its_passages_speak_of():
    breakfast = candidate("Breakfast is served from 8 to 9.30. The beds are hard.")
    question = "When is breakfast at the guesthouse?"
    named = request(question, [{**breakfast, "source": "reviews/guesthouse_2025.jsonl"}])
    other = request(question, [{**breakfast, "source": "reviews/2025.jsonl"}])

    assert judge_evidence(named).score > judge_evidence(other).score


def test_what_a_follow_up_brings_itself_weighs_twice():
    prices = request("", [candidate("A membership costs 39 pounds. A class costs 5 pounds.")])
    alone, follows = (
        term_weights(question, prices.answer_sentences)
        for question in ("class membership", "And a class?\nmembership")
    )

    assert follows["clas"] == 2 * alone["clas"]
    assert follows["membership"] == alone["membership"]


def test_no_document_is_no_evidence():
    evidence = judge_evidence(request("When was the wall built?", []))

    assert not evidence.sufficient
    assert evidence.score == 0.0


def test_a_word_that_every_sentence_has_weighs_half():
    about_ai = candidate(
        "AI helps doctors with their patients. AI helps farmers with their crops. "
        "AI helps teachers with their pupils."
    )
    weights = term_weights("Does AI help with earthquakes?", request("", [about_ai]).answer_sentences)

    assert 0.5 < weights["help"] < 0.6
    assert 1 < weights["ai"] < 1.2  # a name weighs twice


def test_a_rare_word_a_name_or_a_number_that_is_missing_weighs_most_and_a_common_one_least():
    tank = request("", [candidate("The tank holds 3.8 litres.")]).answer_sentences
    weights = term_weights("How big is the zinc tank of Zworykin, 12 litres?", tank)

    assert weights["big"] < 0.75 < 1 < weights["zinc"]
    assert weights["12"] == weights["zworykin"] == 4
    assert term_weights("How big?", tank, {"big"})["big"] == 1


def test_a_german_question_is_answered_from_a_sentence_that_names_its_subject():
    house = candidate("Die Kaution beträgt drei Monatsmieten. Hunde sind an der Leine zu führen.")

    assert judge_evidence(request("Wie hoch ist die Kaution?", [house])).sufficient
    assert not judge_evidence(request("Wer ist der Bürgermeister von Leipzig?", [house])).sufficient


def test_a_paraphrase_is_more_evidence_than_another_subject():
    tank = candidate("Tank: 3.8 litres. The hose is black. The appliance has a timer of eight hours.")
    paraphrased, other = (
        judge_evidence(request(f"how {word} is the tank", [tank])).measures["passage"]
        for word in ("big", "radioactive")
    )

    assert paraphrased > other + 0.1


def test_the_heading_of_a_passage_names_what_it_is_about():
    tank = candidate("The capacity is 3.8 litres. The hose is black.")
    under_heading = {**tank, "section": "Manual > Water tank"}

    bare, headed = (
        judge_evidence(request("What capacity has the water tank?", [passage]))
        for passage in (tank, under_heading)
    )

    assert headed.measures["passage"] > bare.measures["passage"]


def test_a_sentence_like_all_others_is_no_evidence():
    alike = candidate("The gate is shut. The gate is open. The gate is red.")
    one = candidate("The gate is shut. Bread costs two pounds. Cats sleep at noon.")

    among_others, alone = (
        judge_evidence(request("Is the gate shut?", [passage])) for passage in (alike, one)
    )

    assert among_others.measures["lead"] < alone.measures["lead"]


def test_without_cosines_the_best_sentence_stands_for_its_passage():
    unscored = {**WALL, "scores": {}}

    assert judge_evidence(request("When was the Long Wall built?", [unscored])).sufficient
    assert not judge_evidence(request("Who won the World Cup?", [unscored])).sufficient


def test_a_short_follow_up_is_judged_with_the_context():
    asked = request("And what about me?", [WALL], style=CONTEXTUAL_STYLE)
    told = request(
        "And what about me?", [WALL], style=CONTEXTUAL_STYLE, user_context="I live at the Long Wall."
    )

    assert judge_evidence(told).score > judge_evidence(asked).score


def test_a_section_headed_for_the_asker_is_evidence():
    advice = candidate("# Advice\n\n## If you have babies\n\nStay out of the sun at noon.")
    asked = partial(request, "What do we do in July?", [advice], style=CONTEXTUAL_STYLE)

    told, other = (judge_evidence(asked(user_context=text)) for text in ("Our baby is small.", "I farm."))

    assert told.measures["heading"] > 0
    assert "a heading that names the asker adds" in told.reason
    assert "heading" not in other.measures


def test_a_larger_sum_is_more_evidence():
    assert 0 < likelihood(-1.0) < likelihood(MIDDLE) == 0.5 < likelihood(2.5) < 1


def test_every_type_has_a_style_and_opinions_need_least_evidence_and_fewest_words():
    assert set(STYLES) == set(QUERY_TYPES)
    assert min(STYLES, key=lambda name: STYLES[name].evidence) == "opinion"
    assert min(STYLES, key=lambda name: STYLES[name].wording) == "opinion"


def test_what_barely_suffices_is_given_as_the_closest_passages():
    found = judge_evidence(request("How old is the wall?", [WALL]))
    total = sum(found.measures.values())
    for needed, sufficient, closest in [
        (total + 0.01, False, False),
        (total - CLOSEST / 2, True, True),
        (total - CLOSEST - 0.01, True, False),
    ]:
        style = replace(FACTUAL_STYLE, evidence=likelihood(needed))
        evidence = judge_evidence(request("How old is the wall?", [WALL], style=style))
        assert (evidence.sufficient, evidence.closest) == (sufficient, closest)


def test_a_refusal_quotes_what_came_nearest_on_one_line():
    wall = candidate("The Long Wall\nwas built after 1955, see [2]. It rains.", source="/in/b.pdf")
    asked = request("When was the wall built?", [candidate("It snows."), wall])
    text, citation = nearest_quote(asked)

    said = format_abstention("Why?", ["Why?"], 2, (text, citation))

    assert "What came nearest stands in b.pdf: “The Long Wall was built after 1955, see " in said
    assert "see [2]" not in said
    assert said.endswith("”")
    assert citation["quote"] == "The Long Wall\nwas built after 1955, see [2]."


def test_a_heading_or_a_sentence_on_something_else_is_never_quoted():
    pool = "The pool is open from nine to five on every day of the week."
    page = candidate(f"Opening Hours Of The Pool.\n\n{pool}")
    heading = candidate("Opening Hours Of The Pool.")

    assert nearest_quote(request("What are the opening hours of the pool?", [page]))[0] == pool
    assert nearest_quote(request("What are the opening hours of the pool?", [heading])) is None
    assert nearest_quote(request("Who won the World Cup?", [page])) is None


def test_the_abstention_says_what_was_searched_beyond_the_question():
    queries = ["Why is that gate shut?", "why gate shut", "is the wall dry", "is the wall dry"]
    told = format_abstention("Why is  that gate shut?", [*queries, "Why is that gate shut?\nthe harbour"], 12)

    assert told == (
        "The documents do not hold an answer to this question. "
        "I searched 12 documents, also for “is the wall dry” and “the harbour”."
    )
    assert "I searched one document." in format_abstention("Why?", ["Why?"], 1)
    assert format_abstention("Why?", ["Why?"]) == "The documents do not hold an answer to this question."


def test_a_query_that_carries_an_earlier_answer_is_not_printed():
    carried = (
        "Delivery is free for orders above £20 and costs £1.99 otherwise. [2] The box has six kinds. Why?"
    )
    assert "Delivery" not in format_abstention("Why?", [carried, "Why?"], 3)


def test_words_in_quotation_marks_stand_in_single_ones_inside_the_quote():
    page = candidate("“It was built of stone,” said Ann about the long wall.")
    nearest = nearest_quote(request("What is the long wall built of?", [page]))
    assert nearest
    assert "“‘It was built of stone,’ said Ann about the long wall.”" in format_abstention(
        "?", [], 1, nearest
    )


def test_a_long_list_of_searches_is_cut():
    text = format_abstention("Why?", [f"query {n}" for n in range(9)])

    assert "“query 3” and 5 more" in text
    assert "nearest" not in text
