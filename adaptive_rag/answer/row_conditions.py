"""Finds the rows of a table that a question means: those with the cells, years and months it names."""

from __future__ import annotations

import re
from calendar import month_name
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

from adaptive_rag.answer.comparisons import YEAR, CellComparison, find_compared
from adaptive_rag.answer.whole_tables import (
    NUMBER,
    NamedRow,
    WholeTable,
    column_dates,
    is_flag,
    yes_cells,
)
from adaptive_rag.answer.word_lists import MONTHS, WEEKDAYS
from adaptive_rag.deadline import in_time
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS, stem, terms, words

_MONTHS = {name.lower(): number for number, name in enumerate(month_name) if name}
_MONTH_NAMES = "|".join(_MONTHS)
# "in May", "and June", "May 2024", not "we may" or "a march"
_MONTH = re.compile(
    rf"\b(?:(?:in|of|from|for|during|and|or) (?P<one>{_MONTH_NAMES})|(?P<two>{_MONTH_NAMES}) (?:19|20)\d\d)\b"
)
# "12 May", "May 12": one day, which is not looked for
_DAY = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTH_NAMES})\b|\b(?:{_MONTH_NAMES}) \d{{1,2}}\b"
)
# "all A parcels", "plan B"; not "x-ray"
_LETTER = re.compile(r"(?<=\s)[^\W\d_](?=[\s?.!,]|$)")
# "Pump, large", "Accidents with absence" and "Laptop 14" are a pump, accidents and a laptop.
_AFTER_HEAD = re.compile(r"[,;(]| (?:with|without|of|for|from|in|at|on|by|to) | (?=\d)")
# not "House No. 5"
_NEGATION = re.compile(r"\b(?:without|not|no(?!\.| ?\d))\b")
# "Which courses are not full?" asks for the rows without what is named after it; so does "who has no phone".
NOT = re.compile(
    r"\b(?:(?:is|are|was|were|has|have|had|does|do|did|ca|can|could)(?: not|n['’]?t)|cannot|never|"
    r"(?P<lack>no(?! longer\b|\.| ?\d)|without|lacks?))\b",
    re.IGNORECASE,
)
# The cells of a column that say that there is none.
EMPTY = frozenset(["", *"0 no n false ✗".split()])
# A term that at least this share of the different cells of a column has tells none of them apart.
COMMON = 0.8


@dataclass(frozen=True)
class RowConditions:
    """What a question says of the rows that it means."""

    rows: list[NamedRow]  # the rows that fulfil all conditions
    cells: Mapping[str, list[str]]  # the cells that the question names, by column
    terms: set[str]  # the question's terms that name the cells and dates
    text: str  # what the rows share: "status open"
    by_name: set[str] = field(default_factory=set)  # the columns of the named cells that are not denied
    counts_rows: bool = False  # whether rows are counted: those of a tutor who teaches two courses


def find_conditions(
    question: str,
    asked: set[str],
    table: WholeTable,
    flags: bool,
    comparisons: Sequence[CellComparison] = (),
    by_meaning: bool = False,
) -> RowConditions | None:
    """Find the rows that a question with the terms `asked` means; None where it may mean others, or no row.

    `flags`: whether naming a column of "yes" and "no" asks for the rows with "yes". `by_meaning`: whether a
    comparison may be of the column that is closest in meaning.
    """
    column_terms = set(terms(" ".join(table.columns)))
    cells, cell_terms = _find_cells(question, asked, table)
    named = [term for column in cells for term in cell_terms[column]]
    topic = {term for term in terms(table.topic) if not YEAR.fullmatch(term)}
    if len(set(named)) < len(named) or any(cell_terms[column] <= topic for column in cells):
        return None  # a word names cells of two columns, or both cells and the whole table
    if _names_stop_word(NOT.sub("", question), table, set(named)):
        return None  # "in" may be the cell or just the word
    found = set[str]().union(*cell_terms.values())
    by_date = _select_dates(question, asked, asked - found - column_terms, table)
    if by_date is None:
        return None
    unknown = asked - found - by_date.terms - column_terms - set(terms(table.topic))
    texts = dict[str, str]()
    for term in unknown:
        named_by = _find_name(term, table, several=by_meaning)
        if named_by and named_by[0] not in cells:
            column, cells[column] = named_by
            cell_terms[column] = {term}
            found.add(term)
            if len(cells[column]) > 1:
                asked_word = next((word for word in words(question) if stem(word) == term), term)
                texts[column] = f"{column} {asked_word}"  # rather than all names of lentils
    negations, negated, emptied = [*NOT.finditer(question)], set[str](), list[str]()
    for negation, following in zip_longest(negations, negations[1:]):
        after = question[negation.end() : following and following.start()].partition("\n")[0]
        denied = {*terms_for(table, after), *find_capitals(after, table)} - set(map(stem, ASKING_WORDS))
        denying = {name for name in cells if denied & {*terms(name), *cell_terms.get(name, ())}}
        empty = [name for name in table.columns if name not in cells and denied.intersection(terms(name))]
        if len(denying) + len(empty) != 1 or denied & by_date.terms or (denying and negation["lack"]):
            return None
        negated |= denying
        emptied += empty
    by_name, counts_rows = cells.keys() - negated, False
    for name in emptied:
        cells[name] = sorted({value for row in table.rows if is_empty(value := row.value(name))})
    if flags:
        named_columns = (name for name in table.columns if (asked - found).intersection(terms(name)))
        cells |= {
            name: yes_cells(table.rows, name)
            for name in named_columns
            if name not in cells and is_flag(table.rows, name)
        }
    for comparison in in_time(comparisons):
        compared = find_compared(comparison, asked, table, question if by_meaning else "")
        if compared is None or (compared[0] in cells and compared[0] not in texts):
            return None
        name, fulfil, text = compared
        counts_rows = counts_rows or not comparison.values(table.rows, name)
        cells[name] = [cell for cell in fulfil if cell in cells.get(name, fulfil)]
        texts[name] = " and ".join(filter(None, [texts.get(name), text]))
    rows = [
        row
        for row in by_date.rows
        if all((row.value(name) in cells[name]) != (name in negated) for name in cells)
    ]
    # The only row with "KR-4310" needs no other condition.
    keys = [name for name in cells if name in by_name and len(cells[name]) == 1 and table.is_key(name)]
    for name in cells:
        values, others = cells[name], sorted({row.value(name) for row in rows})
        if name in negated:
            values = others if len(others) == 1 and others[0] else [f"not {' or '.join(values)}"]
        text = " or ".join(filter(None, values))
        texts.setdefault(name, f"{name} {text}" if text else f"no {name}")
    text = " and ".join([texts[name] for name in keys or cells] + [by_date.text] * bool(by_date.text))
    return RowConditions(rows, cells, found | by_date.terms, text, by_name, counts_rows) if rows else None


