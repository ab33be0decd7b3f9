"""Tables on sheets: which cells form a table, and which of its rows name the columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby, pairwise

from adaptive_rag.ingest.tables import distinct_names, names_question_and_answer

# "2025-03-01", "1/3/2025", "1-Mar-25"
_DAY = re.compile(r"\d{4}-\d\d-\d\d.*|\d{1,2}([-/.])(?:\d{1,2}|[A-Za-z]{3,9})\1\d{2,4}")
# A number, but not a year or a name such as "Q1": these may be above columns, other numbers are not.
_NUMBER = re.compile(
    r"(?!(?:18|19|20)\d\d$)[^\w]*\d[\d.,\s]*\W*|\d{1,2}:\d\d.*|[$€£¥] ?\d[\d.,]* ?[A-Za-z]{1,3}"
)
# In rows: how far down a header may begin in its block, the most rows it has, and how many rows below it show
# which columns hold numbers.
_MOST_TITLES, _MOST_HEADER_ROWS, _SAMPLE = 10, 4, 20
HEAD = _MOST_TITLES + _MOST_HEADER_ROWS + _SAMPLE + 1
# In rows: a table that begins this far below its neighbour is separate from it.
_FAR_BELOW = 3
# Only a sheet that is made to break a reader has more; the rest of it is read as one table.
_MOST_STRETCHES, _MOST_CUTS = 50, 20


@dataclass(slots=True)
class SheetRow:
    """A row with its number on the sheet, from 1, and the text of each cell, "" if it is empty."""

    number: int
    cells: list[str]
    bold: frozenset[int] = frozenset()
    """The cells that are set apart: bold, or in the header of a table that Excel knows."""

    @property
    def filled(self) -> int:
        """The number of different texts in the row; a merged cell, whose text is repeated, counts once."""
        return len(set(filter(None, self.cells)))

    @property
    def is_bold(self) -> bool:
        """Whether all cells with text are set apart."""
        return bool(self.bold) and all(at in self.bold for at, cell in enumerate(self.cells) if cell)

    def cut(self, places: Sequence[int]) -> SheetRow:
        """Return only the cells of some columns."""
        cells = [self.cells[at] if at < len(self.cells) else "" for at in places]
        bold = (at for at, place in enumerate(places) if place in self.bold) if self.bold else ()
        return SheetRow(self.number, cells, frozenset(bold))


@dataclass(frozen=True)
class SheetBlock:
    """Neighbouring rows that belong together, without the columns that are empty in all of them."""

    places: list[int]
    """The numbers of the columns that are left."""
    rows: list[SheetRow]

    def cut(self, places: Sequence[int]) -> SheetBlock:
        """Return only the cells of some columns, given by their places in a row."""
        return SheetBlock([self.places[at] for at in places], [row.cut(places) for row in self.rows])

    def spread(self, places: Sequence[int]) -> Iterator[SheetRow]:
        """Yield the rows with a cell for each of `places`, which include the columns of this block."""
        at = [places.index(place) for place in self.places]
        for row in self.rows:
            cells = [""] * len(places)
            for place, cell in zip(at, row.cells, strict=True):
                cells[place] = cell
            yield SheetRow(row.number, cells, frozenset(at[place] for place in row.bold))


@dataclass
class SheetTable:
    """The columns of a table by number, and what is known about them."""

    columns: dict[int, str]
    title: str = ""
    numeric: dict[int, bool] = field(default_factory=dict)
    """Whether the last value in a column was a number."""

    def fits(self, block: SheetBlock, start: int) -> bool:
        """Return whether a block, from a row on, continues this table below a blank row."""
        wide = [numbers_in(block.places, row) for row in block.rows[start:] if row.filled > 1]
        return bool(wide) and all(
            numeric.keys() <= self.columns.keys()
            and 2 * len(numeric) >= len(self.columns)
            and all(self.numeric.get(place, is_number) == is_number for place, is_number in numeric.items())
            for numeric in wide
        )


@dataclass(frozen=True)
class Header:
    """The names of a table's columns, and the rows of its block that hold them."""

    names: list[str]
    title: str
    """The text of a cell that is merged above the names, from the first column on."""
    start: int
    end: int


def is_number(text: str) -> bool:
    """Return whether a cell holds a number, a date or a time; a year does not count."""
    return bool(_NUMBER.fullmatch(text) or _DAY.fullmatch(text))


def numbers_in(places: Sequence[int], row: SheetRow) -> dict[int, bool]:
    """Tell for each filled cell of a row, by its column, whether it holds a number."""
    return {place: is_number(cell) for place, cell in zip(places, row.cells, strict=True) if cell}


def find_blocks(rows: Sequence[SheetRow], columns: Sequence[int], depth: int = 0) -> Iterator[SheetBlock]:
    """Yield the blocks of a sheet, from top to bottom and from left to right.

    Args:
        rows: the rows of the sheet.
        columns: the column number of each cell of a row.
        depth: how often the rows were cut before.
    """
    order = count()
    held = [row for row in rows if row.filled]
    for _, group in groupby(held, key=lambda row: row.number - next(order)):
        yield from _split(SheetBlock(list(columns), list(group)), depth)


