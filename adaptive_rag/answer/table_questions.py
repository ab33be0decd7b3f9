"""Reads questions over several rows of a table: their kind, the column and the rows that they ask for.

A question is read only if every word of it occurs in the table's names and cells. A question with any other
word is left to the reader, since it may ask for something else.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import takewhile
from statistics import median
from typing import Any

from adaptive_rag.answer.comparisons import (
    MARK,
    MEASURES,
    MOST,
    SUPERLATIVES,
    YEAR,
    CellComparison,
    measures_of,
)
from adaptive_rag.answer.quotes import readable
from adaptive_rag.answer.row_conditions import (
    EMPTY,
    NOT,
    RowConditions,
    find_capitals,
    find_conditions,
    find_letters,
    terms_for,
)
from adaptive_rag.answer.rows import with_unit
from adaptive_rag.answer.validity import is_retired
from adaptive_rag.answer.whole_tables import (
    NamedRow,
    WholeTable,
    column_dates,
    column_numbers,
    is_flag,
)
from adaptive_rag.answer.word_lists import NUMBER_NAMES
from adaptive_rag.deadline import in_time
from adaptive_rag.state import Phrase
from adaptive_rag.text.phrases import say
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS, stem, terms, words

_Group = tuple[list[NamedRow], list[NamedRow]]


def _add_up(values: Sequence[Decimal]) -> Decimal:
    return sum(values, Decimal())


def _mean(values: Sequence[Decimal]) -> Decimal:
    # with at least as many decimals as the values: of 0.0012 and 0.0030, it is 0.0021
    return (_add_up(values) / len(values)).quantize(min(Decimal("0.01"), *values, key=_exponent))


def _exponent(number: Decimal) -> int:
    return int(number.as_tuple().exponent)


@dataclass(frozen=True)
class TableKind:
    """A kind of question over the rows of a table."""

    # finds the kind in the question; "" for those that a superlative names
    pattern: str = ""
    # words of such questions that need not occur in the table
    words: str = ""
    # pattern of the names of rows that hold the result for the others: "Grand total"
    row_names: str = ""
    # the calculation for kinds whose result is one number; `aggregate` has those of the others
    calculate: Callable[[Sequence[Decimal]], Decimal] | None = None
    # whether a column with such a word in its name is left to the reader: its cells are results already
    skips_results: bool = False


# Asks for the rows with a cell in a column: "What is in the gift box?"
_WHAT_IS_IN = re.compile(r"^what(?: is|['’]s) in\b")
# The kinds by the codes of their sentences in text/en.toml; the first whose pattern is found counts.
KINDS: dict[str, TableKind] = {
    "most": TableKind(),
    "least": TableKind(),
    "median": TableKind(r"\bmedian\b", "median", "median", median, skips_results=True),
    "sum": TableKind(
        r"\b(?:total|sum|altogether|together|combined|in all|adds? up)\b",
        "total sum add adds added up altogether together overall",
        r"(?:(?:grand|overall) |sub-?)?totals?|sum",
        _add_up,
    ),
    "mean": TableKind(r"\baverage\b|(?:^|\b(?:the|a|of) )mean\b", "average mean", "average|mean", _mean),
    "count": TableKind(r"\b(?:how many|count)\b|(?:^|\b(?:the|a|total|exact) )number of\b", "count"),
    "list": TableKind(
        r"^(?:please |can you |could you )?(?:list|show|name|enumerate|give me)\b|\bwhat are (?:all )?the\b|"
        + _WHAT_IS_IN.pattern,
        "list lists listed show give me",
    ),
}
# "List the members with city and paid" names columns to show, "in Rome or paid" one of two conditions.
_SHOWS_COLUMNS = re.compile(r"\bor\b|^(?!what|which)(?=.*(?:,|\b(?:with|and)\b))")
# "which courses are full" asks for rows; "what happens on 12 May" and "what floods if it rains" have a verb.
_WHICH = re.compile(
    r"^(?:which|what) (?!(?:happens|includes|makes|means|mentions|needs|uses)\b)(?P<noun>[^\W\d_]+s)\b"
    r"(?! (?:if|when|to|after|a|an|the|it|me|us|my|our|your)\b)"
)
# "Who works remotely?" and "which tutor teaches two courses?" ask for the rows that meet the conditions.
_ASKS_FOR_ROWS = re.compile(
    rf"^(?:who(?:se|m)?|when)\b|^(?:(?:at|for|from|in|of|on|to) )?(?:which\b|what (?!happens\b).*{MARK})",
    re.DOTALL,
)
# Words of questions that ask for rows and need not occur in the table, in addition to ASKING_WORDS.
_FOR_ROWS = frozenset(
    map(
        stem,
        "row rows entry entries table file sheet document amount value currently thing things item items "
        "product products everything single money people person please each whole gave done teach supply "
        "entered recorded given".split()
        + [word for kind in KINDS.values() for word in kind.words.split()],
    )
)
# Words to ask with that are not the name of what is asked for, unlike "part" of "the cheapest part".
_ASKING = frozenset(map(stem, ASKING_WORDS)) - set(
    map(stem, "part section type method role reason kind".split())
)
# "second", "three", "2", beside a superlative
_PLACE = (
    r"(?:next|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|"
    rf"{'|'.join(NUMBER_NAMES)}|\d{{1,2}}(?:st|nd|rd|th)?)"
)
# "but not paid", "over 100", "before 2020", "in May" and "whether it is paid" ask for other rows than those
# with the named cell; "the second cheapest" and "the last three" for others than the first in order.
_OTHER_ROWS = re.compile(
    r"\b(?:not|cannot|no|nor|never|neither|without|except|but|than|over(?! all\b)|under|above|below|between|"
    r"before|after|since|until|whether|out of|"
    r"(?:this|next|past|last|first) (?:week|month|quarter|year)|up to \W?\d|"
    r"at (?:the )?(?:most|least)|"
    rf"{_PLACE}[ -](?:{'|'.join(SUPERLATIVES)})|(?:{'|'.join(SUPERLATIVES)}) {_PLACE})\b|n['’]t\b",
    re.IGNORECASE,
)
_TOTAL_ROW = re.compile("|".join(kind.row_names for kind in KINDS.values() if kind.row_names), re.IGNORECASE)
# "Total cost", if it has the sum of the others
_NAMES_TOTAL = re.compile(r"(?:(?:grand|overall) |sub-?)?totals?\b", re.IGNORECASE)
# "All households", if its numbers can be those of all others together
_ROW_OF_ALL = re.compile(r"[Aa]ll (?:[a-z]+s|people|children|men|women)")
# Of "how many of the open invoices are there", "of the open invoices" are counted.
_ENDS_PHRASE = STOP_WORDS - {"of", "the", "all", "our"}
_GROUP = re.compile(r"\b(?:per|by|each|every) (?:the )?(?P<word>[^\W\d_]+)")
_MONEY = re.compile(r"[£$€]|\b(?:eur|euros?|usd|gbp|chf|dollars?|pounds?)\b", re.IGNORECASE)
# A column whose sum says nothing, since a row may be of several units; unlike "Rent per month"
_OF_ONE_UNIT = re.compile(
    r"\bunit (?:price|cost|fee|rate)|\b(?:each|apiece)\b|\bper (?!(?:day|week|month|quarter|year|annum)\b)",
    re.IGNORECASE,
)
# Adjectives that any column of numbers or dates may answer, if the question names it.
_GENERAL = frozenset("high large big many long when".split())


@dataclass(frozen=True)
class TableQuestion:
    """What a question asks of a table: the kind of question, the column and the rows."""

    kind: str
    table: WholeTable
    column: str
    rows: list[NamedRow]
    condition: str  # what the rows share: "status open"
    other_columns: list[str] = field(default_factory=list)  # further columns that the question names
    # how many of the question's terms its sheet or section, its document, and its columns have
    fit: tuple[int, ...] = ()
    is_counted: bool = False  # whether the values of the column are counted: "how many cities"

    @property
    def rows_phrase(self) -> Phrase:
        """Return the rows in words: "the 3 rows of stock.csv with status open"."""
        code = f"{'rows' if len(self.rows) > 1 else 'one_row'}{'_with' if self.condition else ''}"
        return say(code, n=len(self.rows), table=self.table.place, condition=self.condition)


def asks_for_other_rows(question: str) -> bool:
    """Return whether a question asks for other rows than those that fulfil its conditions.

    It has a mark for each comparison: "not over 100" and "over 100 or open" are none of the conditions.
    """
    negation = NOT.search(question)
    is_unclear = MARK in question and (
        "or" in words(question)
        or (negation and re.search(f"^(?!.* and ).*{MARK}", question[negation.end() :]))
    )
    return bool(is_unclear or _OTHER_ROWS.search(NOT.sub("", question, count=1)))


def question_kind(question: str) -> tuple[str | None, str]:
    """Return the kind of a question, and the adjective that it compares: "expensive" for "cheapest"."""
    lower = question.lower()
    for word in words(question):
        adjective = SUPERLATIVES.get(word)
        if adjective is None or re.search(rf"\bat (?:the )?{word}\b", lower):
            continue
        if "least expensive" in lower:
            return "least", "expensive"
        next_word = re.search(rf"\b{word} (?P<word>[^\W\d_]+)", lower)
        measure = adjective or (next_word["word"] if next_word else "")
        return "most" if word in MOST else "least", measure
    for name, kind in KINDS.items():
        if kind.pattern and re.search(kind.pattern, lower):
            return name, ""
    plural = _WHICH.match(lower)
    is_list = (plural and plural["noun"] not in STOP_WORDS) or _ASKS_FOR_ROWS.match(lower)
    return "list" if is_list else None, ""


def read_table_question(
    question: str, kind: str, measure: str, table: WholeTable, comparisons: Sequence[CellComparison] = ()
) -> TableQuestion | None:
    """Read a question by a table's names and cells; None where one of its words occurs in none of them."""
    if table.has_bare_names and kind in ("count", "list"):
        return None
    table = _select_section(question, table)
    without_all, row_terms = _leave_out_row_of_all(table)
    table = table if kind in ("count", "list") else without_all
    question_terms = {
        *terms_for(table, NOT.sub("", question, count=1)),
        *find_letters(question),
        *find_capitals(question, table),
    }
    asked = question_terms - (_ASKING - set(terms(table.topic)))
    if "oldest" in words(question) and _compares_ages(asked, table):
        kind, measure = "most", "old"
    shows_columns = kind == "list" and _SHOWS_COLUMNS.search(question.lower())
    # "How many have paid?" does not count the rows.
    flags = not shows_columns and (kind != "count" or bool(_counted_words(question)))
    found = find_conditions(question, question_terms - row_terms, table, flags, comparisons)
    if found is None or found.terms.intersection(map(stem, SUPERLATIVES)):
        return None
    name_column = table.columns[0]
    if name_column in found.cells and not all(row.value(name_column) for row in table.rows):
        return None  # a row without a name may belong to the one above it
    rows, table_terms = found.rows, row_terms.union(terms(" ".join([*table.columns, table.topic])))
    # A year in a table's name does not say that all of its rows are of that year.
    known = found.terms | {term for term in table_terms if not YEAR.fullmatch(term)} | _FOR_ROWS
    known |= set(terms(" ".join(table.columns)))
    known |= {stem(word) for word in words(question) if word in SUPERLATIVES or word in MEASURES}
    if kind == "count" and any(map(table.is_key, found.by_name)):
        return _read_stock_question(asked, found, table)
    of_cells = kind == "count" and _counts_cells(question, asked, table)
    kind = "sum" if of_cells else kind
    is_about = comparisons or asked & (table_terms | found.terms)
    if not asked <= known or not is_about or _asks_for_groups(question, table):
        return None
    matched = list(found.cells)
    if kind == "count":
        # "How many parts are in the price list" does not ask for the column "Price" of "price list.xlsx".
        topic = set(terms(table.topic))
        numbers = (name for name in table.columns if column_numbers(rows, name))
        matched += [name for name in numbers if asked.intersection(terms(name)) <= topic]
    column = _find_column(asked - _ASKING, question, measure, matched, rows, kind)
    if column is None and kind != "count":  # "the highest salary under 50,000"
        column = _find_column(asked - _ASKING, question, measure, found.by_name, rows, kind)
    if found.counts_rows and kind != "list":
        return None
    if column is None or (KINDS[kind].skips_results and re.search(KINDS[kind].pattern, column.lower())):
        return None
    if KINDS[kind].calculate and not of_cells and not _is_of_counted(question, column):
        # "The total number of nurses" is no sum of their hours.
        return read_table_question(question, "count", measure, table, comparisons) if kind == "sum" else None
    if kind in ("most", "least") and _names_other_column(question, column, table):
        return None
    is_inside = kind == "list" and _is_inside(question, column)
    # "Which members have a phone?"
    is_plural = kind == "list" and bool(_WHICH.match(question.lower()))
    asks_for_rows = kind == "list" and not is_plural and bool(_ASKS_FOR_ROWS.match(question.lower()))
    is_filled = is_inside or (column != table.columns[0] and (is_plural or asks_for_rows))
    if is_filled:
        rows = [row for row in rows if row.value(column).lower() not in EMPTY]
    elif kind not in ("count", "list"):
        rows = [row for row in rows if row.value(column)]
    has_unit = of_cells and any(with_unit(column, row.value(column))[1].strip("0123456789.,") for row in rows)
    if not rows or has_unit or (_WHAT_IS_IN.match(question.lower()) and not is_inside):
        return None
    of_filled = column * (is_inside or (is_filled and len(rows) < len(found.rows)))
    condition = " and ".join(filter(None, [found.text, of_filled]))
    if asks_for_rows and (not condition or (len(rows) < 2 and found.by_name.issuperset(found.cells))):
        return None  # all rows, or one that itself says who it is
    # Conditions are shown where the rows differ.
    named = {name for name in table.columns if asked.intersection(terms(name)).difference(terms(column))}
    named -= {name for name in found.cells if not found.counts_rows}
    named |= {name for name in found.cells if len({row.value(name) for row in rows}) > 1}
    if asks_for_rows:
        # The answer is in a column of names, or of dates and days.
        asking_word = words(question)[0]
        answering = {name for name in table.columns if _answers(asking_word, name, rows)}
        if (asking_word == "when" and not answering) or (
            asking_word == "who" and answering.isdisjoint({table.name_column, column, *named})
        ):
            return None
        named |= answering
    more = [name for name in table.columns if name in named]
    is_counted = kind == "count" and column not in found.cells and _names_counted(question, column)
    # A column of prices answers for the cheapest product better than one of the totals of orders.
    measures = [stem(name) for name in _measures(question, measure)]
    rank = next((i for i, name in enumerate(measures) if name in terms(column)), len(measures))
    # "How many products are there?" asks for the table with a row for each product.
    fit = (*_fit(asked, table, kind == "count" and table.is_key(column)), -rank)
    return TableQuestion(kind, table, column, rows, readable(condition), more, fit, is_counted)


