"""Sentences with the side that each takes on several proposals, some of which contradict each other.

A line of `stances.jsonl.xz` is a subject, and what a strong language model wrote about it:

part         train, development or test
subject      what the proposals are about
proposals    four of them, in the forms in which people propose, reject and ask
sentences    pairs of a sentence and a letter for each proposal: f (for), a (against) or n (neither)

Few proposals are made about a passage of documents, and most sentences there take no side. Here each sentence
is read with every proposal, so that its words of praise or blame alone do not tell its side.
"""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Iterator
from pathlib import Path

from training.reader.sources import Row

STANCES = Path(__file__).parent / "stances.jsonl.xz"
SIDE_OF_LETTER = {"f": "for", "a": "against", "n": "neither"}
# Maximum number of sentences in a passage.
TOGETHER = 6


def read_stances(part: str) -> Iterator[Row]:
    """Yield the subjects of a part."""
    with lzma.open(STANCES, "rt", encoding="utf-8") as lines:
        yield from (row for row in map(json.loads, lines) if row["part"] == part)


def passages_of(subject: Row, draw: random.Random) -> Iterator[Row]:
    """Yield passages of some sentences of a subject in random order, with sides as in `examples.py`."""
    sentences = draw.sample(subject["sentences"], len(subject["sentences"]))
    while sentences:
        count = draw.randint(1, TOGETHER)
        group, sentences = sentences[:count], sentences[count:]
        yield {
            "title": "",
            "section": "",
            "text": draw.choice((" ", "\n", "\n\n")).join(sentence for sentence, _ in group),
            "sides": [
                {"proposal": proposal, "s": sentence, "side": SIDE_OF_LETTER[letters[number]]}
                for number, proposal in enumerate(subject["proposals"])
                for sentence, letters in group
            ],
        }
