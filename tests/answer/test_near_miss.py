import pytest

from adaptive_rag.answer.evidence import format_abstention, judge_evidence
from adaptive_rag.answer.near_miss import other_numbers
from tests.answer.made import candidate, request

CHAINS = candidate("Chain 11-speed: price 31.50, warranty months 12.\nChain 9 speed: price 19.90.")


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("how much is a chain for 12 speed", {"12 speed": ["11-speed", "9 speed"]}),
        ("how much is the 12-speed chain", {"12-speed": ["11-speed", "9 speed"]}),
        ("how much is the 11 speed chain", {}),
        # of another kind, an amount, and a word by which people ask
        ("how much is the 12 litre bucket", {}),
        ("is the warranty longer than 3 months", {}),
        ("name 3 main parts", {}),
    ],
)
def test_a_number_that_tells_one_thing_from_its_like_is_missed(question, found):
    assert other_numbers(question, [CHAINS]) == found


def test_the_number_may_stand_behind_the_noun_or_in_the_heading():
    assert other_numbers("what does the 5 May meeting say", [candidate("The meeting of May 5.")]) == {}
    headed = {**candidate("It was 4 May."), "section": "Meeting of 5 May"}
    assert other_numbers("what does the 5 May meeting say", [headed]) == {}


def test_an_answer_on_another_number_is_refused_and_the_refusal_says_so():
    asked, other = (
        judge_evidence(request(f"how much is a chain for {speeds} speed", [CHAINS])) for speeds in (11, 12)
    )
    told = format_abstention("Why?", ["Why?"], instead={"12 speed": ["11-speed", "9 speed"]})

    assert asked.sufficient and not other.sufficient
    assert judge_evidence(request("how much is a chain?\n12 speed", [CHAINS])).reason != other.reason
    assert other.reason == "What I read has “11-speed” and “9 speed”, but not “12 speed”"
    assert told.endswith(f" {other.reason}.")
