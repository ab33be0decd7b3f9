"""Measures thresholds for the reader's probability of support, from which claims in other words are accepted.

    python -m training.claims --sources FOLDER [--drafts REPLIES/grounding.jsonl] [--limit N]

The claims are those of the reader's development part, each with its passage and two others of the same
documents; the sentences of the drafts of `training/reader/drafts.py`, each with the passages that it is
about; and the labelled sentences of a chat model's recorded drafts, each with the passages of its prompt.
Prints the share of true claims that are accepted, and of falsified claims that are not, for the rules alone
and for several thresholds, with 95 % bootstrap intervals.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from adaptive_rag.answer.check import ShownPassages
from adaptive_rag.answer.citations import Claim
from adaptive_rag.evaluation.statistics import intervals
from adaptive_rag.models.onnx import Vectors, load_minilm
from adaptive_rag.models.reader import load_reader
from adaptive_rag.text.reading import heading_of
from adaptive_rag.text.visible import plain
from benchmarks.grounding import labelled, passages_of, request_of
from training.reader.drafts import claims_of, read_drafts
from training.reader.examples import read_examples

# The first is never reached, so that only the rules count.
THRESHOLDS = (2.0, 0.8, 0.7, 0.6, 0.5, 0.4)
OTHER_PASSAGES = 2


def judge(claims: Sequence[tuple[str, bool]], passages: ShownPassages) -> Iterator[tuple[bool, float]]:
    """Yield, for each claim, whether it is true, and the highest threshold at which it is accepted."""
    vectors = load_minilm().encode([text for text, _ in claims])
    for (text, is_true), vector in zip(claims, vectors, strict=True):
        yield is_true, _highest_threshold(text, vector, passages, tuple(passages.numbers))


def _highest_threshold(
    text: str, vector: Vectors, passages: ShownPassages, numbers: tuple[int, ...]
) -> float:
    claim = Claim(text, ())
    if not passages.fault(claim, vector, numbers, supported=False):
        return 2.0
    if passages.fault(claim, vector, numbers, supported=True):
        return -1.0
    return passages.read_support(plain(text), vector, numbers)


def read_development(sources: Path, limit: int | None) -> Iterator[tuple[bool, float]]:
    """Yield the results for the claims of the reader's development part."""
    rows = list(read_examples("development", sources))
    draw = random.Random(29)
    draw.shuffle(rows)
    for row in rows[:limit]:
        others = [other for other in rows if other["set"] == row["set"] and other["id"] != row["id"]]
        passages = [row, *draw.sample(others, OTHER_PASSAGES)]
        texts = {f"{i} {passage['title']}": passage["text"] for i, passage in enumerate(passages)}
        claims = [(text, True) for text in row["true"]] + [(false["t"], False) for false in row["false"]]
        yield from judge(claims, ShownPassages(*passages_of(texts), reader=load_reader()))


def read_written_drafts(part: str, sources: Path, limit: int | None) -> Iterator[tuple[bool, float]]:
    """Yield the results for the sentences of the drafts of a part, each with the passages it is about."""
    for draft, prompt in islice(read_drafts(part, sources), limit):
        texts = {str(i): f"{heading_of(passage)}\n{passage.text}" for i, passage in enumerate(prompt)}
        shown = ShownPassages(*passages_of(texts), reader=load_reader())
        claims = list(claims_of(draft))
        vectors = load_minilm().encode([text for text, *_ in claims])
        for (text, verdict, _, about), vector in zip(claims, vectors, strict=True):
            numbers = tuple(number + 1 for number in about)
            yield verdict == "supported", _highest_threshold(text, vector, shown, numbers)


def read_recorded_drafts(path: Path) -> Iterator[tuple[bool, float]]:
    """Yield the results for the labelled sentences of a chat model's drafts."""
    for record in map(json.loads, path.read_text("utf-8").splitlines()):
        request = request_of(record)
        question = f"{request.question} {request.situation}"
        passages = ShownPassages(request.documents, request.sentences, question, reader=load_reader())
        yield from judge(list(labelled(record)), passages)


def report(name: str, results: Sequence[tuple[bool, float]]) -> Iterator[str]:
    """Yield a line of the table for each threshold."""
    true, highest = (np.array(column) for column in zip(*results, strict=True))
    for threshold in THRESHOLDS:
        shares = [(highest >= threshold)[true], (highest < threshold)[~true]]
        cells = [
            f"{share.mean():.3f} [{low:.3f}, {high:.3f}]"
            for share, (low, high) in zip(shares, intervals([s.astype(float) for s in shares]), strict=True)
        ]
        by = "the rules" if threshold > 1 else f"support from {threshold}"
        yield f"| {name} | {by} | {len(shares[0])} | {cells[0]} | {len(shares[1])} | {cells[1]} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--drafts", type=Path)
    parser.add_argument("--limit", type=int, help="number of passages to sample")
    options = parser.parse_args()
    sys.stdout.write(
        "| claims | accepted by | true | accepted | falsified | caught |\n|---|---|--:|--:|--:|--:|\n"
    )
    parts = {"development part": list(read_development(options.sources, options.limit))}
    for part in ("development", "test"):
        results = list(read_written_drafts(part, options.sources, options.limit))
        parts[f"written drafts, {part} part"] = results
    if options.drafts:
        parts["recorded drafts"] = list(read_recorded_drafts(options.drafts))
    for name, results in parts.items():
        sys.stdout.writelines(f"{line}\n" for line in report(name, results))
