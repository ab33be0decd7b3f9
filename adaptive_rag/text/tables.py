"""Finds the tables of a text, whose rows look like "Brass hinge | 4.20 | 12" or "| Brass hinge | 4.20 |"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from statistics import median

# How a loader writes an empty cell.
EMPTY_CELL = "–"
_LINE = r"[ \t]*+(?:\|[^\n]*\|[ \t]*|[^\n|]*[^\n| \t] \|(?= |\n|$)[^\n]*)"
_ROW = re.compile(_LINE)
# Two or more rows, with or without blank lines between them.
_TABLE = re.compile(rf"^{_LINE}(?:\n(?:[ \t]*\n)*{_LINE}$)+", re.MULTILINE)
_LONE_ROW = re.compile(rf"{_LINE}(?=\n|\Z)")
_RULE = re.compile(r"[ \t|:+]*-[ \t|:+-]*")
_BAR = re.compile(r"(?<!\\)\|")
# In a row without a bar at each end, the bar in "on|off" is part of a cell.
_SPACED_BAR = re.compile(r"(?<= )\||(?<!\\)\|(?= |$)")
_DAY_OR_MONTH = re.compile(
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|"
    r"apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?",
    re.IGNORECASE,
)
# One or two years, a date, or a name such as "D300": column names may contain these digits.
_NAME_WITH_DIGITS = re.compile(
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
# "Invoice no.", a label beside its number
_NUMBER_LABEL = re.compile(r".*\b(?:no|nr|number|ref|reference|code|id)\.?:?", re.IGNORECASE)
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
# "Tarn 86" beside "Tarn 40", "Week 1" beside "Week 2"
_NUMBERED_NAME = re.compile(r"([^\W\d_][^\d|]{0,40}?)[ -]?\d{1,4}")
# The parts that show the form of a value: "22 May 2025" begins with a number and a word, "07:55" and "M40" do
# not.
_VALUE_PART = re.compile(r"(?P<number>\d[\d.,]*)|(?P<code>[^\W\d_]+\d\w*)|(?P<word>[^\W\d_]+)|[^\w\s]")
_FIGURE = re.compile(r"(?!.*[^\W\d_]{2}).*\d.*")
# In characters. In a table of two columns, a longer text is not a column name.
_MAX_NAME_LENGTH = 50
# In characters, of all names together. Each passage of a table repeats them, so a row of megabytes as names
# would fill a disk.
_LONGEST_HEADER = 20_000
# A cell without a value: "n/a", "...", "£–".
_NO_VALUE = re.compile(r"(?:[$£€¥] ?)?[-–—.*…]+|\(?(?:n\.?/?a\.?|x|nil)\)?", re.IGNORECASE)


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
    """Return whether a line is a row of a table."""
    return "|" in line and _ROW.fullmatch(line) is not None


def is_rule(line: str) -> bool:
    """Return whether a line is the rule below the column names of a table: "|---|:--:|"."""
    return "|" in line and _RULE.fullmatch(line) is not None


def write_row(cells: Iterable[str], *, shorten: bool = False) -> str:
    """Return the cells of a row as one line; `shorten` leaves out empty cells at the end."""
    texts = list(cells)
    while shorten and texts and not texts[-1]:
        texts.pop()
    return " | ".join(text or EMPTY_CELL for text in texts)


def write_rule(columns: int) -> str:
    """Return the rule below the column names of a table."""
    return " | ".join(["---"] * columns)


def find_tables(text: str, columns: tuple[str, ...] = ()) -> Iterator[Table]:
    """Yield the tables of a document or passage; `columns` names its columns if it begins below them."""
    lone_row = _LONE_ROW.match(text) if columns and not _TABLE.match(text) else None
    # The last row of a table that was cut into passages.
    if lone_row and len((row := _parse_row(lone_row[0], 0)).cells) == len(columns):
        yield Table(columns, (row,), 0)
    for lines in _blocks(text):
        has_rule = len(lines) > 1 and _RULE.fullmatch(lines[1][1]) is not None
        rows = [_parse_row(line, start) for start, line in lines if not _RULE.fullmatch(line)]
        if columns and not has_rule and lines[0][0] == 0:
            yield Table(columns, tuple(rows), 0)
        elif rows and (has_rule or names_columns([row.cells for row in rows])):
            yield _split_header(rows)
        else:
            yield Table((), tuple(rows), lines[0][0])


def _parse_row(line: str, start: int) -> Row:
    """Return the row of a line that begins at an offset."""
    indent = len(line) - len(line.lstrip())
    return Row(start + indent, start + len(line.rstrip()), _cells(line))


def _blocks(text: str) -> Iterator[list[tuple[int, str]]]:
    """Yield the lines of each table with their offsets.

    After a blank line, a row with another number of cells begins a new table.
    """
    for match in _TABLE.finditer(text) if "|" in text else ():
        lines: list[tuple[int, str]] = []
        for line in re.finditer(r"[^\n]*\S[^\n]*", match[0]):
            start = match.start() + line.start()
            if lines:
                start_above, line_above = lines[-1]
                has_blank_line = text.count("\n", start_above + len(line_above), start) > 1
                if has_blank_line and len(_cells(line_above)) != len(_cells(line[0])):
                    yield lines
                    lines = []
            lines.append((start, line[0]))
        yield lines


def describe_row(cells: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """Describe a row in words: "Brass hinge: price 4.20, stock 12"."""
    (_, subject), *named = name_cells(cells, columns)
    values = ", ".join(f"{name} {cell}".strip() for name, cell in named)
    return f"{subject.rstrip(' :')}: {values}" if subject and values else subject or values


def name_cells(cells: tuple[str, ...], columns: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the first cell of a row and its other non-empty cells, each with its column name."""
    if columns and len(cells) < len(columns):
        cells = (*cells, *("",) * (len(columns) - len(cells)))
    names = columns if len(columns) == len(cells) else ("",) * len(cells)
    values = ("" if cell in (EMPTY_CELL, "-") else cell for cell in cells)
    named = [(as_word(name), value) for name, value in zip(names, values, strict=True)]
    return named[:1] + [(name, cell) for name, cell in named[1:] if cell]


