"""Fits how the reader and the tone of a sentence together tell its side, and prints how often they are right.

    python -m training.sides --sources FOLDER --views DATA/opinion_perspectrum

It reads the sentences of the reader's development part whose side is known, and those of each fourth question
of opinion_perspectrum; both count the same. The sides of the development part are told in five folds by
document set, those of the other by weights that were fitted without it. Prints the weights, and for
thresholds how many sentences reach them and how many of these are right.
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
EACH, FOLDS, RIDGE = 4, 5, 1e-3
THRESHOLDS = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8)


class Sided(NamedTuple):
    """Sentences whose side is known."""

    read: np.ndarray
    """What the reader says of each: (sentences, 3)."""
    leans: np.ndarray
    side: np.ndarray
    group: np.ndarray
    """The document set of each."""

    def part(self, at: np.ndarray) -> Sided:
        """Return some of them."""
        return Sided(*(each[at] for each in self))


def told(
    proposal: str, passages: Sequence[tuple[Passage, dict[str, str]]], group: str
) -> Iterator[tuple[np.ndarray, float, int, str]]:
    """Yield of each sentence that is in the passages' sides what is known of it."""
    said = load_reader().side(proposal, [passage for passage, _ in passages])
    for (passage, sides), judged in zip(passages, said, strict=True):
        spans = [span for span, _ in judged]
        vectors = encode(load_embeddings(), [passage.text[start:end] for start, end in spans])
        held = Sentences(np.array(spans), vectors)
        candidate: Any = {"text": passage.text, "start": 0}
        [leans] = agreements(proposal, [candidate], [held])
        for sentence, side in sides.items():
            for at in sentences_with(spans, passage.text, sentence)[:1]:
                yield np.array(judged[at][1]), float(leans[at]), COLUMNS[side], group


def read_development(sources: Path) -> Iterator[tuple[np.ndarray, float, int, str]]:
    """Yield the sentences of the reader's development part."""
    for row in read_examples("development", sources):
        passage = Passage(row["text"], row["title"], row["section"])
        for proposal in dict.fromkeys(sided["proposal"] for sided in row["sides"]):
            sides = {s["s"]: s["side"] for s in row["sides"] if s["proposal"] == proposal}
            yield from told(proposal, [(passage, sides)], row["set"])


def read_views(folder: Path) -> Iterator[tuple[np.ndarray, float, int, str]]:
    """Yield the views of each fourth question; the aspect of each names its side."""
    dataset = load_dataset(folder)
    texts = {passage["id"]: passage["text"] for passage in dataset.passages}
    for question in dataset.questions[::EACH]:
        passages = [
            (Passage(texts[name]), {texts[name]: "for" if aspects[0].startswith("support") else "against"})
            for name, aspects in question.aspects.items()
        ]
        yield from told(question.text, passages, question.id)


def collect(rows: Iterator[tuple[np.ndarray, float, int, str]]) -> Sided:
    """Return sentences as arrays."""
    return Sided(*(np.array(column) for column in zip(*rows, strict=True)))


def fit(parts: Sequence[Sided]) -> SideWeights:
    """Return the weights by which the sides of the parts, each counted the same, are likeliest."""

    def loss(weights: np.ndarray) -> float:
        found = 0.0
        for part in parts:
            chances = blend_sides(part.read, part.leans, SideWeights(*weights))
            found -= float(np.log(chances[np.arange(len(part.side)), part.side] + 1e-9).mean())
        return found / len(parts) + RIDGE * float((weights**2).sum())

    fitted = minimize(loss, np.array([1.0, 0.3, 0.0, 0.0]), method="Nelder-Mead", options={"maxiter": 4000})
    return SideWeights(*map(float, fitted.x))


def report(name: str, chances: np.ndarray, side: np.ndarray) -> Iterator[str]:
    """Yield a line for each threshold: the share of sentences that reach it, and of these the right ones."""
    sure, taken = chances[:, :NEITHER].max(axis=1), chances[:, :NEITHER].argmax(axis=1)
    for threshold in THRESHOLDS:
        reach = sure >= threshold
        yield f"| {name} | {threshold} | {reach.mean():.2f} | {(taken == side)[reach].mean():.2f} |"


def main(sources: Path, views: Path) -> Iterator[str]:
    """Yield the lines of the report."""
    own, others = collect(read_development(sources)), collect(read_views(views))
    yield f"{fit([own, others])}"
    yield "| sentences | threshold | reach it | of these right |"
    yield "|---|--:|--:|--:|"
    fold = np.unique(own.group, return_inverse=True)[1] % FOLDS
    chances = np.zeros_like(own.read)
    for held in range(FOLDS):
        weights = fit([own.part(fold != held), others])
        chances[fold == held] = blend_sides(own.read[fold == held], own.leans[fold == held], weights)
    yield from report("development part", chances, own.side)
    # the views are told by weights that were fitted without them
    yield from report("views", blend_sides(others.read, others.leans, fit([own])), others.side)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--views", type=Path, required=True)
    given = parser.parse_args()
    for line in main(given.sources, given.views):
        sys.stdout.write(f"{line}\n")
