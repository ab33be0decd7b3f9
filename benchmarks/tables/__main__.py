"""Measure answers to questions over tables that people ask in other words than the tables have.

    python -m benchmarks.tables [--part test] [--sets 2]

`questions.jsonl.xz` has tables of 16 invented organisations (a surgery, a theatre, a council, ...), twelve of
each, with 18 questions each: values, lists, counts, sums, the largest, and one in six that the table does not
answer. A strong language model wrote tables and questions without knowing the program. The tables of an
organisation are written as its files and indexed together. An answer is right if it has all evidence: the
cells that are asked for, the names of the rows, or the figure. Beside it stands what the question means: the
operation, the measured column, the columns to show and the conditions. The failures of the part *test* are
not read.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import docx
import openpyxl

from adaptive_rag import AdaptiveRAG, Index
from benchmarks.real.__main__ import contains_evidence

QUESTIONS = Path(__file__).parent / "questions.jsonl.xz"
Row = dict[str, Any]


def read_sets(part: str) -> dict[str, list[Row]]:
    """Return the tables of a part by their organisation."""
    sets = defaultdict[str, list[Row]](list)
    with lzma.open(QUESTIONS, "rt", encoding="utf-8") as lines:
        for table in map(json.loads, lines):
            if table["part"] == part:
                sets[table["set"]].append(table)
    return sets


def write_files(tables: Sequence[Row], folder: Path) -> None:
    """Write tables as CSV and Word files, and the others as workbooks, each with its title above it."""
    books = dict[Path, openpyxl.Workbook]()
    for table in tables:
        path, rows = folder / table["file"], [table["columns"], *table["rows"]]
        if path.suffix == ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(rows)
        elif path.suffix == ".docx":
            document = docx.Document()
            document.add_heading(table["title"] or path.stem)
            grid = document.add_table(len(rows), len(table["columns"]))
            for row, cells in zip(grid.rows, rows, strict=True):
                for cell, text in zip(row.cells, cells, strict=True):
                    cell.text = text
            document.save(str(path))
        else:
            book = books.setdefault(path.with_suffix(".xlsx"), openpyxl.Workbook())
            sheet = book.create_sheet(table["sheet"] or None)
            for cells in [[table["title"]]] * bool(table["title"]) + rows:
                sheet.append(cells)
    for path, book in books.items():
        book.remove(book.worksheets[0])
        book.save(path)


def ask(tables: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield the operation of each question about an organisation, and what became of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "documents").mkdir()
        write_files(tables, folder / "documents")
        Index.build(folder / "documents", folder / "index")
        rag = AdaptiveRAG(Index.open(folder / "index"))
        for question in (question for table in tables for question in table["questions"]):
            output = rag.invoke(question["question"])
            has_evidence = contains_evidence(output["answer"], question["evidence"])
            yield question["operation"], f"{output['outcome']}{', right' if has_evidence else ''}"


def main() -> None:
    """Print the counts by operation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", choices=("look", "test"), default="test")
    parser.add_argument("--sets", type=int, help="ask only about the first organisations")
    options = parser.parse_args()
    counts = defaultdict[str, Counter[str]](Counter)
    for tables in list(read_sets(options.part).values())[: options.sets]:
        for operation, outcome in ask(tables):
            counts[operation][outcome] += 1
            if operation != "none":
                counts["all but none"][outcome] += 1
    print("| operation | questions | answer, right | answer | closest, right | closest | refusal |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for operation, count in counts.items():
        right, answer, closest_right, closest = (
            count[name] for name in ("answer, right", "answer", "closest, right", "closest")
        )
        cells = [count.total(), right, answer + right, closest_right, closest + closest_right]
        print("|", " | ".join(map(str, [operation, *cells, count["refusal"] + count["refusal, right"]])), "|")


if __name__ == "__main__":
    main()