def join_headers(blocks: Iterable[SheetBlock]) -> Iterator[SheetBlock]:
    """Join a block of names with the numbers below it, if only a blank row separates them."""
    before: SheetBlock | None = None
    for block in blocks:
        if before and _heads(before, block):
            places = sorted({*before.places, *block.places})
            block = SheetBlock(places, [row for part in (before, block) for row in part.spread(places)])
        elif before:
            yield before
        before = block
    if before:
        yield before


def _heads(above: SheetBlock, below: SheetBlock) -> bool:
    """Return whether a block of words names all columns of numbers in the block below it."""
    first, last = below.rows[0], above.rows[-1]
    if not last.number < first.number <= last.number + 2 or len(above.rows) > _MOST_TITLES or last.filled < 2:
        return False
    if any(map(is_number, (cell for row in above.rows for cell in row.cells))) or read_header(below.rows):
        return False
    sample = below.rows[:_SAMPLE]
    numeric = {place for at, place in enumerate(below.places) if numeric_below(sample, at)}
    named = {place for place, cell in zip(above.places, last.cells, strict=True) if cell}
    return len(numeric) > 1 and numeric <= named


def _split(block: SheetBlock, depth: int) -> Iterator[SheetBlock]:
    """Split rows where tables stand side by side, or where one begins to the right of another's end."""
    block = block.cut(sorted({at for row in block.rows for at, cell in enumerate(row.cells) if cell}))
    if depth >= _MOST_CUTS:
        yield block
        return
    stretches = _stretches(block)
    if len(stretches) > 1:
        for places in stretches:
            part = block.cut(places)
            yield from find_blocks(part.rows, part.places, depth + 1)
    elif corners := _corners(block.rows):
        for start, end in pairwise([0, *corners, len(block.rows)]):
            yield from _split(SheetBlock(block.places, block.rows[start:end]), depth + 1)
    else:
        yield block


def _stretches(block: SheetBlock) -> list[list[int]]:
    """Return the columns of each table in a block; a blank column may also be a gap within one table."""
    order = count()
    runs = [
        [at for at, _ in group]
        for _, group in groupby(enumerate(block.places), key=lambda each: each[1] - next(order))
    ]
    if len(runs) > _MOST_STRETCHES:
        return [list(range(len(block.places)))]
    stretches = runs[:1]
    for columns in runs[1:]:
        if _stands_apart(block, stretches[-1], columns):
            stretches.append(columns)
        else:
            stretches[-1] = stretches[-1] + columns
    return stretches


def _stands_apart(block: SheetBlock, left: Sequence[int], right: Sequence[int]) -> bool:
    """Return whether the columns after a blank one are a separate table, and not only set off by a gap."""
    one, two = (
        [row for row in (each.cut(at) for each in block.rows) if row.filled > 1] for at in (left, right)
    )
    if len(one) < 2 or len(two) < 2:
        return False
    lower = two[0].number - one[0].number
    if one[0].cells[0] == two[0].cells[0] != "" or abs(lower) >= _FAR_BELOW:
        return True
    labelled = not any(is_number(row.cells[0]) for row in two) and all(row.cells[0] for row in two)
    return labelled and bool(lower or one[-1].number != two[-1].number)


def _corners(rows: Sequence[SheetRow]) -> list[int]:
    """Return the rows from which on only columns other than those above are used."""
    used = [{at for at, cell in enumerate(row.cells) if cell} for row in rows]
    last = {at: number for number, places in enumerate(used) for at in places}
    corners = []
    reach, above = 0, set[int]()  # the last row in which the columns above are used
    for number, places in enumerate(used):
        if number and reach < number and len(above) > 1 and len(last) - len(above) > 1:
            corners.append(number)
        above |= places
        reach = max([reach, *(last[at] for at in places)])
    return corners


def read_header(rows: Sequence[SheetRow]) -> Header | None:
    """Return the header of a table, or None if none of its first rows names the columns.

    "Item | Price | Stock" and "Item | 2023 | 2024" are names; "Bolt | 4.20 | 12" is not. Two columns of words
    ("Supplier | Acme") are a form, whose rows are understood without column names.
    """
    for start, row in enumerate(rows[:_MOST_TITLES]):
        spans = not row.cells[0] and sum(map(bool, row.cells)) > 1
        if row.filled > 1 or spans:
            if header := _header_at(rows, start):
                return header
            if any(map(is_number, row.cells)) and 2 * row.filled > len(row.cells):
                return None
    return None