def _answers(asking_word: str, column: str, rows: Sequence[NamedRow]) -> bool:
    """Return whether a column has names of people or places, or times: what "who" or "when" asks for."""
    if asking_word == "when":
        return bool(column_dates(rows, column)) or not set(words(column)).isdisjoint(MEASURES["when"].split())
    return asking_word == "who" and all(
        cell.istitle() and not re.search(r"\d", cell) for cell in (row.value(column) for row in rows)
    )


def _compares_ages(asked: set[str], table: WholeTable) -> bool:
    """Return whether the oldest row has the highest age rather than the earliest date."""
    dated = [name for name in table.columns if column_dates(table.rows, name)]
    return any(stem("age") in terms(name) for name in table.columns) and not any(
        asked.intersection(terms(name)) for name in dated
    )


def _fit(asked: set[str], table: WholeTable, counts_key: bool) -> tuple[int, ...]:
    """Return how well a table's names fit a question, to compare tables.

    What counts first is whether the question has all words of the sheet's or section's name: "how many parts"
    asks for the sheet "Parts" rather than for another one with the column "Part no.".
    `counts_key`: whether the values that it counts are all different.
    """
    part = set(terms(table.part))
    texts = table.columns[0], table.topic, " ".join(table.columns)
    return bool(part) and part <= asked, counts_key, *(len(asked.intersection(terms(text))) for text in texts)


