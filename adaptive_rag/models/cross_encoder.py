"""Cross-encoders read a question and a passage together; the reranker that bears their name asks one."""

from __future__ import annotations

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError, import_extra

EXTRA = "cross-encoder"
MAX_TOKENS = 512
BATCH = 16
# Longer passages are cut before they are tokenised; no token has more characters than these on average.
CHARACTERS_PER_TOKEN = 32
ONNX_FILES = ("model.onnx", "onnx/model.onnx")
# What of a model on Hugging Face is fetched to run it as ONNX.
WANTED = [pattern for file in ONNX_FILES for pattern in (file, f"{file}_data")]
WANTED += ["tokenizer.json", "config.json", "tokenizer_config.json"]
# Pairs that a model is tried on as it is loaded; what it returns tells what kind of number it writes.
PROBES = (
    ("When is the library open?", "The library is open from Tuesday to Saturday."),
    ("When is the library open?", "Herring is salted and kept in barrels."),
    ("library", ""),
)
MAX_OPEN = 2
# Where the files beside a model say how long a pair may be.
_LIMITS = (("tokenizer_config.json", "model_max_length"), ("config.json", "max_position_embeddings"))

Outputs: TypeAlias = NDArray[np.float64]
Form = Literal["logit", "probability", "two logits", "two probabilities"]


class ScoringError(AdaptiveRAGError):
    """A cross-encoder failed while it scored; the caller's own order stands."""


class CrossEncoder(Protocol):
    """Scores passages for a question."""

    name: str

    def score(self, question: str, passages: Sequence[str]) -> Outputs:
        """Return the relevance of each passage, 0-1, shape (len(passages),).

        Raises:
            ScoringError: the model failed, or returned something other than finite scores.
        """
        ...


def load_reranker(model: str) -> CrossEncoder:
    """Load a cross-encoder from a local folder or by its Hugging Face id; each is loaded once and kept.

    A folder with model.onnx (or onnx/model.onnx) and tokenizer.json runs through onnxruntime, and so does
    an id whose repository has these files; every other model runs through sentence-transformers.

    Raises:
        ConfigurationError: there is no such folder or model, or it cannot be loaded or used.
        MissingExtraError: the model needs sentence-transformers, which is not installed.
    """
    spec = model.strip()
    if not spec:
        raise ConfigurationError(f"reranker_model = {model!r} is empty: expected {_EXPECTED}.")
    folder = Path(spec).expanduser()
    # A relative folder is named in full: what is kept must not follow a program that changes its folder.
    key = str(folder.resolve()) if folder.is_dir() else spec
    with _lock:
        if key not in _open:
            _open[key] = _load_folder(spec, folder) if folder.is_dir() else _load_by_id(spec)
            if len(_open) > MAX_OPEN:
                _open.popitem(last=False)
        _open.move_to_end(key)
        return _open[key]


def read_outputs(outputs: NDArray[Any], form: Form) -> Outputs:
    """Turn what a model wrote into relevance, 0-1.

    One logit passes a sigmoid, of two the softmax for the second label counts; both are computed in
    float64, where half-precision outputs would lose the order of sure passages.

    Raises:
        ScoringError: a value is not finite, or no probability where the model writes probabilities.
    """
    values = np.asarray(outputs, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ScoringError("it returned a score that is not a number")
    if form in ("probability", "two probabilities") and not _within_one(values):
        raise ScoringError("it returned a score outside 0-1 where it had returned probabilities before")
    if form == "two probabilities":
        return np.clip(values[:, 1], 0, 1)
    if form == "probability":
        return np.clip(values.reshape(len(values)), 0, 1)
    # softmax over two labels is the sigmoid of their difference
    logits = values[:, 1] - values[:, 0] if form == "two logits" else values.reshape(len(values))
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))


