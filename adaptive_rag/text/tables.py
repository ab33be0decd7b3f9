"""Finds tables in a text, with their rows and columns: "Brass hinge | 4.20 | 12", or with "|" around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

# the text of an empty cell in a table that a loader writes
EMPTY_CELL = "–"
_LINE = r"[ \t]*+(?:\|[^\n]*\||[^\n|]*[^\n| \t] \|(?= |\n|$)[^\n]*)[ \t]*"
_ROW = re.compile(_LINE)
# two or more rows, with or without blank lines between them
_TABLE = re.compile(rf"^{_LINE}(?:\n(?:[ \t]*\n)*{_LINE}$)+", re.MULTILINE)
_LONE_ROW = re.compile(rf"{_LINE}(?=\n|\Z)")
_RULE = re.compile(r"[ \t|:+-]*-[ \t|:+-]*")
_BAR = re.compile(r"(?<!\\)\|")
# In a row without a frame the bar in "on|off" is part of a cell.
_OPEN_BAR = re.compile(r"(?<= )\||(?<!\\)\|(?= |$)")
_DAY_OR_MONTH = re.compile(
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|"
    r"apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?",
    re.IGNORECASE,
)
# One or two years, a day, or a name such as "D300": these too can be column names.
_NAMING = re.compile(
    r"(?:1[89]|20)\d\d(?: ?[-–/] ?(?:\d\d){1,2}\b)?(?: ?\(\d\))?|\b[A-Z]+-?\d+\b|"
    r"\b(?i:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2}\b",
)
# "Child 4 to 15" and "GNP ($000)", but not "£2.35 an hour", "up to £28", "3 weeks".
_TITLE = re.compile(r"(?!.*[£$€] ?[1-9])[^\d£$€]*?[^\W\d_]{3}.*")
# "18–24", "65 and over", "<5 years", "100+"
_RANGE = re.compile(
    r"(?:[<>≤≥] ?\d[\d.,]*|\d[\d.,]*(?:\+| ?(?:[-–]|to) ?\d[\d.,]*| (?:and|or) [a-z]+)) ?[%a-z]{0,8}",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"[£$€(+−-]{0,2} ?[.\d]")
_FIGURE = re.compile(r"(?!.*[^\W\d_]{2}).*\d.*")
# In characters: in a table of two columns, longer texts are not names.
_LONGEST_NAME = 50
# the text of a cell without a value
_VOID = re.compile(r"(?:[$£€¥] ?)?[-–—.*…]+|\(?(?:n\.?/?a\.?|x|nil)\)?", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """One row of a table: its span in the text, and its cells."""

    start: int
    end: int
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table: the names of its columns, () if it has none, and the rows below them."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    start: int
    """The offset of the table in the text, including its column names."""


def is_row(line: str) -> bool:
    """Tell whether a line is a row of a table."""
    return "|" in line and _ROW.fullmatch(line) is not None


def is_rule(line: str) -> bool:
    """Tell whether a line is the rule below the column names of a table: "|---|:--:|"."""
    return "|" in line and _RULE.fullmatch(line) is not None


def write_row(cells: Iterable[str], *, shorten: bool = False) -> str:
    """Write the cells of a row on one line; `shorten` leaves out the empty ones at its end."""
    texts = list(cells)
    while shorten and texts and not texts[-1]:
        texts.pop()
    return " | ".join(text or EMPTY_CELL for text in texts)


def write_rule(columns: int) -> str:
    """Write the rule below the column names of a table."""
    return " | ".join(["---"] * columns)


def find_tables(text: str, columns: tuple[str, ...] = ()) -> Iterator[Table]:
    """Yield the tables of a text.

    Args:
        text: a document or a passage.
        columns: the names of the columns, if the text begins below them.
    """
    lone = _LONE_ROW.match(text) if columns and not _TABLE.match(text) else None
    if lone and len(cells := _cells(lone[0])) == len(columns):  # the last row of a table that was cut
        yield Table(columns, (Row(len(lone[0]) - len(lone[0].lstrip()), len(lone[0].rstrip()), cells),), 0)
    for lines in _blocks(text):
        ruled = len(lines) > 1 and _RULE.fullmatch(lines[1][1]) is not None
        rows = [
            Row(start + len(line) - len(line.lstrip()), start + len(line.rstrip()), _cells(line))
            for start, line in lines
            if not _RULE.fullmatch(line)
        ]
        if columns and not ruled and lines[0][0] == 0:
            yield Table(columns, tuple(rows), 0)
        elif rows and (ruled or names_columns([row.cells for row in rows])):
            yield _named(rows)
        else:
            yield Table((), tuple(rows), lines[0][0])


def _blocks(text: str) -> Iterator[list[tuple[int, str]]]:
    """Yield the lines of each table with their offsets.

    After a blank line, a row with another number of cells begins a new table.
    """
    for match in _TABLE.finditer(text) if "|" in text else ():
        lines: list[tuple[int, str]] = []
        for line in re.finditer(r"[^\n]*\S[^\n]*", match[0]):
            start = match.start() + line.start()
            if lines:
                at, above = lines[-1]
                apart = text.count("\n", at + len(above), start) > 1
                if apart and len(_cells(above)) != len(_cells(line[0])):
                    yield lines
                    lines = []
            lines.append((start, line[0]))
        yield lines


def describe_row(cells: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """Describe a row in words: "Brass hinge: price 4.20, stock 12"."""
    (_, subject), *named = name_cells(cells, columns)
    said = ", ".join(f"{name} {cell}".strip() for name, cell in named)
    return f"{subject.rstrip(' :')}: {said}" if subject and said else subject or said


def name_cells(cells: tuple[str, ...], columns: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the first cell of a row and its other non-empty cells, each with its column name."""
    if columns and len(cells) < len(columns):
        cells = (*cells, *("",) * (len(columns) - len(cells)))  # empty ones at the end
    names = columns if len(columns) == len(cells) else ("",) * len(cells)
    held = ("" if cell in (EMPTY_CELL, "-") else cell for cell in cells)
    named = [(as_word(name), cell) for name, cell in zip(names, held, strict=True)]
    return named[:1] + [(name, cell) for name, cell in named[1:] if cell]


