"""The linear router of the query analysis: named features and an embedding in, four probabilities out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.analysis.features import Question, extract, find_kind
from adaptive_rag.state import QUERY_TYPES

if TYPE_CHECKING:
    from adaptive_rag.analysis.learned import Learned
    from adaptive_rag.models.onnx import Vectors

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
    """The weights: families of named features, the embedding's part by kind (k, d, 4), bias, temperatures."""

    families: dict[str, Family]
    embedding: Floats
    bias: Floats
    temperature: float
    first_person_temperature: float


class Contribution(NamedTuple):
    """What the features of one family, by name, added to the score of each type; scores are (n, 4)."""

    family: str
    names: tuple[str, ...]
    scores: Floats


class Scores(NamedTuple):
    """The calibrated score of each type (4,), what made it up, and the features that were read."""

    total: Floats
    contributions: tuple[Contribution, ...]
    features: dict[str, dict[str, float]]


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
            float(facts["first_person_temperature"]),
        )


def score(router: Router, question: Question, vector: Vectors, learned: Learned | None) -> Scores:
    """Score a question for each type, and keep what each feature contributed.

    What was learned from use is added to the calibrated scores, since it was fitted on these.
    """
    features = extract(question)
    kind = find_kind(features["form"])
    parts: list[Contribution] = []
    total = router.bias + vector.astype(np.float32) @ router.embedding[kind]
    parts.append(Contribution("embedding", ("",), (total - router.bias)[None]))
    for family, found in features.items():
        names, rows, values = _present(router.families[family], found)
        scores = router.families[family].weights[rows] * values[:, None]
        total = total + scores.sum(axis=0)
        parts.append(Contribution(family, tuple(names), scores))
    first_person = "first person" in features["form"]
    total = total / (router.first_person_temperature if first_person else router.temperature)
    if learned is not None:
        own = learned.score(features, vector)
        total = total + own
        parts.append(Contribution("learned", ("what was learned from use",), own[None]))
    return Scores(total, tuple(parts), features)


def softmax(scores: Floats) -> Floats:
    """Turn scores into probabilities."""
    powers = np.exp(scores - scores.max())
    return np.asarray(powers / powers.sum(), dtype=np.float32)


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
