"""The linear router of the query analysis: named features and an embedding in, four probabilities out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.analysis.features import Question, extract
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.state import QUERY_TYPES

WEIGHTS = Path(__file__).parent / "router.npz"

Floats = NDArray[np.float32]


class Family(NamedTuple):
    """One family of named features.

    `importance` (n,) weighs a feature before the family is brought to unit length; `weights` is (n, 4).
    """

    rows: dict[str, int]
    importance: Floats
    weights: Floats
    normalised: bool


class Router(NamedTuple):
    """The weights: families of named features, the embedding's part (d, 4), the bias and the temperature."""

    families: dict[str, Family]
    embedding: Floats
    bias: Floats
    temperature: float
    facts: dict[str, str | float]


class Contribution(NamedTuple):
    """What one feature added to the score of each type."""

    family: str
    name: str
    scores: Floats


@cache
def load_router(path: Path = WEIGHTS) -> Router:
    """Read the weights; plain arrays, no pickle."""
    with np.load(path, allow_pickle=False) as data:
        facts = json.loads(data["facts"].tobytes())
        families = {}
        for family in facts["families"]:
            names = data[f"{family}.names"].tobytes().decode().split("\n")
            families[family] = Family(
                rows={name: row for row, name in enumerate(names)},
                importance=data[f"{family}.importance"].astype(np.float32),
                weights=data[f"{family}.weights"].astype(np.float32),
                normalised=family != "form",
            )
        return Router(
            families,
            data["embedding"].astype(np.float32),
            data["bias"].astype(np.float32),
            float(facts["temperature"]),
            facts,
        )


def contributions(router: Router, question: Question) -> list[Contribution]:
    """Give what each named feature of the question adds to the score of each type."""
    found: list[Contribution] = []
    for family, features in extract(question).items():
        names, rows, values = _present(router.families[family], features)
        scores = router.families[family].weights[rows] * values[:, None]
        found += [Contribution(family, name, score) for name, score in zip(names, scores, strict=True)]
    return found


def logits(router: Router, question: Question, vector: Vectors) -> Floats:
    """Give the score of each type, shape (4,), before the temperature."""
    total = router.bias + vector.astype(np.float32) @ router.embedding
    for family, features in extract(question).items():
        _, rows, values = _present(router.families[family], features)
        total = total + values @ router.families[family].weights[rows]
    return np.asarray(total, dtype=np.float32)


def probabilities(scores: Floats, temperature: float) -> Floats:
    """Softmax of scores over a temperature, along the last axis."""
    scaled = scores / temperature
    powers = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), dtype=np.float32)


def by_type(values: Floats) -> dict[str, float]:
    """Name four numbers by their query types."""
    return {name: float(value) for name, value in zip(QUERY_TYPES, values, strict=True)}


def _present(family: Family, features: Mapping[str, float]) -> tuple[list[str], NDArray[np.intp], Floats]:
    names = [name for name in features if name in family.rows]
    rows = np.array([family.rows[name] for name in names], dtype=np.intp)
    values = np.array([features[name] for name in names], dtype=np.float32) * family.importance[rows]
    if family.normalised and len(rows):
        values /= np.linalg.norm(values)
    return names, rows, values
