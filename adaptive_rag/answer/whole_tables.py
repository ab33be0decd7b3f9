"""Whole tables of documents: all rows of a table, wherever its chunks are, and the values of its columns."""

from __future__ import annotations

import re
from calendar import day_name
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import groupby, takewhile
from pathlib import PurePath
from textwrap import shorten

from adaptive_rag.answer.quotes import readable
from adaptive_rag.answer.rows import Cell, name_serial
from adaptive_rag.answer.units import read_units
from adaptive_rag.answer.validity import is_retired
from adaptive_rag.deadline import in_time
from adaptive_rag.source import ListsChunks
from adaptive_rag.state import Candidate, Chunk, to_candidate
from adaptive_rag.text.places import section_at
from adaptive_rag.text.tables import name_cells
from adaptive_rag.text.words import terms

_SEPARATOR = re.compile(r"[-_.]")
# A cell with a word of at least three small letters, unlike "105" or "HC-001"
_IN_WORDS = re.compile("[a-z]{3}")
# The values of a column that only says yes or no
_YES = frozenset({"yes", "y", "true", "x", "✓"})
_FLAGS = _YES | {"no", "n", "false", "✗", ""}
_ENGLISH_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
# "1,200", "£30", "-2.5 km", "40%"; "89,90" and "1.249,00" where the comma separates decimals
NUMBER = re.compile(
    rf"(?P<before>[£$€¥+−-]{{0,2}}) ?"
    rf"(?P<number>{_ENGLISH_NUMBER}|\d+,\d{{1,2}}|\d{{1,3}}(?:\.\d{{3}})+,\d+) ?"
    r"(?P<after>[^\W\d_]{0,12}|[%°£€])"
)
# "0,125", "89,90", "1.249,000"
_DECIMAL_COMMA = re.compile(r"0,\d+|.*,\d{1,2}|.*\..*,\d+")
_SWAPPED = str.maketrans(".,", ",.")
_NO_VALUE = frozenset("n/a n.a. na none - – — --- … ...".split())
# "from 3.50" is compared as 3.50.
_LEAST = re.compile(r"from (?=\W?\d)")
# A column of numbers or dates may have words in place of at most this share of them: "on request".
_WORDS_BESIDE = 0.25
_WEEKDAY = re.compile(rf"^(?:{'|'.join(f'{day[:3]}(?:{day[3:]})?' for day in day_name)}),? (?=\w)")
# The column that Excel's loader makes of a line above a table
_LINE_ABOVE = "table"
_ARCHIVE = re.compile(r"\barchive\b", re.IGNORECASE)
# Maximum number of rows times columns of a table that is read: objects may each have fields of their own.
MOST_CELLS = 500_000
# Maximum number of texts that describe a row whose name is a number or a date.
TEXTS = 4
# Maximum number of characters of a cell that is shown, such as the description of a ticket.
LONGEST_CELL = 200
# Maximum number of characters of a date: a longer cell is not compared with each of the formats.
_LONGEST_DATE = 30
_LIKE_DATE = re.compile(r"\d{4}|\d.*[^\W\d_]{3}|[^\W\d_]{3}.*\d")  # unlike "45.20"
_DATE_FORMATS = (
    *("%Y-%m-%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%d.%m.%Y", "%Y-%m-%d %H:%M:%S"),
    *("%B %Y", "%b %Y"),
    *("%d %B", "%d %b"),  # of the same year
)


@dataclass(frozen=True)
class NamedRow:
    """A row of a table: its cells with the names of their columns, and its position."""

    cells: tuple[Cell, ...]
    chunk: Candidate
    start: int
    end: int

    def value(self, column: str) -> str:
        """Return the cell in a column; "" where it is empty or says so: "n/a"."""
        cell = self._by_column.get(column, "")
        return "" if cell.lower() in _NO_VALUE else cell

    @cached_property
    def _by_column(self) -> dict[str, str]:
        return dict(self.cells)

    @property
    def first_value(self) -> str:
        """Return the first cell that is not empty."""
        return next((value for _, value in self.cells if value), "")

    @property
    def headings(self) -> list[str]:
        """Return the headings above the row."""
        return (section_at(self.chunk, self.start) or "").split(" > ")


