"""The reader: a small network that reads a question, a claim or a proposal together with passages.

It was trained for this package (`training/reader`); docs/reader.md describes its training data and quality.
`onnx:PATH` opens another network with the same inputs and outputs.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.deadline import in_time
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.models.onnx import (
    CHARACTERS_PER_TOKEN,
    check_digest,
    count_cores,
    load_session,
    load_tokenizer,
)
from adaptive_rag.text.reading import (
    Passage,
    PassageReading,
    Reader,
    Reading,
    Side,
    Span,
    Support,
    heading_of,
)
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.vectors import Scores, softmax
from adaptive_rag.text.words import coverage, terms, weighted_terms

SHIPPED = "local:reader"
SHIPPED_SHA256 = "c4b8be39dd78a1b88a4205fd39150f712d0dd7f2d70aaa08666472667a2d563c"
NETWORK = Path(__file__).parent / "minilm" / "reader.onnx"
TOKENIZER = NETWORK.with_name("tokenizer.json")
MAX_TOKENS = 320
# Maximum tokens of a question, which is cut; the passage gets the remaining tokens.
MAX_QUESTION_TOKENS = 96
INPUTS = ("input_ids", "token_type_ids", "attention_mask", "spans")
# The outputs that each task uses. The shipped network sees the task in the first word of the text, and runs
# the layers for claims or those of the other tasks.
OUTPUTS_BY_TASK = {"question": ("sentences", "passage"), "claim": ("claim",), "proposal": ("sides",)}
OUTPUTS = tuple(chain(*OUTPUTS_BY_TASK.values()))


class Pair(NamedTuple):
    """A tokenised pair of texts; `spans` are the token ranges of the question and of each sentence."""

    ids: list[int]
    types: list[int]
    spans: list[range]


_NONE: Scores = np.zeros(0)


class Logits(NamedTuple):
    """The network's logits for a part of a passage; empty for the outputs of other tasks."""

    spans: list[Span]
    sentences: Scores = _NONE
    passage: Scores = _NONE
    claim: Scores = _NONE
    sides: NDArray[np.float32] = np.zeros(0, dtype=np.float32)


class PairEncoder:
    """Tokenizes a pair of texts for the network: "question: ...", and the passage with title and section."""

    def __init__(self) -> None:
        self._tokenizer = load_tokenizer(TOKENIZER, MAX_TOKENS)
        self._tokenizer.no_padding()

    def pair(self, task: str, query: str, passage: Passage) -> tuple[Pair, list[Span]]:
        """Return a query with a passage, and the character spans of the sentences that fit.

        `task` is "question", "claim" or "proposal".
        """
        heading = heading_of(passage)
        prefix = f"{heading}\n" if heading else ""
        encoding = self._tokenizer.encode(f"{task}: {self._cut(query)}", prefix + passage.text)
        # The offset in the passage at which each token begins; below 0 for all other tokens.
        starts = [
            start - len(prefix) if sequence == 1 and start < end else -1
            for sequence, (start, end) in zip(encoding.sequence_ids, encoding.offsets, strict=True)
        ]
        first = encoding.sequence_ids.index(0)
        ranges, spans = [range(first, first + encoding.sequence_ids.count(0))], list[Span]()
        for start, end in sentence_spans(passage.text):
            tokens = [token for token, token_start in enumerate(starts) if start <= token_start < end]
            if tokens:
                ranges.append(range(tokens[0], tokens[-1] + 1))
                spans.append((start, end))
        return Pair(encoding.ids, encoding.type_ids, ranges), spans

    def _cut(self, query: str) -> str:
        """Cut a long query, so that most of a passage still fits."""
        if len(query) <= MAX_QUESTION_TOKENS:
            return query
        start = query[: MAX_QUESTION_TOKENS * CHARACTERS_PER_TOKEN]
        offsets = self._tokenizer.encode(start, add_special_tokens=False).offsets[:MAX_QUESTION_TOKENS]
        return query[: offsets[-1][1]] if offsets else query[:MAX_QUESTION_TOKENS]


