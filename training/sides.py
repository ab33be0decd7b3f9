"""Fits the weights by which the reader and the sentiment of a sentence determine its side, and measures them.

    python -m training.sides --sources FOLDER --views DATA/opinion_perspectrum

The weights are fitted on the sentences of the reader's development part whose side is known, and on those of
each fourth question of opinion_perspectrum; both sources count equally. They are measured on the development
part in five folds by document set, and on opinion_perspectrum with weights that were fitted without it.
Prints the weights, and for several thresholds how many sentences reach them and how many of these are right.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from adaptive_rag.answer.request import AGAINST, FOR, NEITHER
from adaptive_rag.answer.score import SideWeights, blend_sides
from adaptive_rag.evaluation.datasets import load_dataset
from adaptive_rag.models.embeddings import encode, load_embeddings
from adaptive_rag.models.reader import load_reader
from adaptive_rag.rank.agreement import agreements
from adaptive_rag.source import Sentences
from adaptive_rag.text.reading import Passage
from training.reader.examples import read_examples
from training.reader.readings import sentences_with

COLUMNS = {"against": AGAINST, "for": FOR, "neither": NEITHER}
EVERY_NTH_QUESTION, FOLDS, RIDGE = 4, 5, 1e-3
THRESHOLDS = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8)


class Sided(NamedTuple):
    """Sentences whose side is known."""

    read: np.ndarray
    """The reader's probabilities of the three sides: (sentences, 3)."""
    sentiment: np.ndarray
    side: np.ndarray
    group: np.ndarray
    """The document set, or the question, of each sentence."""

    def select(self, sentences: np.ndarray) -> Sided:
        """Return some of the sentences."""
        return Sided(*(column[sentences] for column in self))


def judge_sentences(
    proposal: str, passages: Sequence[tuple[Passage, dict[str, str]]], group: str
) -> Iterator[tuple[np.ndarray, float, int, str]]:
    """Yield a row of `Sided` for each sentence whose side is given, by sentence, with its passage."""
    judged_passages = load_reader().side(proposal, [passage for passage, _ in passages])
    for (passage, sides), judged in zip(passages, judged_passages, strict=True):
        spans = [span for span, _ in judged]
        vectors = encode(load_embeddings(), [passage.text[start:end] for start, end in spans])
        candidate: Any = {"text": passage.text, "start": 0}
        [sentiments] = agreements(proposal, [candidate], [Sentences(np.array(spans), vectors)])
        for sentence, side in sides.items():
            for i in sentences_with(spans, passage.text, sentence)[:1]:
                yield np.array(judged[i][1]), float(sentiments[i]), COLUMNS[side], group


def read_development(sources: Path) -> Iterator[tuple[np.ndarray, float, int, str]]:
    """Yield the sentences of the reader's development part."""
    for row in read_examples("development", sources):
        passage = Passage(row["text"], row["title"], row["section"])
        for proposal in dict.fromkeys(sided["proposal"] for sided in row["sides"]):
            sides = {s["s"]: s["side"] for s in row["sides"] if s["proposal"] == proposal}
            yield from judge_sentences(proposal, [(passage, sides)], row["set"])


def read_views(folder: Path) -> Iterator[tuple[np.ndarray, float, int, str]]:
    """Yield the views on each fourth question; the aspect of a view names its side."""
    dataset = load_dataset(folder)
    texts = {passage["id"]: passage["text"] for passage in dataset.passages}
    for question in dataset.questions[::EVERY_NTH_QUESTION]:
        passages = [
            (Passage(texts[name]), {texts[name]: "for" if aspects[0].startswith("support") else "against"})
            for name, aspects in question.aspects.items()
        ]
        yield from judge_sentences(question.text, passages, question.id)


def collect(rows: Iterator[tuple[np.ndarray, float, int, str]]) -> Sided:
    """Return rows as arrays."""
    return Sided(*(np.array(column) for column in zip(*rows, strict=True)))


def fit(parts: Sequence[Sided]) -> SideWeights:
    """Return the weights for which the sides are likeliest; all parts count equally."""

    def loss(weights: np.ndarray) -> float:
        total = 0.0
        for part in parts:
            chances = blend_sides(part.read, part.sentiment, SideWeights(*weights))
            total -= float(np.log(chances[np.arange(len(part.side)), part.side] + 1e-9).mean())
        return total / len(parts) + RIDGE * float((weights**2).sum())

    fitted = minimize(loss, np.array([1.0, 0.3, 0.0, 0.0]), method="Nelder-Mead", options={"maxiter": 4000})
    return SideWeights(*map(float, fitted.x))


def report(name: str, chances: np.ndarray, side: np.ndarray) -> Iterator[str]:
    """Yield a line for each threshold: the share of sentences that reach it, and the accuracy of these."""
    confidence, predicted = chances[:, :NEITHER].max(axis=1), chances[:, :NEITHER].argmax(axis=1)
    for threshold in THRESHOLDS:
        reach = confidence >= threshold
        yield f"| {name} | {threshold} | {reach.mean():.2f} | {(predicted == side)[reach].mean():.2f} |"


def main(sources: Path, views: Path) -> Iterator[str]:
    """Yield the lines of the report."""
    own, others = collect(read_development(sources)), collect(read_views(views))
    yield f"{fit([own, others])}"
    yield "| sentences | threshold | reach it | of these right |"
    yield "|---|--:|--:|--:|"
    fold = np.unique(own.group, return_inverse=True)[1] % FOLDS
    chances = np.zeros_like(own.read)
    for i in range(FOLDS):
        test = own.select(fold == i)
        weights = fit([own.select(fold != i), others])
        chances[fold == i] = blend_sides(test.read, test.sentiment, weights)
    yield from report("development part", chances, own.side)
    # The weights for the views are fitted without them.
    yield from report("views", blend_sides(others.read, others.sentiment, fit([own])), others.side)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--views", type=Path, required=True)
    options = parser.parse_args()
    for line in main(options.sources, options.views):
        sys.stdout.write(f"{line}\n")
