"""Cross-encoders, which read a question and a passage together, for the reranker of that name."""

from __future__ import annotations

import json
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
from cachetools import LRUCache, TTLCache, cached
from numpy.typing import NDArray

from adaptive_rag.deadline import in_time
from adaptive_rag.errors import (
    AdaptiveRAGError,
    AdaptiveRAGWarning,
    ConfigurationError,
    DeadlineError,
    import_extra,
)
from adaptive_rag.models.onnx import (
    CHARACTERS_PER_TOKEN,
    ONNX_FILES,
    find_network,
    load_session,
    load_tokenizer,
)
from adaptive_rag.text.vectors import Scores

EXTRA = "cross-encoder"
MAX_TOKENS, BATCH, MAX_OPEN = 512, 16, 2
# Seconds after which loading a model is tried again: a network failure may be over by then.
RETRY_AFTER_S = 60
# The files that are downloaded from Hugging Face to run a model in ONNX format.
DOWNLOADS = [pattern for file in ONNX_FILES for pattern in (file, f"{file}_data")]
DOWNLOADS += ["tokenizer.json", "config.json", "tokenizer_config.json"]
# Pairs that a model scores when it is loaded, to find out which kind of number it returns.
PROBES = (
    ("When is the library open?", "The library is open from Tuesday to Saturday."),
    ("When is the library open?", "Herring is salted and kept in barrels."),
    ("library", ""),
)
# The files of a model, with their keys, that contain the maximum number of tokens of a pair.
_LIMIT_KEYS = (("tokenizer_config.json", "model_max_length"), ("config.json", "max_position_embeddings"))
_EXPECTED = "a Hugging Face id such as 'cross-encoder/ms-marco-MiniLM-L-6-v2', or a local folder"
Pair = tuple[str, str]
Form = Literal["logit", "probability", "two logits", "two probabilities"]


class ScoringError(AdaptiveRAGError):
    """There is no cross-encoder, or it failed while scoring; the caller then keeps its own order."""


class CrossEncoder(ABC):
    """Base class of models that score passages for a question."""

    name: str
    form: Form

    def score(self, question: str, passages: Sequence[str]) -> Scores:
        """Return the relevance of each passage, 0-1, shape (len(passages),).

        Raises:
            ScoringError: the model failed, or returned something other than finite scores.
        """
        if not passages:
            return np.zeros(0)
        try:
            outputs = self.outputs([(question, passage) for passage in passages])
        except DeadlineError:
            raise
        except Exception as error:
            # A network can fail in many ways (out of memory, an unforeseen input), but the answer must not.
            raise ScoringError(f"{type(error).__name__}: {_first_line(error)}") from error
        return read_outputs(outputs, self.form)

    @abstractmethod
    def outputs(self, pairs: Sequence[Pair]) -> NDArray[Any]:
        """Return the network's raw outputs for each pair."""


def _cache_key(model: str) -> str:
    """Return the cache key of a model; for a folder its absolute path, as the working folder may change."""
    folder = Path(model.strip()).expanduser()
    return str(folder.resolve()) if folder.is_dir() else model.strip()


@cached(LRUCache(MAX_OPEN), key=_cache_key, condition=threading.Condition())
def load_reranker(model: str) -> CrossEncoder:
    """Load a cross-encoder from a local folder or by its Hugging Face id; loaded models are cached.

    A folder with model.onnx (or onnx/model.onnx) and tokenizer.json runs on onnxruntime, and so does an id
    whose repository has these files; every other model runs on sentence-transformers.

    Raises:
        ConfigurationError: there is no such folder or model, or it cannot be loaded or used.
        MissingExtraError: the model needs sentence-transformers, which is not installed.
    """
    spec = model.strip()
    if not spec:
        raise ConfigurationError(f"reranker_model = {model!r} is empty: expected {_EXPECTED}.")
    folder = Path(spec).expanduser()
    if not (local := folder.is_dir()):
        folder = _fetch(spec)
    network = find_network(folder)
    if network is None and local and not (folder / "config.json").is_file():
        raise ConfigurationError(
            f"reranker_model = {spec!r} is a folder without a cross-encoder: expected model.onnx and "
            "tokenizer.json, or config.json with weights, as sentence-transformers saves it."
        )
    try:
        if network is not None:
            return OnnxCrossEncoder(folder, name=spec)
        return TorchCrossEncoder(str(folder) if local else spec, local=local, name=spec)
    except ImportError:
        raise
    except Exception as error:
        # Each library raises its own errors for a broken file; nothing has been run for a question yet.
        raise ConfigurationError(
            f"reranker_model = {spec!r} cannot be used: {_first_line(error)} Expected a cross-encoder that "
            "reads pairs of texts and writes one relevance score."
        ) from error


