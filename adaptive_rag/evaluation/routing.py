"""Score the router: its accuracy, its calibration, and its risk at each coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from adaptive_rag.state import ROUTED_TYPES, RoutedType

BINS = 10


@dataclass(frozen=True)
class RoutedQuestion:
    """A question's label and the router's prediction."""

    label: RoutedType
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
    """The scores of a router on one set of questions."""

    n: int
    accuracy: float
    macro_f1: float
    f1: dict[RoutedType, float]
    confusion: dict[RoutedType, dict[str, int]]  # label -> predicted -> questions
    calibration_error: float
    bins: list[Bin]
    # (share of questions taken, share of them routed wrongly), the most confident questions first
    risk_coverage: list[tuple[float, float]]
    risk_area: float


def score_routing(routed: Sequence[RoutedQuestion]) -> RoutingReport | None:
    """Score a router; return None if there is no question.

    Calibration is the expected calibration error over ten bins of equal width (Naeini et al., AAAI
    2015); the risk-coverage curve and its area follow Geifman and El-Yaniv (NeurIPS 2017). Macro-F1 is
    the mean over the types that occur as a label.
    """
    if not routed:
        return None
    counts = Counter((question.label, question.predicted) for question in routed)
    confusion = {label: {str(name): counts[label, name] for name in ROUTED_TYPES} for label in ROUTED_TYPES}
    f1: dict[RoutedType, float] = {}
    for label, row in confusion.items():
        if labelled := sum(row.values()):
            predicted = sum(other[label] for other in confusion.values())
            f1[label] = 2 * row[label] / (labelled + predicted)
    bins, curve = reliability(routed), risk_coverage(routed)
    return RoutingReport(
        n=len(routed),
        accuracy=sum(confusion[label][label] for label in ROUTED_TYPES) / len(routed),
        macro_f1=sum(f1.values()) / len(f1),
        f1=f1,
        confusion=confusion,
        calibration_error=sum(bin_.n * abs(bin_.accuracy - bin_.probability) for bin_ in bins) / len(routed),
        bins=bins,
        risk_coverage=curve,
        risk_area=sum(risk for _, risk in curve) / len(curve),
    )


def reliability(routed: Sequence[RoutedQuestion]) -> list[Bin]:
    """Group questions by the probability of their type; empty bins are left out."""
    edges = np.linspace(0, 1, BINS + 1)
    bin_numbers = np.digitize([question.probability for question in routed], edges[1:-1], right=True)
    bins = []
    for number in np.unique(bin_numbers):
        members = [question for question, n in zip(routed, bin_numbers, strict=True) if n == number]
        probability = fmean(question.probability for question in members)
        accuracy = fmean(question.label == question.predicted for question in members)
        low, high = edges[number : number + 2].tolist()
        bins.append(Bin(low, high, len(members), probability, accuracy))
    return bins


def risk_coverage(routed: Sequence[RoutedQuestion]) -> list[tuple[float, float]]:
    """Return, for every coverage, the share of wrong routes among the most confident questions.

    Questions with the same probability cannot be ordered: they share the risk at which all are included.
    """
    ranked = sorted(routed, key=lambda question: -question.probability)
    keys = np.array([-question.probability for question in ranked])
    errors = np.cumsum([question.label != question.predicted for question in ranked])
    group_end = np.searchsorted(keys, keys, side="right")
    risks = errors[group_end - 1] / group_end
    return [(count / len(routed), float(risk)) for count, risk in enumerate(risks, 1)]
