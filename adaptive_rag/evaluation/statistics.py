"""Measure the uncertainty of figures: bootstrap intervals, and paired permutation tests against a baseline.

Both raise MissingExtraError if SciPy is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive_rag.errors import import_extra

RESAMPLES = 2_000
PERMUTATIONS = 10_000
LEVEL = 0.95
# Smaller differences are rounding errors, not wins: a cosine is a float32, and scores have six decimals.
TIE = 1e-6
# Numbers in a batch of resamples; as float64 they take 16 MB.
BATCH_SIZE = 2_000_000

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """The difference between two systems over the same questions."""

    n: int
    mean: float
    low: float
    high: float
    p: float
    wins: int
    losses: int
    ties: int


def intervals(samples: Sequence[ArrayLike], seed: int = 0) -> list[list[float]]:
    """Return the 95 % percentile bootstrap interval of each sample's mean (Efron 1979).

    Raises:
        ValueError: a sample is empty.
    """
    return _by_length(_bootstrap, [np.asarray(sample, float) for sample in samples], seed)


def compare_all(pairs: Sequence[tuple[ArrayLike, ArrayLike]], seed: int = 0) -> list[Difference]:
    """Compare paired samples, first minus second; p is that of the two-sided sign-flip permutation test.

    Under the null hypothesis, each question's difference is as likely to have the other sign. The observed
    mean is therefore compared with those of 10,000 random sign patterns (Smucker et al., CIKM 2007); with 13
    questions or fewer, all patterns are counted and p is exact.

    Raises:
        ValueError: the samples of a pair differ in length, or are empty.
    """
    differences = []
    for values, baseline in pairs:
        first, second = np.asarray(values, float), np.asarray(baseline, float)
        if first.shape != second.shape or first.size == 0:
            raise ValueError(
                f"A paired test needs two samples of one length, got {first.size} and {second.size}."
            )
        difference = first - second
        differences.append(np.where(np.abs(difference) <= TIE, 0.0, difference))
    bounds, p_values = intervals(differences, seed), _by_length(_sign_flip, differences, seed)
    return [
        Difference(
            n=d.size,
            mean=float(d.mean()),
            low=low,
            high=high,
            p=p,
            wins=int((d > 0).sum()),
            losses=int((d < 0).sum()),
            ties=int((d == 0).sum()),
        )
        for d, (low, high), p in zip(differences, bounds, p_values, strict=True)
    ]


def _by_length(
    measure: Callable[[Any, Floats, int], Floats], samples: Sequence[Floats], seed: int
) -> list[Any]:
    """Return the measure of each sample.

    Samples of one length are stacked, shape (samples, length), and share their resamples, which saves time.
    """
    stats = import_extra("scipy.stats", extra="eval", purpose="Measuring how sure a figure is")
    results: list[Any] = [None] * len(samples)
    for length in {sample.size for sample in samples}:
        if length == 0:
            raise ValueError("An interval needs at least one value.")
        positions = [position for position, sample in enumerate(samples) if sample.size == length]
        rows = np.stack([samples[position] for position in positions])
        for position, result in zip(positions, measure(stats, rows, seed).tolist(), strict=True):
            results[position] = result
    return results


def _bootstrap(stats: Any, rows: Floats, seed: int) -> Floats:
    """Return the bounds of the bootstrap interval of each row's mean, shape (rows, 2)."""
    if rows.shape[1] == 1:
        return np.repeat(rows, 2, axis=1)
    result = stats.bootstrap(
        (rows,),
        np.mean,
        axis=-1,
        method="percentile",
        confidence_level=LEVEL,
        n_resamples=RESAMPLES,
        batch=max(1, BATCH_SIZE // rows.size),
        rng=seed,
    )
    return np.stack(list(result.confidence_interval), axis=-1)


def _sign_flip(stats: Any, rows: Floats, seed: int) -> Floats:
    """Return the p-value of the sign-flip test for each row of differences."""
    if rows.shape[1] == 1:
        return np.ones(len(rows))
    # Sums of whole multiples of TIE are exact, so that equal sums compare as equal.
    multiples = np.rint(rows / TIE).T
    result = stats.permutation_test(
        (np.ones(len(multiples)),),
        lambda signs, axis: np.abs(signs @ multiples),
        permutation_type="samples",
        alternative="greater",
        vectorized=True,
        n_resamples=PERMUTATIONS,
        batch=max(1, BATCH_SIZE // (2 * len(multiples) + len(rows))),
        rng=seed,
    )
    return np.asarray(result.pvalue, float)
