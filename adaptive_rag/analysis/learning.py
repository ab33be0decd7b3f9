"""Beside the query analysis: fits a user's own labelled questions on top of the shipped router."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.analysis import router
from adaptive_rag.analysis.features import extract, take_apart
from adaptive_rag.analysis.learned import EMBEDDING_SCALE, FAMILIES, Learned, save_learned, scale
from adaptive_rag.analysis.questions_file import Asked, read_questions
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.state import QUERY_TYPES

Array = NDArray[np.float64]

# With fewer questions nothing can be learned and checked.
LEAST_QUESTIONS = 12
# One question in so many is kept aside to measure on.
ASIDE = 4
# How strongly the shipped weights hold: tried on the training part, the best is taken.
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0)


class Measured(NamedTuple):
    """How well the part kept aside is routed."""

    accuracy: float
    log_loss: float


class Lesson(NamedTuple):
    """What learning did to the questions kept aside; `file` is None where it did not help."""

    learned_from: int
    kept_aside: int
    before: Measured
    after: Measured
    penalty: float
    file: Path | None


def learn(path: str | Path) -> Lesson:
    """Learn from a JSONL file of `text` and `type` (optional `user_context`, `history`), and save what helps.

    A quarter of the questions, chosen by a hash of their text, is kept aside. The file is written only
    where these are routed no worse than before, in accuracy and in log loss.

    Raises:
        ConfigurationError: the file cannot be read, or holds too few questions or only one type.
    """
    asked = read_questions(path, labelled=True)
    if len(asked) < LEAST_QUESTIONS or len({question.type for question in asked}) < 2:
        raise ConfigurationError(
            f"{str(path)!r} holds {len(asked)} labelled questions of "
            f"{len({question.type for question in asked})} types; learning needs at least "
            f"{LEAST_QUESTIONS} of two types or more."
        )
    data = _Examples.make(asked)
    aside = _choose_aside(asked)
    train = np.flatnonzero(~aside)
    penalty = _choose_penalty(data, train)
    dual = _fit(data.kernel[np.ix_(train, train)], data.scores[train], data.labels[train], penalty)
    rest = np.flatnonzero(aside)
    before = _measure(data.scores[rest], data.labels[rest])
    after = _measure(data.scores[rest] + data.kernel[np.ix_(rest, train)] @ dual, data.labels[rest])
    file = None
    if after.accuracy >= before.accuracy and after.log_loss < before.log_loss:
        facts = {
            "learned_from": len(train),
            "kept_aside": len(rest),
            "accuracy": {"before": round(before.accuracy, 4), "after": round(after.accuracy, 4)},
        }
        file = save_learned(data.weigh(train, dual), facts)
    return Lesson(len(train), len(rest), before, after, penalty, file)


@dataclass
class _Examples:
    """Questions as the learner sees them; `kernel` (n, n) is the product of their features."""

    features: list[dict[str, dict[str, float]]]
    vectors: Array
    scores: Array
    labels: NDArray[np.intp]
    kernel: Array

    @classmethod
    def make(cls, asked: Sequence[Asked]) -> _Examples:
        from adaptive_rag.models.onnx import load_minilm

        model = router.load_router()
        parts = [take_apart(one.text, one.user_context, one.history) for one in asked]
        vectors = load_minilm().encode([part.text for part in parts])
        scores = np.array(
            [
                router.score(model, part, vector, None).total
                for part, vector in zip(parts, vectors, strict=True)
            ],
            dtype=np.float64,
        )
        features = [
            {family: scale(found, family) for family, found in extract(part).items() if family in FAMILIES}
            for part in parts
        ]
        columns: dict[tuple[str, str], int] = {}
        for found in features:
            for family, named in found.items():
                for name in named:
                    columns.setdefault((family, name), len(columns))
        matrix = np.zeros((len(features), len(columns)), dtype=np.float32)
        for row, found in enumerate(features):
            for family, named in found.items():
                for name, value in named.items():
                    matrix[row, columns[family, name]] = value
        kernel = matrix @ matrix.T + EMBEDDING_SCALE**2 * vectors @ vectors.T + 1.0
        labels = np.array([QUERY_TYPES.index(one.type) for one in asked if one.type is not None])
        return cls(features, vectors.astype(np.float64), scores, labels, kernel.astype(np.float64))

    def weigh(self, rows: NDArray[np.intp], dual: Array) -> Learned:
        """Turn the weight of each example (n, 4) into the weight of each feature."""
        weights: dict[str, dict[str, Any]] = {family: {} for family in FAMILIES}
        for row, share in zip(rows, dual, strict=True):
            for family, named in self.features[row].items():
                for name, value in named.items():
                    weights[family][name] = weights[family].get(name, 0.0) + value * share
        embedding = EMBEDDING_SCALE * self.vectors[rows].T @ dual
        return Learned(weights, embedding.astype(np.float32), dual.sum(axis=0).astype(np.float32))


def _fit(kernel: Array, scores: Array, labels: NDArray[np.intp], penalty: float, steps: int = 400) -> Array:
    """Fit softmax regression in the dual, on top of given scores: penalty * dual = truth - probabilities."""
    truth = np.eye(len(QUERY_TYPES))[labels]
    dual = np.zeros_like(truth)
    largest = float(np.linalg.eigvalsh(kernel)[-1])
    step = penalty / (penalty + 0.5 * largest)
    for _ in range(steps):
        dual += step * ((truth - _soften(scores + kernel @ dual)) / penalty - dual)
    return dual


def _choose_penalty(data: _Examples, train: NDArray[np.intp]) -> float:
    folds = np.arange(len(train)) % 3

    def loss(penalty: float) -> float:
        total = 0.0
        for fold in range(3):
            seen, unseen = train[folds != fold], train[folds == fold]
            dual = _fit(
                data.kernel[np.ix_(seen, seen)], data.scores[seen], data.labels[seen], penalty, steps=150
            )
            scores = data.scores[unseen] + data.kernel[np.ix_(unseen, seen)] @ dual
            total += _measure(scores, data.labels[unseen]).log_loss * len(unseen)
        return total

    return min(PENALTIES, key=loss)


def _choose_aside(asked: Sequence[Asked]) -> NDArray[np.bool_]:
    """Keep a quarter of each type aside, by the hash of the text, so that a rerun keeps the same ones."""
    aside = np.zeros(len(asked), dtype=bool)
    for query_type in QUERY_TYPES:
        rows = [i for i, one in enumerate(asked) if one.type == query_type]
        rows.sort(key=lambda i: hashlib.sha256(asked[i].text.encode()).hexdigest())
        aside[rows[: len(rows) // ASIDE]] = True
    return aside


def _soften(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _measure(scores: Array, labels: NDArray[np.intp]) -> Measured:
    chosen = _soften(scores)[np.arange(len(labels)), labels]
    right = scores.argmax(axis=1) == labels
    return Measured(float(right.mean()), float(-np.log(np.maximum(chosen, 1e-12)).mean()))