@dataclass(frozen=True)
class WholeTable:
    """All rows of one table in a document."""

    rows: list[NamedRow]
    title: str = ""  # the first line of the document
    # whether rows with only a name were left out: groups, or items without values
    has_bare_names: bool = False

    @cached_property
    def columns(self) -> list[str]:
        """Return the names of the table's columns."""
        return list(dict.fromkeys(name for row in self.rows for name, _ in row.cells))

    @cached_property
    def headings(self) -> list[str]:
        """Return the headings above all rows."""
        levels = zip(*(row.headings for row in self.rows), strict=False)
        return [level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels)]

    @cached_property
    def place(self) -> str:
        """Return the name of the table's document, with its section or sheet."""
        part = f" ({readable(self.part)})" if self.part else ""
        return f"{PurePath(self.rows[0].chunk['source']).name}{part}"

    @cached_property
    def part(self) -> str:
        """Return the name of the table's sheet or section; "" if there is none."""
        return str(self.rows[0].chunk["metadata"].get("sheet") or "".join(self.headings[-1:]))

    @cached_property
    def topic(self) -> str:
        """Return the names of the table's document and section as words, with the document's title."""
        return _SEPARATOR.sub(" ", f"{self.place} {' '.join(self.headings)} {self.title}")

    @cached_property
    def terms(self) -> set[str]:
        """Return the terms of its names and cells."""
        cells = (cell for row in in_time(self.rows) for _, cell in row.cells)
        return set(terms(" ".join([self.topic, *self.columns, *dict.fromkeys(cells)])))

    @cached_property
    def name_column(self) -> str:
        """Return the column that names the rows, preferably in words and not as "105" or "HC-001"."""
        for column in self.columns[:3]:
            if self.is_key(column) and all(_IN_WORDS.search(row.value(column)) for row in self.rows):
                return column
        return self.columns[0]

    def name_of(self, row: NamedRow) -> str:
        """Return the name of a row; "3" in the column "Plot" becomes "Plot 3"."""
        name = row.value(self.name_column)
        return name_serial(self.name_column, name) if name else row.first_value

    @cached_property
    def name_columns(self) -> list[str]:
        """Return the columns that say what a row is: the one that names it, with texts if it is "HC-001"."""
        if any(_IN_WORDS.search(row.value(self.name_column)) for row in self.rows):
            return [self.name_column]
        texts = [
            column
            for column in self.columns
            if 2 * sum(bool(_IN_WORDS.search(row.value(column))) for row in self.rows) > len(self.rows)
            and not is_flag(self.rows, column)
        ]
        return [self.name_column, *texts[:TEXTS]]

    @cached_property
    def is_retired(self) -> bool:
        """Return whether the table's name or the line above it says that it is no longer valid."""
        names = f"{self.part}\n{self.rows[0].value(_LINE_ABOVE)}"
        return bool(_ARCHIVE.search(self.part)) or is_retired(names, "")

    def is_key(self, column: str) -> bool:
        """Return whether every row has another value in a column."""
        return len({row.value(column) for row in self.rows}) == len(self.rows)


def collect_tables(source: ListsChunks) -> list[WholeTable]:
    """Return a document's tables with several rows; a table is identified by its sheet and first column."""
    tables, title = dict[tuple[str, str], dict[int, NamedRow]](), ""
    bare_names = set[tuple[str, str]]()
    chunks = sorted(in_time(source.chunks()), key=lambda chunk: chunk["start"])
    for _, group in groupby(chunks, key=_record_key):
        chunk, *others = group
        line = chunk["text"].partition("\n")[0]
        if not chunk["start"] and not ("row" in chunk["metadata"] and ": " in line):
            title = line
        for row in rows_of(to_candidate(chunk, {}), others):
            key = (str(chunk["metadata"].get("sheet", "")), row.cells[0][0])
            if len(row.cells) > 1 or "row" in chunk["metadata"]:
                tables.setdefault(key, {}).setdefault(row.start, row)
            else:
                bare_names.add(key)
    _add_nameless(tables)
    ordered = {key: [rows[start] for start in sorted(rows)] for key, rows in tables.items() if len(rows) > 1}
    whole = [WholeTable(rows, title, key in bare_names) for key, rows in ordered.items()]
    return [table for table in whole if len(table.rows) * len(table.columns) <= MOST_CELLS]


