import pytest

from adaptive_rag.answer.relations import (
    asks_about_the_text,
    asks_for_steps,
    compared,
    pairs_of,
    relation_asked,
    speaks_of_the_text,
    tells_to_do,
)


@pytest.mark.parametrize(
    ("question", "relation"),
    [
        ("Why did the canal fail?", "cause"),
        ("What explains the rise in visits?", "cause"),
        ("How does dredging affect the marsh?", "effect"),
        ("what is the difference between a full and a day ticket", "difference"),
        ("compare the D300 and the D300 Pro", "difference"),
        ("How did spending change between 2022 and 2023?", "change"),
        ("When was the wall built?", None),
    ],
)
def test_the_relation_is_read_from_the_question(question, relation):
    assert relation_asked(question) == relation


@pytest.mark.parametrize(
    ("question", "pair"),
    [
        ("What is the difference between full and pool-only membership?", [{"full"}, {"pool", "membership"}]),
        ("How do cobots differ from robots?", [{"cobot"}, {"robot"}]),
        ("iron vs steel pipes", [{"iron"}, {"steel", "pipe"}]),
        ("Compare the D300 and the D300 Pro", [set(), {"pro"}]),
        ("Who built the wall and the gate?", []),
        ("tern or heron, what is the difference?", [{"tern"}, {"heron"}]),
        ("which is cheaper, the tern or the heron", [{"tern"}, {"heron"}]),
        ("if it rains or snows, what happens", []),
    ],
)
def test_what_tells_two_compared_things_apart_is_found(question, pair):
    assert compared(question) == pair


@pytest.mark.parametrize(
    ("sentence", "itself"),
    [
        ("This chapter follows the main links, from cause to effect.", True),
        ("For the full list, see the table below.", True),
        ("Find the section that fits you; more than one may.", True),
        ("In this section we look at the piles.", True),
        ("Figure 3 shows the crest.", True),
        ("This report found four leaks.", False),
        ("The wall was raised by a metre (see section 4).", False),
        ("The guide dog may come in.", False),
    ],
)
def test_a_sentence_about_the_text_itself_is_told_from_one_about_the_matter(sentence, itself):
    assert speaks_of_the_text(sentence) is itself


def test_a_question_may_ask_about_the_text():
    assert asks_about_the_text("What is chapter 3 about?")
    assert not asks_about_the_text("What slows the waves?")


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        ("How do I change the filter?", True),
        ("what should we do when the siren sounds", True),
        ("How does a filter work?", False),
    ],
)
def test_a_question_for_steps_is_recognised(question, steps):
    assert asks_for_steps(question) is steps


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("Keep one bag by the door.", True),
        ("You must leave at once.", True),
        ("Never walk through moving water.", True),
        ("The zone is printed on the bill.", False),
        ("On the night of the flood it rained.", False),
    ],
)
def test_a_sentence_that_says_what_to_do_is_recognised(sentence, told):
    assert tells_to_do(sentence) is told


@pytest.mark.parametrize("question", ["zone A vs zone B", "what is the difference between zone A and B?"])
def test_what_a_letter_or_number_tells_apart_is_compared_with_it(question):
    assert compared(question) == [{"zone a"}, {"zone b"}]
    assert {"zone a", "grade one"} <= pairs_of("In Zone A, grade one")
