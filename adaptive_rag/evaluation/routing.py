"""Scores the router: its accuracy, its calibration, and the risk at each coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from adaptive_rag.state import QUERY_TYPES, QueryType

BINS = 10


@dataclass(frozen=True)
class Routed:
    """One question's label and the router's prediction."""

    label: QueryType
    predicted: str
    probability: float  # the router's probability for its prediction


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
    """All measures of a router over one set of questions."""

    n: int
    accuracy: float
    macro_f1: float
    f1: dict[QueryType, float]
    confusion: dict[QueryType, dict[str, int]]  # label -> predicted -> questions
    calibration_error: float
    bins: list[Bin]
    # (share of questions answered, share of those routed wrongly), the most confident questions first
    risk_coverage: list[tuple[float, float]]
    risk_area: float


def score_routing(routed: Sequence[Routed]) -> RoutingReport | None:
    """Score a router; return None if no question has a label.

    Calibration is the expected calibration error over ten bins of equal width (Naeini et al., AAAI
    2015); the risk-coverage curve and its area follow Geifman and El-Yaniv (NeurIPS 2017). Macro-F1 is
    the mean over the types that occur as a label.
    """
    if not routed:
        return None
    counts = Counter((one.label, one.predicted) for one in routed)
    confusion = {label: {str(name): counts[label, name] for name in QUERY_TYPES} for label in QUERY_TYPES}
    f1: dict[QueryType, float] = {}
    for label, row in confusion.items():
        if labelled := sum(row.values()):
            predicted = sum(other[label] for other in confusion.values())
            f1[label] = 2 * row[label] / (labelled + predicted)
    bins, curve = reliability(routed), risk_coverage(routed)
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


def reliability(routed: Sequence[Routed]) -> list[Bin]:
    """Group questions by the probability of their type; empty bins are left out."""
    edges = np.linspace(0, 1, BINS + 1)
    bin_of = np.digitize([one.probability for one in routed], edges[1:-1], right=True)
    bins = []
    for number in np.unique(bin_of):
        inside = [one for one, its_bin in zip(routed, bin_of, strict=True) if its_bin == number]
        probability = fmean(one.probability for one in inside)
        accuracy = fmean(one.label == one.predicted for one in inside)
        low, high = edges[number : number + 2].tolist()
        bins.append(Bin(low, high, len(inside), probability, accuracy))
    return bins


def risk_coverage(routed: Sequence[Routed]) -> list[tuple[float, float]]:
    """Return the share of wrong routes among the most confident questions, for every coverage.

    Questions of one probability cannot be ordered, so they share the point at which all are included.
    """
    by_sureness = sorted(routed, key=lambda one: -one.probability)
    doubt = np.array([-one.probability for one in by_sureness])
    wrong = np.cumsum([one.label != one.predicted for one in by_sureness])
    group_end = np.searchsorted(doubt, doubt, side="right")
    risk = wrong[group_end - 1] / group_end
    return [(place / len(routed), float(r)) for place, r in enumerate(risk, 1)]
