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


@pytest.mark.parametrize("style", ["factual", "contextual"])
def test_what_was_said_before_is_not_repeated(style):
    asked = request(
        "and when did it close\nbranch line Stow opened", [LINE], style=STYLES[style], said=OPENING
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
    )
    assert extract_answer(asked).text == "Green: system heat pump, price £31,500 [1]"


def test_what_was_said_stays_where_it_answers_the_follow_up_too():
    asked = request("and how often is that?\nbranch line opened", [LINE], said=OPENING)
    assert "1884" in extract_answer(asked).text