class Calibration(NamedTuple):
    """The weights of a sentence's features in its logit; the logit of "no sentence answers" is 0.

    They are those of a conditional logit model (McFadden 1974). It was fitted to passages in the order in
    which retrieval returns them, of documents that the network was not trained on
    (`training/reader/calibrate.py`).
    """

    sentence: float = 1.0
    answers: float = 0.0
    relevance: float = 0.0
    rank: float = 0.0
    words: float = 0.0
    one: float = 0.0


def sentence_features(question: str, passage: Passage, logits: Logits, rank: int) -> Scores:
    """Return the features of each sentence, in the order of `Calibration`; shape (sentences, 6).

    They are the sentence's logit, its passage's two logits (answers, relevance), a function of the passage's
    rank from 0, the share of the question's terms that the sentence contains, and the constant 1.
    """
    weights = weighted_terms(question)
    rows = [
        (score, *logits.passage, math.log1p(rank), coverage(weights, set(terms(passage.text[a:b]))), 1)
        for (a, b), score in zip(logits.spans, logits.sentences, strict=True)
    ]
    return np.array(rows, dtype=float).reshape(-1, len(Calibration._fields))


class OnnxReader:
    """A reader that runs a network with the inputs and outputs of the shipped one.

    Passages are run in parallel and without padding, so that the result for a passage does not depend on the
    others. The sentences of a long passage that do not fit are read as another passage.
    """

    def __init__(self, model: Path, *, name: str) -> None:
        self.name = name
        self._encoder = PairEncoder()
        self._session = load_session(model, threads=1)
        self._workers = count_cores()
        inputs = {node.name for node in self._session.get_inputs()}
        outputs = {node.name for node in self._session.get_outputs()}
        if inputs != set(INPUTS) or not set(OUTPUTS) <= outputs:
            raise ConfigurationError(
                f"reader = {name!r} is not a reader: expected a network with the inputs {', '.join(INPUTS)} "
                f"and the outputs {', '.join(OUTPUTS)}, as `python -m training.reader.export` writes it; got "
                f"{', '.join(sorted(inputs))} and {', '.join(sorted(outputs))}."
            )
        calibration = self._session.get_modelmeta().custom_metadata_map.get("calibration")
        self._calibration = Calibration(**json.loads(calibration)) if calibration else Calibration()

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Return which sentences answer, whether one does, and how relevant each passage is."""
        all_logits = [join(parts) for parts in self.judge("question", question, passages)]
        if not all_logits:
            return Reading([], 0.0)
        calibrated = [
            sentence_features(question, passage, logits, rank) @ np.array(self._calibration)
            for rank, (passage, logits) in enumerate(zip(passages, all_logits, strict=True))
        ]
        # One choice among all sentences of all passages and "none", whose logit is 0.
        probabilities = softmax(np.concatenate([[0.0], *calibrated]))
        by_passage = np.split(probabilities, np.cumsum([1, *map(len, calibrated[:-1])]))[1:]
        return Reading(
            [
                PassageReading(logits.spans, scores, _sigmoid(_log_sum(sentences)), float(logits.passage[1]))
                for logits, sentences, scores in zip(all_logits, calibrated, by_passage, strict=True)
            ],
            1.0 - float(probabilities[0]),
        )

    def check(self, claims: Sequence[str], passages: Sequence[Passage]) -> list[Support]:
        """Return the verdict on each claim: that of the passage that most probably supports it."""
        verdicts = list[Support]()
        for claim in claims:
            parts = chain.from_iterable(self.judge("claim", claim, passages))
            supports = [Support(*map(float, softmax(part.claim))) for part in parts]
            verdicts.append(max(supports, key=lambda s: s.supported, default=Support(0.0, 0.0, 1.0)))
        return verdicts

    def side(self, proposal: str, passages: Sequence[Passage]) -> list[list[tuple[Span, Side]]]:
        """Return the sentences of each passage, and the side that each takes on a proposal."""
        return [
            [
                (span, Side(*map(float, softmax(logits))))
                for part in parts
                for span, logits in zip(part.spans, part.sides, strict=True)
            ]
            for parts in self.judge("proposal", proposal, passages)
        ]

    def judge(self, task: str, query: str, passages: Sequence[Passage]) -> list[list[Logits]]:
        """Return the logits for each passage; a long passage has several parts.

        `task` is "question", "claim" or "proposal", and `query` its text.
        """
        if self._workers == 1 or len(passages) < 2:
            return [self._parts(task, query, passage) for passage in in_time(passages)]
        with ThreadPoolExecutor(min(self._workers, len(passages)), thread_name_prefix="read") as pool:
            return list(in_time(pool.map(lambda passage: self._parts(task, query, passage), passages)))

    def _parts(self, task: str, query: str, passage: Passage) -> list[Logits]:
        parts, start = list[Logits](), 0
        sentence_starts = [first for first, _ in sentence_spans(passage.text)]
        while True:
            text = passage.text[start : start + MAX_TOKENS * CHARACTERS_PER_TOKEN]
            pair, spans = self._encoder.pair(task, query, passage._replace(text=text))
            shifted = [(start + first, start + last) for first, last in spans]
            parts.append(self._run(pair, shifted, OUTPUTS_BY_TASK[task]))
            end = len(sentence_starts)
            next_sentence = bisect_left(sentence_starts, shifted[-1][1]) if shifted else end
            if next_sentence == end:
                return parts
            start = sentence_starts[next_sentence]

    def _run(self, pair: Pair, sentences: list[Span], outputs: Sequence[str]) -> Logits:
        tokens = len(pair.ids)
        # The network needs at least two spans; the result for a span that does not exist is dropped below.
        spans = np.zeros((1, max(2, len(pair.spans)), tokens), dtype=np.float32)
        for row, span in enumerate(pair.spans):
            spans[0, row, span.start : span.stop] = 1 / len(span)
        feed = {
            "input_ids": np.array([pair.ids], dtype=np.int64),
            "token_type_ids": np.array([pair.types], dtype=np.int64),
            "attention_mask": np.ones((1, tokens), dtype=np.int64),
            "spans": spans,
        }
        results = zip(outputs, self._session.run(outputs, feed), strict=True)
        by_sentence = ("sentences", "sides")
        return Logits(
            sentences,
            **{name: v[0, : len(sentences)] if name in by_sentence else v[0] for name, v in results},
        )


def join(parts: Sequence[Logits]) -> Logits:
    """Join the parts of a passage; the logits of a claim are those of its first part."""
    if len(parts) == 1:
        return parts[0]
    spans = [span for part in parts for span in part.spans]
    passage = np.max([part.passage for part in parts], axis=0)
    sentences = np.concatenate([part.sentences for part in parts])
    sides = np.concatenate([part.sides for part in parts])
    return Logits(spans, sentences, passage, parts[0].claim, sides)


def _log_sum(logits: Scores) -> float:
    return float(np.logaddexp.reduce(logits)) if len(logits) else -math.inf


def _sigmoid(logit: float) -> float:
    return 0.5 * (1 + math.tanh(0.5 * float(logit)))


def load_reader(spec: str | Reader | None = None) -> Reader:
    """Load a reader from 'local:reader', the shipped one, or 'onnx:PATH', or return a live object.

    Raises:
        ConfigurationError: there is no such file, or it is not a reader, or not the published one.
    """
    if spec is not None and not isinstance(spec, str):
        return spec
    name = (spec or SHIPPED).strip()
    if name == SHIPPED:
        return _load_shipped()
    provider, _, path = name.partition(":")
    if provider != "onnx" or not path:
        raise ConfigurationError(
            f"reader = {name!r} is not a reader: expected {SHIPPED!r} or 'onnx:PATH', a file that "
            "`python -m training.reader.export` wrote."
        )
    return _load_file(str(Path(path).expanduser().resolve()))


@lru_cache(maxsize=2)
def _load_file(path: str) -> OnnxReader:
    if not Path(path).is_file():
        raise ConfigurationError(f"reader = 'onnx:{path}' does not exist: expected the file of a reader.")
    try:
        return OnnxReader(Path(path), name=f"onnx:{path}")
    except ConfigurationError:
        raise
    except Exception as error:  # onnxruntime has its own errors for a broken file
        text = " ".join(str(error).split())[:200]
        raise ConfigurationError(f"reader = 'onnx:{path}' cannot be opened: {text}") from error


@lru_cache(maxsize=1)
def _load_shipped() -> OnnxReader:
    check_digest(NETWORK, SHIPPED_SHA256)
    return OnnxReader(NETWORK, name=SHIPPED)
