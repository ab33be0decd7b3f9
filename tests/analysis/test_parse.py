"""Which words point at something that the question does not name."""

import pytest

from adaptive_rag.analysis.parse import find_references, parse_question, tokenize, write_out_abbreviations


@pytest.mark.parametrize(
    ("question", "dangling"),
    [
        ("When was it founded?", ("it",)),
        ("How does it compare to a Ferrari?", ("it",)),
        ("Why did Elon Musk start it?", ("it",)),
        ("How do rain and snow affect it?", ("it",)),
        ("and when was that?", ("that",)),
        ("What about those?", ("those",)),
        ("What are popular ones in France?", ("ones",)),
        ("How do I choose a new one?", ("one",)),
        ("Who was her mother?", ("her",)),
        ("Can it be used to power cars?", ("it",)),
    ],
)
def test_a_reference_without_antecedent_dangles(question: str, dangling: tuple[str, ...]) -> None:
    assert find_references(tokenize(question)).dangling == dangling


@pytest.mark.parametrize(
    "question",
    [
        "Is it ethical to eat meat?",
        "How long does it take to fly to Rome?",
        "How hard is it to learn Chinese?",
        "Why is it that cats purr?",
        "What is insulin and where is it produced?",
        "Do plants grow faster when they hear music?",
        "Is it true that Einstein failed maths?",
        "How can one learn to sing?",
        "What evidence supports the claim that tea is healthy?",
    ],
)
def test_an_expletive_or_an_antecedent_leaves_nothing_dangling(question: str) -> None:
    assert find_references(tokenize(question)).dangling == ()


def test_elliptic_openings_are_found() -> None:
    assert find_references(tokenize("What about winter?")).openers == ("what about",)
    assert find_references(tokenize("And the costs?")).openers == ("and",)
    assert find_references(tokenize("What is winter?")).openers == ()


@pytest.mark.parametrize(
    ("text", "written_out"),
    [
        ("What is IT?", "What is information technology?"),
        ("Who founded the WHO?", "Who founded the World Health Organization?"),
        ("who founded the who", "who founded the World Health Organization"),
        ("IS THE US ECONOMY GROWING?", "IS THE United States ECONOMY GROWING?"),
        ("Who leads the U.S.?", "Who leads the United States?"),
        ("What did J.R.R. Tolkien teach?", "What did JRR Tolkien teach?"),
        (
            "What do WHO and US officials say?",
            "What do World Health Organization and United States officials say?",
        ),
    ],
)
def test_an_abbreviation_that_reads_like_a_pronoun_is_written_out(text: str, written_out: str) -> None:
    assert write_out_abbreviations(text) == written_out
    assert find_references(tokenize(written_out)).dangling == ()


@pytest.mark.parametrize(
    "text",
    [
        "What is it?",
        "WHAT IS IT?",
        "Tell us who it was.",
        "WHO said so?",
        "Fine. WHO said so?",
        "e.g. at 5 p.m.",
    ],
)
def test_a_pronoun_is_left_as_it_is(text: str) -> None:
    assert write_out_abbreviations(text) == text


def test_names_are_read_as_the_user_wrote_them() -> None:
    parsed = parse_question("What does the US export?")
    assert parsed.text == "What does the US export?"
    assert "states" in parsed.words