def _add_nameless(tables: dict[tuple[str, str], dict[int, NamedRow]]) -> None:
    """Add the records without a first cell, which seem to be a table of their own, to their table."""
    columns = {key: {name for row in rows.values() for name, _ in row.cells} for key, rows in tables.items()}
    records = {
        key for key, rows in tables.items() if all("row" in row.chunk["metadata"] for row in rows.values())
    }
    # The tables with a column, by sheet and column: a wider table has the first column of the narrower one.
    with_column = defaultdict[tuple[str, str], list[tuple[str, str]]](list)
    for key, names in columns.items():
        for name in names:
            with_column[key[0], name].append(key)
    for key in list(tables):
        wider = (other for other in with_column[key] if other in tables and columns[key] < columns[other])
        whole = next(wider, None)
        if whole and {key, whole} <= records:
            tables[whole] |= tables.pop(key)


def without_retired(tables: Sequence[WholeTable]) -> list[WholeTable]:
    """Leave out each table that is no longer valid where a valid one has the same columns."""
    valid = [{*table.columns, _LINE_ABOVE} for table in tables if not table.is_retired]
    return [
        table
        for table in tables
        if not (table.is_retired and any(columns.issuperset(table.columns) for columns in valid))
    ]


def _record_key(chunk: Chunk) -> tuple[str, object]:
    """Return what the chunks of a record have in common, if it is too long for one."""
    return str(chunk["metadata"].get("sheet", "")), chunk["metadata"].get("row", chunk["id"])


def rows_of(passage: Candidate, others: Sequence[Chunk] = ()) -> Iterator[NamedRow]:
    """Yield the table rows of a passage that have a name, or several other cells.

    If the passage begins a record, `others` are the further chunks of the record.
    """
    if "row" in passage["metadata"]:
        yield from _read_record(passage, others)
        return
    for unit in read_units(passage, []):
        filled = [value for _, value in unit.cells if value]
        if unit.cells and unit.cells[0][0] and (unit.cells[0][1] or len(filled) > 1):
            yield NamedRow(unit.cells, passage, unit.start, unit.end)


def _read_record(passage: Candidate, others: Sequence[Chunk]) -> Iterator[NamedRow]:
    """Yield the row of a record: lines of "column: value", where a value may continue on further lines."""
    text, end = passage["text"], passage["end"]
    for chunk in others:
        gap = "\n" if chunk["start"] > end else ""
        text, end = text + gap + chunk["text"][max(0, end - chunk["start"]) :], chunk["end"]
    fields = list[tuple[str, str]]()
    for line in text.split("\n"):
        name, colon, value = line.partition(": ")
        if colon:
            fields.append((name, value))
        elif fields:
            fields[-1] = (fields[-1][0], f"{fields[-1][1]} {line}")
    if passage["metadata"].get("kind") == "qa" or not fields or not text.startswith(f"{fields[0][0]}: "):
        return
    name, value = fields[-1]
    if len(fields) > 2 and name.startswith("Sheet") and value == passage["metadata"].get("sheet"):
        fields.pop()  # the citation names it
    values = tuple(shorten(value, LONGEST_CELL, placeholder=" …") for _, value in fields)
    cells = name_cells(values, tuple(name for name, _ in fields))
    yield NamedRow(tuple(cells), passage, passage["start"], passage["end"])