def _named(rows: list[Row]) -> Table:
    """Take the column names from the first row, or from several: "Sales" above "2022" and "2023".

    A next row with the same first cell also names them, if it has no figures: "– | in tons | in per cent".
    """
    count = 1
    while count < len(rows) - 1 and len(rows[count].cells) == len(rows[0].cells):
        above, cells = rows[count - 1].cells, rows[count].cells
        spanned = any(one == two != EMPTY_CELL for one, two in pairwise(above))
        same = cells[0] == rows[0].cells[0] != rows[-1].cells[0]
        figures = sum(bool(_FIGURE.fullmatch(_NAMING.sub("", cell))) for cell in cells)
        if not (same and spanned) and (2 * figures > len(cells) or not (same or (spanned and count == 1))):
            break
        count += 1
    columns = zip(*(row.cells for row in rows[:count]), strict=True)
    names = (dict.fromkeys(cell for cell in column if cell != EMPTY_CELL) for column in columns)
    return Table(tuple(" ".join(name) or EMPTY_CELL for name in names), tuple(rows[count:]), rows[0].start)


def _cells(line: str) -> tuple[str, ...]:
    line = line.strip()
    framed = line.startswith("|") and line.endswith("|")
    parts = [cell.strip() for cell in (_BAR if framed else _OPEN_BAR).split(line)]
    return tuple(parts[1:-1] if framed else parts)


def names_columns(rows: list[tuple[str, ...]]) -> bool:
    """Tell whether the first row of a table names its columns.

    "Tool | Deposit | Days" and "Property | D300 | D300 Pro" do; "Weight | 11.5 kg" does not. "Colour | red"
    above "Wood | oak" is read as a row: a row of two cells is clear without names. "Train 1 | Train 2"
    does above times, "Child 4 to 15" above prices, and "Level | What to do" above "1 Watch".
    """
    first, rest = rows[0], rows[1:]
    if not rest or not all(first) or 2 * sum(map(_is_void, first[1:])) > len(first[1:]):
        return False
    # "Statistic | Years | Years" above "Statistic | 1 | 2", as a header of two rows is written
    if _counts_up(first[1:]) or (len(rest) > 1 and first[0] == rest[0][0] != EMPTY_CELL and first != rest[0]):
        return True
    if first[0] == EMPTY_CELL and all(row[0] != EMPTY_CELL for row in rest):
        return not all(_FIGURE.fullmatch(_NAMING.sub("", cell)) for cell in first[1:])
    for at, cell in enumerate(first):
        below = [row[at] for row in rest if at < len(row)]
        amounts = sum(bool(_AMOUNT.match(c)) or _is_void(c) for c in below)
        title = _TITLE.match(cell) or (_RANGE.fullmatch(cell) and not any(map(_RANGE.fullmatch, below)))
        over_amounts = title and amounts > len(below) / 2
        if re.search(r"\d", _NAMING.sub("", cell)) and not over_amounts:
            return False
    numbered = (sum(bool(re.search(r"\d", row[at])) for row in rest) for at in (0, -1))
    over_texts = max(map(len, first)) < _LONGEST_NAME < median(len(row[-1]) for row in rest)
    return len(first) > 2 or over_texts or any(2 * count > len(rest) for count in numbered)


def _is_void(cell: str) -> bool:
    return _VOID.fullmatch(cell) is not None


def _counts_up(cells: Sequence[str]) -> bool:
    """Tell whether cells are consecutive numbers: "Lead time | 1 | 2 | 3" names columns."""
    start = int(cells[0]) if cells and re.fullmatch(r"\d{1,4}", cells[0]) else None
    return (
        start is not None
        and len(cells) > 2
        and list(cells) == [str(start + step) for step in range(len(cells))]
    )


def as_word(name: str) -> str:
    """Write a column name as in a sentence: "Stock" becomes "stock", but "VAT" and "May" stay."""
    name = " ".join(name.replace("_", " ").split()).replace(EMPTY_CELL, "")
    word = re.fullmatch(r"[^\W\d_][a-z]+(?: [a-z]+)*", name) and not _DAY_OR_MONTH.fullmatch(name)
    return name[:1].lower() + name[1:] if word else name