def _split_header(rows: list[Row]) -> Table:
    """Return a table whose column names are its first row, or its first rows.

    A second row belongs to the header if the first has a name that spans columns ("Sales" above "2022" and
    "2023"), or if it repeats the first cell and has few figures ("– | in tons | in per cent").
    """
    header_rows = 1
    while header_rows < len(rows) - 1 and len(rows[header_rows].cells) == len(rows[0].cells):
        above, cells = rows[header_rows - 1].cells, rows[header_rows].cells
        has_span_above = any(left == right != EMPTY_CELL for left, right in pairwise(above))
        repeats_first_cell = cells[0] == rows[0].cells[0] != rows[-1].cells[0]
        figures = sum(map(_is_figure, cells))
        may_be_header = repeats_first_cell or (has_span_above and header_rows == 1)
        has_few_figures = 2 * figures <= len(cells) or (repeats_first_cell and has_span_above)
        if not (may_be_header and has_few_figures):
            break
        header_rows += 1
    columns = zip(*(row.cells for row in rows[:header_rows]), strict=True)
    names = (dict.fromkeys(cell for cell in column if cell != EMPTY_CELL) for column in columns)
    joined_names = tuple(" ".join(name) or EMPTY_CELL for name in names)
    if len(str(joined_names)) > _LONGEST_HEADER:
        return Table((), tuple(rows), rows[0].start)
    return Table(joined_names, tuple(rows[header_rows:]), rows[0].start)


def _is_figure(cell: str) -> bool:
    return _FIGURE.fullmatch(_NAME_WITH_DIGITS.sub("", cell)) is not None


def _cells(line: str) -> tuple[str, ...]:
    line = line.strip()
    has_outer_bars = line.startswith("|") and line.endswith("|")
    parts = [cell.strip() for cell in (_BAR if has_outer_bars else _SPACED_BAR).split(line)]
    return tuple((parts[1:-1] or parts[1:]) if has_outer_bars else parts)