def column_numbers(rows: Sequence[NamedRow], column: str) -> dict[int, Decimal]:
    """Return the numbers in a column by the index of their row.

    The result is empty if a cell is no clear number, or if the units differ. Empty cells are left out, and a
    few in words, such as "on request".
    """
    filled = {i: _LEAST.sub("", value) for i, row in enumerate(rows) if (value := row.value(column))}
    matches = {i: match for i, value in filled.items() if (match := NUMBER.fullmatch(value))}
    units = {(match["before"].strip("+-−"), match["after"]) for match in matches.values()}
    numbers = {i: match["number"] for i, match in matches.items()}
    if has_decimal_comma(numbers.values()):
        numbers = {i: number.translate(_SWAPPED) for i, number in numbers.items()}
    # "1.200" beside "800" may be 1,200; not "0.125" beside "2", nor "1.125" beside "2.5".
    is_unclear = {len(number.partition(".")[2]) for number in numbers.values()} == {0, 3} and not any(
        number.startswith("0.") for number in numbers.values()
    )
    is_english = all(re.fullmatch(_ENGLISH_NUMBER, number) for number in numbers.values())
    if len(units) != 1 or is_unclear or not is_english or not _are_few_words(filled, matches):
        return {}
    return {
        i: (-1 if {"-", "−"} & set(match["before"]) else 1) * Decimal(numbers[i].replace(",", ""))
        for i, match in matches.items()
    }


def has_decimal_comma(numbers: Iterable[str]) -> bool:
    """Return whether the numbers of a column are written as in "1.249,00"."""
    return any(map(_DECIMAL_COMMA.fullmatch, numbers))


def with_decimal_point(number: str) -> str:
    """Return "1,249.00" for "1.249,00"; other numbers as they are."""
    return number.translate(_SWAPPED) if has_decimal_comma([number]) else number


def write_number(number: Decimal, alike: Iterable[str]) -> str:
    """Write a number with its thousands separated, and its decimals as those of a column's numbers."""
    text = f"{number:,}"
    return text.translate(_SWAPPED) if has_decimal_comma(alike) else text


def column_dates(rows: Sequence[NamedRow], column: str) -> dict[int, datetime]:
    """Return the dates in a column by the index of their row.

    The result is empty if a cell is no date, or if "03/04/2026" may be a day of March or of April.
    """
    values = {i: value for i, row in enumerate(rows) if (value := row.value(column))}
    # The length comes first: the pattern takes quadratic time for a long cell.
    if max(map(len, values.values()), default=0) > _LONGEST_DATE or not any(
        map(_LIKE_DATE.search, values.values())
    ):
        return {}
    readings = list[dict[int, datetime]]()
    for date_format in ("%d/%m/%Y", "%m/%d/%Y"):
        dates = {i: date for i, value in values.items() if (date := _read_date(value, date_format))}
        readings += [dates] if _are_few_words(values, dates) and dates not in readings else []
    return readings[0] if len(readings) == 1 else {}


def is_flag(rows: Sequence[NamedRow], column: str) -> bool:
    """Return whether a column only says yes or no."""
    return all(row.value(column).lower() in _FLAGS for row in rows)


def yes_cells(rows: Sequence[NamedRow], column: str) -> list[str]:
    """Return the different cells of a column that say yes."""
    return sorted({cell for row in rows if (cell := row.value(column)).lower() in _YES})


def _are_few_words(cells: Mapping[int, str], values: Collection[int]) -> bool:
    """Return whether the cells without a value are few and have no digit: "on request"."""
    others = [cell for i, cell in cells.items() if i not in values]
    return len(others) <= _WORDS_BESIDE * len(values) and not re.search(r"\d", " ".join(others))


@lru_cache(maxsize=65536)
def _read_date(text: str, further_format: str) -> datetime | None:
    text = _WEEKDAY.sub("", text, count=1)
    for date_format in (*_DATE_FORMATS, further_format):
        try:
            return datetime.strptime(text, date_format).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
