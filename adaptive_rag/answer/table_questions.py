"""Reads questions over several rows of a table: their kind, the column and the rows that they ask for.

A question is read only if every word of it occurs in the table's names and cells. A question with any other
word is left to the reader, since it may ask for something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from statistics import median

from adaptive_rag.answer.quotes import readable
from adaptive_rag.answer.rows import MEASURES
from adaptive_rag.answer.whole_tables import (
    NamedRow,
    WholeTable,
    column_dates,
    column_numbers,
    is_flag,
    yes_cells,
)
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.state import Phrase
from adaptive_rag.text.phrases import say
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS, stem, terms, words


def _add_up(values: Sequence[Decimal]) -> Decimal:
    return sum(values, Decimal())


def _mean(values: Sequence[Decimal]) -> Decimal:
    return (_add_up(values) / len(values)).quantize(Decimal("0.01"))


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


# The kinds by the codes of their sentences in text/en.toml; the first whose pattern is found counts.
KINDS: dict[str, TableKind] = {
    "most": TableKind(),
    "least": TableKind(),
    "median": TableKind(r"\bmedian\b", "median", "median", median, skips_results=True),
    "sum": TableKind(
        r"\b(?:total|sum|altogether|combined|in all|adds? up)\b",
        "total sum add adds added up altogether together overall",
        r"(?:(?:grand|overall) |sub-?)?totals?|sum",
        _add_up,
    ),
    "mean": TableKind(r"\b(?:average|mean)\b", "average mean", "average|mean", _mean),
    "count": TableKind(r"\b(?:how many|count)\b|(?:^|\b(?:the|a|total|exact) )number of\b", "count"),
    "list": TableKind(
        r"^(?:please |can you |could you )?(?:list|show|name|enumerate|give me)\b|\bwhat are (?:all )?the\b",
        "list lists listed show give me",
    ),
}
# Superlatives for the most and the least, each with the word that it is a form of.
_MOST = {
    "largest": "large", "biggest": "big", "highest": "high", "longest": "long", "heaviest": "heavy",
    "tallest": "tall", "fastest": "fast", "widest": "wide", "deepest": "deep", "dearest": "expensive",
    "greatest": "large", "maximum": "", "most": "", "latest": "when", "newest": "when", "last": "when",
}  # fmt: skip
_LEAST = {
    "smallest": "large", "lowest": "high", "shortest": "long", "lightest": "heavy", "slowest": "fast",
    "narrowest": "wide", "cheapest": "expensive", "minimum": "", "least": "", "fewest": "",
    "earliest": "when", "oldest": "when", "first": "when",
}  # fmt: skip
_SUPERLATIVES = {**_MOST, **_LEAST}
# "List the members with city and paid" names columns to show, "in Rome or paid" one of two conditions.
_SHOWS_COLUMNS = re.compile(r"\bor\b|^(?!what|which)(?=.*(?:,|\b(?:with|and)\b))")
# "which courses are full" asks for rows; "what happens on 12 May" and "what floods if it rains" have a verb.
_WHICH = re.compile(
    r"^(?:which|what) (?!(?:happens|includes|makes|means|mentions|needs|uses)\b)(?P<noun>[^\W\d_]+s)\b"
    r"(?! (?:if|when|to|after|a|an|the|it|me|us|my|our|your)\b)"
)
# Words of questions that ask for rows and need not occur in the table, in addition to ASKING_WORDS.
_FOR_ROWS = frozenset(
    map(
        stem,
        "row rows entry entries table file sheet document amount value currently thing things item items "
        "product products everything single money people person please each whole".split()
        + [word for kind in KINDS.values() for word in kind.words.split()],
    )
)
# "not paid", "over 100", "before 2020", "in May" and "whether it is paid" ask for other rows than those with
# the named cell.
_OTHER_ROWS = re.compile(
    r"\b(?:not|cannot|no|nor|never|neither|without|except|but|than|over(?! all\b)|under|above|below|between|"
    r"before|after|since|until|whether|in may|up to \W?\d|at (?:the )?(?:most|least))\b|n['’]t\b",
    re.IGNORECASE,
)
_TOTAL_ROW = re.compile("|".join(kind.row_names for kind in KINDS.values() if kind.row_names), re.IGNORECASE)
# "in the bike shop's list", "of our field trip"
_SCOPE = re.compile(
    r"\b(?:in|of|at|on|from|for) (?:the|our|my|your|this|that) (?P<phrase>[^,.?!]+?)"
    r"(?=$|[,.?!]| (?:in|of|at|on|from|for|is|are|was|has|have|that|which|who)\b)"
)
# Minimum cosine with the topic of a table for words that only say where to look: for a phrase after a
# preposition, and for other words. "the bike shop" has .31 with its stock and "choir" .43 with its members,
# "the year" and "Spain" are below .2.
NEAR_AFTER_PREPOSITION, NEAR = 0.25, 0.4
# Measures that stand for any column of numbers, if there is only one
_ANY_MEASURE = frozenset("size capacity amount total price cost fee rate".split())


@dataclass(frozen=True)
class TableQuestion:
    """What a question asks of a table: the kind of question, the column and the rows."""

    kind: str
    table: WholeTable
    column: str
    rows: list[NamedRow]
    condition: str  # what the rows share: "status open"
    other_columns: list[str] = field(default_factory=list)  # further columns that the question names

    @property
    def rows_phrase(self) -> Phrase:
        """Return the rows in words: "the 3 rows of stock.csv with status open"."""
        code = f"{'rows' if len(self.rows) > 1 else 'one_row'}{'_with' if self.condition else ''}"
        return say(code, n=len(self.rows), table=self.table.place, condition=self.condition)


def asks_for_other_rows(question: str) -> bool:
    """Return whether a question asks for other rows than those with the cells it names: "not paid"."""
    return bool(_OTHER_ROWS.search(question))


def question_kind(question: str) -> tuple[str | None, str]:
    """Return the kind of a question, and the adjective that it compares: "expensive" for "cheapest"."""
    lower = question.lower()
    for word in words(question):
        adjective = _SUPERLATIVES.get(word)
        if adjective is None or re.search(rf"\bat (?:the )?{word}\b", lower):
            continue
        if "least expensive" in lower:
            return "least", "expensive"
        next_word = re.search(rf"\b{word} (?P<word>[^\W\d_]+)", lower)
        measure = adjective or (next_word["word"] if next_word else "")
        return "most" if word in _MOST else "least", measure
    for name, kind in KINDS.items():
        if kind.pattern and re.search(kind.pattern, lower):
            return name, ""
    plural = _WHICH.match(lower)
    return "list" if plural and plural["noun"] not in STOP_WORDS else None, ""


def read_table_question(question: str, kind: str, measure: str, table: WholeTable) -> TableQuestion | None:
    """Read a question by a table's names and cells; None where one of its words occurs in none of them."""
    table = _select_section(question, table)
    question_words = words(question)
    stop_cells = {cell for row in table.rows for _, cell in row.cells if words(cell) and not terms(cell)}
    if any(set(words(cell)) <= set(question_words) for cell in stop_cells):
        return None  # "in" may be the cell or just the word
    asked = set(terms(question)) - set(map(stem, ASKING_WORDS))
    named_cells, cell_terms = _find_named_cells(asked, table)
    if kind != "count" and not (kind == "list" and _SHOWS_COLUMNS.search(question.lower())):
        named_cells |= _find_flags(asked - cell_terms, table, named_cells)
    rows = [row for row in table.rows if all(row.value(name) in cells for name, cells in named_cells.items())]
    if not rows or (kind == "count" and any(map(table.is_key, named_cells))):
        return None  # no row matches, or the question asks for a cell of one row
    column = _find_column(asked, list(_measures(question, measure)), named_cells, rows, kind)
    known = cell_terms | set(terms(" ".join([*table.columns, table.topic])))
    known |= {stem(word) for word in question_words if word in _SUPERLATIVES or word in MEASURES}
    unknown = asked - known - _FOR_ROWS
    if column and KINDS[kind].skips_results and re.search(KINDS[kind].pattern, column.lower()):
        return None
    if column is None or not asked & known or not _only_says_where(unknown, question, table):
        return None
    condition = " and ".join(f"{name} {' or '.join(cells)}" for name, cells in named_cells.items())
    if kind not in ("count", "list"):
        rows = [row for row in rows if row.value(column)]
    others = [name for name in table.columns if asked.intersection(terms(name)).difference(terms(column))]
    return TableQuestion(kind, table, column, rows, readable(condition), others)


