"""Used where tables are read: the cells of one to its rows, each text in every place that it spans."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from adaptive_rag.text.tables import EMPTY_CELL

# HTML's own bound of "colspan"; that of "rowspan" is higher, but no row is known to need more
_LONGEST_SPAN = 1000
# In characters: the cells of a table that only sets a page's prose in place are longer.
_LONGEST_CELL = 400


@dataclass
class _Cell:
    columns: int
    rows: int
    parts: list[str] = field(default_factory=list)

    def text(self) -> str:
        return " ".join("".join(self.parts).split())


class Rows:
    """Collects the cells of one table, row by row."""

    def __init__(self) -> None:
        self._cells: list[_Cell] = []
        # by column: for how many more rows a cell goes on, and its text
        self._above: dict[int, tuple[int, str]] = {}

    def begin_cell(self, attributes: Mapping[str, str]) -> None:
        """Begin the next cell of the row."""
        columns, rows = (_span(attributes.get(name, "")) for name in ("colspan", "rowspan"))
        self._cells.append(_Cell(columns, rows))

    def add(self, text: str) -> None:
        """Append text to the cell; a line feed parts paragraphs."""
        if self._cells:
            self._cells[-1].parts.append(text)

    def end_row(self) -> list[str]:
        """Return the row, or its paragraphs where its cells only set prose in place; [] where it is empty."""
        cells, self._cells = self._cells, []
        texts = [cell.text() for cell in cells]
        if (len(cells) == 1 and not self._above) or any(len(text) > _LONGEST_CELL for text in texts):
            self._above.clear()
            lines = (line for cell in cells for line in "".join(cell.parts).split("\n"))
            return [text for line in lines if (text := " ".join(line.split()))]
        row = self._spread([(text, cell) for text, cell in zip(texts, cells, strict=True)])
        while row and not row[-1]:
            row.pop()
        return [" | ".join(text or EMPTY_CELL for text in row)] if row else []

    def _spread(self, cells: list[tuple[str, _Cell]]) -> list[str]:
        """Return the text of each column, with those of the cells that go on from the rows above."""
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


def _span(value: str) -> int:
    number = re.match(r"\s*\d{1,9}", value)
    return min(max(int(number[0]), 1), _LONGEST_SPAN) if number else 1
