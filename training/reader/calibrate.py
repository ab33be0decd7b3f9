"""Fits how the reader's logits make one probability, on what retrieval returns for the development part.

    python -m training.reader.calibrate OUT --sources FOLDER [--cache FOLDER] [--limit N]

OUT holds `reader.onnx` and receives `calibration.json`, which `export` puts into the file. The model is a
conditional logit: one choice among all sentences of the passages that were found and "none". Prints the loss
of five folds by document set, of each set of weights that may be left out, and writes the weights of all.
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

# The penalty on how far a weight goes from that of the network as it is.
RIDGE = 1e-3
START = np.array(Calibration())
FOLDS = 5
# The share of questions that nothing found answers, as among the questions of single passages.
UNANSWERED = 0.4
# The share for which the probability is right. Set by hand, by the better calibrated of two that were tried
# on real documents (`benchmarks.real`, the half to look at): an error of .153 with that of the development
# part, .45, and of .102 with this. With this it also answers more of what nothing answers.
UNANSWERED_BY_PEOPLE = 0.35


class Choices(NamedTuple):
    """Of questions the sentences of their passages: what is known of each, and which of them answer."""

    features: np.ndarray
    """(questions, sentences, weights)"""
    there: np.ndarray
    """(questions, sentences): 0 for a sentence, -inf where a question has fewer."""
    right: np.ndarray
    """(questions, sentences): 0 for a sentence that answers, else -inf."""

    def part(self, at: np.ndarray) -> Choices:
        """Return those of some questions."""
        return Choices(self.features[at], self.there[at], self.right[at])


class Asked(NamedTuple):
    """A question, the passages that were found, and which sentences of each answer."""

    set: str
    question: str
    passages: list[Passage]
    gold: list[list[int]]


def questions(sources: Path, cache: Path, limit: int | None) -> Iterator[Asked]:
    """Yield the questions of the development part, those of a passage and those of a whole document set.

    Of the latter few are not answered, which would make the reader too sure: each of these comes so often
    that they are `UNANSWERED` of all.
    """
    for one in ask_all("development", sources, cache, limit):
        yield Asked(one.set, one.question, one.passages, one.gold)
    rows = list(read_found("development", sources))
    missed = sum(row["told"] == "no" for row in rows)
    times = max(1, round(UNANSWERED / (1 - UNANSWERED) * (len(rows) - missed) / max(1, missed)))
    for row in rows:
        asked = Asked(row["set"], query_of(row), [passage_of(each) for each in row["read"]], points_of(row))
        yield from [asked] * (times if row["told"] == "no" else 1)


def choices_of(reader: OnnxReader, asked: Sequence[Asked]) -> Choices:
    """Return what the network says of the passages of questions."""
    rows = list[list[tuple[np.ndarray, bool]]]()
    for one in asked:
        judged = [join(parts) for parts in reader.judge("question", one.question, one.passages)]
        rows.append(
            [
                (known, at in gold)
                for rank, (each, passage, gold) in enumerate(zip(judged, one.passages, one.gold, strict=True))
                for at, known in enumerate(sentence_features(one.question, passage, each, rank))
            ]
        )
    most = max(map(len, rows))
    features = np.zeros((len(rows), most, len(START)))
    there, right = (np.full((len(rows), most), -np.inf) for _ in range(2))
    for at, row in enumerate(rows):
        for which, (known, answers) in enumerate(row):
            features[at, which], there[at, which] = known, 0.0
            right[at, which] = 0.0 if answers else -np.inf
    return Choices(features, there, right)


def loss(weights: np.ndarray, choices: Choices) -> float:
    """Return the mean negative log-likelihood of what answers, or of "none", whose logit is 0."""
    logits = choices.features @ weights
    every = np.logaddexp(0.0, np.logaddexp.reduce(logits + choices.there, axis=1))
    told = np.logaddexp.reduce(logits + choices.right, axis=1)
    return float(np.mean(every - np.where(np.isfinite(told), told, 0.0)))


def fit(choices: Choices, used: Sequence[int]) -> np.ndarray:
    """Return the weights; those that are not used stay as they are without calibration."""

    def whole(values: np.ndarray) -> np.ndarray:
        weights = START.copy()
        weights[list(used)] = values
        return weights

    def penalised(values: np.ndarray) -> float:
        return loss(whole(values), choices) + RIDGE * float(np.sum((whole(values) - START) ** 2))

    return whole(minimize(penalised, START[list(used)], method="L-BFGS-B").x)


def calibrate(reader: OnnxReader, asked: Sequence[Asked]) -> Calibration:
    """Fit the weights and print what each is worth."""
    choices = choices_of(reader, asked)
    sets = sorted({one.set for one in asked})
    fold_of = np.array([sets.index(one.set) % FOLDS for one in asked])
    every = range(len(START))
    sys.stdout.write(f"{len(asked)} questions; as it is: {loss(START, choices):.4f}\n")
    # the first is the network's, the last the same for all
    left_out = range(1, len(START) - 1)
    names = [
        ("all", [*every]),
        *((f"without {Calibration._fields[i]}", [w for w in every if w != i]) for i in left_out),
    ]
    for name, used in [*names, ("scale and one", [0, len(START) - 1])]:
        held_out = [
            loss(fit(choices.part(fold_of != fold), used), choices.part(fold_of == fold))
            for fold in range(FOLDS)
        ]
        sys.stdout.write(f"{name}: {float(np.mean(held_out)):.4f}\n")
    fitted = Calibration(*map(float, fit(choices, every)))
    share = float(np.mean(~np.isfinite(choices.right).any(axis=1)))
    return fitted._replace(one=fitted.one + _odds(1 - UNANSWERED_BY_PEOPLE) - _odds(1 - share))


def _odds(share: float) -> float:
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
    fitted = calibrate(network, list(questions(options.sources, options.cache, options.limit)))
    (options.out / "calibration.json").write_text(json.dumps(fitted._asdict(), indent=1) + "\n", "utf-8")
    sys.stdout.write(f"{fitted}\n")
