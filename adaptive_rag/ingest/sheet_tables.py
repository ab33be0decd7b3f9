"""Tables on sheets: which rows name the columns, and where a table ends or continues."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from adaptive_rag.ingest.sheet_blocks import DATE, SheetBlock, SheetRow, is_number, is_numeric_column
from adaptive_rag.ingest.tables import distinct_names, names_question_and_answer

# In rows: how far down a header may begin in its block, the most rows of a header, and how many rows below it
# show which columns are numeric.
_MAX_TITLES, _MAX_HEADER_ROWS, _SAMPLE = 10, 4, 20
HEADER_SEARCH_ROWS = _MAX_TITLES + _MAX_HEADER_ROWS + _SAMPLE + 1
"""The rows of a block that `find_header` needs."""


@dataclass
class SheetTable:
    """The names of a table's columns by column number, and what is known about the columns."""

    columns: dict[int, str]
    title: str = ""
    numeric: dict[int, bool] = field(default_factory=dict)
    """Whether the last value in a column was a number."""

    def continues_in(self, block: SheetBlock, start: int) -> bool:
        """Return whether the rows of a block from `start` on continue this table below a blank row."""
        rows = [flag_numbers(block.columns, row) for row in block.rows[start:] if row.text_count > 1]
        return bool(rows) and all(
            numeric.keys() <= self.columns.keys()
            and 2 * len(numeric) >= len(self.columns)
            and all(self.numeric.get(column, number) == number for column, number in numeric.items())
            for numeric in rows
        )


@dataclass(frozen=True)
class Header:
    """The names of a table's columns, and the rows of its block that contain them."""

    names: list[str]
    title: str
    """The text of a cell that is merged above the names, from the first column on."""
    start: int
    end: int


def flag_numbers(columns: Sequence[int], row: SheetRow) -> dict[int, bool]:
    """Return for each filled cell of a row, by column number, whether it is a number."""
    return {column: is_number(cell) for column, cell in zip(columns, row.cells, strict=True) if cell}


def join_headers(blocks: Iterable[SheetBlock]) -> list[SheetBlock]:
    """Join a block of names with the numbers below it, if only a blank row separates them."""
    joined: list[SheetBlock] = []
    for block in blocks:
        if joined and _is_header_of(joined[-1], block):
            above = joined.pop()
            columns = sorted({*above.columns, *block.columns})
            rows = [row for part in (above, block) for row in part.spread_rows(columns)]
            block = SheetBlock(columns, rows)
        joined.append(block)
    return joined


def _is_header_of(above: SheetBlock, below: SheetBlock) -> bool:
    """Return whether a block of words names all numeric columns of the block below it."""
    last, first = above.rows[-1], below.rows[0]
    is_near = last.number < first.number <= last.number + 2
    if not is_near or len(above.rows) > _MAX_TITLES or last.text_count < 2:
        return False
    if any(map(is_number, (cell for row in above.rows for cell in row.cells))) or find_header(below.rows):
        return False
    sample = below.rows[:_SAMPLE]
    numeric = {column for index, column in enumerate(below.columns) if is_numeric_column(sample, index)}
    named = {column for column, cell in zip(above.columns, last.cells, strict=True) if cell}
    return len(numeric) > 1 and numeric <= named


def find_header(rows: Sequence[SheetRow]) -> Header | None:
    """Return the header of a table, or None if none of its first rows names the columns.

    "Item | Price | Stock" and "Item | 2023 | 2024" are names; "Bolt | 4.20 | 12" is not. Two columns of words
    ("Supplier | Acme") are a form, whose rows are understood without column names.
    """
    for start, row in enumerate(rows[:_MAX_TITLES]):
        has_merged_name = not row.cells[0] and sum(map(bool, row.cells)) > 1
        if row.text_count > 1 or has_merged_name:
            if header := _read_header_at(rows, start):
                return header
            if any(map(is_number, row.cells)) and 2 * row.text_count > len(row.cells):
                return None
    return None


def _read_header_at(rows: Sequence[SheetRow], start: int) -> Header | None:
    """Return the header that begins in a row, or None if that row does not name the columns."""
    if not _may_name_columns(rows, start):
        return None
    end = start + 1
    while end < len(rows) - 1 and end - start < _MAX_HEADER_ROWS and _continues_header(rows, start, end):
        end += 1
    names = _join_names(rows[start:end])
    body = rows[end : end + _SAMPLE]
    if not body or 2 * sum(map(bool, names)) <= len(names) or len(set(filter(None, names))) < 2:
        return None
    if not (rows[start].is_bold and not body[0].is_bold):
        if _is_form(rows[start], body) and not names_question_and_answer(names):
            return None
        has_fewer_names = not all(names) and body[0].text_count > sum(map(bool, names))
        if has_fewer_names and names[0] and _is_header_over_numbers(body):
            return None
    pairs = pairwise(rows[start:end])
    titles = (row.cells[0] for row, below in pairs if _is_merged_title(row.cells, below.cells))
    return Header(list(distinct_names(names)), ", ".join(titles), start, end)