def find_form(outputs: NDArray[Any], name: str) -> Form:
    """Tell logits from probabilities by what a model wrote for the probes.

    Two values that sum to 1 are probabilities. One value is one where it stays within 0-1 for all probes,
    unless the output is called "logits", as exporters call a network's last layer.

    Raises:
        ConfigurationError: the model has more than two labels.
    """
    labels = outputs.shape[1] if outputs.ndim == 2 else 1
    if outputs.ndim > 2 or labels not in (1, 2):
        raise ConfigurationError(
            f"it returns an array of shape {outputs.shape} for {len(outputs)} pairs; expected one relevance "
            "score a pair, or two labels of which the second means relevant."
        )
    bounded = _within_one(outputs)
    if labels == 2:
        sums_to_one = bounded and bool(np.allclose(outputs.sum(axis=1), 1, atol=1e-3))
        return "two probabilities" if sums_to_one else "two logits"
    return "probability" if bounded and name != "logits" else "logit"


class OnnxCrossEncoder:
    """Run a cross-encoder that was exported to ONNX, without PyTorch."""

    def __init__(self, folder: Path, *, name: str) -> None:
        self.name = name
        max_tokens = _max_tokens(folder)
        self._max_characters = max_tokens * CHARACTERS_PER_TOKEN
        # The tokenizer's own thread pool deadlocks after a fork and gains nothing on few pairs.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        import onnxruntime
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        padding = self._tokenizer.padding or {}
        self._pad = int(padding.get("pad_id", 0))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length=max_tokens)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        file = next(folder / file for file in ONNX_FILES if (folder / file).is_file())
        self._session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        self._inputs = {node.name for node in self._session.get_inputs()}
        first = self._session.get_outputs()[0].name
        self._form = find_form(self._outputs(list(PROBES)), first)

    def score(self, question: str, passages: Sequence[str]) -> Outputs:
        """Return the relevance of each passage, 0-1."""
        return _score(lambda pairs: self._outputs(pairs), self._form, question, passages)

    def _outputs(self, pairs: Sequence[tuple[str, str]]) -> NDArray[Any]:
        """Run pairs in batches of nearly one length, so that little is spent on padding."""
        cut = [(first[: self._max_characters], second[: self._max_characters]) for first, second in pairs]
        encodings = self._tokenizer.encode_batch(cut)
        order = sorted(range(len(pairs)), key=lambda i: len(encodings[i].ids))
        found: list[NDArray[Any]] = []
        for start in range(0, len(order), BATCH):
            found.append(self._run([encodings[i] for i in order[start : start + BATCH]]))
        outputs = np.concatenate(found)
        return np.asarray(outputs[np.argsort(order)])

    def _run(self, encodings: Sequence[Any]) -> NDArray[Any]:
        shape = len(encodings), max(len(encoding.ids) for encoding in encodings)
        feed = {
            "input_ids": np.full(shape, self._pad, dtype=np.int64),
            "attention_mask": np.zeros(shape, dtype=np.int64),
            "token_type_ids": np.zeros(shape, dtype=np.int64),
        }
        for row, encoding in enumerate(encodings):
            length = len(encoding.ids)
            feed["input_ids"][row, :length] = encoding.ids
            feed["attention_mask"][row, :length] = 1
            feed["token_type_ids"][row, :length] = encoding.type_ids
        return np.asarray(self._session.run(None, {name: feed[name] for name in self._inputs})[0])


class TorchCrossEncoder:
    """Run a cross-encoder through sentence-transformers."""

    def __init__(self, spec: str, *, local: bool, name: str) -> None:
        self.name = name
        package = import_extra("sentence_transformers", extra=EXTRA, purpose=f"The cross-encoder {spec!r}")
        torch = import_extra("torch", extra=EXTRA, purpose=f"The cross-encoder {spec!r}")
        self._model = package.CrossEncoder(spec, local_files_only=local)
        limit = self._model.max_seq_length or MAX_TOKENS
        self._model.max_seq_length = min(int(limit), MAX_TOKENS)
        # Whatever the model would pass its score through: we want the logit.
        self._identity = torch.nn.Identity()
        # One tokenizer cannot be used by two threads at once.
        self._lock = threading.Lock()
        self._form = find_form(self._outputs(list(PROBES)), "logits")

    def score(self, question: str, passages: Sequence[str]) -> Outputs:
        """Return the relevance of each passage, 0-1."""
        return _score(lambda pairs: self._outputs(pairs), self._form, question, passages)

    def _outputs(self, pairs: Sequence[tuple[str, str]]) -> NDArray[Any]:
        # It orders the pairs by length itself.
        with self._lock:
            outputs = self._model.predict(
                list(pairs), batch_size=BATCH, activation_fn=self._identity, show_progress_bar=False
            )
        return np.asarray(outputs)


