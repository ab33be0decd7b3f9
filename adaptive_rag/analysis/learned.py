"""Part of the query analysis: what the router learned from one user's questions, kept in one file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.state import QUERY_TYPES

if TYPE_CHECKING:
    from adaptive_rag.models.onnx import Vectors

Features = Mapping[str, Mapping[str, float]]
Floats = NDArray[np.float32]

# Learning looks at these families only: letters would remember spellings.
FAMILIES = ("words", "shapes", "form")
EMBEDDING_SCALE = 2.0
FORMAT = 1


class Learned(NamedTuple):
    """Additions to the scores: four numbers for each feature by family, and for the embedding (d, 4)."""

    weights: dict[str, dict[str, Floats]]
    embedding: Floats
    bias: Floats

    def score(self, features: Features, vector: Vectors) -> Floats:
        """Give what is added to the score of each type, shape (4,)."""
        total = self.bias + EMBEDDING_SCALE * np.asarray(vector, dtype=np.float32) @ self.embedding
        for family, weights in self.weights.items():
            for name, value in scale(features[family], family).items():
                if name in weights:
                    total = total + value * weights[name]
        return np.asarray(total, dtype=np.float32)


def scale(features: Mapping[str, float], family: str) -> dict[str, float]:
    """Bring a counting family to unit length; the form's values stay as they are."""
    if family == "form" or not features:
        return dict(features)
    length = float(np.sqrt(sum(value * value for value in features.values())))
    return {name: value / length for name, value in features.items()}


def learned_file() -> Path:
    """Name the file that holds what was learned; removing it undoes the learning."""
    home = os.environ.get("ADAPTIVE_RAG_HOME")
    if home:
        return Path(home).expanduser() / "router.json"
    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(config).expanduser() / "adaptive-rag" / "router.json"


def load_learned() -> Learned | None:
    """Read what was learned, or give None where nothing was.

    Raises:
        ConfigurationError: the file is there and cannot be used.
    """
    file = learned_file()
    try:
        changed = file.stat().st_mtime_ns
    except OSError:
        return None
    return _read(file, changed)


@lru_cache(maxsize=4)
def _read(file: Path, changed: int) -> Learned:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}, expected {FORMAT}")
        weights = {
            family: {name: np.array(row, dtype=np.float32) for name, row in rows.items()}
            for family, rows in data["weights"].items()
        }
        embedding, bias = np.array(data["embedding"], np.float32), np.array(data["bias"], np.float32)
        types = len(QUERY_TYPES)
        shapes = {row.shape for rows in weights.values() for row in rows.values()} | {bias.shape}
        if not set(weights) <= set(FAMILIES) or shapes != {(types,)} or embedding.shape != (384, types):
            raise ValueError("its numbers are not those of a router")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"What the router learned, {str(file)!r}, cannot be used: {error}. "
            "Remove the file to go back to the router as shipped, or learn again with: "
            "adaptive-rag route --learn FILE"
        ) from error
    return Learned(weights, embedding, bias)


def save_learned(learned: Learned, facts: Mapping[str, Any]) -> Path:
    """Write what was learned, with facts about it for a reader of the file."""
    file = learned_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    data = {
        "format": FORMAT,
        "about": "Learned by `adaptive-rag route --learn`. Remove this file to undo it.",
        **facts,
        "bias": _plain(learned.bias),
        "embedding": [_plain(row) for row in learned.embedding],
        "weights": {
            family: {name: _plain(row) for name, row in rows.items()}
            for family, rows in learned.weights.items()
        },
    }
    part = file.with_suffix(".part")
    part.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    part.replace(file)
    return file


def _plain(row: Floats) -> list[float]:
    return [round(float(value), 5) for value in row]
