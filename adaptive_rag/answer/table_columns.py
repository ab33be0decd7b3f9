"""Finds the column of a table that a question asks for, and whether its rows or its cells are counted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from adaptive_rag.answer.comparisons import MEASURES, YEAR, measures_of
from adaptive_rag.answer.table_kinds import FOR_ROWS
from adaptive_rag.answer.table_meaning import closest
from adaptive_rag.answer.whole_tables import NamedRow, WholeTable, column_dates, column_numbers, is_flag
from adaptive_rag.text.words import STOP_WORDS, stem, terms, words

# Of "how many of the open invoices are there", "of the open invoices" are counted.
_ENDS_PHRASE = STOP_WORDS - {"of", "the", "all", "our"}
_MONEY = re.compile(r"[£$€]|\b(?:eur|euros?|usd|gbp|chf|dollars?|pounds?)\b", re.IGNORECASE)
# A column whose sum says nothing, since a row may be of several units; unlike "Rent per month"
_OF_ONE_UNIT = re.compile(
    r"\bunit (?:price|cost|fee|rate)|\b(?:each|apiece)\b|\bper (?!(?:day|week|month|quarter|year|annum)\b)",
    re.IGNORECASE,
)
# Adjectives that any column of numbers or dates may answer, if the question names it.
_GENERAL = frozenset("high large big many long when".split())


def is_inside(question: str, column: str) -> bool:
    """Return whether a question asks for what is in a column: "Which items are in the gift box?"."""
    return bool(re.search(rf"\bin (?:the |an? )?{re.escape(column)}\W*$", question, re.IGNORECASE))


def counts_cells(question: str, asked: set[str], table: WholeTable) -> bool:
    """Return whether "how many" asks for the sum of a column: "how many visits did all towns have in 2025".

    It does if it asks for something else than the rows, and for all of them or by a column's year, or if the
    table's heading says what is counted: "Visits by town".
    """
    rows, counted = set(terms(table.columns[0])), counted_words(question)[:1]
    # "Parcel prices" counts no parcels.
    if rows.issuperset(map(stem, counted)) or not set(counted) <= set(
        words(f"{table.topic} {table.columns}")
    ):
        return False
    years = {year for name in table.columns for year in YEAR.findall(name)}
    of_rows = re.finditer(
        r"\b(?:all|by|per) (?:the |our |its )?(?P<word>[^\W\d_]+)", f"{question} {table.part}".lower()
    )
    return bool(years & asked) or any(stem(match["word"]) in rows for match in of_rows)


def counted_words(question: str) -> list[str]:
    """Return the words for what is counted: "visits" of "how many visits did all towns have"."""
    after = re.search(r"\b(?:how many|number of|count(?: of)?) (.*)", question.lower())
    phrase = takewhile(lambda word: word not in _ENDS_PHRASE, words(after[1]) if after else [])
    return [word for word in phrase if word not in STOP_WORDS]


def names_counted(question: str, column: str) -> bool:
    """Return whether the words for what is counted name a column."""
    return not set(map(stem, counted_words(question))).isdisjoint(terms(column))


def is_of_counted(question: str, column: str) -> bool:
    """Return whether the numbers in a column say how many there are of what is counted, if anything is."""
    names = set(terms(column))
    return (
        not counted_words(question)
        or names_counted(question, column)
        or is_inside(question, column)  # "the number of parts in stock"
        or bool(YEAR.search(column))
        or names <= FOR_ROWS
        or not names.isdisjoint(map(stem, MEASURES["many"].split()))
    )


def measures_asked(question: str, measure: str) -> Iterator[str]:
    """Yield possible names of columns for the measure that the question compares."""
    yield from measures_of([*words(question), measure])
    if measure and measure not in MEASURES:
        yield measure


def find_column(
    asked: set[str],
    question: str,
    measure: str,
    matched: Collection[str],
    rows: Sequence[NamedRow],
    kind: str,
    by_meaning: bool = False,
) -> str | None:
    """Return the column that is asked for; None where there is none of the type that the question needs."""
    first, *others = dict.fromkeys(name for row in rows for name, _ in row.cells)
    columns = [name for name in (first, *others) if name not in matched]
    # "Revenue in Q2" asks for "Q2 Revenue" rather than "Q1 Revenue".
    shared = {name: len(asked.intersection(terms(name))) for name in columns}
    named = sorted(filter(shared.get, columns), key=lambda name: -shared[name])
    if kind == "count":
        # "How many weeks does it take?" asks for the number in the column "Weeks", and "How many have paid?"
        # for the rows with "yes" in the column "Paid".
        of_counted = [name for name in columns if names_counted(question, name)]
        if any(column_numbers(rows, name) or is_flag(rows, name) for name in [*named, *of_counted]):
            return None
        return next((name for name in named if name in of_counted), None) if named else first
    if kind == "list":
        column = next((name for name in named if name != first), first)
        # A heading that was read as a column's name, or one with other words, names nothing to list.
        return column if matched or column == first or 2 * shared[column] >= len(terms(column)) else None
    comparable = [name for name in columns if column_numbers(rows, name) or column_dates(rows, name)]
    if kind == "sum":
        comparable = [name for name in comparable if "%" not in f"{name} {rows[0].value(name)}"]
    if measure == "when":
        comparable = [name for name in comparable if _is_of_times(name, first, rows)]
    measures = [stem(name) for name in measures_asked(question, measure)]
    # The measures are in order of preference: "price" before "cost". "Since" is a stop word.
    by_measure = ([name for name in comparable if word in map(stem, words(name))] for word in measures)
    measured = next(filter(None, by_measure), [])
    if not measured and stem("price") in measures:
        measured = [name for name in comparable if _is_of_money(name, rows)]
    candidates = [name for name in measured if shared[name]] or measured
    if not candidates and (measure not in MEASURES or measure in _GENERAL):
        candidates = [name for name in comparable if shared[name]]
        if not candidates and not measures and {first}.issuperset(named):
            candidates = [name for name in comparable if column_numbers(rows, name)]
    if kind == "sum":
        candidates = [name for name in candidates if not _OF_ONE_UNIT.search(name)]
    best = [name for name in candidates if shared[name] == max(map(shared.__getitem__, candidates))]
    if len(best) > 1:
        # The first column only names the rows: "the total of all orders".
        best = [name for name in best if name != first]
    if by_meaning and not best and measure not in MEASURES and kind in ("most", "least"):
        best = [name for name in others if column_numbers(rows, name)]
    elif by_meaning and len(best) > 1 and measured:
        # The highest price for members may be of the same product as that for others.
        extremes = [_rows_of_extreme(rows, name, kind) for name in best]
        return best[0] if extremes.count(extremes[0]) == len(best) else closest(question, best)
    return best[0] if len(best) == 1 else None


def _rows_of_extreme(rows: Sequence[NamedRow], column: str, kind: str) -> list[int]:
    values: Mapping[int, Any] = column_dates(rows, column) or column_numbers(rows, column)
    extreme = (max if kind == "most" else min)(values.values(), default=None)
    return [i for i, value in values.items() if value == extreme]


def _is_of_times(column: str, first: str, rows: Sequence[NamedRow]) -> bool:
    """Return whether a column has dates, years or numbers of versions, of which 1.10 is later than 1.9."""
    numbers = column_numbers(rows, column).values()  # none of dates
    return all(n == int(n) if column == first else YEAR.fullmatch(str(n)) for n in numbers)


def _is_of_money(column: str, rows: Sequence[NamedRow]) -> bool:
    return bool(_MONEY.search(f"{column} {next(filter(None, (row.value(column) for row in rows)), '')}"))
