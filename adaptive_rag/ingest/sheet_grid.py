"""Used by the loaders of Excel: the cells of a sheet by their numbers, what is merged and what is hidden."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from adaptive_rag.ingest.sheet_tables import SheetRow

Area = tuple[tuple[int, int], tuple[int, int]]  # the column and the row of its first and of its last cell


@dataclass
class Grid:
    """The cells of a sheet by the numbers of their rows and columns."""

    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    bold: dict[int, set[int]] = field(default_factory=dict)
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    filtered: bool = False
    """Whether a filter hides rows."""

    def spread(self, areas: Iterable[Area]) -> None:
        """Put the text of each merged cell in all places that it covers and that the sheet reaches."""
        last_row = max(self.rows, default=0)
        last_column = max((max(cells, default=0) for cells in self.rows.values()), default=0)
        for (left, top), (right, bottom) in areas:
            if text := self.rows.get(top, {}).get(left):
                columns = range(left, min(right, last_column) + 1)
                for number in range(top, min(bottom, last_row) + 1):
                    if number in self.rows:
                        self.rows[number].update(dict.fromkeys(columns, text))
                        if left in self.bold.get(top, ()):
                            self.bold.setdefault(number, set()).update(columns)

    def leave_out_hidden(self) -> Iterator[str]:
        """Drop what is hidden, and yield "columns" and "rows" where these held something."""
        if any(cells.keys() & self.hidden_columns for cells in self.rows.values()):
            yield "columns"
            for number, cells in self.rows.items():
                self.rows[number] = {at: cells[at] for at in cells if at not in self.hidden_columns}
        rows = set() if self.filtered else {at for at in self.hidden_rows if self.rows[at]}
        if rows:
            yield "rows"
            self.rows = {number: cells for number, cells in self.rows.items() if number not in rows}

    def columns(self) -> list[int]:
        """Return the columns that hold something."""
        return sorted({at for cells in self.rows.values() for at in cells})

    def read(self, columns: Sequence[int]) -> Iterator[SheetRow]:
        """Yield the rows from top to bottom, with a text for each of the columns."""
        for number in sorted(self.rows):
            cells, bold = self.rows[number], self.bold.get(number, ())
            places = (place for place, at in enumerate(columns) if at in bold) if bold else ()
            yield SheetRow(number, [cells.get(at, "") for at in columns], frozenset(places))
