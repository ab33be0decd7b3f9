"""The reader: one small network that reads a question, a claim or a proposal together with passages.

It was trained for this package (`training/reader`); docs/reader.md describes its training data and its
quality. `onnx:PATH` opens another network with the same inputs and outputs.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
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
from adaptive_rag.text.reading import Passage, PassageReading, Reader, Reading, Side, Span, Support
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.vectors import Scores
from adaptive_rag.text.words import coverage, terms, weighted_terms

SHIPPED = "local:reader"
SHIPPED_SHA256 = "71720593121f32d60d03e8c8e5ffef135e88829d83059cb4ae05d092f5e68603"
NETWORK = Path(__file__).parent / "minilm" / "reader.onnx"
TOKENIZER = NETWORK.with_name("tokenizer.json")
MOST_TOKENS = 320
# A longer question is cut; the passage gets the remaining tokens.
MOST_ASKED = 96
INPUTS = ("input_ids", "token_type_ids", "attention_mask", "spans")
OUTPUTS = ("sentences", "passage", "claim", "sides")


class Pair(NamedTuple):
    """A tokenised pair of texts; `spans` are the token ranges of the question and of each sentence."""

    ids: list[int]
    types: list[int]
    spans: list[range]


class Logits(NamedTuple):
    """The network's logits for a part of a passage."""

    spans: list[Span]
    sentences: Scores
    passage: Scores
    claim: Scores
    sides: NDArray[np.float32]


class PairEncoder:
    """Writes a pair of texts for the network: "question: ...", then title, section and passage."""

    def __init__(self) -> None:
        self._tokenizer = load_tokenizer(TOKENIZER, MOST_TOKENS)
        self._tokenizer.no_padding()

    def pair(self, task: str, asked: str, passage: Passage) -> tuple[Pair, list[Span]]:
        """Return the question with a passage, and the character spans of the sentences that fit."""
        heading = " > ".join(part for part in (passage.title, passage.section) if part)
        lead = f"{heading}\n" if heading else ""
        found = self._tokenizer.encode(f"{task}: {self._cut(asked)}", lead + passage.text)
        starts = [
            start - len(lead) if of == 1 and start < end else -1
            for of, (start, end) in zip(found.sequence_ids, found.offsets, strict=True)
        ]
        first = found.sequence_ids.index(0)
        ranges, spans = [range(first, first + found.sequence_ids.count(0))], list[Span]()
        for start, end in sentence_spans(passage.text):
            inside = [at for at, begins in enumerate(starts) if start <= begins < end]
            if inside:
                ranges.append(range(inside[0], inside[-1] + 1))
                spans.append((start, end))
        return Pair(found.ids, found.type_ids, ranges), spans

    def _cut(self, asked: str) -> str:
        """Cut a long question, so that most of a passage still fits."""
        if len(asked) <= MOST_ASKED:
            return asked
        found = self._tokenizer.encode(asked[: MOST_ASKED * CHARACTERS_PER_TOKEN], add_special_tokens=False)
        return asked[: found.offsets[:MOST_ASKED][-1][1]] if found.offsets else asked[:MOST_ASKED]


class Calibration(NamedTuple):
    """Weights of a sentence's features in its logit; the logit of "no sentence answers" is 0.

    A conditional logit model (McFadden 1974), fitted to passages in the order in which retrieval returns
    them, of documents that the network was not trained on (`training/reader/calibrate.py`).
    """

    sentence: float = 1.0
    answers: float = 0.0
    relevance: float = 0.0
    rank: float = 0.0
    words: float = 0.0
    one: float = 0.0


def sentence_features(question: str, passage: Passage, judged: Logits, rank: int) -> Scores:
    """Return the features of each sentence, in the order of `Calibration`; shape (sentences, 6).

    They are the sentence's logit, its passage's logits (answers, relevance) and rank from 0, the share of the
    question's terms that the sentence contains, and the constant 1.
    """
    weights = weighted_terms(question)
    rows = [
        (score, *judged.passage, math.log1p(rank), coverage(weights, set(terms(passage.text[a:b]))), 1)
        for (a, b), score in zip(judged.spans, judged.sentences, strict=True)
    ]
    return np.array(rows, dtype=float).reshape(-1, len(Calibration._fields))