def _is_form(first: SheetRow, rows: Sequence[SheetRow]) -> bool:
    """Return whether rows are labels and their values in turn: each label is bold, and no value is.

    So are two columns whose values are words, or dates as well as other numbers.
    """
    if first.bold == set(range(0, len(first.cells), 2)):
        return True
    numbers = [row.cells[1] for row in rows if is_number(row.cells[1])]
    has_dates = len({DATE.fullmatch(number) is None for number in numbers}) > 1
    return len(first.cells) == 2 and (has_dates or not is_numeric_column(rows, 1))


def _is_header_over_numbers(rows: Sequence[SheetRow]) -> bool:
    """Return whether the first row has words in all cells, and a column of numbers is below it.

    Then it is the header, and not a line such as "Company | Acme" above it.
    """
    cells = rows[0].cells
    has_only_words = all(cells) and not any(map(is_number, cells))
    return has_only_words and any(is_numeric_column(rows[1:], index) for index in range(len(cells)))


def _may_name_columns(rows: Sequence[SheetRow], index: int) -> bool:
    """Return whether no cell of a row is a value; dates may be names if the cells below have no dates."""
    row, below = rows[index], rows[index + 1 : index + 1 + _SAMPLE]
    if row.is_bold and row.text_count > 1 and below and not below[0].is_bold:
        return True
    numbers = [column for column, cell in enumerate(row.cells) if is_number(cell)]
    dates = {row.cells[column] for column in numbers if column and DATE.fullmatch(row.cells[column])}
    return len(dates) == len(numbers) and not any(
        DATE.fullmatch(other.cells[column]) for column in numbers for other in below
    )


def _continues_header(rows: Sequence[SheetRow], start: int, index: int) -> bool:
    """Return whether a row below names has more names: "Q1 | Q2" below "2023 | 2023", or units."""
    row, above = rows[index], rows[index - 1]
    if not _may_name_columns(rows, index):
        return False
    names = _join_names(rows[start:index])
    pairs = zip(pairwise(above.cells), pairwise(row.cells), strict=True)
    if any(
        left == right != "" and left_below != right_below
        for (left, right), (left_below, right_below) in pairs
    ):
        return True
    if row.cells[0] and row.cells[0] != names[0]:
        names_more = any(cell and not name for cell, name in zip(row.cells[1:], names[1:], strict=True))
        if names[0] or not names_more:
            return False
    filled = [column for column, cell in enumerate(row.cells) if cell and column]
    below = rows[index + 1 : index + 1 + _SAMPLE]
    return bool(filled) and all(is_numeric_column(below, column) for column in filled)


def _join_names(rows: Sequence[SheetRow]) -> list[str]:
    """Return the column names of a header, which may be spread over several rows.

    A name above others also applies to the columns on its right, and the only name in a row applies to all
    columns.
    """
    lines = [list(row.cells) for row in rows]
    for line, below in pairwise(lines):
        if _is_merged_title(line, below):
            line[:] = ["" if cell == line[0] else cell for cell in line]
        named = [index for index, cell in enumerate(line) if index and cell]
        distinct = {line[index] for index in named}
        is_only_name = len(distinct) == 1 and all(below[index] for index in named)
        for index in range(1, len(line)):
            if is_only_name and below[index]:
                line[index] = next(iter(distinct))
            elif index > 1 and not line[index] and below[index] and line[index - 1] and below[index - 1]:
                line[index] = line[index - 1]
    return [" ".join(dict.fromkeys(filter(None, parts))) for parts in zip(*lines, strict=True)]


def _is_merged_title(line: Sequence[str], below: Sequence[str]) -> bool:
    """Return whether a line of a header begins with a merged cell above the names."""
    return len(line) > 1 and line[0] == line[1] != "" and below[0] != line[0]


def find_table_end(rows: Sequence[SheetRow], columns: Sequence[int], start: int) -> int:
    """Return the end of a table's rows: the end of the block, or a line above the names of another table."""
    numeric: set[int] = set()
    for index in range(start, len(rows) - 1):
        row, below = rows[index], rows[index + 1]
        if index > start and row.text_count == 1 and below.text_count > 1:
            numbers = flag_numbers(columns, below)
            names = {
                cell for column, cell in zip(columns, below.cells, strict=True) if cell and column in numeric
            }
            names_numeric_columns = 1 < len(names) == len(numeric) and not any(map(numbers.get, numeric))
            is_set_off = below.is_bold and not any(numbers.values()) and not rows[index - 1].is_bold
            if (names_numeric_columns or is_set_off) and _read_header_at(rows, index + 1):
                return index
        numeric |= {column for column, number in flag_numbers(columns, row).items() if number}
    return len(rows)
