import pytest

from adaptive_rag.evaluation.charts.svg import colour, ticks


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.53, 0.61, [0.54, 0.56, 0.58, 0.6]),
        (0, 1200, [0, 500, 1000]),
    ],
)
def test_ticks_are_round_and_lie_between_the_bounds(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == expected


def test_a_series_without_a_colour_of_its_own_keeps_the_one_it_gets() -> None:
    assert colour("without-balance") == colour("without-balance")
    assert colour("without-balance") not in (colour("standard"), colour("adaptive"))