class OnnxReader:
    """Runs a network of the reader's inputs and outputs.

    Passages are run in parallel and without padding, so that the result for a passage does not depend on the
    others. If a passage is longer than the network reads, the sentences that did not fit are read as another
    passage.
    """

    def __init__(self, model: Path, *, name: str) -> None:
        self.name = name
        self._form = PairEncoder()
        self._session = load_session(model, threads=1)
        self._workers = count_cores()
        given = {node.name for node in self._session.get_inputs()}
        written = {node.name for node in self._session.get_outputs()}
        if given != set(INPUTS) or not set(OUTPUTS) <= written:
            raise ConfigurationError(
                f"reader = {name!r} is no reader: expected a network with the inputs {', '.join(INPUTS)} and "
                f"the outputs {', '.join(OUTPUTS)}, as `python -m training.reader.export` writes it; found "
                f"{', '.join(sorted(given))} and {', '.join(sorted(written))}."
            )
        kept = self._session.get_modelmeta().custom_metadata_map.get("calibration")
        self._calibration = Calibration(**json.loads(kept)) if kept else Calibration()

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Return which sentences answer, whether one does, and how relevant each passage is."""
        found = [join(parts) for parts in self.judge("question", question, passages)]
        if not found:
            return Reading([], 0.0)
        logits = [
            sentence_features(question, passage, judged, rank) @ np.array(self._calibration)
            for rank, (passage, judged) in enumerate(zip(passages, found, strict=True))
        ]
        # one choice among all sentences of all passages and "none", whose logit is 0
        chances = _softmax(np.concatenate([[0.0], *logits]))
        of_passages = np.split(chances, np.cumsum([1, *map(len, logits[:-1])]))[1:]
        return Reading(
            [
                PassageReading(judged.spans, scores, _sigmoid(_log_sum(own)), float(judged.passage[1]))
                for judged, own, scores in zip(found, logits, of_passages, strict=True)
            ],
            1.0 - float(chances[0]),
        )

    def check(self, claims: Sequence[str], passages: Sequence[Passage]) -> list[Support]:
        """Return the verdict on each claim: that of the passage which is most certain to address it."""
        verdicts = list[Support]()
        for claim in claims:
            parts = [part for of in self.judge("claim", claim, passages) for part in of]
            said = [Support(*map(float, _softmax(part.claim))) for part in parts]
            verdicts.append(min(said, key=lambda one: one.untold, default=Support(0.0, 0.0, 1.0)))
        return verdicts

    def side(self, proposal: str, passages: Sequence[Passage]) -> list[list[tuple[Span, Side]]]:
        """Return the sentences of each passage, with the side that each takes toward a proposal."""
        return [
            [
                (span, Side(*map(float, _softmax(logits))))
                for part in parts
                for span, logits in zip(part.spans, part.sides, strict=True)
            ]
            for parts in self.judge("proposal", proposal, passages)
        ]

    def judge(self, task: str, asked: str, passages: Sequence[Passage]) -> list[list[Logits]]:
        """Return the logits for each passage; a long passage has several parts.

        `task` is "question", "claim" or "proposal", and `asked` its text.
        """
        if self._workers == 1 or len(passages) < 2:
            return [self._parts(task, asked, passage) for passage in in_time(passages)]
        with ThreadPoolExecutor(min(self._workers, len(passages)), thread_name_prefix="read") as pool:
            return list(in_time(pool.map(lambda passage: self._parts(task, asked, passage), passages)))

    def _parts(self, task: str, asked: str, passage: Passage) -> list[Logits]:
        parts, start = list[Logits](), 0
        begins = [first for first, _ in sentence_spans(passage.text)]
        while True:
            text = passage.text[start : start + MOST_TOKENS * CHARACTERS_PER_TOKEN]
            pair, spans = self._form.pair(task, asked, passage._replace(text=text))
            shifted = [(start + first, start + last) for first, last in spans]
            parts.append(self._run(pair)._replace(spans=shifted))
            beyond = bisect_left(begins, shifted[-1][1]) if shifted else len(begins)
            if beyond == len(begins):
                return parts
            start = begins[beyond]

    def _run(self, pair: Pair) -> Logits:
        tokens = len(pair.ids)
        # the network needs at least two spans; the result for one that does not exist is left out below
        spans = np.zeros((1, max(2, len(pair.spans)), tokens), dtype=np.float32)
        for row, span in enumerate(pair.spans):
            spans[0, row, span.start : span.stop] = 1 / len(span)
        feed = {
            "input_ids": np.array([pair.ids], dtype=np.int64),
            "token_type_ids": np.array([pair.types], dtype=np.int64),
            "attention_mask": np.ones((1, tokens), dtype=np.int64),
            "spans": spans,
        }
        sentences, passage, claim, sides = self._session.run(list(OUTPUTS), feed)
        there = len(pair.spans) - 1
        return Logits([], sentences[0, :there], passage[0], claim[0], sides[0, :there])


def join(parts: Sequence[Logits]) -> Logits:
    """Join the parts of a passage; the logits of a claim are those of its first part."""
    if len(parts) == 1:
        return parts[0]
    spans = [span for part in parts for span in part.spans]
    most = np.max([part.passage for part in parts], axis=0)
    sentences = np.concatenate([part.sentences for part in parts])
    sides = np.concatenate([part.sides for part in parts])
    return Logits(spans, sentences, most, parts[0].claim, sides)


def _softmax(logits: Scores) -> Scores:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum())


def _log_sum(logits: Scores) -> float:
    return float(np.logaddexp.reduce(logits)) if len(logits) else -math.inf


def _sigmoid(logit: float) -> float:
    return 0.5 * (1 + math.tanh(0.5 * float(logit)))


def load_reader(spec: str | Reader | None = None) -> Reader:
    """Load a reader from 'local:reader', the shipped one, or 'onnx:PATH'; a live object is returned as it is.

    Raises:
        ConfigurationError: there is no such file, or it is no reader, or not the published one.
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
        raise ConfigurationError(f"reader = 'onnx:{path}' is not there: expected the file of a reader.")
    try:
        return OnnxReader(Path(path), name=f"onnx:{path}")
    except ConfigurationError:
        raise
    except Exception as error:  # onnxruntime has its own errors for a broken file
        said = " ".join(str(error).split())[:200]
        raise ConfigurationError(f"reader = 'onnx:{path}' cannot be opened: {said}") from error


@lru_cache(maxsize=1)
def _load_shipped() -> OnnxReader:
    check_digest(NETWORK, SHIPPED_SHA256)
    return OnnxReader(NETWORK, name=SHIPPED)
