"""Says how sure a figure is: bootstrap intervals, and paired permutation tests against a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 2_000
PERMUTATIONS = 10_000
LEVEL = 0.95
# Differences smaller than this are rounding, not wins.
TIE = 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """What separates two systems over the same questions."""

    n: int
    mean: float
    low: float
    high: float
    p: float
    wins: int
    losses: int
    ties: int


def bootstrap_interval(values: ArrayLike, seed: int = 0) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean, resampling the questions (Efron 1979)."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.size == 0:
        raise ValueError("An interval needs at least one value.")
    low, high = _interval(sample[:, None], seed)[:, 0]
    return float(low), float(high)


def compare(values: ArrayLike, baseline: ArrayLike, seed: int = 0) -> Difference:
    """Compare two paired samples; p is that of the two-sided sign-flip permutation test.

    Under the null hypothesis each question's difference is as likely to have the other sign, so the
    observed mean is placed among those of 10,000 random sign patterns (Smucker et al., CIKM 2007);
    with 13 questions or fewer all patterns are counted and p is exact.
    """
    first, second = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if first.shape != second.shape or first.size == 0:
        raise ValueError(
            f"A paired test needs two samples of one length, got {first.size} and {second.size}."
        )
    difference = first - second
    low, high = _interval(difference[:, None], seed)[:, 0]
    wins, losses = int((difference > TIE).sum()), int((difference < -TIE).sum())
    return Difference(
        n=difference.size,
        mean=float(difference.mean()),
        low=float(low),
        high=float(high),
        p=_sign_flip_p(difference, seed),
        wins=wins,
        losses=losses,
        ties=difference.size - wins - losses,
    )


def _interval(columns: Floats, seed: int) -> Floats:
    """Return the bounds of each column's mean, shape (2, columns)."""
    weights = _resample_counts(columns.shape[0], seed)
    means = weights @ columns / columns.shape[0]
    tail = 100 * (1 - LEVEL) / 2
    return np.asarray(np.percentile(means, [tail, 100 - tail], axis=0), dtype=np.float64)


def _sign_flip_p(difference: Floats, seed: int) -> float:
    # Equal questions do not move the sum, whatever their sign.
    moved = difference[np.abs(difference) > TIE]
    if moved.size == 0:
        return 1.0
    observed = abs(moved.sum())
    exact = 2**moved.size <= PERMUTATIONS
    signs: Floats = _all_signs(moved.size) if exact else _random_signs(moved.size, seed)
    as_extreme = int((np.abs(signs @ moved) >= observed - TIE).sum())
    # The observed pattern counts itself, so a sampled p is never 0.
    return as_extreme / len(signs) if exact else (as_extreme + 1) / (len(signs) + 1)


@lru_cache(maxsize=64)
def _resample_counts(n: int, seed: int) -> Floats:
    """Return how often each question is drawn in each resample, shape (RESAMPLES, n)."""
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)


@lru_cache(maxsize=8)
def _random_signs(n: int, seed: int) -> Floats:
    return np.random.default_rng(seed).choice([-1.0, 1.0], size=(PERMUTATIONS, n))


def _all_signs(n: int) -> Floats:
    bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
    return np.asarray(bits * 2.0 - 1.0, dtype=np.float64)