def _header_at(rows: Sequence[SheetRow], start: int) -> Header | None:
    end = start + 1
    if not _may_name(rows, start):
        return None
    while end < len(rows) - 1 and end - start < _MOST_HEADER_ROWS and _goes_on(rows, start, end):
        end += 1
    names = _join(rows[start:end])
    body = rows[end : end + _SAMPLE]
    if not body or 2 * sum(map(bool, names)) <= len(names) or len(set(filter(None, names))) < 2:
        return None
    strong = rows[start].is_bold and not body[0].is_bold
    if len(names) == 2 and not strong and not names_question_and_answer(names) and not numeric_below(body, 1):
        return None
    title = not all(names) and body[0].filled > sum(map(bool, names)) and _is_complete(body, names)
    return (
        None
        if title and not strong
        else Header(list(distinct_names(names)), _title(rows[start:end]), start, end)
    )


def _is_complete(body: Sequence[SheetRow], names: Sequence[str]) -> bool:
    """Return whether a fuller row of words below a line such as "Company | Acme" is the header."""
    first = body[0]
    numbers = any(numeric_below(body[1:], at) for at in range(len(names)))
    return all(first.cells) and not any(map(is_number, first.cells)) and bool(names[0]) and numbers


def _may_name(rows: Sequence[SheetRow], at: int) -> bool:
    """Return whether no cell of a row is a value; dates may be names if the cells below hold no dates."""
    row, below = rows[at], rows[at + 1 : at + 1 + _SAMPLE]
    if row.is_bold and row.filled > 1 and below and not below[0].is_bold:
        return True
    values = [place for place, cell in enumerate(row.cells) if is_number(cell)]
    days = {row.cells[place] for place in values if place and _DAY.fullmatch(row.cells[place])}
    return len(days) == len(values) and not any(
        _DAY.fullmatch(each.cells[place]) for place in values for each in below
    )


def _goes_on(rows: Sequence[SheetRow], start: int, at: int) -> bool:
    """Return whether a row below a row of names has more names: "Q1 | Q2" below "2023 | 2023", or units."""
    row, above = rows[at], rows[at - 1]
    if not _may_name(rows, at):
        return False
    names = _join(rows[start:at])
    pairs = list(zip(pairwise(above.cells), pairwise(row.cells), strict=True))
    if any(one == two != "" and three != four for (one, two), (three, four) in pairs):
        return True
    if row.cells[0] and row.cells[0] != names[0]:
        opens = any(cell and not name for cell, name in zip(row.cells[1:], names[1:], strict=True))
        if names[0] or not opens:
            return False
    filled = [place for place, cell in enumerate(row.cells) if cell and place]
    return bool(filled) and all(numeric_below(rows[at + 1 : at + 1 + _SAMPLE], place) for place in filled)


def numeric_below(rows: Sequence[SheetRow], place: int) -> bool:
    """Return whether most values in a column are numbers."""
    numbers = [is_number(row.cells[place]) for row in rows if row.filled > 1 and row.cells[place]]
    return 2 * sum(numbers) > len(numbers)


def _join(rows: Sequence[SheetRow]) -> list[str]:
    """Return the names of columns that are spread over several rows.

    A name above others also applies to the columns on its right, and the only name in a row applies to all
    columns.
    """
    lines = [list(row.cells) for row in rows]
    for line, below in pairwise(lines):
        if _is_title(line, below):
            line[:] = ["" if cell == line[0] else cell for cell in line]
        held = {cell for at, cell in enumerate(line) if at and cell}
        alone = len(held) == 1 and all(below[at] for at, cell in enumerate(line) if at and cell)
        for at in range(1, len(line)):
            if alone and below[at]:
                line[at] = next(iter(held))
            elif at > 1 and not line[at] and below[at] and line[at - 1] and below[at - 1]:
                line[at] = line[at - 1]
    return [" ".join(dict.fromkeys(filter(None, parts))) for parts in zip(*lines, strict=True)]


def _is_title(line: Sequence[str], below: Sequence[str]) -> bool:
    return len(line) > 1 and line[0] == line[1] != "" and below[0] != line[0]


def _title(rows: Sequence[SheetRow]) -> str:
    titles = (one.cells[0] for one, two in pairwise(rows) if _is_title(one.cells, two.cells))
    return ", ".join(titles)


def restarts(rows: Sequence[SheetRow], places: Sequence[int], start: int) -> int:
    """Return the end of a table's rows: the end of the block, or a line above the names of other columns."""
    numeric: set[int] = set()
    for at in range(start, len(rows) - 1):
        row, below = rows[at], rows[at + 1]
        if at > start and row.filled == 1 and below.filled > 1:
            numbers = numbers_in(places, below)
            named = {
                cell for place, cell in zip(places, below.cells, strict=True) if cell and place in numeric
            }
            over_numbers = 1 < len(named) == len(numeric) and not any(map(numbers.get, numeric))
            set_apart = below.is_bold and not any(numbers.values()) and not rows[at - 1].is_bold
            if (over_numbers or set_apart) and _header_at(rows, at + 1):
                return at
        numeric |= {place for place, number in numbers_in(places, row).items() if number}
    return len(rows)