def find_reranker(model: str) -> CrossEncoder:
    """Return a cross-encoder as `load_reranker` does.

    Raises:
        ScoringError: it cannot be loaded.
    """
    result = _try_to_load(model)
    if isinstance(result, str):
        raise ScoringError(result)
    return result


@cached(TTLCache(MAX_OPEN, RETRY_AFTER_S), key=_cache_key, condition=threading.Condition())
def _try_to_load(model: str) -> CrossEncoder | str:
    """Return a cross-encoder, or why it cannot be loaded; both are cached, as a failed download is slow."""
    try:
        return load_reranker(model)
    except (ConfigurationError, ImportError) as error:
        return str(error)


_warned: set[str] = set()


def warn_once(model: str, message: str) -> None:
    """Warn that a model does not score, once per model and process."""
    if model not in _warned:
        _warned.add(model)
        warnings.warn(message, AdaptiveRAGWarning, stacklevel=2)


def read_outputs(outputs: NDArray[Any], form: Form) -> Scores:
    """Convert a model's outputs into relevance, 0-1.

    For one logit, this is the sigmoid; for two, the softmax of the second. Both are computed in float64,
    since half precision would lose the order of passages with high scores.
    """
    values = np.asarray(outputs, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ScoringError("it returned a score that is not a number")
    if form in ("probability", "two probabilities"):
        if not _within_one(values):
            raise ScoringError(
                "it returned a score outside 0-1 although it had returned probabilities before"
            )
        return np.clip(values[:, 1] if form == "two probabilities" else values.reshape(len(values)), 0, 1)
    # The softmax of two logits is the sigmoid of their difference.
    logits = values[:, 1] - values[:, 0] if form == "two logits" else values.reshape(len(values))
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))


def find_form(outputs: NDArray[Any], name: str) -> Form:
    """Return whether a model returns logits or probabilities, by its outputs for the probes.

    Two values that add up to 1 are probabilities. A single value is a probability if it is within 0-1 for all
    probes, unless the output is called "logits", the usual name of a network's last layer.
    """
    if outputs.ndim > 2 or (labels := outputs.shape[1] if outputs.ndim == 2 else 1) not in (1, 2):
        raise ConfigurationError(
            f"it returns an array of shape {outputs.shape} for {len(outputs)} pairs; expected one relevance "
            "score a pair, or two labels of which the second means relevant."
        )
    is_bounded = _within_one(outputs)
    if labels == 1:
        return "probability" if is_bounded and name != "logits" else "logit"
    return (
        "two probabilities" if is_bounded and np.allclose(outputs.sum(axis=1), 1, atol=1e-3) else "two logits"
    )


