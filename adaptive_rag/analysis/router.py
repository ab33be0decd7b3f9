"""Third step of the query analysis: a linear model scores a question for each type."""

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.analysis.features import Features, extract_features, find_kind
from adaptive_rag.analysis.parse import ParsedQuestion
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.models.onnx import Vectors, load_minilm
from adaptive_rag.private import home
from adaptive_rag.state import ROUTED_TYPES

WEIGHTS = Path(__file__).parent / "router.npz"

# The families that are learned from use; "letters" is not, since it would memorize spellings.
LEARNED_FAMILIES = ("words", "shapes", "form")
LEARNED_EMBEDDING_SCALE = 2.0
LEARNED_FORMAT = 1

Floats = NDArray[np.float32]


class Family(NamedTuple):
    """The weights of one family of named features.

    `importance` (n,) is multiplied with the features before they are scaled to unit length; `weights` is
    (n, 4).
    """

    rows: dict[str, int]
    importance: Floats
    weights: Floats
    is_normalised: bool

    def score(self, features: Mapping[str, float]) -> tuple[list[str], Floats]:
        """Return the names of the features that have weights, and what each adds to each score (n, 4)."""
        names = [name for name in features if name in self.rows]
        rows = np.array([self.rows[name] for name in names], dtype=np.intp)
        values = np.array([features[name] for name in names], dtype=np.float32) * self.importance[rows]
        if self.is_normalised and len(rows):
            values /= np.linalg.norm(values)
        return names, self.weights[rows] * values[:, None]


class LearnedWeights(NamedTuple):
    """Weights learned from use: (4,) for each feature of each family, and (d, 4) for the embedding."""

    weights: dict[str, dict[str, Floats]]
    embedding: Floats
    bias: Floats

    def score(self, features: Features, vector: Vectors) -> Floats:
        """Return what the learned weights add to the score of each type, shape (4,)."""
        total = self.bias + LEARNED_EMBEDDING_SCALE * np.asarray(vector, dtype=np.float32) @ self.embedding
        for family, weights in self.weights.items():
            for name, value in normalise(features[family], family).items():
                if name in weights:
                    total = total + value * weights[name]
        return np.asarray(total, dtype=np.float32)


class RouterScores(NamedTuple):
    """The calibrated score of each type (4,), and the contributions to it.

    A contribution is a family, the names of its features, and what each feature added (n, 4).
    """

    total: Floats
    contributions: list[tuple[str, list[str], Floats]]
    features: Features


class Router(NamedTuple):
    """The router's weights: feature families, embedding weights by kind (k, d, 4), bias and temperatures."""

    families: dict[str, Family]
    embedding: Floats
    bias: Floats
    temperature: float
    first_person_temperature: float

    def score(
        self, question: ParsedQuestion, vector: Vectors, learned: LearnedWeights | None = None
    ) -> RouterScores:
        """Return the scores of a question, with what each feature contributed."""
        features = extract_features(question)
        embedding = self.embedding[find_kind(features["form"])]
        total = self.bias + np.asarray(vector, dtype=np.float32) @ embedding
        contributions = [("embedding", [""], (total - self.bias)[None])]
        for family, family_features in features.items():
            names, scores = self.families[family].score(family_features)
            total = total + scores.sum(axis=0)
            contributions.append((family, names, scores))
        is_first_person = "first person" in features["form"]
        total = total / (self.first_person_temperature if is_first_person else self.temperature)
        # The learned weights were fitted on calibrated scores, so they are added after the temperature.
        if learned is not None:
            added = learned.score(features, vector)
            total = total + added
            contributions.append(("learned", ["what was learned from use"], added[None]))
        return RouterScores(total, contributions, features)


@cache
def load_router() -> Router:
    """Load the shipped weights, which are plain arrays without pickled objects."""
    with np.load(WEIGHTS, allow_pickle=False) as data:
        facts = json.loads(data["facts"].tobytes())
        families = {}
        for family in facts["families"]:
            names = data[f"{family}.names"].tobytes().decode()
            rows = {name: row for row, name in enumerate(names.split("\n"))}
            importance = data[f"{family}.importance"].astype(np.float32)
            weights = data[f"{family}.weights"].astype(np.float32)
            families[family] = Family(rows, importance, weights, is_normalised=family != "form")
        embedding, bias = data["embedding"].astype(np.float32), data["bias"].astype(np.float32)
        temperatures = float(facts["temperature"]), float(facts["first_person_temperature"])
        return Router(families, embedding, bias, *temperatures)


def embed_questions(questions: Sequence[ParsedQuestion]) -> Vectors:
    """Return the MiniLM vectors of questions (n, d)."""
    return load_minilm().encode([question.full_text for question in questions])


def learned_file() -> Path:
    """Return the path of the user's file of learned weights; removing the file undoes the learning."""
    return home() / "router.json"


def load_learned(file: Path | None = None) -> LearnedWeights | None:
    """Load the weights learned from use, by default the user's own; return None if there are none.

    Raises:
        ConfigurationError: the file exists but cannot be used.
    """
    file = file or learned_file()
    try:
        changed = file.stat().st_mtime_ns
    except OSError:
        return None
    return _read_learned(file, changed)


@lru_cache(maxsize=4)
def _read_learned(file: Path, changed: int) -> LearnedWeights:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["format"] != LEARNED_FORMAT:
            raise ValueError(f"its format is {data['format']!r}, expected {LEARNED_FORMAT}")
        weights = {
            family: {name: np.array(row, dtype=np.float32) for name, row in rows.items()}
            for family, rows in data["weights"].items()
        }
        embedding, bias = np.array(data["embedding"], np.float32), np.array(data["bias"], np.float32)
        types = len(ROUTED_TYPES)
        shapes = {row.shape for rows in weights.values() for row in rows.values()} | {bias.shape}
        has_known_families = set(weights) <= set(LEARNED_FAMILIES)
        if not has_known_families or shapes != {(types,)} or embedding.shape != (384, types):
            raise ValueError("its weights do not have the families and shapes of a router")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ConfigurationError(
            f"What the router learned, {str(file)!r}, cannot be used: {error}. "
            "Remove the file to go back to the router as shipped, or learn again with: "
            "adaptive-rag route --learn FILE"
        ) from error
    return LearnedWeights(weights, embedding, bias)


def normalise(features: Mapping[str, float], family: str) -> dict[str, float]:
    """Scale the features of a family to unit length, except those of the family "form"."""
    if family == "form" or not features:
        return dict(features)
    length = float(np.sqrt(sum(value * value for value in features.values())))
    return {name: value / length for name, value in features.items()}
