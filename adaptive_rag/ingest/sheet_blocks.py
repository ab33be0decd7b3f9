"""Blocks of a sheet: the rows and columns that belong together, where gaps separate several tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby, pairwise

DATE = re.compile(r"\d{4}-\d\d-\d\d.*|\d{1,2}([-/.])(?:\d{1,2}|[A-Za-z]{3,9})\1\d{2,4}")
"""A date such as "2025-03-01", "1/3/2025" or "1-Mar-25"."""
# A number, but not a year or a name such as "Q1": these may be column names, other numbers are not.
_NUMBER = re.compile(
    r"(?!(?:18|19|20)\d\d[⁰¹²³⁴-⁹]*$)[^\w]*\d[\d.,\s]*+[\W⁰¹²³⁴-⁹]*|"
    r"\d{1,2}:\d\d.*|[$€£¥] ?\d[\d.,]* ?[A-Za-z]{1,3}"
)
# In rows: a table that begins this far above or below its neighbour is separate from it.
_MIN_OFFSET = 3
# Only a sheet that is made to break a reader needs more splits; what remains is read as one table.
_MAX_COLUMN_RUNS, _MAX_DEPTH = 50, 20


@dataclass(slots=True)
class SheetRow:
    """A row with its number on the sheet, from 1, and the text of each cell, "" if it is empty."""

    number: int
    cells: list[str]
    bold: frozenset[int] = frozenset()
    """The indexes of the cells that are bold, or in the header of a table that is defined in Excel."""
    merged: frozenset[int] = frozenset()
    """The indexes of the cells that a merged cell covers."""

    @property
    def text_count(self) -> int:
        """The number of texts in the row; a merged cell, whose text is repeated, counts once."""
        if not self.merged:
            return sum(map(bool, self.cells))
        filled = ((index, cell) for index, cell in enumerate(self.cells) if cell)
        return len({cell if index in self.merged else index for index, cell in filled})

    @property
    def is_bold(self) -> bool:
        """Whether all cells with text are bold."""
        return bool(self.bold) and all(index in self.bold for index, cell in enumerate(self.cells) if cell)

    def select(self, indexes: Sequence[int]) -> SheetRow:
        """Return a row with only some of the cells."""
        cells = [self.cells[index] if index < len(self.cells) else "" for index in indexes]
        bold, merged = (
            frozenset(new for new, index in enumerate(indexes) if index in marked) if marked else marked
            for marked in (self.bold, self.merged)
        )
        return SheetRow(self.number, cells, bold, merged)


@dataclass(frozen=True)
class SheetBlock:
    """Neighbouring rows that belong together, without the columns that are empty in all of them."""

    columns: list[int]
    """The number on the sheet, from 1, of the column of each cell."""
    rows: list[SheetRow]

    def select(self, indexes: Sequence[int]) -> SheetBlock:
        """Return a block with only some of the columns."""
        return SheetBlock(
            [self.columns[index] for index in indexes], [row.select(indexes) for row in self.rows]
        )

    def spread_rows(self, columns: Sequence[int]) -> Iterator[SheetRow]:
        """Yield the rows with a cell for each of `columns`, which include the columns of this block."""
        indexes = [columns.index(column) for column in self.columns]
        for row in self.rows:
            cells = [""] * len(columns)
            for index, cell in zip(indexes, row.cells, strict=True):
                cells[index] = cell
            bold, merged = (
                frozenset(indexes[index] for index in marked) for marked in (row.bold, row.merged)
            )
            yield SheetRow(row.number, cells, bold, merged)


def is_number(text: str) -> bool:
    """Return whether a cell has a number, a date or a time; a year does not count."""
    return bool(_NUMBER.fullmatch(text) or DATE.fullmatch(text))


def is_numeric_column(rows: Sequence[SheetRow], index: int) -> bool:
    """Return whether most values in a column are numbers."""
    numbers = [is_number(row.cells[index]) for row in rows if row.text_count > 1 and row.cells[index]]
    return 2 * sum(numbers) > len(numbers)


def find_blocks(rows: Sequence[SheetRow], columns: Sequence[int], depth: int = 0) -> Iterator[SheetBlock]:
    """Yield the blocks of a sheet, from top to bottom and from left to right.

    `columns` has the column number of each cell of a row; `depth` is how often the rows were split before.
    """
    order = count()
    filled = [row for row in rows if row.text_count]
    for _, group in groupby(filled, key=lambda row: row.number - next(order)):
        yield from _split_block(SheetBlock(list(columns), list(group)), depth)


def _split_block(block: SheetBlock, depth: int) -> Iterator[SheetBlock]:
    """Split a block where tables are side by side, or where one begins below and to the right of another."""
    block = block.select(
        sorted({index for row in block.rows for index, cell in enumerate(row.cells) if cell})
    )
    if depth >= _MAX_DEPTH:
        yield block
        return
    tables = _find_side_by_side(block)
    if len(tables) > 1:
        for indexes in tables:
            part = block.select(indexes)
            yield from find_blocks(part.rows, part.columns, depth + 1)
    elif splits := _find_diagonal_splits(block.rows):
        for start, end in pairwise([0, *splits, len(block.rows)]):
            yield from _split_block(SheetBlock(block.columns, block.rows[start:end]), depth + 1)
    else:
        yield block


def _find_side_by_side(block: SheetBlock) -> list[list[int]]:
    """Return the column indexes of each table in a block; a blank column may also be a gap within a table."""
    order = count()
    runs = [
        [index for index, _ in group]
        for _, group in groupby(enumerate(block.columns), key=lambda item: item[1] - next(order))
    ]
    if len(runs) > _MAX_COLUMN_RUNS:
        return [list(range(len(block.columns)))]
    tables = runs[:1]
    for run in runs[1:]:
        if _are_separate(block, tables[-1], run):
            tables.append(run)
        else:
            tables[-1] = tables[-1] + run
    return tables


def _are_separate(block: SheetBlock, left: Sequence[int], right: Sequence[int]) -> bool:
    """Return whether the columns on both sides of a blank column are separate tables."""
    left_rows, right_rows = (
        [row for row in (row.select(indexes) for row in block.rows) if row.text_count > 1]
        for indexes in (left, right)
    )
    if len(left_rows) < 2 or len(right_rows) < 2:
        return False
    offset = right_rows[0].number - left_rows[0].number
    has_same_label = left_rows[0].cells[0] == right_rows[0].cells[0] != ""
    if has_same_label or abs(offset) >= _MIN_OFFSET:
        return True
    labels = [row.cells[0] for row in right_rows]
    has_labels = all(labels) and not any(map(is_number, labels))
    return has_labels and (offset != 0 or left_rows[-1].number != right_rows[-1].number)


def _find_diagonal_splits(rows: Sequence[SheetRow]) -> list[int]:
    """Return the rows from which on only columns other than those above are used."""
    used = [{index for index, cell in enumerate(row.cells) if cell} for row in rows]
    last_use = {column: number for number, columns in enumerate(used) for column in columns}
    splits = []
    above = set[int]()
    last_use_above = 0  # the last row in which any of the columns above is used
    for number, columns in enumerate(used):
        if number > last_use_above and len(above) > 1 and len(last_use) - len(above) > 1:
            splits.append(number)
        above |= columns
        last_use_above = max([last_use_above, *(last_use[column] for column in columns)])
    return splits