def is_empty(cell: str) -> bool:
    """Return whether a cell says that there is none: "no", "0.00"."""
    return cell.lower() in EMPTY or bool(re.fullmatch(r"[^\w.,]*0[.,]?0*[^\w.,]*", cell))


def terms_for(table: WholeTable, text: str) -> set[str]:
    """Return the terms of a text; "remotely" is that of the column "Remote", "Fridays" that of "Fri"."""
    column_terms = set(terms(" ".join(table.columns)))
    short = {stem(f"{word}{ending}"): word[:3] for word in WEEKDAYS | MONTHS for ending in ("", "s")}
    forms = ((term, stem(term), short.get(term, term)) for term in terms(text))
    return {next((form for form in each if form in column_terms), each[0]) for each in forms}


def _find_cells(
    question: str, asked: set[str], table: WholeTable
) -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """Return the cells that a question names, and the terms that name them, by column.

    Terms that nearly all cells of a column have name none of them: "shift" of "Early shift", "Late shift".
    """
    # "open" is a cell also beside the column "Opened".
    column_words = set(words(" ".join(table.columns)))
    # "House E" means the column "House" and no other with an "E".
    letters = find_letters(question).difference(*(_words_after(name, question) for name in table.columns))
    cells, cell_terms = dict[str, list[str]](), dict[str, set[str]]()
    for column in in_time(table.columns):
        by_name = _cells_by_name({cell for row in table.rows if (cell := row.value(column))})
        all_cells = {cell for each in by_name.values() for cell in each}
        is_of_years = all(map(YEAR.fullmatch, all_cells))
        asked_here = asked.union(_words_after(column, question))
        common = _find_common([_terms_of(cell) for cell in all_cells])
        named = [
            name
            for name, each in by_name.items()
            if name and name <= asked_here and not name <= common
            if is_of_years or not all(column_words.issuperset(words(cell)) for cell in each)
            if is_of_years
            or name <= letters
            or not any(map(_needs_its_column, each))
            or asked.intersection(terms(column))
        ]
        longest = [name for name in named if not any(name < other for other in named)]
        if used := set[str]().union(*longest) or common & asked:
            cell_terms[column] = used
        values = {cell for name in longest for cell in by_name[name]}
        if longest and values < all_cells:
            in_order = dict.fromkeys(row.value(column) for row in table.rows)
            cells[column] = [cell for cell in in_order if cell in values]
    return cells, cell_terms


def _cells_by_name(cells: Collection[str]) -> dict[frozenset[str], set[str]]:
    """Return cells by the terms that name them: all of their terms, or those of a head that cells share.

    "Pump" names "Pump, large" only where another cell begins with it too.
    """
    by_name, by_head = dict[frozenset[str], set[str]](), dict[frozenset[str], set[str]]()
    for cell in cells:
        by_name.setdefault(_terms_of(cell), set()).add(cell)
        by_head.setdefault(_terms_of(_AFTER_HEAD.split(cell, maxsplit=1)[0]), set()).add(cell)
    for head, each in by_head.items():
        if len(each) > 1:
            by_name.setdefault(head, set()).update(each)
    return by_name


