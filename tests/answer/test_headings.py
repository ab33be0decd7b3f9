"""Which headings pass their score on, and which are shown with a quote."""

import pytest

from adaptive_rag.answer.compose import extract_answer
from tests.answer.made import CHANGES, candidate, request, scored_texts, sections


def test_the_score_of_a_heading_passes_the_headings_below_it() -> None:
    asked = request("What changed?", [sections(CHANGES)], {"## 2.3.0": 0.4})
    assert scored_texts(asked) == ["The editor has a dark theme at last."]


def test_the_score_of_a_fragment_passes_to_no_other_section() -> None:
    text = sections({"4.1": "See 4.2!", "4.0": "The scale was wrong before this version."})
    found = scored_texts(request("Which version fixed it?", [text], {"See 4.2!": 0.8}))
    assert not any("scale" in sentence for sentence in found)


def test_a_short_item_with_a_code_is_quoted() -> None:
    page = candidate("## Known problems\n\n- E17, see 4.1.3.\n- The door is loud.\n")
    assert "E17, see 4.1.3." in extract_answer(request("Which version fixed E17?", [page], {"E17": 0.8})).text


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("Which release fixed the counter?", "4.3.1 – 2025-01-20, Fixed: "),
        ("When was the counter fixed?", "4.3.1 – 2025-01-20, Fixed: "),
        ("What did the counter do?", ""),
    ],
)
def test_a_heading_that_says_which_or_when_is_shown(question: str, heading: str) -> None:
    section = "4.3.1 – 2025-01-20 > Fixed"
    text = f"## {section}\n\n- The door counter no longer overflows.\n"
    page = candidate(text, metadata={"section_starts": {"0": section}})
    answer = extract_answer(request(question, [page], {"counter": 0.8}))
    assert answer.text == f"{heading}The door counter no longer overflows. [1]"


@pytest.mark.parametrize(
    ("question", "best", "expected"),
    [
        ("Are toys ok?", "room", "Do you take toys or clothes? No. We have no room for them. [1]"),
        ("Can I bring jam?", "Sealed", "Do you take jam? Sealed jars only. [1]"),
        ("Who sorts the jam?", "Edda", "Edda Roil sorts the jam on Mondays. [1]"),
    ],
)
def test_a_reply_follows_the_question_above_it(question: str, best: str, expected: str) -> None:
    parts = {
        "Do you take toys or clothes?": "No. We have no room for them. Wool is welcome from October on.",
        "Is it fit for wheelchairs?": "The hall and the bar are. The cellar has steps.",
        "Do you take jam?": "Sealed jars only. Edda Roil sorts the jam on Mondays.",
    }
    page = sections(parts)
    assert extract_answer(request(question, [page], {best: 0.8})).text == expected


@pytest.mark.parametrize(
    ("question", "heading", "expected"),
    [
        ("Who runs the kitchen?", "Ada Roil", "Ada Roil: Head of the kitchen since the winter. [1]"),
        ("Since when has it a head?", "Ada Roil", "Head of the kitchen since the winter. [1]"),
        ("Who runs the kitchen?", "Kitchen Staff", "Head of the kitchen since the winter. [1]"),
    ],
)
def test_a_name_above_answers_who(question: str, heading: str, expected: str) -> None:
    text = f"#### {heading}\n\nHead of the kitchen since the winter.\n\nThe kitchen staff has five cooks.\n"
    page = candidate(text, metadata={"section_starts": {"0": f"Our team > {heading}"}})
    assert extract_answer(request(question, [page], {"Head of": 0.6})).text == expected
