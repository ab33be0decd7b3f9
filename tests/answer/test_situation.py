import pytest

from adaptive_rag.answer.situation import speaks_to


@pytest.mark.parametrize(
    ("sentence", "context", "said"),
    [
        ("Children under 8 must be accompanied.", "My daughter is six.", True),
        ("Children from 8 on may swim alone.", "My daughter is six.", False),
        ("The gym is open from the age of 14; up to 16 with a trainer.", "My daughter is six.", False),
        ("The gym is open from the age of 14; up to 16 with a trainer.", "I am 30.", True),
        ("You can apply if you're 18 or over.", "I am a 17 year old student.", False),
        ("Help is there for people of 24 or younger.", "I'm 41 years old.", False),
        ("Repairs of up to 60 pounds are yours.", "I am 70 and rent a flat.", None),
        ("Children under 8 must be accompanied.", "We are two of a party.", None),
        ("After probation the notice is one month.", "I am still on probation.", False),
        ("Employees on probation get one week.", "I am still on probation.", True),
        ("The notice is one month.", "I am still on probation.", None),
    ],
)
def test_a_rule_is_for_the_asker_by_age_and_stage(sentence, context, said):
    assert speaks_to(sentence, context) is said