def _select_section(question: str, table: WholeTable) -> WholeTable:
    """Return the rows below the headings that a question names, or all rows; without rows of totals."""
    items = [
        row for row in table.rows if not _TOTAL_ROW.fullmatch(row.cells[0][1].strip(" *:"))
    ] or table.rows
    asked = set(terms(question)) - set(terms(" ".join(table.headings)))
    in_section = [row for row in items if asked.intersection(terms(" ".join(row.headings)))]
    return WholeTable(in_section or items)


def _find_named_cells(asked: set[str], table: WholeTable) -> tuple[dict[str, list[str]], set[str]]:
    """Return the cells that the question names, by column, and the question's terms that name them."""
    table_terms = set(terms(" ".join([*table.columns, table.topic])))
    named_cells, cell_terms = dict[str, list[str]](), set[str]()
    for column in table.columns:
        terms_of = {cell: frozenset(terms(cell)) for row in table.rows if (cell := row.value(column))}
        named = {
            cell: own for cell, own in terms_of.items() if own and own <= asked and not own <= table_terms
        }
        longest = [cell for cell, own in named.items() if not any(own < other for other in named.values())]
        if longest and len(longest) < len(terms_of):
            named_cells[column] = longest
            cell_terms |= {term for cell in longest for term in named[cell]}
    return named_cells, cell_terms


