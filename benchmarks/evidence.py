"""Fits the judgement of evidence: the weights of its two measures, and what each threshold refuses.

    python -m benchmarks.evidence DATA [--limit N] [--cache FOLDER]

Asks what benchmarks.answers asks of adaptive: each question of its own documents, of those without the
passages that answer it, and of another set's. A logistic is fitted on one half of the questions of all sets,
and again on all sets but one; its weights are those of `passage` and `lead`, with an intercept for each
strategy. adaptive_rag/answer/evidence.py tells why the code weighs both the same. Then the other half is
judged as the code stands: for each strategy and set the share that is refused, also where the threshold is a
little lower or higher.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

from adaptive_rag.answer.evidence import MIDDLE, SLOPE, Evidence, judge_evidence
from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.answer.styles import STYLES
from adaptive_rag.evaluation.corpora import default_cache
from adaptive_rag.text.vectors import Scores
from benchmarks.answers import ELSEWHERE, SETS, WHOLE, WITHOUT_GOLD, ask_all

MEASURES = ("passage", "lead")
# A question weighs as much with its answer as without it in both ways.
SHARES = {WHOLE: 1.0, WITHOUT_GOLD: 0.7, ELSEWHERE: 0.3}
# Sums that are added to the threshold.
STEPS = (-0.12, -0.06, 0.0, 0.06, 0.12)
# Strength of the penalty on the square of the weights, per question.
RIDGE = 1e-4


@dataclass(frozen=True)
class Judged:
    """What was measured of one question, asked one way."""

    dataset: str
    id: str
    where: str
    strategy: str
    measures: tuple[float, ...]  # in the order of MEASURES

    @property
    def fitted(self) -> bool:
        """Tell whether it belongs to the half that is fitted on."""
        return zlib.crc32(self.id.encode()) % 2 == 0


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask everything, fit, and print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--limit", type=int, help="ask a sample of so many questions a data set")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="folder for the indexes")
    given = parser.parse_args(arguments)
    judged = list(judge_all(given.data, given.limit, given.cache))
    print(format_weights(judged))
    print()
    print(format_refusals([one for one in judged if not one.fitted]))


def judge_all(data: Path, limit: int | None, cache: Path) -> Iterator[Judged]:
    """Ask every question in every way, and yield what was measured where something was read."""
    with recorded() as calls:
        for asked in ask_all(data, SETS, limit, cache):
            if asked.arm == "adaptive":
                for request, evidence in calls:
                    if evidence.measures:
                        strategy = next(n for n, style in STYLES.items() if style is request.style)
                        measures = tuple(evidence.measures[name] for name in MEASURES)
                        yield Judged(asked.dataset, asked.id, asked.where, strategy, measures)
            calls.clear()


@contextmanager
def recorded() -> Iterator[list[tuple[AnswerRequest, Evidence]]]:
    """Keep what the graph judges, call by call."""
    calls: list[tuple[AnswerRequest, Evidence]] = []

    def judge(request: AnswerRequest) -> Evidence:
        evidence = judge_evidence(request)
        calls.append((request, evidence))
        return evidence

    with patch("adaptive_rag.answer.parts.judge_evidence", judge):
        yield calls


def fit(judged: Sequence[Judged]) -> Scores:
    """Return the weights of the measures, by Newton's method on a logistic with an intercept a strategy."""
    strategies = sorted({one.strategy for one in judged})
    sizes = {name: sum(SHARES[one.where] for one in judged if one.dataset == name) for name in SETS}
    rows = np.array(
        [[*one.measures, *(one.strategy == name for name in strategies)] for one in judged], float
    )
    answered = np.array([one.where == WHOLE for one in judged], float)
    shares = np.array([SHARES[one.where] / sizes[one.dataset] for one in judged]) * len(judged)
    weights = np.zeros(rows.shape[1])
    for _ in range(30):
        likely = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (shares * (answered - likely)) - RIDGE * len(judged) * weights
        curve = (rows * (shares * likely * (1 - likely))[:, None]).T @ rows
        weights += np.linalg.solve(curve + RIDGE * len(judged) * np.eye(len(weights)), slope)
    return np.asarray(weights[: len(MEASURES)])


def format_weights(judged: Sequence[Judged]) -> str:
    """Return the fitted weights as a Markdown table: of all sets, and without each of them."""
    half = [one for one in judged if one.fitted]
    names = list(dict.fromkeys(one.dataset for one in half))
    fits = {"all": half}
    if len(names) > 1:
        fits |= {f"without {name}": [one for one in half if one.dataset != name] for name in names}
    lines = ["| fitted on | passage | lead |", "|---|--:|--:|"]
    for name, rows in fits.items():
        lines.append(f"| {name} | {' | '.join(f'{weight:.1f}' for weight in fit(rows))} |")
    return "\n".join([*lines, f"| in the code | {SLOPE:.1f} | {SLOPE:.1f} |"])


def format_refusals(judged: Sequence[Judged]) -> str:
    """Return the share refused as a Markdown table, for the threshold and for others near it."""
    names = [f"{step:+.2f}" if step else "as it is" for step in STEPS]
    lines = [
        f"| strategy | data | asked | n | {' | '.join(names)} |",
        f"|---|---|---|--:|{'--:|' * len(STEPS)}",
    ]
    for strategy, dataset, where in sorted({(j.strategy, j.dataset, j.where) for j in judged}):
        sums = [
            sum(j.measures) for j in judged if (j.strategy, j.dataset, j.where) == (strategy, dataset, where)
        ]
        needed = threshold(strategy)
        cells = (f"{np.mean(np.array(sums) < needed + step):.2f}" for step in STEPS)
        lines.append(f"| {strategy} | {dataset} | {where} | {len(sums)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def threshold(strategy: str) -> float:
    """Return the sum of measures that a strategy's answer needs."""
    evidence = STYLES[strategy].evidence
    return float(MIDDLE + np.log(evidence / (1 - evidence)) / SLOPE)


if __name__ == "__main__":
    main()