def _read_stock_question(asked: set[str], found: RowConditions, table: WholeTable) -> TableQuestion | None:
    """Read "how many KR-4310 are in stock": the row itself says it, in its columns of numbers."""
    row_terms = {term for row in found.rows for _, cell in row.cells for term in terms(cell)}
    others = asked - found.terms - row_terms
    numbers = [name for name in table.columns if name not in found.cells and column_numbers(found.rows, name)]
    if not others or not others <= set(terms(table.topic)) or not numbers:
        return None
    fit = (*_fit(asked, table, False), 0)
    return TableQuestion("list", table, table.columns[0], found.rows, readable(found.text), numbers, fit)


def _select_section(question: str, table: WholeTable) -> WholeTable:
    """Return the rows below the headings that a question names, or all rows; without rows of totals.

    Rows below "Prices 2024 (no longer valid)" are left out where there are others.
    """
    items = _without_totals(table) or table.rows
    asked = set(terms(question)) - set(terms(" ".join(table.headings)))
    in_section = [row for row in items if asked.intersection(terms(" ".join(row.headings)))] or items
    valid = [row for row in in_section if not is_retired("\n".join(row.headings), "")]
    return replace(table, rows=valid or in_section)


def _without_totals(table: WholeTable) -> list[NamedRow]:
    """Return the rows of a table without results of the others: "Total", or "Total cost" with their sum.

    "North | Total" has the sum of the other rows of "North". The rows are compared by groups, since thousands
    may be totals.
    """
    # The rows that may be totals, and the others, by what they have in common.
    by_headings, by_name = defaultdict[Any, _Group](_new_group), defaultdict[Any, _Group](_new_group)
    for row in in_time(table.rows):
        headings, names_total = tuple(row.headings), bool(_NAMES_TOTAL.match(_bare_name(row)))
        by_headings[headings][not names_total].append(row)
        if not names_total:
            is_result = any(_TOTAL_ROW.fullmatch(value.strip(" *:")) for _, value in row.cells)
            by_name[headings, row.cells[0]][not is_result].append(row)
    totals = {id(row) for row in table.rows if _TOTAL_ROW.fullmatch(_bare_name(row))}
    for groups, least in ((by_headings, 2), (by_name, 1)):
        for results, others in groups.values():
            if results and len(others) >= least:
                numbers = {
                    column: column_numbers(others, column).values() for column in in_time(table.columns)
                }
                sums = {column: sum(values) for column, values in numbers.items() if values}
                totals |= {id(row) for row in in_time(results) if _has_sum(row, sums)}
    return [row for row in table.rows if id(row) not in totals]


