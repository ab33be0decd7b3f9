"""Measures how tables of Office files are read, against a ground truth of their cells.

    python -m benchmarks.office_tables FOLDER

FOLDER holds, at any depth, files as of the tests of docling: sources/NAME.docx or .xlsx, and its JSON in
groundtruth/NAME.docx.json beside that folder. It prints, over all cells of a kind of file:

read        the share of body cells whose text stands in what is read
named       the share of body cells that stand, in one passage, with the names of their row and their column

What a body cell is and what names it is defined in benchmarks/pdf_tables.py, but the header of a table is
what the ground truth says: also where the first cell of the next row is empty. Tables with formulas, which
the ground truth has in LaTeX, are not counted. The columns of an FAQ are named by what its rows are: a
question, and the answer below it. docling takes the first row of every table for names, also where the
document does not set it apart; what is read there as rows without names counts as not named.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text, split
from benchmarks.pdf_tables import Cell, Found, Grid, count_named, plain, read_adaptive

_KINDS = (".docx", ".xlsx")


def read_truth(path: Path) -> list[Grid]:
    """Return the tables of a document as docling writes it."""
    tables = json.loads(path.read_text(encoding="utf-8")).get("tables", ())
    found = [table["data"]["table_cells"] for table in tables]
    return [_grid(cells) for cells in found if not any("$" in cell["text"] for cell in cells)]


def _grid(cells: list[dict[str, object]]) -> Grid:
    """Return a table, whose header ends where docling says."""
    header = [int(str(cell["end_row_offset_idx"])) for cell in cells if cell["column_header"]]
    return Grid([_cell(cell) for cell in cells], max(header, default=0))


def _cell(found: dict[str, object]) -> Cell:
    row, last_row, column, last_column = (
        int(str(found[f"{edge}_{axis}_offset_idx"])) for axis in ("row", "col") for edge in ("start", "end")
    )
    return Cell(plain(str(found["text"])), row, column, last_row - 1, last_column - 1)


def read_cells(path: Path) -> Found:
    """Read the rows of a file's passages: of a table, and of records whose lines are "column: value"."""
    found = read_adaptive(path)
    rows = [(names, (*cells, *("",) * (len(names) - len(cells)))) for names, cells in found.rows]
    for chunk in split(extract_text(path)):
        fields = [line.partition(": ") for line in chunk["text"].split("\n") if ": " in line]
        if chunk["metadata"].get("kind") == "qa":  # the row of an FAQ: its question, and below it its answer
            fields += [(name, ": ", chunk["metadata"][name]) for name in ("question", "answer")]
        rows.append(
            (tuple(plain(name) for name, _, _ in fields), tuple(plain(text) for _, _, text in fields))
        )
    return replace(found, rows=rows)


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--each", action="store_true", help="print a line for each file too")
    options = parser.parse_args()
    sys.stdout.write("| documents | files | cells | read | named |\n|---|--:|--:|--:|--:|\n")
    for kind in _KINDS:
        total: Counter[str] = Counter()
        for truth in sorted(options.folder.rglob(f"groundtruth/*{kind}.json")):
            path = truth.parent.parent / "sources" / truth.stem
            if path.exists():
                figures = measure(path, read_truth(truth))
                total += figures
                if options.each:
                    say(path.name, figures)
        say(kind, total)


def measure(path: Path, truth: list[Grid]) -> Counter[str]:
    """Return the counts of one document."""
    try:
        found, text = read_cells(path), plain(extract_text(path).text)
    except IndexingError as error:
        sys.stderr.write(f"{path.name} {error}\n")
        found, text = Found([], []), ""
    named, cells = count_named(truth, found)
    read = sum(cell in text for grid in truth for _, cell, _ in grid.named())
    return Counter(files=1, cells=cells, read=read, named=named)


def say(name: str, total: Counter[str]) -> None:
    """Print the shares of one file or kind of file."""
    read, named = (f"{total[figure] / max(1, total['cells']):.3f}" for figure in ("read", "named"))
    sys.stdout.write(f"| {name} | {total['files']} | {total['cells']} | {read} | {named} |\n")


if __name__ == "__main__":
    main()
