"""Measures how tables of PDFs are read, against a ground truth of their cells.

    python -m benchmarks.pdf_tables FOLDER

FOLDER holds, at any depth, PDFs as of the ICDAR 2013 table competition: NAME.pdf beside NAME-str.xml. Of our
reader and of both strategies of PyMuPDF's `find_tables` it prints, as means over the documents:

recall      the share of pairs of neighbouring cells of the ground truth that are neighbours as read
precision   the share of pairs of neighbours as read that are in the ground truth
named       the share of body cells that stand, in one passage, with the names of their row and their column

Two cells are neighbours if nothing but empty cells stands between them in a row or a column (Göbel, Hassan,
Oro and Orsi, "A methodology for evaluating algorithms for table understanding in PDF documents", 2012). Of a
text only letters and digits count, in one case. The names of a column are all cells of the header above it:
the first row, those that its cells reach into, and the next ones while they name nothing in the first column.
The name of a row is its first cell; rows without one are not counted.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import unicodedata
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from itertools import groupby, pairwise, product
from pathlib import Path
from statistics import mean

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text, split
from adaptive_rag.text.tables import find_tables, is_row

# Our reader says a name above several columns above each of them, in a header of at most so many rows.
_HEADER_ROWS = 2
_Pairs = Counter[tuple[str, str, str]]


@dataclass(frozen=True)
class Cell:
    """A cell that covers the rows and columns between two places, both counted."""

    text: str
    row: int
    column: int
    last_row: int
    last_column: int


class Grid:
    """A table's cells by the places that they cover."""

    def __init__(self, cells: Sequence[Cell], body: int | None = None) -> None:
        """Take the cells, and the first row below the header where the ground truth says it."""
        self._body = body
        self.places = {
            (row, column): cell
            for cell in cells
            if cell.text
            for row in range(cell.row, cell.last_row + 1)
            for column in range(cell.column, cell.last_column + 1)
        }
        self.cells = list(dict.fromkeys(self.places.values()))

    def pairs(self) -> _Pairs:
        """Return each two cells with nothing between them, and in which direction."""
        found: set[tuple[Cell, Cell, str]] = set()
        for axis, direction in ((0, "right"), (1, "below")):
            order = sorted(self.places, key=lambda place: (place[axis], place[1 - axis]))
            found |= {
                (self.places[one], self.places[two], direction)
                for one, two in pairwise(order)
                if one[axis] == two[axis] and self.places[one] is not self.places[two]
            }
        return Counter((one.text, two.text, direction) for one, two, direction in found)

    def named(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """Yield each body cell with the name of its row and those of its column."""
        first = min((row for row, _ in self.places), default=0)
        left = min((column for _, column in self.places), default=0)
        body = first + 1
        for cell in sorted(self.cells, key=lambda cell: cell.row):
            if cell.row < body:
                body = max(body, cell.last_row + 1)
        if self._body is not None:
            body = self._body
        while (
            self._body is None
            and self.cells
            and (body, left) not in self.places
            and any(row == body for row, _ in self.places)
        ):
            body += 1
        for (row, column), cell in self.places.items():
            name = self.places.get((row, left))
            if row < body or cell.column == left or name is None or (row, column) != (cell.row, cell.column):
                continue
            above = (self.places.get((at, column)) for at in range(first, body))
            yield name.text, cell.text, tuple(dict.fromkeys(each.text for each in above if each))


def plain(text: str) -> str:
    """Return the letters and digits of a text, in one case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text))).casefold()


def read_truth(path: Path) -> list[Grid]:
    """Return the tables of a ground truth, one for each region of a page."""
    grids = []
    for region in ET.parse(path).getroot().iter("region"):
        cells = []
        for cell in region.iter("cell"):
            row, column = int(cell.get("start-row", 0)), int(cell.get("start-col", 0))
            last_row, last_column = int(cell.get("end-row", row)), int(cell.get("end-col", column))
            cells.append(Cell(plain(cell.findtext("content") or ""), row, column, last_row, last_column))
        grids.append(Grid(cells))
    return grids


@dataclass(frozen=True)
class Found:
    """What a reader found: its tables, and the rows of its passages by the names of their columns."""

    grids: list[Grid]
    rows: list[tuple[tuple[str, ...], tuple[str, ...]]]


def read_adaptive(path: Path) -> Found:
    """Read the tables of the extracted text, and those of its passages."""
    source = extract_text(path)
    blocks = groupby(source.text.split("\n"), key=is_row)
    grids = [
        _unspanned([[plain(cell) for cell in line.split(" | ")] for line in rows])
        for row, rows in blocks
        if row
    ]
    found = [
        (tuple(map(plain, table.columns)), tuple(map(plain, row.cells)))
        for chunk in split(source)
        for table in find_tables(chunk["text"], tuple(chunk["metadata"].get("columns", ())))
        for row in table.rows
    ]
    return Found(grids, found)


def _unspanned(rows: Sequence[Sequence[str]]) -> Grid:
    """Make one cell of a name that is said in each column of the header, or in each row of the first."""
    cells: dict[tuple[int, int], Cell] = {}
    for (row, texts), column in ((each, at) for each in enumerate(rows) for at in range(len(each[1]))):
        left, above = cells.get((row, column - 1)), cells.get((row - 1, column))
        header = row < _HEADER_ROWS
        if left and header and left.text == texts[column] and left.row == row:
            cell = replace(left, last_column=column)
        elif above and (header or not column) and above.text == texts[column] and above.column == column:
            cell = replace(above, last_row=row)
        else:
            cell = Cell(texts[column], row, column, row, column)
        for at in product(range(cell.row, cell.last_row + 1), range(cell.column, cell.last_column + 1)):
            cells[at] = cell
    return Grid(list(dict.fromkeys(cells.values())))


def read_pymupdf(path: Path, strategy: str) -> Found:
    """Read the tables that PyMuPDF finds; what it merged is one cell."""
    import pymupdf

    grids, found = [], []
    with pymupdf.open(path) as document:
        for page in document:
            for table in page.find_tables(strategy=strategy).tables:
                rows = table.extract()
                cells = []
                for row, texts in enumerate(rows):
                    for column, text in enumerate(texts):
                        if text is not None:
                            last = next(
                                (at for at in range(column + 1, len(texts)) if texts[at] is not None),
                                len(texts),
                            )
                            cells.append(Cell(plain(text), row, column, row, last - 1))
                grids.append(Grid(cells))
                names = tuple(plain(name or "") for name in table.header.names)
                found += [(names, tuple(plain(cell or "") for cell in row)) for row in rows]
    return Found(grids, found)


READERS: Mapping[str, Callable[[Path], Found]] = {
    "adaptive": read_adaptive,
    "pymupdf lines": partial(read_pymupdf, strategy="lines"),
    "pymupdf text": partial(read_pymupdf, strategy="text"),
}


def count_named(truth: Sequence[Grid], found: Found) -> tuple[int, int]:
    """Return how many body cells have their names in a row of a passage, and how many there are."""
    by_cell: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for names, cells in found.rows:
        if len(names) == len(cells):
            for cell, name in zip(cells, names, strict=True):
                by_cell[cell].append((cells, name))
    wanted = [each for grid in truth for each in grid.named()]
    return sum(
        any(
            all(part in column for part in above) and any(row in cell for cell in cells)
            for cells, column in by_cell[text]
        )
        for row, text, above in wanted
    ), len(wanted)


def measure(truth: Sequence[Grid], found: Found) -> dict[str, float]:
    """Return the figures of one document."""
    wanted, got = (sum((grid.pairs() for grid in grids), _Pairs()) for grids in (truth, found.grids))
    met = (wanted & got).total()
    named, cells = count_named(truth, found)
    row = {"recall": met / max(1, wanted.total())}
    if got:
        row["precision"] = met / got.total()
    return {**row, "named": named / cells} if cells else row


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reader", choices=READERS, help="measure this one alone")
    parser.add_argument("--each", action="store_true", help="print a line for each file too")
    options = parser.parse_args()
    truths = sorted(options.folder.rglob("*-str.xml"), key=lambda path: path.name)
    paths = [path.with_name(path.name.replace("-str.xml", ".pdf")) for path in truths]
    sys.stdout.write(
        "| documents | reader | files | recall | precision | named | seconds |\n"
        "|---|---|--:|--:|--:|--:|--:|\n"
    )
    for reader in [options.reader] if options.reader else READERS:
        rows: dict[str, list[dict[str, float]]] = defaultdict(list)
        for truth, path in zip(truths, paths, strict=True):
            if not path.exists():
                continue  # another reading of a document that has one
            start = time.perf_counter()
            try:
                with redirect_stdout(StringIO()):  # PyMuPDF recommends a package there
                    found = READERS[reader](path)
            except IndexingError as error:
                sys.stderr.write(f"{path.name} {error}\n")
                found = Found([], [])
            row = measure(read_truth(truth), found) | {"seconds": time.perf_counter() - start}
            half = "odd" if int(re.findall(r"\d", path.stem)[-1]) % 2 else "even"
            rows[half].append(row)
            rows["all"].append(row)
            if options.each:
                say(path.name, reader, [row])
        for half in sorted(rows, reverse=True):
            say(half, reader, rows[half])


def say(name: str, reader: str, rows: Sequence[Mapping[str, float]]) -> None:
    """Print the mean of each figure, of the documents that have it."""
    cells = []
    for column in ("recall", "precision", "named", "seconds"):
        known = [row[column] for row in rows if column in row]
        cells.append(f"{mean(known):.3f}" if known else "")
    sys.stdout.write(f"| {name} | {reader} | {len(rows)} | {' | '.join(cells)} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