def _new_group() -> _Group:
    return [], []


def _has_sum(row: NamedRow, sums: Mapping[str, Decimal | int]) -> bool:
    return any(number == sums[name] for name in sums for number in column_numbers([row], name).values())


def _bare_name(row: NamedRow) -> str:
    return row.first_value.strip(" *:")


def _leave_out_row_of_all(table: WholeTable) -> tuple[WholeTable, set[str]]:
    """Leave out a first or last row such as "All households", and return its terms: the rows are households.

    Each of its numbers must be the sum of the others, or lie between them as their average does.
    """
    for row in (table.rows[0], table.rows[-1]):
        others = [other for other in table.rows if other is not row]
        if _ROW_OF_ALL.fullmatch(table.name_of(row)) and all(
            _is_result(number, list(column_numbers(others, column).values()))
            for column in table.columns
            for number in column_numbers([row], column).values()
        ):
            return replace(table, rows=others), set(terms(table.name_of(row)))
    return table, set()


def _is_result(number: Decimal, others: Sequence[Decimal]) -> bool:
    return not others or number == sum(others) or min(others) <= number <= max(others)


def _is_inside(question: str, column: str) -> bool:
    """Return whether a question asks for what is in a column: "Which items are in the gift box?"."""
    return bool(re.search(rf"\bin (?:the |an? )?{re.escape(column)}\W*$", question, re.IGNORECASE))