def _find_common(cells: Collection[frozenset[str]]) -> set[str]:
    """Return the words that nearly all of several cells have; none for "Grade A", "Grade B"."""
    counts = Counter(term for cell in cells for term in cell if term.isalpha())
    if len(cells) < 2 or any(len(term) == 1 for term in counts):
        return set()
    return {term for term, count in counts.items() if count >= COMMON * len(cells)}


def find_letters(text: str) -> set[str]:
    """Return the letters that stand alone in a text, except those that are words: "b" of "the B parcels"."""
    if text.isupper():
        return set()
    letters = _LETTER.findall(text)
    return {one.lower() for one in letters if one not in STOP_WORDS and one != "I"}


def find_capitals(question: str, table: WholeTable) -> set[str]:
    """Return the cells in capitals that a question has and that are spelt like stop words: "it" of "IT"."""
    if question.isupper():
        return set()
    capitals = {word.lower() for word in re.findall(r"\b[A-Z]{2,}\b", question)} & STOP_WORDS
    return {word for word in capitals for row in table.rows if word.upper() in dict(row.cells).values()}


def _terms_of(cell: str) -> frozenset[str]:
    """Return a cell's terms, with "not" and single letters, or its words if they are all stop words."""
    own = {*terms(cell), *find_letters(cell), *_NEGATION.findall(cell.lower())}
    return frozenset(own if terms(cell) else words(cell))


def _needs_its_column(cell: str) -> bool:
    """Return whether a cell says nothing without the name of its column: "5", "E"."""
    return len(cell) < 2 or bool(NUMBER.fullmatch(cell))


def _words_after(column: str, question: str) -> set[str]:
    """Return the words right after a column's name in a question: "a" of "house A"."""
    asked_words, last = words(question), stem((words(column) or [""])[-1])
    return {after for word, after in pairwise(asked_words) if stem(word) == last}


def _names_stop_word(question: str, table: WholeTable, named: set[str]) -> bool:
    """Return whether a question has a cell that consists of stop words, other than "all"."""
    cells = {cell for row in table.rows for _, cell in row.cells}
    stop_cells = {cell for cell in cells if words(cell) and not terms(cell)}
    return any(
        cell.lower() != "all"
        and not named & set(words(cell))
        and re.search(rf"\b{re.escape(cell)}\b", question)
        for cell in stop_cells
    )


def _select_dates(
    question: str, asked: set[str], unknown: set[str], table: WholeTable
) -> RowConditions | None:
    """Select the rows of the years and months that a question names; None where it is unclear which."""
    lower = question.lower()
    in_table = words(" ".join([*table.columns, table.topic]))
    # not "March" of the cell "March 2023"
    months = [
        month
        for match in _MONTH.finditer(lower)
        if (month := match["one"] or match["two"]) not in in_table and stem(month) not in asked - unknown
    ]
    years = sorted(filter(YEAR.fullmatch, unknown))
    if not months and not years:
        return RowConditions(table.rows, {}, set(), "")
    of_topic = set(YEAR.findall(table.topic))
    all_dates = {name: dates for name in table.columns if (dates := column_dates(table.rows, name))}
    columns = [name for name in all_dates if asked.intersection(terms(name))] or list(all_dates)
    names_topic = len(years) == 1 and not months and of_topic == set(years)
    if len(columns) != 1:
        return RowConditions(table.rows, {}, set(years), "") if names_topic else None
    if _DAY.search(lower) or (len(years) > 1 and len(months) > 1):
        return None
    dates = all_dates[columns[0]]
    rows = [
        table.rows[i]
        for i, date in dates.items()
        if (not years or str(date.year) in years)
        and (not months or any(_MONTHS[month] == date.month for month in months))
    ]
    # A table of one year with other dates may have been named by its year.
    if names_topic and len(rows) < len(table.rows):
        return None
    names = [month.title() for month in months]
    text = f"{columns[0]} in {' '.join(filter(None, [' or '.join(names), ' or '.join(years)]))}"
    return RowConditions(rows, {}, {*years, *map(stem, months)}, text)


def _find_name(term: str, table: WholeTable, several: bool) -> tuple[str, list[str]] | None:
    """Return the column and text of the only cell with a term if it is part of a name: "Roofer Calder".

    With `several`, also the cells of a column that all have the term: "Red lentils", "Green lentils".
    """
    cells = {cell: None for row in table.rows for cell in row.cells if term in terms(cell[1])}
    columns = {column for column, _ in cells}
    if len(columns) != 1 or (len(cells) > 1 and not several):
        return None
    if several and columns != {table.name_column}:
        return None  # "Juniors pay 20" of the remarks says nothing of "junior clubs"
    texts = [text for _, text in cells]
    names = re.findall(r"[^\W_]+", texts[0])
    is_name = any(term == stem(word.lower()) and word[0].isupper() for word in names)
    return (columns.pop(), texts) if is_name or len(cells) > 1 else None
