"""Fits the weights that turn the reader's logits into one probability, on retrieved passages.

    python -m training.reader.calibrate OUT --sources FOLDER [--cache FOLDER] [--limit N]

OUT contains `reader.onnx` and receives `calibration.json`, which `export` makes part of the file. The
passages are those that are retrieved for the questions of the development part. The model is a conditional
logit: one choice among "none" and all sentences of these passages. Prints the cross-validated loss, in five
folds by document set, with all weights and without each of them, and writes all weights.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from adaptive_rag.evaluation.corpora import default_cache
from adaptive_rag.models.reader import Calibration, OnnxReader, join, sentence_features
from adaptive_rag.text.reading import Passage
from benchmarks.reader import ask_all
from training.reader.examples import query_of
from training.reader.found import points_of, read_found
from training.reader.readings import passage_of

# Penalty on the difference between a weight and that of an uncalibrated network.
RIDGE = 1e-3
START = np.array(Calibration())
FOLDS = 5
# Share of the questions about document sets that are not answered: that of the questions about one passage.
UNANSWERED = 0.4
# Share of unanswered questions for which the probability is calibrated. Set by hand: of two shares, it had
# the smaller calibration error on real documents (`benchmarks.real`, the half to look at), .102 against .153
# with that of the development part, .45. With it, the program also answers more questions that have no
# answer.
UNANSWERED_BY_PEOPLE = 0.35


class Choices(NamedTuple):
    """The sentences of the passages of questions: their features, and which of them answer."""

    features: np.ndarray
    """(questions, sentences, weights)"""
    exists: np.ndarray
    """(questions, sentences): 0 for a sentence, -inf if the question has fewer."""
    right: np.ndarray
    """(questions, sentences): 0 for a sentence that answers, -inf for all others."""

    def select(self, questions: np.ndarray) -> Choices:
        """Return the choices of some of the questions."""
        return Choices(*(array[questions] for array in self))


class LabelledQuestion(NamedTuple):
    """A question, the retrieved passages, and the indexes of the sentences of each that answer."""

    set: str
    question: str
    passages: list[Passage]
    gold: list[list[int]]


def read_questions(sources: Path, cache: Path, limit: int | None) -> Iterator[LabelledQuestion]:
    """Yield the questions of the development part, about one passage and about a document set.

    Few of the latter are not answered, which would make the reader too sure. These are repeated, so that they
    are `UNANSWERED` of all.
    """
    for result in ask_all("development", sources, cache, limit):
        yield LabelledQuestion(result.set, result.question, result.passages, result.gold)
    rows = list(read_found("development", sources))
    unanswered = sum(row["told"] == "no" for row in rows)
    answered = len(rows) - unanswered
    times = max(1, round(UNANSWERED / (1 - UNANSWERED) * answered / max(1, unanswered)))
    for row in rows:
        passages = [passage_of(passage) for passage in row["read"]]
        question = LabelledQuestion(row["set"], query_of(row), passages, points_of(row))
        yield from [question] * (times if row["told"] == "no" else 1)


def choices_of(reader: OnnxReader, questions: Sequence[LabelledQuestion]) -> Choices:
    """Run the network on the passages of questions, and return the features of their sentences."""
    rows = [_labelled_features(reader, question) for question in questions]
    most = max(map(len, rows))
    features = np.zeros((len(rows), most, len(START)))
    exists, right = (np.full((len(rows), most), -np.inf) for _ in range(2))
    for i, row in enumerate(rows):
        for j, (sentence, answers) in enumerate(row):
            features[i, j], exists[i, j] = sentence, 0.0
            right[i, j] = 0.0 if answers else -np.inf
    return Choices(features, exists, right)


def _labelled_features(reader: OnnxReader, question: LabelledQuestion) -> list[tuple[np.ndarray, bool]]:
    """Return, for each sentence of a question's passages, its features and whether it answers."""
    parts_by_passage = reader.judge("question", question.question, question.passages)
    passages = zip(parts_by_passage, question.passages, question.gold, strict=True)
    return [
        (features, sentence in gold)
        for rank, (parts, passage, gold) in enumerate(passages)
        for sentence, features in enumerate(sentence_features(question.question, passage, join(parts), rank))
    ]


def loss(weights: np.ndarray, choices: Choices) -> float:
    """Return the mean negative log-likelihood of the right sentences, or of "none", whose logit is 0."""
    logits = choices.features @ weights
    total = np.logaddexp(0.0, np.logaddexp.reduce(logits + choices.exists, axis=1))
    right = np.logaddexp.reduce(logits + choices.right, axis=1)
    return float(np.mean(total - np.where(np.isfinite(right), right, 0.0)))


def fit(choices: Choices, used: Sequence[int]) -> np.ndarray:
    """Return the fitted weights; those that are not in `used` stay as without calibration."""

    def all_weights(values: np.ndarray) -> np.ndarray:
        weights = START.copy()
        weights[list(used)] = values
        return weights

    def penalised(values: np.ndarray) -> float:
        weights = all_weights(values)
        return loss(weights, choices) + RIDGE * float(np.sum((weights - START) ** 2))

    return all_weights(minimize(penalised, START[list(used)], method="L-BFGS-B").x)


def calibrate(reader: OnnxReader, questions: Sequence[LabelledQuestion]) -> Calibration:
    """Fit the weights, and print the loss with all of them and without each."""
    choices = choices_of(reader, questions)
    sets = sorted({question.set for question in questions})
    fold_of = np.array([sets.index(question.set) % FOLDS for question in questions])
    indexes = range(len(START))
    sys.stdout.write(f"{len(questions)} questions; uncalibrated: {loss(START, choices):.4f}\n")
    # The network's own logit comes first, and the constant last; these two are always used.
    variants = {"all": [*indexes]}
    for left_out in indexes[1:-1]:
        variants[f"without {Calibration._fields[left_out]}"] = [i for i in indexes if i != left_out]
    variants["sentence and one"] = [0, len(START) - 1]
    for name, used in variants.items():
        losses = [
            loss(fit(choices.select(fold_of != fold), used), choices.select(fold_of == fold))
            for fold in range(FOLDS)
        ]
        sys.stdout.write(f"{name}: {float(np.mean(losses)):.4f}\n")
    fitted = Calibration(*map(float, fit(choices, indexes)))
    share = float(np.mean(~np.isfinite(choices.right).any(axis=1)))
    # Correct the constant for the share of unanswered questions that is expected in use.
    correction = _log_odds(1 - UNANSWERED_BY_PEOPLE) - _log_odds(1 - share)
    return fitted._replace(one=fitted.one + correction)


def _log_odds(share: float) -> float:
    """Return the logarithm of the odds of a share, from 0 to 1, both excluded."""
    return math.log(share / (1 - share))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    network = OnnxReader(options.out / "reader.onnx", name="onnx")
    fitted = calibrate(network, list(read_questions(options.sources, options.cache, options.limit)))
    (options.out / "calibration.json").write_text(json.dumps(fitted._asdict(), indent=1) + "\n", "utf-8")
    sys.stdout.write(f"{fitted}\n")
