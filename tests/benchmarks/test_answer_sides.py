"""What is counted of an opinion's answer: both sides, and the side that a quote stands under."""

import math

from adaptive_rag.evaluation.datasets import Question
from benchmarks.answer_sides import (
    ShownSides,
    both_share,
    commoner_share,
    headed_quotes,
    interval,
    right_share,
    shown_sides,
    table,
)

ANSWER = (
    "Only a note. [4]\n\n**Benefits and arguments for**\nIt saves lives. [1] It costs a lot. [2]\n\n"
    "**Without a clear side**\nIt is long. [3]"
)
DOCUMENTS = [{"metadata": {"_id": f"p{i}"}} for i in range(1, 5)]
QUESTION = Question(
    "q",
    "Should it be?",
    type="opinion",
    aspects={"p1": ("support/a",), "p2": ("undermine/a",), "p3": ("undermine/b",)},
)


def test_quotes_are_told_by_the_heading_above_them():
    assert headed_quotes(ANSWER) == [
        ("", 4),
        ("Benefits and arguments for", 1),
        ("Benefits and arguments for", 2),
        ("Without a clear side", 3),
    ]


def test_a_quote_is_right_under_the_side_that_the_data_give_it():
    row = shown_sides(QUESTION, ANSWER, DOCUMENTS)
    assert row.both and row.read
    assert row.placed == (("for", "for"), ("for", "against"))
    assert (row.quotes, row.unjudged) == (4, 0)
    assert right_share([row]) == commoner_share([row]) == 0.5


def test_one_side_alone_is_not_both():
    row = shown_sides(QUESTION, "It saves lives. [1]", DOCUMENTS)
    assert row.read and not row.both
    assert math.isnan(right_share([row]))


def test_the_interval_holds_the_figure_and_the_table_shows_it():
    rows = [ShownSides(i % 4 > 0, True, (("for", "for"),), 0, 2, 20) for i in range(40)]
    share, low, high = interval(rows, both_share)
    assert low < share == 0.75 < high
    assert f"| both sides quoted | 0.750 | {low:.3f} to {high:.3f} |" in table(rows)