class OnnxCrossEncoder(CrossEncoder):
    """A cross-encoder that was exported to ONNX and runs without PyTorch."""

    def __init__(self, folder: Path, *, name: str) -> None:
        self.name = name
        network, max_tokens = find_network(folder), _max_tokens(folder)
        assert network is not None
        self._cut = max_tokens * CHARACTERS_PER_TOKEN
        self._tokenizer = load_tokenizer(folder / "tokenizer.json", max_tokens)
        self._pad_id = int((self._tokenizer.padding or {}).get("pad_id", 0))
        self._tokenizer.no_padding()
        self._session = load_session(network)
        self._inputs = {node.name for node in self._session.get_inputs()}
        self.form = find_form(self.outputs(PROBES), self._session.get_outputs()[0].name)

    def outputs(self, pairs: Sequence[Pair]) -> NDArray[Any]:
        """Run pairs in batches of similar length, to avoid padding."""
        encodings = self._tokenizer.encode_batch([(a[: self._cut], b[: self._cut]) for a, b in pairs])
        order = sorted(range(len(pairs)), key=lambda i: len(encodings[i].ids))
        batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
        outputs = np.concatenate([self._run([encodings[i] for i in batch]) for batch in in_time(batches)])
        return np.asarray(outputs[np.argsort(order)])

    def _run(self, encodings: Sequence[Any]) -> NDArray[Any]:
        shape = len(encodings), max(len(encoding.ids) for encoding in encodings)
        ids = np.full(shape, self._pad_id, dtype=np.int64)
        mask, types = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, encoding in enumerate(encodings):
            length = len(encoding.ids)
            ids[row, :length], mask[row, :length], types[row, :length] = encoding.ids, 1, encoding.type_ids
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        return np.asarray(self._session.run(None, {name: feed[name] for name in self._inputs})[0])


class TorchCrossEncoder(CrossEncoder):
    """A cross-encoder that runs on sentence-transformers."""

    def __init__(self, spec: str, *, local: bool, name: str) -> None:
        self.name = name
        package = import_extra("sentence_transformers", extra=EXTRA, purpose=f"The cross-encoder {spec!r}")
        torch = import_extra("torch", extra=EXTRA, purpose=f"The cross-encoder {spec!r}")
        self._model = package.CrossEncoder(spec, local_files_only=local)
        self._model.max_seq_length = min(int(self._model.max_seq_length or MAX_TOKENS), MAX_TOKENS)
        # Replaces the model's own activation function, since the logits are needed.
        self._identity = torch.nn.Identity()
        # Two threads cannot use the tokenizer at the same time.
        self._lock = threading.Lock()
        self.form = find_form(self.outputs(PROBES), "logits")

    def outputs(self, pairs: Sequence[Pair]) -> NDArray[Any]:
        """Run pairs; the library sorts them by length itself."""
        with self._lock:
            outputs = self._model.predict(
                list(pairs), batch_size=BATCH, activation_fn=self._identity, show_progress_bar=False
            )
        return np.asarray(outputs)


def _fetch(spec: str) -> Path:
    """Return the local folder of a Hugging Face model; download it if it is not complete."""
    if spec.startswith((".", "/", "~")) or spec.count("/") > 1 or "\\" in spec:
        raise ConfigurationError(f"reranker_model = {spec!r} is not a folder: expected {_EXPECTED}.")
    hub = import_extra("huggingface_hub", extra=EXTRA, purpose=f"The cross-encoder {spec!r}")
    with suppress(OSError, ValueError):  # it was never downloaded
        folder = Path(hub.snapshot_download(spec, allow_patterns=DOWNLOADS, local_files_only=True))
        if find_network(folder):
            return folder
    try:
        return Path(hub.snapshot_download(spec, allow_patterns=DOWNLOADS))
    except (OSError, ValueError) as error:
        # No network, no such model, no access or an invalid name; the first line of the error says which.
        raise ConfigurationError(
            f"reranker_model = {spec!r} is not a local folder and could not be downloaded from Hugging Face: "
            f"{_first_line(error)} Expected {_EXPECTED}; without a network connection, a folder."
        ) from error


def _max_tokens(folder: Path) -> int:
    """Return the maximum number of tokens of a pair: that in the model's files, at most MAX_TOKENS."""
    files = [(folder / name, key) for name, key in _LIMIT_KEYS if (folder / name).is_file()]
    limits = [json.loads(file.read_text("utf-8")).get(key) for file, key in files]
    # Some tokenizers have 1e30 for "no limit".
    return min([MAX_TOKENS, *(int(n) for n in limits if isinstance(n, int | float) and n > 0)])


def _within_one(values: NDArray[Any]) -> bool:
    return bool(((values >= -1e-6) & (values <= 1 + 1e-6)).all())


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(".:") + "."
