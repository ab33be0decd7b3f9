import pytest

from adaptive_rag.answer.evidence import format_abstention, judge_evidence
from adaptive_rag.answer.near_miss import other_numbers
from tests.answer.made import candidate, request

CHAINS = candidate(
    "Chain 11-speed: price 31.50, warranty months 12.\nChain 9 speed: price 19.90.\nBoard 300 x 20 mm: 18.90."
)
RENT = candidate("The rent is 1,340 pounds in the first year. It is 1,450 pounds in the 3rd year.")
VISITS = {
    **candidate("Visits: 212,000 in 2019, 148,000 in 2023. Opening hours were cut in 2021."),
    "source": "library_report.pdf",
}


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("how much is a chain for 12 speed", {"12 speed": ["11-speed", "9 speed"]}),
        ("how much is the 12-speed chain", {"12-speed": ["11-speed", "9 speed"]}),
        ("how much is the 11 speed chain", {}),
        ("how much is a board of 300 mm", {}),
        ("how much is a board of 25 mm", {"25 mm": ["300 x 20 mm"]}),
        # of another kind, an amount, and a word by which people ask
        ("how much is the 12 litre bucket", {}),
        ("is the warranty longer than 3 months", {}),
        ("name 3 main parts", {}),
        # the subject of a follow-up, in bare words
        ("and the price?\n12 speed chain", {}),
    ],
)
def test_a_number_that_tells_one_thing_from_its_like_is_missed(question, found):
    assert other_numbers(request(question, [CHAINS])) == found


def test_an_ordinal_tells_one_thing_from_its_like_too():
    missed = {"fourth year": ["first year", "3rd year"]}

    assert other_numbers(request("what is the rent in the fourth year", [RENT])) == missed
    assert other_numbers(request("what is the rent in the third year", [RENT])) == {}
    # "2 year" is an amount and no ordinal.
    lease = candidate("It is a 2 year lease.")
    assert other_numbers(request("what is the rent in the fourth year", [lease])) == {}


@pytest.mark.parametrize("told", ["From the second year on it is ten weeks.", "the second year and later"])
def test_a_number_after_which_the_others_are_meant_too_leaves_none_out(told):
    assert other_numbers(request("how long is it in the fourth year", [candidate(told)])) == {}


def test_a_year_is_missed_where_what_is_asked_about_has_other_years():
    asked = request("how many visits did the library have in 2021", [VISITS])

    assert other_numbers(asked) == {"2021": ["2019", "2023"]}
    assert other_numbers(request("how many visits did the library have in 2023", [VISITS])) == {}
    # No sentence names all that is asked about, two years are compared, and nothing beside it is asked.
    for question in ("how many loans in 2021?", "visits in 2021 and 2023", "what happened in 2021?"):
        assert other_numbers(request(question, [VISITS])) == {}


def test_the_year_may_stand_in_the_name_of_the_file():
    named = {**VISITS, "source": "library_report_2021.pdf"}

    assert other_numbers(request("how many visits did the library have in 2021", [named])) == {}


def test_the_number_may_stand_behind_the_noun_or_in_the_heading():
    asked = "what does the 5 May meeting say"

    assert other_numbers(request(asked, [candidate("The meeting of May 5.")])) == {}
    headed = {**candidate("It was 4 May."), "section": "Meeting of 5 May"}
    assert other_numbers(request(asked, [headed])) == {}


def test_an_answer_on_another_number_is_refused_and_the_refusal_says_so():
    asked, other = (
        judge_evidence(request(f"how much is a chain for {speeds} speed", [CHAINS])) for speeds in (11, 12)
    )
    told = format_abstention("Why?", ["Why?"], instead={"12 speed": ["11-speed", "9 speed"]})

    assert asked.sufficient and not other.sufficient
    assert other.reason == "What I read on this has “11-speed” and “9 speed”, but not “12 speed”"
    assert told.endswith(f" {other.reason}.")
