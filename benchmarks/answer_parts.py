"""Measure what parts of an answer without a chat model are worth, on questions in which they matter.

    python -m benchmarks.answer_parts [DOCUMENTS] [--most 60]

The questions are made from the tables of a folder of documents; without one, from the twelve documents of
`benchmarks.typed_questions`. *cell* asks for a cell of a row: "what is the price of P-100". *two cells* asks
for two of those in one question. *other number* is *cell* with a name that no document has ("P-103"): an
answer to it is wrong. Each is asked with all parts, and without each of some.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from adaptive_rag import AdaptiveRAG, Index
from adaptive_rag.answer.whole_tables import collect_tables
from benchmarks.real.__main__ import contains_evidence
from benchmarks.typed_questions.sources import make_documents

ARMS: dict[str, frozenset[str]] = {
    "all parts": frozenset(),
    "without names": frozenset({"names"}),
    "without parts": frozenset({"parts"}),
}
# In characters. People ask by a short name for a short value.
LONGEST_NAME, LONGEST_VALUE = 40, 60
_DIGITS = re.compile(r"\d+(?=\D*$)")


@dataclass(frozen=True)
class CellQuestion:
    """A question for one cell of a table."""

    column: str
    name: str
    value: str

    def __str__(self) -> str:
        return f"what is the {self.column.lower()} of {self.name}"


def make_questions(index: Index, rng: random.Random) -> list[CellQuestion]:
    """Return a question for one cell of each row that has a name."""
    questions = list[CellQuestion]()
    for table in collect_tables(index):
        for row in table.rows:
            (_, name), *others = row.cells
            cells = [(column, value) for column, value in others if column and is_word(value, LONGEST_VALUE)]
            if cells and is_word(name, LONGEST_NAME):
                column, value = rng.choice(cells)
                questions.append(CellQuestion(column, name, value))
    rng.shuffle(questions)
    return questions


def is_word(text: str, longest: int) -> bool:
    """Return whether a cell holds something that people would type or read."""
    return len(text) <= longest and re.search(r"\w", text) is not None


def with_other_numbers(questions: Sequence[CellQuestion], index: Index) -> list[str]:
    """Return the questions whose names end in a number, with a number that no document has there."""
    text = "\n".join(chunk["text"] for chunk in index.chunks()).casefold()
    changed = list[str]()
    for question in questions:
        if not (number := _DIGITS.search(question.name)) or not re.search(r"[^\W\d]", question.name):
            continue
        for other in range(int(number[0]) + 3, int(number[0]) + 100):
            name = _DIGITS.sub(str(other).zfill(len(number[0])), question.name)
            if name.casefold() not in text:
                changed.append(str(CellQuestion(question.column, name, "")))
                break
    return changed


def count_answers(
    rag: AdaptiveRAG, questions: Sequence[tuple[str, Sequence[str]]], **settings: object
) -> int:
    """Return how many questions get an answer that contains all of their values."""
    found = 0
    for question, values in questions:
        output = rag.invoke(question, context=settings)
        decisions = [d["what"] for record in output["trace"] for d in record.get("decisions", ())]
        is_answer = not output["abstained"] and "closest" not in decisions
        found += is_answer and (not values or contains_evidence(output["answer"], [[v] for v in values]))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("documents", type=Path, nargs="?")
    parser.add_argument("--most", type=int, default=60, help="questions of each kind")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        documents = options.documents or Path(folder) / "documents"
        if options.documents is None:
            documents.mkdir()
            make_documents(documents)
        Index.build(documents, Path(folder) / "index")
        index = Index.open(Path(folder) / "index")
        questions = make_questions(index, random.Random(1))
        others = with_other_numbers(questions, index)[: options.most]
        cells = questions[: options.most]
        kinds: dict[str, list[tuple[str, list[str]]]] = {
            "cell": [(str(question), [question.value]) for question in cells],
            "two cells": [(f"{a} and {b}", [a.value, b.value]) for a, b in pairwise(cells)],
            "other number (answers are wrong)": [(text, []) for text in others],
        }
        print(f"| answered | n | {' | '.join(ARMS)} |\n|---|--:|{'--:|' * len(ARMS)}")
        for kind, asked in kinds.items():
            counts = [count_answers(AdaptiveRAG(index), asked, without=without) for without in ARMS.values()]
            print(f"| {kind} | {len(asked)} | {' | '.join(map(str, counts))} |", flush=True)


if __name__ == "__main__":
    main()