_open: OrderedDict[str, CrossEncoder] = OrderedDict()
_lock = threading.Lock()
_EXPECTED = "a Hugging Face id such as 'cross-encoder/ms-marco-MiniLM-L-6-v2', or a local folder"


def _score(run: Any, form: Form, question: str, passages: Sequence[str]) -> Outputs:
    if not passages:
        return np.zeros(0)
    try:
        outputs = run([(question, passage) for passage in passages])
    except Exception as error:
        # Networks fail in ways of their own (memory, an unforeseen input); none may cost the answer.
        raise ScoringError(f"{type(error).__name__}: {_first_line(error)}") from error
    return read_outputs(outputs, form)


def _load_folder(spec: str, folder: Path) -> CrossEncoder:
    if _is_onnx(folder):
        return _try(spec, lambda: OnnxCrossEncoder(folder, name=spec))
    if (folder / "config.json").is_file():
        return _try(spec, lambda: TorchCrossEncoder(str(folder), local=True, name=spec))
    raise ConfigurationError(
        f"reranker_model = {spec!r} is a folder without a cross-encoder: expected model.onnx (or "
        "onnx/model.onnx) and tokenizer.json, or config.json with weights, as sentence-transformers saves it."
    )


def _load_by_id(spec: str) -> CrossEncoder:
    if spec.startswith((".", "/", "~")) or spec.count("/") > 1 or "\\" in spec:
        raise ConfigurationError(f"reranker_model = {spec!r} is not a folder: expected {_EXPECTED}.")
    hub = import_extra("huggingface_hub", extra=EXTRA, purpose=f"The cross-encoder {spec!r}")
    try:
        folder = Path(hub.snapshot_download(spec, allow_patterns=WANTED, local_files_only=True))
        complete = _is_onnx(folder)
    except (OSError, ValueError):
        complete = False
    if not complete:
        try:
            folder = Path(hub.snapshot_download(spec, allow_patterns=WANTED))
        except (OSError, ValueError) as error:
            # No network, no such model, no right to see it, or no name of one: the first line says which.
            raise ConfigurationError(
                f"reranker_model = {spec!r} is no folder here, and could not be fetched from Hugging Face: "
                f"{_first_line(error)} Expected {_EXPECTED}; without a network, a folder."
            ) from error
    if _is_onnx(folder):
        return _try(spec, lambda: OnnxCrossEncoder(folder, name=spec))
    return _try(spec, lambda: TorchCrossEncoder(spec, local=False, name=spec))


def _try(spec: str, load: Any) -> CrossEncoder:
    try:
        return load()  # type: ignore[no-any-return]
    except ImportError:
        raise
    except Exception as error:
        # Each library has its own errors for a broken file; nothing has been run for a question yet.
        raise ConfigurationError(
            f"reranker_model = {spec!r} cannot be used: {_first_line(error)} Expected a cross-encoder that "
            "reads pairs of texts and writes one relevance score."
        ) from error


def _is_onnx(folder: Path) -> bool:
    return (folder / "tokenizer.json").is_file() and any((folder / file).is_file() for file in ONNX_FILES)


def _max_tokens(folder: Path) -> int:
    """Return how many tokens a pair may have, as the files beside the model say, at most MAX_TOKENS."""
    limit = MAX_TOKENS
    for name, key in (
        ("tokenizer_config.json", "model_max_length"),
        ("config.json", "max_position_embeddings"),
    ):
        file = folder / name
        value = json.loads(file.read_text("utf-8")).get(key) if file.is_file() else None
        # some tokenizers state 1e30 for "no limit"
        if isinstance(value, int | float) and value > 0:
            limit = min(limit, int(value))
    return limit


def _within_one(values: NDArray[Any]) -> bool:
    return bool(((values >= -1e-6) & (values <= 1 + 1e-6)).all())


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:300].rstrip(".:") + "."
