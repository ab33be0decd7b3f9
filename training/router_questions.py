"""The typed questions on which the router is trained and measured."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from training.reader.examples import read_lines, read_split
from training.reader.found import read_asked

Row = dict[str, Any]

EXAMPLES = Path(__file__).parent / "router_examples.jsonl"
# How many questions about single passages are drawn, by type and by whether they have the asker's situation.
READ_EXAMPLES = {
    ("factual", False): 800, ("factual", True): 100,
    ("analytical", False): 500, ("analytical", True): 60,
    ("opinion", False): 500,
    ("contextual", False): 346, ("contextual", True): 900,
}  # fmt: skip


def load_rows(data: Path) -> list[Row]:
    """Return the train split of the public questions and our own examples."""
    lines = (data / "classification" / "classification.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    train = [
        {**row, "type": row["type"].lower(), "source": "public"} for row in rows if row["split"] == "train"
    ]
    own = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]
    return [
        *train,
        *({**row, "source": "own"} for row in own),
        *draw_read_questions(),
        *asked_questions("train"),
        *asked_questions("unread"),
    ]


def asked_questions(part: str) -> Iterator[Row]:
    """Yield the questions about document sets of a part of the reader's examples."""
    for row in read_asked(part):
        yield {"text": row["q"], "type": row["type"], "user_context": row["sit"], "source": "asked"}


def read_questions(part: str) -> Iterator[Row]:
    """Yield the typed questions about single passages of a part of the reader's examples."""
    sets = set(read_split()[part])
    for row in read_lines():
        for question in row["qa"] if row["set"] in sets else ():
            if query_type := question.get("type"):
                context = question.get("sit") or ""
                yield {
                    "text": question["q"], "type": query_type, "user_context": context, "source": "read",
                }  # fmt: skip


def draw_read_questions() -> Iterator[Row]:
    """Yield a sample of the questions about passages of the train part; its sizes are `READ_EXAMPLES`."""
    groups = defaultdict[tuple[str, bool], list[Row]](list)
    for row in read_questions("train"):
        groups[row["type"], bool(row["user_context"])].append(row)
    draw = random.Random(5)
    for group, count in READ_EXAMPLES.items():
        yield from draw.sample(groups[group], count)