def names_columns(rows: list[tuple[str, ...]]) -> bool:
    """Return whether the first row of a table names its columns.

    "Tool | Deposit | Days" and "Property | D300 | D300 Pro" do; "Weight | 11.5 kg" does not. Some rows do
    only above certain cells: "Train 1 | Train 2" above times, "Child 4 to 15" above prices, and
    "Level | What to do" above "1 Watch". "Colour | red" above "Wood | oak" does not, since a row of two cells
    is clear without column names, nor does "Invoice no. | CT-2291" above "Due | 1 April", nor does
    "Customer | Ada" above "Date | 1 April" and "Time | 07:55": the values of a form differ in kind.
    """
    first, rest = rows[0], rows[1:]
    if not rest or not all(first) or 2 * sum(map(_has_no_value, first[1:])) > len(first[1:]):
        return False
    # "Statistic | Years | Years" above "Statistic | 1 | 2" is a header of two rows.
    if _counts_up(first[1:]) or _are_variants(first[1:], rest):
        return True
    if len(rest) > 1 and first[0] == rest[0][0] != EMPTY_CELL and first != rest[0]:
        return True
    if first[0] == EMPTY_CELL and all(row[0] != EMPTY_CELL for row in rest):
        return not all(map(_is_figure, first[1:]))
    has_digit = [[bool(re.search(r"\d", row[column])) for row in rows] for column in (0, -1)]
    has_number = has_digit[1][0] and not _YEAR.fullmatch(first[-1])
    if len(first) == 2 and _NUMBER_LABEL.fullmatch(first[0]) and has_number and not any(has_digit[0]):
        return False
    cells_below: list[list[str]] = [[] for _ in first]
    for row in rest:
        for cells, cell in zip(cells_below, row, strict=False):
            cells.append(cell)
    for cell, below in zip(first, cells_below, strict=True):
        amounts = sum(bool(_AMOUNT.match(c)) or _has_no_value(c) for c in below)
        is_title = _TITLE.match(cell) or (_RANGE.fullmatch(cell) and not any(map(_RANGE.fullmatch, below)))
        is_above_amounts = is_title and amounts > len(below) / 2
        if re.search(r"\d", _NAME_WITH_DIGITS.sub("", cell)) and not is_above_amounts:
            return False
    is_above_texts = max(map(len, first)) < _MAX_NAME_LENGTH < median(len(row[-1]) for row in rest)
    are_numbered = 2 * sum(has_digit[0][1:]) > len(rest)
    return len(first) > 2 or is_above_texts or are_numbered or _are_figures_alike([row[-1] for row in rest])


def _are_variants(names: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return whether names differ only in a number, "Tarn 86" and "Tarn 40", unlike the cells below."""
    stems = {match[1] if (match := _NUMBERED_NAME.fullmatch(name)) else "" for name in names}
    if len(set(names)) < 2 or len(stems) > 1 or not (stem := max(stems)):
        return False
    return not any(cell.startswith(stem) for row in rest for cell in row[1:])


def _are_figures_alike(values: Sequence[str]) -> bool:
    """Return whether most values have figures and begin in the same form, such as "40 €" and "1 € a day"."""
    forms: Counter[tuple[str, ...]] = Counter()
    for value in values:
        if re.search(r"\d", value):
            parts = islice(_VALUE_PART.finditer(value), 2)
            forms[tuple(part.lastgroup or part[0] for part in parts)] += 1
    return 2 * max(forms.values(), default=0) > len(values)


def _has_no_value(cell: str) -> bool:
    return _NO_VALUE.fullmatch(cell) is not None


def _counts_up(cells: Sequence[str]) -> bool:
    """Return whether cells are consecutive numbers: "Lead time | 1 | 2 | 3" names columns."""
    if len(cells) < 3 or not re.fullmatch(r"\d{1,4}", cells[0]):
        return False
    return list(cells) == [str(int(cells[0]) + step) for step in range(len(cells))]


def as_word(name: str) -> str:
    """Return a column name as it stands in a sentence: "Stock" becomes "stock"; "VAT" and "May" stay."""
    name = " ".join(name.replace("_", " ").split()).replace(EMPTY_CELL, "")
    is_word = re.fullmatch(r"[^\W\d_][a-z]+(?: [a-z]+)*", name) and not _DAY_OR_MONTH.fullmatch(name)
    return name[:1].lower() + name[1:] if is_word else name
