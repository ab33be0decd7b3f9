"""Second step of the query analysis: a small network scores a question for each type.

It is all-MiniLM-L6-v2, trained on typed questions (`training/router.py`).
"""

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.models.onnx import CHARACTERS_PER_TOKEN, check_digest, load_session, load_tokenizer
from adaptive_rag.models.reader import TOKENIZER
from adaptive_rag.private import home
from adaptive_rag.state import ROUTED_TYPES
from adaptive_rag.text.visible import without_surrogates

NETWORK = Path(__file__).parent / "router.onnx"
NETWORK_SHA256 = "2d08356a326bdffa84ffa07bbc1e0eb754535eae487bc270e9862acec1479116"
INPUTS, OUTPUTS = ("input_ids", "token_type_ids", "attention_mask"), ("vector", "scores")
# The number of values of a question's vector.
DIMENSION = 384
MAX_TOKENS = 128
# Maximum number of characters of what users say about themselves; the beginning tells whether it matters.
MAX_CONTEXT = 300
LEARNED_FORMAT = 2

Floats = NDArray[np.float32]


class RouterScores(NamedTuple):
    """The calibrated score of each type (4,), and the unit vector of the question (d,)."""

    total: Floats
    vector: Floats


class LearnedWeights(NamedTuple):
    """Weights learned from use, (d, 4) for the question's vector and (4,)."""

    weights: Floats
    bias: Floats

    def score(self, vector: Floats) -> Floats:
        """Return what the learned weights add to the score of each type, shape (4,)."""
        return np.asarray(vector @ self.weights + self.bias, dtype=np.float32)


class QuestionEncoder:
    """Tokenizes questions for the network."""

    def __init__(self) -> None:
        self._tokenizer = load_tokenizer(TOKENIZER, MAX_TOKENS)
        self._tokenizer.no_padding()

    def encode(self, text: str, context: str) -> tuple[list[int], list[int]]:
        """Return the ids and types of a question's tokens, followed by those of the user's context."""
        # The tokenizer refuses a lone surrogate, such as a byte of a command line that is not UTF-8.
        text, context = without_surrogates(text), without_surrogates(context)
        # A question mark says who typed the question rather than what it asks.
        text = text[: MAX_TOKENS * CHARACTERS_PER_TOKEN].rstrip("?.! ")
        context = " ".join(context[: 2 * MAX_CONTEXT].split())[:MAX_CONTEXT]
        encoding = self._tokenizer.encode(*((text, context) if context else (text,)))
        return encoding.ids, encoding.type_ids


class Router:
    """The shipped router. Each question is run alone, so that its scores do not depend on other questions."""

    def __init__(self, network: Path) -> None:
        self._encoder = QuestionEncoder()
        self._session = load_session(network, threads=1)
        self._temperature = float(self._session.get_modelmeta().custom_metadata_map["temperature"])

    def score(self, text: str, context: str = "") -> RouterScores:
        """Return the scores of a question, given in full, with what users say about themselves."""
        ids, types = (np.array([row], dtype=np.int64) for row in self._encoder.encode(text, context))
        inputs = dict(zip(INPUTS, (ids, types, np.ones_like(ids)), strict=True))
        [vector], [scores] = self._session.run(list(OUTPUTS), inputs)
        return RouterScores(scores / self._temperature, vector / np.linalg.norm(vector))


@cache
def load_router() -> Router:
    """Load the shipped router."""
    check_digest(NETWORK, NETWORK_SHA256)
    return Router(NETWORK)


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
        weights, bias = (np.array(data[name], dtype=np.float32) for name in ("weights", "bias"))
        if weights.shape != (DIMENSION, len(ROUTED_TYPES)) or bias.shape != (len(ROUTED_TYPES),):
            raise ValueError("its weights do not have the shapes of a router")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ConfigurationError(
            f"What the router learned, {str(file)!r}, cannot be used: {error}. "
            "Remove the file to go back to the router as shipped, or learn again with: "
            "adaptive-rag route --learn FILE"
        ) from error
    return LearnedWeights(weights, bias)