def _find_flags(asked: set[str], table: WholeTable, named: Collection[str]) -> dict[str, list[str]]:
    """Return "yes" as a named cell of each column of "yes" and "no" that the question names: "Paid"."""
    flags = (name for name in table.columns if name not in named and asked.intersection(terms(name)))
    return {name: yes_cells(table.rows, name) for name in flags if is_flag(table.rows, name)}


def _only_says_where(unknown: set[str], question: str, table: WholeTable) -> bool:
    """Return whether words that a table does not have only say where to look: "in the bike shop's list".

    They do if they are close in meaning to the topic of the table. After a preposition, a lower similarity is
    enough.
    """
    if not unknown:
        return True
    topic = f"{table.topic}: {', '.join(table.columns)}"
    column_terms = set(terms(" ".join(table.columns)))
    scopes = {scope["phrase"]: set(terms(scope["phrase"])) for scope in _SCOPE.finditer(question.lower())}
    # "of the overdue invoices" does not say where to look, but which rows.
    phrases = [phrase for phrase, own in scopes.items() if unknown & own and not column_terms & own]
    rest = unknown - {term for phrase in phrases for term in terms(phrase)}
    others = [word for word in words(question) if stem(word) in rest]
    vectors = load_minilm().encode([topic, *phrases, *others])
    cosines = vectors[1:] @ vectors[0]
    is_near = (cosines[: len(phrases)] >= NEAR_AFTER_PREPOSITION).all()
    return bool(is_near and (cosines[len(phrases) :] >= NEAR).all())


def _measures(question: str, measure: str) -> Iterator[str]:
    """Yield possible names of columns for the measure that the question compares."""
    for word in (*words(question), measure):
        yield from MEASURES.get(word, "").split()
    if measure and measure not in MEASURES:
        yield measure


def _find_column(
    asked: set[str], measures: Sequence[str], matched: Collection[str], rows: Sequence[NamedRow], kind: str
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
        asks_for_cells = any(column_numbers(rows, name) or is_flag(rows, name) for name in named)
        return None if asks_for_cells else next(iter(named), first)
    if kind == "list":
        return next((name for name in named if name != first), first)
    comparable = [name for name in columns if column_numbers(rows, name) or column_dates(rows, name)]
    # The measures are in order of preference: "price" before "cost".
    measured = [name for measure in measures for name in comparable if stem(measure) in terms(name)]
    candidates = [name for name in named if name in comparable] or measured
    if not candidates and set(measures) <= _ANY_MEASURE:
        numeric = [name for name in comparable if column_numbers(rows, name)]
        return numeric[0] if len(numeric) == 1 else None
    return next(iter(candidates), None)
