"""The rows and columns of a table that stands in a text: "Brass hinge | 4.20 | 12", or with "|" around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

# what stands in an empty cell where a loader writes a table as text
EMPTY_CELL = "–"
_LINE = r"[ \t]*+(?:\|[^\n]*\||[^\n|]*[^\n| \t] \|(?= |\n|$)[^\n]*)[ \t]*"
_ROW = re.compile(_LINE)
# two rows or more, with blank lines between them or not
_TABLE = re.compile(rf"^{_LINE}(?:\n(?:[ \t]*\n)*{_LINE}$)+", re.MULTILINE)
_RULE = re.compile(r"[ \t|:+-]*-[ \t|:+-]*")
_BAR = re.compile(r"(?<!\\)\|")
_DAY_OR_MONTH = re.compile(
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|"
    r"apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?",
    re.IGNORECASE,
)
# A year, or a name such as "D300": they stand above columns too.
_NAMING = re.compile(r"(?:1[89]|20)\d\d|\b[A-Z]+-?\d+\b")
_TITLE, _AMOUNT = re.compile(r"[A-Z][^£$€%]*$"), re.compile(r"[£$€]? ?\d")


@dataclass(frozen=True)
class Row:
    """One row of a table: where it stands in the text, and its cells."""

    start: int
    end: int
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """The rows of a table below the names of its columns, which are () where it has none."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def is_row(line: str) -> bool:
    """Tell whether a line is a row of a table."""
    return "|" in line and _ROW.fullmatch(line) is not None


def is_rule(line: str) -> bool:
    """Tell whether a line is what stands under the names of a table's columns: "|---|:--:|"."""
    return "|" in line and _RULE.fullmatch(line) is not None


def find_tables(text: str, columns: tuple[str, ...] = ()) -> Iterator[Table]:
    """Yield the tables of a text.

    Args:
        text: as a document or a passage has it.
        columns: the names of the columns, where the text begins below them.
    """
    for match in _TABLE.finditer(text) if "|" in text else ():
        lines = [(match.start() + line.start(), line[0]) for line in re.finditer(r"[^\n]*\S[^\n]*", match[0])]
        ruled = len(lines) > 1 and _RULE.fullmatch(lines[1][1]) is not None
        rows = [
            Row(start + len(line) - len(line.lstrip()), start + len(line.rstrip()), _cells(line))
            for start, line in lines
            if not _RULE.fullmatch(line)
        ]
        if match.start() == 0 and columns and not ruled:
            yield Table(columns, tuple(rows))
        elif rows and (ruled or _names_columns([row.cells for row in rows])):
            yield _named(rows)
        else:
            yield Table((), tuple(rows))


def describe_row(cells: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """Put a row in words: "Brass hinge: price 4.20, stock 12"."""
    (_, subject), *named = name_cells(cells, columns)
    said = ", ".join(f"{name} {cell}".strip() for name, cell in named)
    return f"{subject.rstrip(' :')}: {said}" if subject and said else subject or said


def name_cells(cells: tuple[str, ...], columns: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the first cell of a row and the others that are not empty, each after its column's name."""
    if columns and len(cells) < len(columns):
        cells = (*cells, *("",) * (len(columns) - len(cells)))  # empty ones at the end
    names = columns if len(columns) == len(cells) else ("",) * len(cells)
    held = ("" if cell in (EMPTY_CELL, "-") else cell for cell in cells)
    named = [(as_word(name), cell) for name, cell in zip(names, held, strict=True)]
    return named[:1] + [(name, cell) for name, cell in named[1:] if cell]


def _named(rows: list[Row]) -> Table:
    """Take the names of the columns from the first row, or from two: "Sales" over "2022" and "2023"."""
    names, *body = rows
    spanned = any(one == two for one, two in pairwise(names.cells))
    if spanned and len(body) > 1 and len(body[0].cells) == len(names.cells):
        both = zip(names.cells, body[0].cells, strict=True)
        return Table(tuple(one if one == two else f"{one} {two}" for one, two in both), tuple(body[1:]))
    return Table(names.cells, tuple(body))


def _cells(line: str) -> tuple[str, ...]:
    line = line.strip()
    framed = line.startswith("|") and line.endswith("|")
    parts = [cell.strip() for cell in _BAR.split(line)]
    return tuple(parts[1:-1] if framed else parts)


def _names_columns(rows: list[tuple[str, ...]]) -> bool:
    """Tell whether the first of a table's rows names its columns.

    "Tool | Deposit | Days" and "Property | D300 | D300 Pro" do; "Weight | 11.5 kg" does not. "Colour | red"
    above "Wood | oak" is read as a row: a row of two cells is understood without names. "Train 1 | Train 2"
    do above times, "Child 4 to 15" above prices, "Level | What to do" above "1 Watch".
    """
    first, rest = rows[0], rows[1:]
    if not rest or not all(first):
        return False
    for at, cell in enumerate(first):
        below = [row[at] for row in rest if at < len(row)]
        over_amounts = _TITLE.match(cell) and sum(bool(_AMOUNT.match(c)) for c in below) > len(below) / 2
        if re.search(r"\d", _NAMING.sub("", cell)) and not over_amounts:
            return False
    numbered = (sum(bool(re.search(r"\d", row[at])) for row in rest) for at in (0, -1))
    return len(first) > 2 or any(2 * count > len(rest) for count in numbered)


def as_word(name: str) -> str:
    """Write a column's name as it stands in a sentence: "Stock" is "stock", but "VAT" and "May" stay."""
    name = " ".join(name.replace("_", " ").split()).replace(EMPTY_CELL, "")
    word = re.fullmatch(r"[^\W\d_][a-z]+(?: [a-z]+)*", name) and not _DAY_OR_MONTH.fullmatch(name)
    return name[:1].lower() + name[1:] if word else name
