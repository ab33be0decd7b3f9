"""Writes a table row for an answer: its name, and the cells that the question asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import compress

from adaptive_rag.text.tables import as_word
from adaptive_rag.text.words import terms

Cell = tuple[str, str]  # the name of the column, and the value
JudgesLines = Callable[[Sequence[str]], Sequence[float]]

# The probability from which the best cell of a row answers, and the share of it that others need to be shown.
LIKELY_CELL, CELL_SHARE = 0.15, 0.2
# Names of columns that say nothing about their values: "Tank: value 3.8 litres".
_BLAND = {"value", "values", "amount", "data", "detail", "details", "description", "information", "meaning"}
# A column's name with a unit: "Deposit (pounds)" above 30 becomes "deposit 30 pounds"; also "Height (m PD)",
# "Cost £" and "Heated, %".
_WITH_UNIT = re.compile(
    r"(?P<name>.+?),? (?:\((?P<unit>[^\W\d_]{1,12}|[a-z]{1,3} [A-Z]{1,4}|[%°€£$])\)|(?P<sign>[%€£$]))"
)
_TENTHS = re.compile(r".+\.\d")
# Column names that are questions: "What" is left out before "Order the repair", and "What happens" is
# followed by a colon.
_QUESTION_NAME = re.compile(
    r"(?:who|what|when|where|which|how|why|wer|was|wann|wo|wie)\b(?P<more>.*)", re.IGNORECASE
)
# "Train 5 (S)" is one name, without a unit.
_SERIAL = re.compile(r"\d \([A-Z]\)$")
# Row names that need the column's name before them: "3" becomes "Grade 3". A year such as "2021" does not.
_SERIAL_NAME = re.compile(r"\d{1,3}|[A-Z]")
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*")
# Column names that are read as part of the value or of the list beside it: "Unit 7, Crossfield Park".
_MISREAD = re.compile(r"[\d,]")
_BRACKETS = re.compile(r" \(.*\)")


def say_row(cells: Sequence[Cell], question: str, judge: JudgesLines | None = None) -> str:
    """Write a row in words: its name, the cells that the question mentions, and those that it asks for.

    `judge` returns the probability that each of some lines answers the question. The likely cells are shown,
    and those that the question names by their columns ("is it in stock"); where there are neither, all are.
    The first cell names the row. The subject of an earlier question may stand below the first line of the
    question.
    """
    (column, name), *others = cells
    asked_for = _cells_named(others, question.partition("\n")[0])
    if judge and len(others) > 1:
        asked_for += _cells_that_answer(cells, judge)
    question_terms = set(terms(question))
    shown = [
        cell
        for cell in others
        if not asked_for or cell in asked_for or question_terms.intersection(terms(cell[1]))
    ]
    if any(_NUMBER.fullmatch(value) for _, value in shown):
        shown = [cell for cell in others if cell in shown or cell[0].casefold() in ("unit", "units")]
    if not column and _are_compared([cell[0] for cell in others]):
        values = ", ".join(f"{value} ({name.replace(' (', ', ').removesuffix(')')})" for name, value in shown)
    else:
        values = ", ".join(_say_cell(*cell) for cell in shown)
    name = name_serial(column, name)
    return f"{name.rstrip(' :')}: {values}" if name and values else name or values


def name_serial(column: str, name: str) -> str:
    """Return the name of a row, with its column before a number or letter: "Grade 3"."""
    if _SERIAL_NAME.fullmatch(name) and column[:1].isalpha():
        return f"{column[:1].upper()}{column[1:]} {name}"
    return name


def _cells_that_answer(cells: Sequence[Cell], judge: JudgesLines) -> list[Cell]:
    """Return the cells that probably answer a question; the first one names the row."""
    lines = [f"{name}: {value}." if name and not _is_bland(name) else f"{value}." for name, value in cells]
    _, *scores = judge(lines)
    best = max(scores)
    is_likely = [best >= LIKELY_CELL and score >= CELL_SHARE * best for score in scores]
    return list(compress(cells[1:], is_likely))


def _are_compared(columns: Sequence[str]) -> bool:
    """Return whether the columns are named things, such as "Tannery Lane (stay)" and "Unit 7, Mill Park".

    Then a word in brackets is no unit. In "D300 (kg)" beside "D400 (kg)" it is one.
    """
    names = [_BRACKETS.sub("", column) for column in columns]
    is_unit = not set(names).intersection(columns)
    return (
        any(map(_MISREAD.search, columns))
        and not is_unit
        and all(as_word(name)[:1].isupper() for name in names)
    )


def _cells_named(cells: Sequence[Cell], question: str) -> list[Cell]:
    """Return the cells that a question asks for by the names of their columns.

    "The main pool" does not ask for the column "pool" of a row in which it is "main".
    """
    question_terms = terms(question)
    shared_terms = {
        cell: shared
        for cell in cells
        if (shared := {*question_terms}.intersection(terms(cell[0])))
        and not _is_told(cell[1], question_terms)
    }
    # "The D300 Pro" does not ask for the column "D300"; "the D300 or the D300 Pro" asks for both.
    return [
        cell
        for cell, shared in shared_terms.items()
        if not any(shared < other for other in shared_terms.values())
        or any(question_terms.count(term) > 1 for term in shared)
    ]


def _is_told(value: str, question_terms: Sequence[str]) -> bool:
    """Return whether a question contains a cell's value."""
    value_terms = terms(value)
    return bool(value_terms) and set(value_terms) <= {*question_terms}


def with_unit(name: str, value: str) -> tuple[str, str]:
    """Move a unit from a column's name to its value: ("amount", "£6.20") for "Amount (£)" and "6.2"."""
    unit = _WITH_UNIT.fullmatch(name)
    if unit and _NUMBER.fullmatch(value) and not _SERIAL.search(name):
        symbol = unit["unit"] or unit["sign"]
        if symbol not in "£$€":
            return as_word(unit["name"]), f"{value} {symbol}"
        return as_word(unit["name"]), f"{symbol}{value}{'0' * bool(_TENTHS.fullmatch(value))}"
    return name, value


def _is_bland(name: str) -> bool:
    """Return whether a column's name says nothing: "value", "what"."""
    question = _QUESTION_NAME.fullmatch(name)
    return name.casefold() in _BLAND or bool(question and not question["more"])


def _say_cell(name: str, value: str) -> str:
    name, value = with_unit(name, value)
    if _is_bland(name):
        return value
    if _QUESTION_NAME.fullmatch(name):
        return f"{name}: {value}"
    if any(map(str.isdigit, name)):
        return f"{value} ({name})"
    return f"{name} {value}".strip()
