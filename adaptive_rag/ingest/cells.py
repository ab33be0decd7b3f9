"""Table rows from cells: the text of a spanning cell is repeated in every row and column that it covers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.text.tables import EMPTY_CELL, is_row, names_columns, write_row, write_rule

# HTML's own limit for "colspan". Its limit for "rowspan" is higher, but no table is known to need more.
_LONGEST_SPAN = 1000
# In characters: longer cells mean that the table only lays out prose.
_LONGEST_CELL = 400
# In characters: a longer text in a first row is not a column name.
_LONGEST_NAME = 60


@dataclass
class _Cell:
    columns: int
    rows: int
    parts: list[str] = field(default_factory=list)

    def text(self) -> str:
        return " ".join("".join(self.parts).split())


class Rows:
    """Collects the cells of one table, row by row.

    With `named`, the cells of a row that is too long for one line are written one per line, each after its
    column's name from the first row.
    """

    def __init__(self, *, named: bool = False) -> None:
        self.is_apart = False
        """Whether the last row was written one cell per line."""
        self._names: list[str] | None = None if named else []
        self._cells: list[_Cell] = []
        # By column: the number of further rows that a cell spans, and its text.
        self._above: dict[int, tuple[int, str]] = {}

    def begin_cell(self, attributes: Mapping[str, str]) -> None:
        """Begin the next cell of the row."""
        columns, rows = (_span(attributes.get(name, "")) for name in ("colspan", "rowspan"))
        self._cells.append(_Cell(columns, rows))

    def add(self, text: str) -> None:
        """Append text to the cell; a line feed separates paragraphs."""
        if self._cells:
            self._cells[-1].parts.append(text)

    def end_row(self) -> list[str]:
        """Return the row as one line, or its paragraphs if its cells only lay out prose; [] if empty."""
        cells, self._cells = self._cells, []
        texts = [cell.text() for cell in cells]
        is_long = any(len(text) > _LONGEST_CELL for text in texts)
        self.is_apart = is_long and bool(self._names)
        if self._names is None and any(texts):
            self._names = _column_names(cells)
        if self.is_apart and self._names:
            row = self._spread([(text, cell) for text, cell in zip(texts, cells, strict=True)])
            names = self._names + [""] * (len(row) - len(self._names))
            return [
                f"{name}: {text}" if name else text for name, text in zip(names, row, strict=False) if text
            ]
        if (len(cells) == 1 and not self._above) or is_long:
            self._above.clear()
            lines = (line for cell in cells for line in "".join(cell.parts).split("\n"))
            return [text for line in lines if (text := " ".join(line.split()))]
        row = self._spread([(text, cell) for text, cell in zip(texts, cells, strict=True)])
        line = write_row(row, shorten=True)
        return [line] if line else []

    def _spread(self, cells: list[tuple[str, _Cell]]) -> list[str]:
        """Return the text of each column, including the cells that continue from the rows above."""
        row: list[str] = []
        above: dict[int, tuple[int, str]] = {}

        def take_from_above() -> None:
            while len(row) in self._above:
                left, text = self._above[len(row)]
                if left > 1:
                    above[len(row)] = left - 1, text
                row.append(text)

        for text, cell in cells:
            take_from_above()
            for _ in range(cell.columns):
                if cell.rows > 1:
                    above[len(row)] = cell.rows - 1, text
                row.append(text)
        take_from_above()
        self._above = above
        return row


def _column_names(cells: list[_Cell]) -> list[str]:
    """Return the texts of a first row as column names; [] where one is too long, empty or repeated."""
    names = [cell.text() for cell in cells if cell.columns == 1]
    known = all(0 < len(name) <= _LONGEST_NAME for name in names)
    return names if known and len(set(names)) == len(cells) > 1 else []


def add_table(builder: TextBuilder, rows: Iterable[tuple[list[str], bool]], *, has_header: bool) -> None:
    """Write a table's rows as lines, and the rows that were written cell by cell as paragraphs.

    Where the document marks the first row as a header, and its words do not show that, a rule is added below
    it.

    Args:
        builder: the document's builder.
        rows: the lines of each row, and whether it was written cell by cell.
        has_header: whether the document says that the first row names the columns.
    """
    written = [(lines, apart) for lines, apart in rows if lines]
    if any(apart for _, apart in written):
        written = _set_apart(written)
    lines = [line for each, apart in written for line in each if not apart]
    cells = [tuple(line.split(" | ")) for line in lines]
    if has_header and len(cells) > 1 and all(map(is_row, lines[:2])) and not names_columns(cells):
        written[0][0].append(write_rule(len(cells[0])))
    text, after_apart = "", False
    for each, apart in written:
        text += ("\n\n" if apart or after_apart else "\n") if text else ""
        text += "\n".join(each)
        after_apart = apart
    if text:
        builder.add_paragraph(text)


def _set_apart(rows: Sequence[tuple[list[str], bool]]) -> list[tuple[list[str], bool]]:
    """Write every row of a table cell by cell, each cell after its column's name."""
    (header, _), *body = rows
    names = header[0].split(" | ")
    written: list[tuple[list[str], bool]] = []
    for lines, apart in body:
        cells = lines[0].split(" | ")
        if not apart and len(lines) == 1 and len(cells) <= len(names):
            pairs = zip(names, cells, strict=False)
            lines = [f"{name}: {cell}" for name, cell in pairs if cell != EMPTY_CELL]
        written.append((lines, True))
    return written


def _span(value: str) -> int:
    number = re.match(r"\s*\d{1,9}", value)
    return min(max(int(number[0]), 1), _LONGEST_SPAN) if number else 1
