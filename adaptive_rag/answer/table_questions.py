"""Reads questions over several rows of a table: their kind, the column and the rows that they ask for.

A question is read only if every word of it occurs in the table's names and cells. A question with any other
word is left to the reader, since it may ask for something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from adaptive_rag.answer.comparisons import MEASURES, SUPERLATIVES, YEAR, CellComparison, units_of
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
from adaptive_rag.answer.table_columns import (
    counted_words,
    counts_cells,
    find_column,
    is_inside,
    is_of_counted,
    measures_asked,
    names_counted,
)
from adaptive_rag.answer.table_kinds import (
    ASKING,
    ASKS_FOR_ROWS,
    FOR_ROWS,
    KINDS,
    SHOWS_COLUMNS,
    WHAT_IS_IN,
    WHICH,
)
from adaptive_rag.answer.table_meaning import BLAND, harmless_words, in_words_of
from adaptive_rag.answer.table_sections import leave_out_row_of_all, select_section
from adaptive_rag.answer.whole_tables import NamedRow, WholeTable, column_dates, column_numbers
from adaptive_rag.answer.word_lists import UNITS
from adaptive_rag.state import Phrase
from adaptive_rag.text.phrases import say
from adaptive_rag.text.words import stem, terms, words

_GROUP = re.compile(r"\b(?:per|by|each|every) (?:the )?(?P<word>[^\W\d_]+)")


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


@dataclass(frozen=True)
class _AskedTable:
    """What the words of a question mean in one table."""

    question: str  # in lower case
    kind: str
    measure: str
    table: WholeTable
    terms: set[str]
    found: RowConditions
    is_known: bool  # whether all terms occur in the table, and one of them is its own, or are explained
    by_meaning: bool = False  # whether some terms do not occur in the table
    of_cells: bool = False  # whether the numbers in cells are added up: "how many visits"

    @property
    def is_plural(self) -> bool:
        """Return whether it is like "Which members have a phone?"."""
        return self.kind == "list" and bool(WHICH.match(self.question))

    @property
    def asks_for_rows(self) -> bool:
        """Return whether it is like "Who works remotely?"."""
        return self.kind == "list" and not self.is_plural and bool(ASKS_FOR_ROWS.match(self.question))


def read_table_question(
    question: str,
    kind: str,
    measure: str,
    table: WholeTable,
    comparisons: Sequence[CellComparison] = (),
    by_meaning: bool = False,
) -> TableQuestion | None:
    """Read a question by a table's names and cells; None where one of its words occurs in none of them.

    `by_meaning`: whether words may also be explained by their place in the question, and columns by meaning.
    """
    if table.has_bare_names and kind in ("count", "list"):
        return None
    if by_meaning:
        known = table.terms.union(ASKING, FOR_ROWS, MEASURES, SUPERLATIVES)
        question = in_words_of([*filter(str.isalpha, table.columns)], known, question)
    asked = _read_words(question, kind, measure, table, comparisons, by_meaning)
    if asked is None:
        return None
    if asked.kind == "count" and any(map(asked.table.is_key, asked.found.by_name)) and not by_meaning:
        return _read_stock_question(asked)
    if asked.kind == "count" and counts_cells(question, asked.terms, asked.table):
        asked = replace(asked, kind="sum", of_cells=True)
    if not asked.is_known or _asks_for_groups(question, asked.table):
        return None
    column = _find_asked_column(asked)
    if column is None or (asked.found.counts_rows and asked.kind != "list"):
        return None
    asked_kind = KINDS[asked.kind]
    if asked_kind.skips_results and re.search(asked_kind.pattern, column.lower()):
        return None
    if asked_kind.calculate and not asked.of_cells and not is_of_counted(question, column):
        # "The total number of nurses" is no sum of their hours.
        return (
            read_table_question(question, "count", measure, table, comparisons, by_meaning)
            if asked.kind == "sum"
            else None
        )
    if asked.kind in ("most", "least") and _names_other_column(asked, column):
        return None
    rows, is_narrowed = _select_rows(asked, column)
    if not rows:
        return None
    condition = " and ".join(filter(None, [asked.found.text, column if is_narrowed else ""]))
    if asked.asks_for_rows and (
        not condition or (len(rows) < 2 and asked.found.by_name.issuperset(asked.found.cells))
    ):
        return None  # all rows, or one that itself says who it is
    others = _columns_to_show(asked, column, rows)
    if others is None:
        return None
    is_counted = asked.kind == "count" and column not in asked.found.cells and names_counted(question, column)
    # A column of prices answers for the cheapest product better than one of the totals of orders.
    measures = [stem(name) for name in measures_asked(question, asked.measure)]
    rank = next((i for i, name in enumerate(measures) if name in terms(column)), len(measures))
    # "How many products are there?" asks for the table with a row for each product.
    fit = (*_fit(asked, asked.kind == "count" and asked.table.is_key(column)), -rank)
    return TableQuestion(asked.kind, asked.table, column, rows, readable(condition), others, fit, is_counted)


def _read_words(
    question: str,
    kind: str,
    measure: str,
    table: WholeTable,
    comparisons: Sequence[CellComparison],
    by_meaning: bool,
) -> _AskedTable | None:
    """Compare the words of a question with the names and cells of a table; None if it cannot be read so."""
    table = select_section(question, table)
    without_all, row_terms = leave_out_row_of_all(table)
    table = table if kind in ("count", "list") else without_all
    question_terms = {
        *terms_for(table, NOT.sub("", question)),
        *find_letters(question),
        *find_capitals(question, table),
    }
    asked = question_terms - (ASKING - set(terms(table.topic)))
    if "oldest" in words(question) and _compares_ages(asked, table):
        kind, measure = "most", "old"
    shows_columns = kind == "list" and SHOWS_COLUMNS.search(question.lower())
    # "How many have paid?" does not count the rows.
    flags = not shows_columns and (kind != "count" or bool(counted_words(question)))
    harmless = _explained_words(question, table) if by_meaning else set()
    # "Who retired before 2019" is not about the date on which they joined, and "how many nurses" counts them.
    dated = {stem(comparison.before) for comparison in comparisons if comparison.is_of_times} - BLAND
    harmless -= dated.union(map(stem, counted_words(question)))
    found = find_conditions(
        question, question_terms - row_terms - harmless, table, flags, comparisons, by_meaning
    )
    if found is None or found.terms.intersection(map(stem, SUPERLATIVES)):
        return None
    name_column = table.columns[0]
    if name_column in found.cells and not all(row.value(name_column) for row in table.rows):
        return None  # a row without a name may belong to the one above it
    table_terms = row_terms.union(terms(" ".join([*table.columns, table.topic])))
    # A year in a table's name does not say that all of its rows are of that year.
    known = found.terms | {term for term in table_terms if not YEAR.fullmatch(term)} | FOR_ROWS
    known |= set(terms(" ".join(table.columns)))
    known |= {stem(word) for word in words(question) if word in SUPERLATIVES or word in MEASURES}
    is_about = bool(comparisons or asked & (table_terms | found.terms))
    is_known = asked <= known | harmless if by_meaning else asked <= known and is_about
    asked = asked & known if by_meaning else asked
    return _AskedTable(question.lower(), kind, measure, table, asked, found, is_known, by_meaning)


def _explained_words(question: str, table: WholeTable) -> set[str]:
    """Return the stems of words that say nothing of the rows: by their place, or the units of columns."""
    units = units_of(" ".join(table.columns))
    return (harmless_words(question) | {term for term, unit in UNITS.items() if unit in units}) - table.terms


def _find_asked_column(asked: _AskedTable) -> str | None:
    """Return the column whose values answer; None where there is none."""
    rows, matched = asked.found.rows, list(asked.found.cells)
    if asked.kind == "count":
        # "How many parts are in the price list" does not ask for the column "Price" of "price list.xlsx".
        topic = set(terms(asked.table.topic))
        # "How many hours did Ada work" does ask for "Hours", whatever the document's title is.
        first, *others = asked.table.columns
        others = [name for name in others if not names_counted(asked.question, name)]
        numbers = (name for name in (first, *others) if column_numbers(rows, name))
        matched += [name for name in numbers if asked.terms.intersection(terms(name)) <= topic]
    # "The highest salary under 50,000" names its column in the condition.
    for left_out in (matched, asked.found.by_name) if asked.kind != "count" else (matched,):
        column = find_column(
            asked.terms - ASKING, asked.question, asked.measure, left_out, rows, asked.kind, asked.by_meaning
        )
        if column is not None:
            return column
    return None


def _select_rows(asked: _AskedTable, column: str) -> tuple[list[NamedRow], bool]:
    """Return the rows that are asked for, and whether they are those with a value in the column."""
    inside = asked.kind == "list" and is_inside(asked.question, column)
    if WHAT_IS_IN.match(asked.question) and not inside:
        return [], False
    is_other_column = column != asked.table.columns[0]
    is_filled = inside or (is_other_column and (asked.is_plural or asked.asks_for_rows))
    rows = asked.found.rows
    if is_filled:
        rows = [row for row in rows if row.value(column).lower() not in EMPTY]
    elif asked.kind not in ("count", "list"):
        rows = [row for row in rows if row.value(column)]
    if asked.of_cells and any(with_unit(column, row.value(column))[1].strip("0123456789.,") for row in rows):
        return [], False
    return rows, inside or (is_filled and len(rows) < len(asked.found.rows))


def _columns_to_show(asked: _AskedTable, column: str, rows: Sequence[NamedRow]) -> list[str] | None:
    """Return the further columns that a question names; None if none answers its "who" or "when"."""
    table, found = asked.table, asked.found
    named = {
        name for name in table.columns if asked.terms.intersection(terms(name)).difference(terms(column))
    }
    named -= {name for name in found.cells if not found.counts_rows}
    # Conditions are shown where the rows differ.
    named |= {name for name in found.cells if len({row.value(name) for row in rows}) > 1}
    if asked.asks_for_rows:
        # The answer is in a column of names, or of dates and days.
        asking_word = words(asked.question)[0]
        answering = {name for name in table.columns if _answers(asking_word, name, rows)}
        if (asking_word == "when" and not answering) or (
            asking_word == "who" and answering.isdisjoint({table.name_column, column, *named})
        ):
            return None
        named |= answering
    return [name for name in table.columns if name in named]


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


def _fit(asked: _AskedTable, counts_key: bool) -> tuple[int, ...]:
    """Return how well a table's names fit a question, to compare tables.

    What counts first is whether the question has all words of the sheet's or section's name: "how many parts"
    asks for the sheet "Parts" rather than for another one with the column "Part no.".
    `counts_key`: whether the values that it counts are all different.
    """
    table, part = asked.table, set(terms(asked.table.part))
    texts = table.columns[0], table.topic, " ".join(table.columns)
    has_part = bool(part) and part <= asked.terms
    return has_part, counts_key, *(len(asked.terms.intersection(terms(text))) for text in texts)


def _read_stock_question(asked: _AskedTable) -> TableQuestion | None:
    """Read "how many KR-4310 are in stock": the row itself says it, in its columns of numbers."""
    table, found = asked.table, asked.found
    row_terms = {term for row in found.rows for _, cell in row.cells for term in terms(cell)}
    others = asked.terms - found.terms - row_terms
    numbers = [name for name in table.columns if name not in found.cells and column_numbers(found.rows, name)]
    if not others or not others <= set(terms(table.topic)) or not numbers:
        return None
    fit = (*_fit(asked, False), 0)
    return TableQuestion("list", table, table.columns[0], found.rows, readable(found.text), numbers, fit)


def _names_other_column(asked: _AskedTable, column: str) -> bool:
    """Return whether a superlative is part of the name of another column: "What are the last names?"."""
    stems = set(map(stem, words(asked.question)))
    return any(
        name != column and not SUPERLATIVES.keys().isdisjoint(words(name)) and stems.issuperset(terms(name))
        for name in asked.table.columns
    )


def _asks_for_groups(question: str, table: WholeTable) -> bool:
    """Return whether a result for each value of a column is asked for: "total price by model"."""
    columns = " ".join(table.columns).lower()
    groups = _GROUP.finditer(question.lower())
    return any(stem(group["word"]) in terms(columns) and group[0] not in columns for group in groups)