def _names_other_column(question: str, column: str, table: WholeTable) -> bool:
    """Return whether a superlative is part of the name of another column: "What are the last names?"."""
    asked = set(map(stem, words(question)))
    return any(
        name != column and not SUPERLATIVES.keys().isdisjoint(words(name)) and asked.issuperset(terms(name))
        for name in table.columns
    )


def _counts_cells(question: str, asked: set[str], table: WholeTable) -> bool:
    """Return whether "how many" asks for the sum of a column: "how many visits did all towns have in 2025".

    It does if it asks for something else than the rows, and for all of them or by a column's year, or if the
    table's heading says what is counted: "Visits by town".
    """
    rows, counted = set(terms(table.columns[0])), _counted_words(question)[:1]
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


def _counted_words(question: str) -> list[str]:
    """Return the words for what is counted: "visits" of "how many visits did all towns have"."""
    after = re.search(r"\b(?:how many|number of|count(?: of)?) (.*)", question.lower())
    phrase = takewhile(lambda word: word not in _ENDS_PHRASE, words(after[1]) if after else [])
    return [word for word in phrase if word not in STOP_WORDS]


def _names_counted(question: str, column: str) -> bool:
    """Return whether the words for what is counted name a column."""
    return not set(map(stem, _counted_words(question))).isdisjoint(terms(column))


