"""Scores the router: how often it is right, how honest its probabilities are, what it should be unsure of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from adaptive_rag.state import QUERY_TYPES, QueryType

BINS = 10


@dataclass(frozen=True)
class Routed:
    """One question's label and what the router made of it."""

    label: QueryType
    predicted: QueryType
    probability: float  # that the router gave to what it predicted


@dataclass(frozen=True)
class Bin:
    """The questions whose probability lies in (low, high]."""

    low: float
    high: float
    n: int
    probability: float
    accuracy: float


@dataclass(frozen=True)
class RoutingReport:
    """All that is measured of a router over one set of questions."""

    n: int
    accuracy: float
    macro_f1: float
    f1: dict[QueryType, float]
    confusion: dict[QueryType, dict[QueryType, int]]  # label -> predicted -> questions
    calibration_error: float
    bins: list[Bin]
    # (share of questions answered, share of those routed wrongly), the surest questions first
    risk_coverage: list[tuple[float, float]]
    risk_area: float


def score_routing(routed: Sequence[Routed]) -> RoutingReport | None:
    """Score a router; None where no question has a label.

    Calibration is the expected calibration error over ten bins of equal width (Naeini et al., AAAI
    2015); the risk-coverage curve and its area follow Geifman and El-Yaniv (NeurIPS 2017). Macro-F1 is
    the mean over the types that occur as a label.
    """
    if not routed:
        return None
    confusion = {label: dict.fromkeys(QUERY_TYPES, 0) for label in QUERY_TYPES}
    for one in routed:
        confusion[one.label][one.predicted] += 1
    f1 = {label: _f1(confusion, label) for label in QUERY_TYPES if sum(confusion[label].values())}
    bins = reliability(routed)
    curve = risk_coverage(routed)
    return RoutingReport(
        n=len(routed),
        accuracy=sum(confusion[label][label] for label in QUERY_TYPES) / len(routed),
        macro_f1=sum(f1.values()) / len(f1),
        f1=f1,
        confusion=confusion,
        calibration_error=sum(b.n * abs(b.accuracy - b.probability) for b in bins) / len(routed),
        bins=bins,
        risk_coverage=curve,
        risk_area=sum(risk for _, risk in curve) / len(curve),
    )


def reliability(routed: Sequence[Routed], bins: int = BINS) -> list[Bin]:
    """Group questions by the probability of their type; empty bins are left out."""
    found = []
    for low, high in pairwise(np.linspace(0, 1, bins + 1)):
        inside = [one for one in routed if low < one.probability <= high or (low == 0 == one.probability)]
        if inside:
            found.append(
                Bin(
                    low=float(low),
                    high=float(high),
                    n=len(inside),
                    probability=sum(one.probability for one in inside) / len(inside),
                    accuracy=sum(one.label == one.predicted for one in inside) / len(inside),
                )
            )
    return found


def risk_coverage(routed: Sequence[Routed]) -> list[tuple[float, float]]:
    """Return the share of wrong routes among the surest questions, for every coverage.

    Questions of one probability cannot be told apart, so they share the point at which all are in.
    """
    by_sureness = sorted(routed, key=lambda one: -one.probability)
    curve: list[tuple[float, float]] = []
    wrong, group_start = 0, 0
    for position, one in enumerate(by_sureness, 1):
        wrong += one.label != one.predicted
        last_of_group = position == len(by_sureness) or by_sureness[position].probability != one.probability
        if last_of_group:
            risk = wrong / position
            curve += [(place / len(by_sureness), risk) for place in range(group_start + 1, position + 1)]
            group_start = position
    return curve


def _f1(confusion: dict[QueryType, dict[QueryType, int]], label: QueryType) -> float:
    hit = confusion[label][label]
    labelled = sum(confusion[label].values())
    predicted = sum(row[label] for row in confusion.values())
    return 2 * hit / (labelled + predicted) if labelled + predicted else 0.0
