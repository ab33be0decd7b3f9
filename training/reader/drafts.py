"""Drafts as a chat model writes them, with sentences that their passages support and others that they do not.

A line of `drafts.jsonl.xz` is the answer to a question of `found.py`:

id       the question's id
read     the ids of the passages of its prompt, in order
draft    its sentences: t (the text), from (the numbers of the passages that support it, from 1) and label,
         "supported" or "absence" (it says what the passages do not contain)
false    changed sentences: t, of (the index of the true one) and kind

A strong language model wrote them after reading the passages. Many true sentences share few words with their
passage, and many false ones differ in what a careless writer gets wrong: values, roles, conditions, causes.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path

from adaptive_rag.text.reading import Passage
from training.reader.found import read_found
from training.reader.sources import Row

DRAFTS = Path(__file__).parent / "drafts.jsonl.xz"
# Kinds of false sentences that the passages do not contradict.
UNTOLD = frozenset(("added", "outside", "scope"))


def read_drafts(part: str, sources: Path | None = None) -> Iterator[tuple[Row, list[Passage]]]:
    """Yield the drafts about the document sets of a part, each with the passages of its prompt.

    Raises:
        MissingSourceError: the folder of the public sources lacks a document.
    """
    passages = {
        passage["id"]: Passage(passage["text"], passage["title"], passage["section"])
        for row in read_found(part, sources)
        for passage in row["read"]
    }
    with lzma.open(DRAFTS, "rt", encoding="utf-8") as lines:
        for draft in map(json.loads, lines):
            if passages.keys() >= set(draft["read"]):
                yield draft, [passages[id_] for id_ in draft["read"]]


def claims_of(draft: Row) -> Iterator[tuple[str, str, str, list[int]]]:
    """Yield each claim of a draft, its verdict, its kind, and the indexes of the passages it is about."""
    for sentence in draft["draft"]:
        if sentence["label"] == "supported":
            yield sentence["t"], "supported", "true", [number - 1 for number in sentence["from"]]
    for false in draft["false"]:
        verdict = "untold" if false["kind"] in UNTOLD else "contradicted"
        numbers = draft["draft"][false["of"]]["from"]
        yield false["t"], verdict, false["kind"], [number - 1 for number in numbers]
