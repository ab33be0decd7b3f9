"""Says how sure a figure is: bootstrap intervals, and paired permutation tests against a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive_rag.errors import import_extra

RESAMPLES = 2_000
PERMUTATIONS = 10_000
LEVEL = 0.95
# Differences smaller than this are rounding, not wins.
TIE = 1e-9
# Numbers that a batch of resamples may hold at once: 16 MB.
BATCH_SIZE = 2_000_000

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


def intervals(samples: Sequence[ArrayLike], seed: int = 0) -> list[tuple[float, float]]:
    """Return the 95 % percentile bootstrap interval of each sample's mean (Efron 1979).

    Raises:
        ValueError: a sample is empty.
        MissingExtraError: SciPy is not installed.
    """
    arrays = [np.asarray(sample, dtype=np.float64) for sample in samples]
    if any(array.size == 0 for array in arrays):
        raise ValueError("An interval needs at least one value.")
    found: list[tuple[float, float]] = [(0.0, 0.0)] * len(arrays)
    for places, rows in _by_length(arrays):
        low, high = _bootstrap(rows, seed)
        for place, bounds in zip(places, zip(low, high, strict=True), strict=True):
            found[place] = (float(bounds[0]), float(bounds[1]))
    return found


def compare_all(pairs: Sequence[tuple[ArrayLike, ArrayLike]], seed: int = 0) -> list[Difference]:
    """Compare paired samples, first minus second; p is that of the two-sided sign-flip permutation test.

    Under the null hypothesis each question's difference is as likely to have the other sign, so the
    observed mean is placed among those of 10,000 random sign patterns (Smucker et al., CIKM 2007);
    with 13 questions or fewer all patterns are counted and p is exact.

    Raises:
        ValueError: the samples of a pair differ in length, or are empty.
        MissingExtraError: SciPy is not installed.
    """
    differences = []
    for values, baseline in pairs:
        first, second = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
        if first.shape != second.shape or first.size == 0:
            raise ValueError(
                f"A paired test needs two samples of one length, got {first.size} and {second.size}."
            )
        differences.append(first - second)
    p_values = [1.0] * len(differences)
    for places, rows in _by_length(differences):
        for place, p in zip(places, _sign_flip(rows, seed), strict=True):
            p_values[place] = float(p)
    return [
        Difference(
            n=difference.size,
            mean=float(difference.mean()),
            low=low,
            high=high,
            p=p,
            wins=int((difference > TIE).sum()),
            losses=int((difference < -TIE).sum()),
            ties=int((np.abs(difference) <= TIE).sum()),
        )
        for difference, (low, high), p in zip(
            differences, intervals(differences, seed), p_values, strict=True
        )
    ]


def compare(values: ArrayLike, baseline: ArrayLike, seed: int = 0) -> Difference:
    """Compare two paired samples, as `compare_all` does."""
    return compare_all([(values, baseline)], seed)[0]


def _by_length(arrays: Sequence[Floats]) -> Iterator[tuple[list[int], Floats]]:
    """Group samples of one length, shape (samples, questions); a group shares its resamples."""
    for length in sorted({array.size for array in arrays}):
        places = [place for place, array in enumerate(arrays) if array.size == length]
        yield places, np.stack([arrays[place] for place in places])


def _bootstrap(rows: Floats, seed: int) -> tuple[Floats, Floats]:
    if rows.shape[1] == 1:
        return rows[:, 0], rows[:, 0]
    found = _scipy_stats().bootstrap(
        (rows,),
        np.mean,
        axis=-1,
        method="percentile",
        confidence_level=LEVEL,
        n_resamples=RESAMPLES,
        batch=max(1, BATCH_SIZE // rows.size),
        rng=seed,
    )
    return found.confidence_interval.low, found.confidence_interval.high


def _sign_flip(rows: Floats, seed: int) -> Floats:
    """Return the p of each row of differences."""
    if rows.shape[1] == 1:
        return np.ones(len(rows))
    # In whole multiples of TIE all sums are exact, so equal sums compare as equal.
    whole = np.rint(rows / TIE).T

    def distance(signs: Floats, axis: int) -> Floats:
        return np.abs(np.asarray(signs @ whole, dtype=np.float64))

    found = _scipy_stats().permutation_test(
        (np.ones(len(whole)),),
        distance,
        permutation_type="samples",
        alternative="greater",
        vectorized=True,
        n_resamples=PERMUTATIONS,
        batch=max(1, BATCH_SIZE // (2 * len(whole) + len(rows))),
        rng=seed,
    )
    return np.asarray(found.pvalue, dtype=np.float64)


def _scipy_stats() -> Any:
    return import_extra("scipy.stats", extra="eval", purpose="Measuring how sure a figure is")
