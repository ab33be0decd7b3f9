"""A sheet while it is loaded: its cells by row and column, and its merged and hidden parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from adaptive_rag.ingest.sheet_blocks import SheetRow
from adaptive_rag.ingest.sheets import Sheet

Area = tuple[tuple[int, int], tuple[int, int]]  # (column, row) of the first and of the last cell
LAST_COLUMN = 16_384


@dataclass
class Grid:
    """The cells of a sheet by row number and column number, from 1."""

    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    bold: dict[int, set[int]] = field(default_factory=dict)
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    merged: list[Area] = field(default_factory=list)
    covered: dict[int, set[int]] = field(default_factory=dict)
    """The columns in each row that merged cells with text cover."""
    filtered: bool = False
    """Whether a filter hides rows."""

    def add(self, number: int, column: int, text: str, *, bold: bool = False) -> None:
        """Set the text of a cell."""
        self.rows.setdefault(number, {})[column] = text
        if bold:
            self.bold.setdefault(number, set()).add(column)

    def to_sheet(self, name: str, hidden: list[str], shapes: Iterable[str] = ()) -> Sheet:
        """Return the visible sheet, and add the kinds of its hidden parts to `hidden`: "rows of Prices"."""
        self._repeat_merged()
        hidden += [f"{kind} of {name}" for kind in self._drop_hidden()]
        columns = sorted({column for cells in self.rows.values() for column in cells})
        rows, none = [], frozenset[int]()
        for number in sorted(self.rows):
            cells = self.rows[number]
            bold, merged = (
                frozenset(index for index, column in enumerate(columns) if column in marked)
                if marked
                else none
                for marked in (self.bold.get(number, ()), self.covered.get(number, ()))
            )
            rows.append(SheetRow(number, [cells.get(column, "") for column in columns], bold, merged))
        return Sheet(name, rows, columns, tuple(shapes))

    def _repeat_merged(self) -> None:
        """Copy the text of each merged cell to all cells that it covers within the sheet's used area."""
        last_row = max(self.rows, default=0)
        last_column = max((max(cells, default=0) for cells in self.rows.values()), default=0)
        for (left, top), (right, bottom) in self.merged:
            if text := self.rows.get(top, {}).get(left):
                columns = range(left, min(right, last_column) + 1)
                for number in range(top, min(bottom, last_row) + 1):
                    if number in self.rows:
                        self.rows[number].update(dict.fromkeys(columns, text))
                        self.covered.setdefault(number, set()).update(columns)
                        if left in self.bold.get(top, ()):
                            self.bold.setdefault(number, set()).update(columns)

    def _drop_hidden(self) -> list[str]:
        """Remove hidden cells, and return those of "columns" and "rows" that had text in them."""
        kinds = []
        if any(cells.keys() & self.hidden_columns for cells in self.rows.values()):
            kinds.append("columns")
            for number, cells in self.rows.items():
                self.rows[number] = {
                    column: cells[column] for column in cells if column not in self.hidden_columns
                }
        hidden_rows = {number for number in self.hidden_rows if self.rows.get(number)}
        if hidden_rows and not self.filtered:
            kinds.append("rows")
            self.rows = {number: cells for number, cells in self.rows.items() if number not in hidden_rows}
        return kinds
