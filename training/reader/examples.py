"""The examples that the reader is trained on: their form, their file, and the part that each belongs to.

A line of `examples.jsonl.xz` is a passage and what a strong reader wrote about it:

id, set, source, section, title, text    the passage, as the index cuts it, and its document set
qa        questions that it answers: q, a (the answer, quoted), s (the sentence that contains it), type, and
          sit, the asker's situation, if the answer depends on it
no        near misses: q, which seems to be answered by the passage and is not, and kind, the difference
true      sentences in other words that the passage supports
false     sentences that it does not support: t, and kind, what was changed
follow    a question that depends on the one before it: before, q, a, s; or null
sides     the side that a sentence takes on a proposal: proposal, s, side (for, against, neither), who
          (whose words)

For a passage of a public document, its words and quotes are stored as spans (`sources.py`).
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from training.reader.sources import Row, is_public, restore_words

EXAMPLES = Path(__file__).parent / "examples.jsonl.xz"
SPLIT = Path(__file__).parent / "split.json"
NEAR_MISSES = frozenset(
    "other-subject opposite-condition other-range other-people missing-amount missing-time missing-place "
    "missing-reason missing-how".split()
)
FALSIFIED = frozenset("number name negation roles scope added".split())
SIDES = frozenset(("for", "against", "neither"))
TYPES = frozenset(("factual", "analytical", "opinion", "contextual"))
# Two questions with so many words in a row in common are the same question.
_SHARED_WORDS = 8
_WORD = re.compile(r"\w+")


def read_examples(part: str | None = None, sources: Path | None = None) -> Iterator[Row]:
    """Yield the examples of a part ("train", "development", "test"), or all, with their words.

    Without the folder of the public sources, only examples of invented documents are returned.

    Raises:
        MissingSourceError: the folder lacks a document.
    """
    sets = None if part is None else set(read_split()[part])
    for row in read_lines():
        if sets is None or row["set"] in sets:
            if not is_public(row):
                yield row
            elif sources:
                yield restore_words(row, sources)


def read_lines() -> Iterator[Row]:
    """Yield the examples as they are stored."""
    with lzma.open(EXAMPLES, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def read_split() -> dict[str, list[str]]:
    """Return the document sets of each part, which were drawn before anything was trained."""
    parts: dict[str, list[str]] = json.loads(SPLIT.read_text("utf-8"))
    return parts


def write_split(parts: Mapping[str, Iterable[str]]) -> None:
    """Write the document sets of each part."""
    names = {part: sorted(names) for part, names in parts.items()}
    SPLIT.write_text(json.dumps(names, indent=1) + "\n", "utf-8")


def find_faults(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with an example."""
    text = row["text"]
    for question in [*row["qa"], *([row["follow"]] if row["follow"] else [])]:
        if question["s"] not in text:
            yield f"its text does not contain the sentence {question['s'][:60]!r}"
        if question["a"] not in question["s"]:
            yield f"the sentence does not contain the answer {question['a'][:60]!r}"
    if not {question.get("type") for question in row["qa"]} <= TYPES | {None}:
        yield "a question has an unknown type"
    if not {near_miss["kind"] for near_miss in row["no"]} <= NEAR_MISSES | {None}:
        yield "a near miss has an unknown kind"
    if not {claim["kind"] for claim in row["false"]} <= FALSIFIED:
        yield "a false sentence has an unknown kind"
    for example in row["sides"]:
        if example["s"] not in text or example["side"] not in SIDES:
            yield f"a side has an unknown value, or its sentence is not in the text: {example['s'][:60]!r}"


def query_of(question: Mapping[str, Any]) -> str:
    """Return a question in the form in which it is read, with the asker's situation."""
    return f"{question['q']} ({question['sit']})" if question.get("sit") else str(question["q"])


def questions_of(row: Mapping[str, Any]) -> list[str]:
    """Return all questions of an example."""
    follow = [row["follow"]["q"], row["follow"]["before"]] if row["follow"] else []
    return [question["q"] for question in (*row["qa"], *row["no"])] + follow


def shared_with(questions: Iterable[str], known_questions: Iterable[str]) -> list[str]:
    """Return the questions that share eight words in a row with a known one, or all words if fewer."""
    known_runs = {run for question in known_questions for run in _runs(question)}
    return [question for question in questions if any(run in known_runs for run in _runs(question))]


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    if len(words) < 4:
        return  # a question such as "opening hours" may be the same by chance
    for start in range(max(1, len(words) - _SHARED_WORDS + 1)):
        yield tuple(words[start : start + _SHARED_WORDS])
