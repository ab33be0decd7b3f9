"""The examples that the reader is trained on: their form, where they are kept, and which part each is of.

A line of `examples.jsonl.xz` is a passage and what a strong reader wrote of it:

id, set, source, section, title, text    the passage, as the index cuts it, and the document set it is from
qa        questions that it answers: q, a (the answer, as it stands there), s (the sentence that holds it),
          type, and sit, the asker's situation, where the answer depends on it
no        near misses: q, which sounds as if it were answered here and is not, and kind, what it misses by
true      sentences that the passage supports, in other words
false     sentences that it does not: t, and kind, what was changed
follow    a question that leans on the one before it: before, q, a, s; or null
sides     what a sentence says of a proposal: proposal, s, side (for, against, neither), who (whose words)

Of a passage of a public document, its words and what is quoted of it are kept as places (`sources.py`).
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from training.reader.sources import Row, is_public, read_back

EXAMPLES = Path(__file__).parent / "examples.jsonl.xz"
SPLIT = Path(__file__).parent / "split.json"
NEAR_MISSES = frozenset(
    "other-subject opposite-condition other-range other-people missing-amount missing-time missing-place "
    "missing-reason missing-how".split()
)
FALSIFIED = frozenset("number name negation roles scope added".split())
SIDES = frozenset(("for", "against", "neither"))
TYPES = frozenset(("factual", "analytical", "opinion", "contextual"))
# Words in a row that two questions share only where one was taken from the other.
_SHARED_WORDS = 8
_WORD = re.compile(r"\w+")


def read_examples(part: str | None = None, sources: Path | None = None) -> Iterator[Row]:
    """Yield the examples of a part ("train", "development", "test"), or all, with their words.

    Without the folder of the public sources only those that were invented come.

    Raises:
        MissingSourceError: the folder lacks one of them.
    """
    sets = None if part is None else set(read_split()[part])
    for row in read_lines():
        if sets is None or row["set"] in sets:
            if not is_public(row):
                yield row
            elif sources:
                yield read_back(row, sources)


def read_lines() -> Iterator[Row]:
    """Yield the lines as they are kept."""
    with lzma.open(EXAMPLES, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def read_split() -> dict[str, list[str]]:
    """Return the document sets of each part. They were drawn once, before anything was trained."""
    parts: dict[str, list[str]] = json.loads(SPLIT.read_text("utf-8"))
    return parts


def find_faults(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with an example."""
    text = row["text"]
    for asked in [*row["qa"], *([row["follow"]] if row["follow"] else [])]:
        if asked["s"] not in text:
            yield f"its text does not hold the sentence {asked['s'][:60]!r}"
        if asked["a"] not in asked["s"]:
            yield f"the sentence does not hold the answer {asked['a'][:60]!r}"
    if not {asked.get("type") for asked in row["qa"]} <= TYPES | {None}:
        yield "a question is of no type"
    if not {missed["kind"] for missed in row["no"]} <= NEAR_MISSES | {None}:
        yield "a near miss is of no kind"
    if not {claim["kind"] for claim in row["false"]} <= FALSIFIED:
        yield "a false sentence is of no kind"
    for sided in row["sides"]:
        if sided["s"] not in text or sided["side"] not in SIDES:
            yield f"a side is of no sentence, or none: {sided['s'][:60]!r}"


def query_of(asked: Mapping[str, Any]) -> str:
    """Return a question as it is read, with the asker's situation."""
    return f"{asked['q']} ({asked['sit']})" if asked.get("sit") else str(asked["q"])


def questions_of(row: Mapping[str, Any]) -> list[str]:
    """Return all questions of an example."""
    follow = [row["follow"]["q"], row["follow"]["before"]] if row["follow"] else []
    return [asked["q"] for asked in (*row["qa"], *row["no"])] + follow


def shared_with(questions: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the questions that share eight words in a row, or all of fewer, with a known one."""
    seen = {run for question in known for run in _runs(question)}
    return [question for question in questions if any(run in seen for run in _runs(question))]


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    if len(words) < 4:
        return  # "opening hours" is nobody's own
    for start in range(max(1, len(words) - _SHARED_WORDS + 1)):
        yield tuple(words[start : start + _SHARED_WORDS])
