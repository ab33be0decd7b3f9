"""What a follow-up's answer leaves out: what was said before."""

import pytest

from adaptive_rag.answer.draft import extract_answer
from adaptive_rag.answer.styles import STYLES
from tests.answer.made import candidate, request

LINE = candidate(
    "The branch line from Stow was opened on 2 June 1884, and visitors came. "
    "Its carriages were green. The line closed on 7 October 1963."
)
OPENING = "The branch line from Stow was opened on 2 June 1884, and visitors came. [1]"
PRICES = candidate(
    "Supplier | System | Price\nThorn | new oil boiler | £9,800\nGreen | heat pump | £31,500\n"
)
ROOF = candidate("The roof was renewed in 2023 by Hallam & Sons for £310,000. The work took seven months.")
PRESS = candidate(
    "Oluchi proposed to buy a second press. Lionel Bright objected, since the old one stands idle.",
    source="minutes.md",
)


@pytest.mark.parametrize("style", ["factual", "contextual"])
def test_what_was_said_before_is_not_repeated(style):
    asked = request(
        "and when did it close\nbranch line Stow",
        [LINE],
        style=STYLES[style],
        said=OPENING,
        asked_before="When was the branch line from Stow opened?",
    )
    answer = extract_answer(asked).text
    assert answer.startswith("The line closed on 7 October 1963. [1]")
    assert "1884" not in answer


def test_a_row_that_was_shown_with_other_cells_counts_as_said():
    asked = request(
        "and how much is the heat pump?\nprice of the new oil boiler",
        [PRICES],
        style=STYLES["contextual"],
        said="Thorn: system new oil boiler, price £9,800 [1]",
        asked_before="What is the price of the new oil boiler?",
    )
    assert extract_answer(asked).text == "Green: system heat pump, price £31,500 [1]"


def test_what_was_said_stays_where_it_answers_the_follow_up_too():
    asked = request("and how often is that?\nbranch line opened", [LINE], said=OPENING)
    assert "1884" in extract_answer(asked).text


def test_what_was_said_is_said_again_where_it_has_the_sum_that_was_not_asked_for_before():
    asked = request(
        "and what did it cost?\nroof pool",
        [ROOF, PRICES],
        style=STYLES["contextual"],
        said="The roof was renewed in 2023 by Hallam & Sons for £310,000. [1]",
        asked_before="Who renewed the roof of the pool?",
    )
    assert extract_answer(asked).text == "The roof was renewed in 2023 by Hallam & Sons for £310,000. [1]"


def test_a_follow_up_is_answered_where_the_last_answer_stood():
    asked = request(
        "who objected\nsecond press",
        [candidate("Rob Arden objected to the second tower.", source="tower.md"), PRESS],
        style=STYLES["contextual"],
        said="Oluchi proposed to buy a second press. [1]",
        asked_before="Who proposed to buy a second press?",
    )
    assert extract_answer(asked).text.startswith("Lionel Bright objected")