def _is_of_counted(question: str, column: str) -> bool:
    """Return whether the numbers in a column say how many there are of what is counted, if anything is."""
    names = set(terms(column))
    return (
        not _counted_words(question)
        or _names_counted(question, column)
        or _is_inside(question, column)  # "the number of parts in stock"
        or bool(YEAR.search(column))
        or names <= _FOR_ROWS
        or not names.isdisjoint(map(stem, MEASURES["many"].split()))
    )


def _asks_for_groups(question: str, table: WholeTable) -> bool:
    """Return whether a result for each value of a column is asked for: "total price by model"."""
    columns = " ".join(table.columns).lower()
    groups = _GROUP.finditer(question.lower())
    return any(stem(group["word"]) in terms(columns) and group[0] not in columns for group in groups)


def _measures(question: str, measure: str) -> Iterator[str]:
    """Yield possible names of columns for the measure that the question compares."""
    yield from measures_of([*words(question), measure])
    if measure and measure not in MEASURES:
        yield measure


def _find_column(
    asked: set[str],
    question: str,
    measure: str,
    matched: Collection[str],
    rows: Sequence[NamedRow],
    kind: str,
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
        of_counted = [name for name in columns if _names_counted(question, name)]
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
    measures = [stem(name) for name in _measures(question, measure)]
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
    return best[0] if len(best) == 1 else None


def _is_of_times(column: str, first: str, rows: Sequence[NamedRow]) -> bool:
    """Return whether a column has dates, years or numbers of versions, of which 1.10 is later than 1.9."""
    numbers = column_numbers(rows, column).values()  # none of dates
    return all(n == int(n) if column == first else YEAR.fullmatch(str(n)) for n in numbers)


def _is_of_money(column: str, rows: Sequence[NamedRow]) -> bool:
    return bool(_MONEY.search(f"{column} {next(filter(None, (row.value(column) for row in rows)), '')}"))
