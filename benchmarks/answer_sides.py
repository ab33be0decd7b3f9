"""Measures what an opinion's answer shows of both sides, without a chat model.

    python -m benchmarks.answer_sides DATA/opinion_perspectrum

The data say of each passage whether it supports or undermines what the question proposes. For one half of
the questions, told by a hash of their ids: the share of answers that quote both sides, the share of quotes
under "for" or "against" that stand under the right one, what always naming the commoner side would get,
and the words of an answer; each with its 95 % interval.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np

from adaptive_rag.evaluation.corpora import default_cache, open_corpus
from adaptive_rag.evaluation.datasets import Question, load_dataset
from adaptive_rag.evaluation.metrics import stances
from adaptive_rag.rank.stances import Side, side_of
from adaptive_rag.runnable import AdaptiveRAG

Half = Literal["train", "dev"]
STANCES: Mapping[str, Side] = {"support": "for", "undermine": "against"}
_HEADING = re.compile(r"^\*\*(?P<heading>.+)\*\*$")
_MARKER = re.compile(r"\[(\d+)\]")
_RESAMPLES = 2000


@dataclass(frozen=True)
class ShownSides:
    """What the answer to one question shows of its sides."""

    both: bool  # passages of both sides are quoted
    read: bool  # passages of both sides were read
    placed: tuple[tuple[Side, Side], ...]  # of each quote under a side: that side, and its own
    unjudged: int  # quotes under a side that the data do not judge for this question
    quotes: int
    words: int


def half_of(question_id: str) -> Half:
    """Tell by a hash of its id whether a question is for choosing settings or for reporting."""
    return "dev" if hashlib.sha256(question_id.encode()).digest()[0] % 2 else "train"


def headed_quotes(answer: str) -> list[tuple[str, int]]:
    """Return the heading above each marker of an answer ("" above the first one) and its number, in order."""
    found, heading = [], ""
    for block in answer.split("\n\n"):
        heading = ""
        for line in block.splitlines():
            if match := _HEADING.match(line.strip()):
                heading = match["heading"]
            found += [(heading, int(number)) for number in _MARKER.findall(line)]
    return found


def shown_sides(question: Question, answer: str, documents: Sequence[Any]) -> ShownSides:
    """Tell what an answer shows of the two sides that the data know."""
    ids = [str(document["metadata"]["_id"]) for document in documents]
    quoted = [(side_of(heading), ids[number - 1]) for heading, number in headed_quotes(answer)]
    placed, unjudged = [], 0
    for side, id_ in quoted:
        own = stances(question.aspects, [id_])
        if side and len(own) == 1:
            placed.append((side, STANCES[own.pop()]))
        elif side:
            unjudged += 1
    return ShownSides(
        both=len(stances(question.aspects, [id_ for _, id_ in quoted])) > 1,
        read=len(stances(question.aspects, ids)) > 1,
        placed=tuple(placed),
        unjudged=unjudged,
        quotes=len(quoted),
        words=len(_MARKER.sub("", answer).split()),
    )


def interval(
    rows: Sequence[ShownSides], figure: Callable[[Sequence[ShownSides]], float]
) -> tuple[float, float, float]:
    """Return a figure and its 95 % interval, by the bootstrap over questions."""
    draws = np.random.default_rng(0).integers(len(rows), size=(_RESAMPLES, len(rows)))
    drawn = [figure([rows[i] for i in draw]) for draw in draws]
    low, high = np.nanpercentile(drawn, (2.5, 97.5))
    return figure(rows), float(low), float(high)


def both_share(rows: Iterable[ShownSides]) -> float:
    """Return the share of answers that quote both sides."""
    return float(np.mean([row.both for row in rows]))


def right_share(rows: Iterable[ShownSides]) -> float:
    """Return the share of the judged quotes under a side that stand under their own; NaN without any."""
    right = [side == own for row in rows for side, own in row.placed]
    return float(np.mean(right)) if right else float("nan")


def commoner_share(rows: Iterable[ShownSides]) -> float:
    """Return what `right_share` would be, if all stood under the side that more of them take."""
    share = float(np.mean([own == "for" for row in rows for _, own in row.placed] or [float("nan")]))
    return max(share, 1 - share)


def measure(app: AdaptiveRAG, questions: Iterable[Question]) -> list[ShownSides]:
    """Ask the questions whose documents hold both sides."""
    rows = []
    for question in questions:
        if len(stances(question.aspects, question.aspects)) > 1:
            result = app.invoke({"question": question.text})
            rows.append(shown_sides(question, result["answer"], result["documents"]))
    return rows


def table(rows: Sequence[ShownSides]) -> str:
    """Return the figures as a table."""
    quotes = sum(row.quotes for row in rows)
    under = sum(len(row.placed) + row.unjudged for row in rows)
    lines = [f"{len(rows)} questions", "| what | share | 95 % |", "|---|--:|--:|"]
    for name, figure in (
        ("both sides quoted", both_share),
        ("both sides read", lambda rows: float(np.mean([row.read for row in rows]))),
        ("under the right side", right_share),
        ("under the commoner side", commoner_share),
    ):
        share, low, high = interval(rows, figure)
        lines.append(f"| {name} | {share:.3f} | {low:.3f} to {high:.3f} |")
    lines.append(f"| of the quotes, under a side | {under / max(quotes, 1):.3f} | |")
    lines.append(f"| quotes of an answer | {quotes / len(rows):.1f} | |")
    words = [row.words for row in rows]
    lines.append(f"| words, median and most | {median(words):.0f} | {max(words)} |")
    return "\n".join(lines)


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of a data set whose aspects name sides")
    parser.add_argument("--half", choices=("train", "dev"), default="dev")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where indexes are kept")
    options = parser.parse_args()
    dataset = load_dataset(options.data)
    index, _ = open_corpus(dataset, options.cache)
    app = AdaptiveRAG(index, route="opinion")
    asked = [question for question in dataset.questions if half_of(question.id) == options.half]
    sys.stdout.write(f"{table(measure(app, asked))}\n")


if __name__ == "__main__":
    main()
