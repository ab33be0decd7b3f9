"""Table rows from cells: the text of a spanning cell is repeated in every row and column that it covers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.text.tables import EMPTY_CELL, is_row, names_columns, write_row, write_rule

# HTML's limit for "colspan". Its limit for "rowspan" is higher, but no table is known to need more.
_MAX_SPAN = 1000
# Beyond this many columns, a cell covers one place: stacked spans would make each row longer than the last.
_MAX_COVERED = 1000
# In characters: longer cells mean that the table only lays out prose.
_MAX_CELL_LENGTH = 400
# In characters: a longer text in a first row is not a column name.
_MAX_NAME_LENGTH = 60


@dataclass
class _Cell:
    """A cell while it is read: how many columns and rows it spans, and the parts of its text."""

    columns: int
    rows: int
    parts: list[str] = field(default_factory=list)

    def text(self) -> str:
        return " ".join("".join(self.parts).split())


class Rows:
    """Collects the cells of one table, row by row.

    With `named`, a row that is too long for one line is written cell by cell: one per line, each after its
    column's name from the first row.
    """

    def __init__(self, *, named: bool = False) -> None:
        self.is_apart = False
        """Whether the last row was written cell by cell."""
        self._names: list[str] | None = None if named else []
        self._cells: list[_Cell] = []
        # By column: the number of further rows that a cell spans, and its text.
        self._spanning: dict[int, tuple[int, str]] = {}

    def begin_cell(self, attributes: Mapping[str, str]) -> None:
        """Begin the next cell of the row."""
        columns, rows = (_parse_span(attributes.get(name, "")) for name in ("colspan", "rowspan"))
        self._cells.append(_Cell(columns, rows))

    def add(self, text: str) -> None:
        """Append text to the cell; a line feed separates paragraphs."""
        if self._cells:
            self._cells[-1].parts.append(text)

    def end_row(self) -> list[str]:
        """Return the row as one line, or its paragraphs if its cells only lay out prose; [] if empty."""
        cells, self._cells = self._cells, []
        texts = [cell.text() for cell in cells]
        is_long = any(len(text) > _MAX_CELL_LENGTH for text in texts)
        names = self._names
        self.is_apart = is_long and bool(names)
        if names is None and any(texts):
            self._names = _find_column_names(cells)
        if self.is_apart and names:
            row = self._fill_columns(cells)
            names = names + [""] * (len(row) - len(names))
            return [
                f"{name}: {text}" if name else text for name, text in zip(names, row, strict=False) if text
            ]
        if (len(cells) == 1 and not self._spanning) or is_long:
            self._spanning.clear()
            lines = (line for cell in cells for line in "".join(cell.parts).split("\n"))
            return [text for line in lines if (text := " ".join(line.split()))]
        line = write_row(self._fill_columns(cells), shorten=True)
        return [line] if line else []

    def _fill_columns(self, cells: Sequence[_Cell]) -> list[str]:
        """Return the text of each column, including the cells that continue from the rows above."""
        row: list[str] = []
        still_spanning: dict[int, tuple[int, str]] = {}

        def add_spanning() -> None:
            while len(row) in self._spanning:
                remaining, text = self._spanning[len(row)]
                if remaining > 1:
                    still_spanning[len(row)] = remaining - 1, text
                row.append(text)

        for cell in cells:
            add_spanning()
            text = cell.text()
            is_far = len(row) >= _MAX_COVERED
            for _ in range(1 if is_far else cell.columns):
                if cell.rows > 1 and not is_far:
                    still_spanning[len(row)] = cell.rows - 1, text
                row.append(text)
        add_spanning()
        self._spanning = still_spanning
        return row


def _find_column_names(cells: list[_Cell]) -> list[str]:
    """Return the texts of a first row as column names; [] if one is too long, empty or repeated."""
    names = [cell.text() for cell in cells if cell.columns == 1]
    are_names = all(0 < len(name) <= _MAX_NAME_LENGTH for name in names)
    return names if are_names and len(set(names)) == len(cells) > 1 else []


def add_table(builder: TextBuilder, rows: Iterable[tuple[list[str], bool]], *, has_header: bool) -> None:
    """Write a table's rows as lines; if any row was written cell by cell, all rows become such paragraphs.

    `rows` has the lines of each row, and whether it was written cell by cell. If the document marks the first
    row as a header, and its words do not show that, a rule is added below it.
    """
    filled_rows = [(lines, is_cell_by_cell) for lines, is_cell_by_cell in rows if lines]
    if any(is_cell_by_cell for _, is_cell_by_cell in filled_rows):
        text = "\n\n".join(filter(None, _write_cell_by_cell(filled_rows)))
    else:
        lines = [line for row_lines, _ in filled_rows for line in row_lines]
        cells = [tuple(line.split(" | ")) for line in lines]
        if has_header and len(cells) > 1 and all(map(is_row, lines[:2])) and not names_columns(cells):
            lines.insert(len(filled_rows[0][0]), write_rule(len(cells[0])))
        text = "\n".join(lines)
    if text:
        builder.add_paragraph(text)


def _write_cell_by_cell(rows: Sequence[tuple[list[str], bool]]) -> Iterator[str]:
    """Yield the rows below the first one, each cell on a line of its own after its column's name."""
    (header, _), *body = rows
    names = header[0].split(" | ")
    for lines, is_cell_by_cell in body:
        cells = lines[0].split(" | ")
        if not is_cell_by_cell and len(lines) == 1 and len(cells) <= len(names):
            pairs = zip(names, cells, strict=False)
            lines = [f"{name}: {cell}" for name, cell in pairs if cell != EMPTY_CELL]
        yield "\n".join(lines)


def _parse_span(value: str) -> int:
    number = re.match(r"\s*\d{1,9}", value)
    return min(max(int(number[0]), 1), _MAX_SPAN) if number else 1
