from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from adaptive_rag.evaluation.statistics import Difference, compare_all, intervals


def compare(values: Any, baseline: Any, seed: int = 0) -> Difference:
    """Compare one pair of samples."""
    return compare_all([(values, baseline)], seed)[0]


def test_an_exact_p_counts_all_sign_patterns() -> None:
    # Of the 16 sign patterns of four equal differences two are as extreme: all plus and all minus.
    assert compare([1, 1, 1, 1], [0, 0, 0, 0]).p == pytest.approx(2 / 16)
    # |sum| >= 2 of (1, 2, 1): all patterns but those that sum to 0, which are two of eight.
    assert compare([1, 2, 1], [0, 0, 2]).p == pytest.approx(6 / 8)


def test_ties_do_not_dilute_the_test() -> None:
    with_ties = compare([1, 1, 1, 1, *[0.3] * 500], [0, 0, 0, 0, *[0.3] * 500])
    assert with_ties.p == pytest.approx(2 / 16, abs=0.01)
    assert (with_ties.wins, with_ties.losses, with_ties.ties) == (4, 0, 500)


# The cosines of one answer differ by rounding if its passages are summed in another order.
@pytest.mark.parametrize("rounding", [0.0, 3e-9, -3e-8])
def test_equal_systems_have_p_one(rounding: float) -> None:
    same = compare(np.full(20, 0.8) + rounding, np.full(20, 0.8))
    assert (same.p, same.mean, same.low, same.high) == (1.0, 0.0, 0.0, 0.0)
    assert (same.wins, same.losses, same.ties) == (0, 0, 20)


def test_a_sampled_p_is_close_to_the_exact_one() -> None:
    differences = np.r_[np.ones(11), -np.ones(5)]
    # Binomial: P(|heads - tails| >= 6) over 16 fair coins.
    assert compare(differences, np.zeros(16)).p == pytest.approx(0.2101, abs=0.015)


def test_the_direction_is_first_minus_second() -> None:
    found = compare([0.9, 0.8, 0.7], [0.1, 0.9, 0.1])
    assert found.mean == pytest.approx((0.8 - 0.1 + 0.6) / 3)
    assert (found.wins, found.losses) == (2, 1)


def test_the_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    covered = 0
    for i in range(200):
        low, high = intervals([rng.normal(1.0, 1.0, size=60)], seed=i)[0]
        covered += low <= 1.0 <= high
    assert 0.89 <= covered / 200 <= 0.99


@pytest.mark.parametrize("pair", [([1.0], []), ([], []), ([1.0, 2.0], [1.0])])
def test_samples_that_cannot_be_paired_are_refused(pair: tuple[list[float], list[float]]) -> None:
    with pytest.raises(ValueError, match="two samples of one length"):
        compare(*pair)


def test_many_comparisons_at_once_give_what_each_gives_alone() -> None:
    rng = np.random.default_rng(4)
    pairs = [(rng.random(n), rng.random(n)) for n in (1, 12, 40, 40, 12)]
    for together, pair in zip(compare_all(pairs, seed=5), pairs, strict=True):
        assert asdict(together) == pytest.approx(asdict(compare(*pair, seed=5)))


def test_one_question_tells_nothing_but_its_own_difference() -> None:
    found = compare([0.75], [0.25])
    assert (found.n, found.mean, found.low, found.high, found.p) == (1, 0.5, 0.5, 0.5, 1.0)


def test_the_interval_of_a_known_sample() -> None:
    # 100 questions, half right: the mean of a resample is binomial, so its 95 % lie within 0.40 and 0.60.
    [(low, high)] = intervals([[0.0, 1.0] * 50])
    assert (low, high) == (pytest.approx(0.40, abs=0.015), pytest.approx(0.60, abs=0.015))
