"""Questions over several rows of a table: the largest, the sum, the average, the count, or a list.

The answer is computed over all rows of one table if every word of the question occurs in the table's names
and cells. A question with any other word is left to the reader, since it may ask for something else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from itertools import takewhile
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

from adaptive_rag.answer.quotes import Quote, WholeAnswer, readable, write_quotes
from adaptive_rag.answer.rows import MEASURES, Cell, say_row, with_unit
from adaptive_rag.answer.units import read_units
from adaptive_rag.deadline import in_time
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.source import ChoosesSources, ChunkSource, ListsChunks
from adaptive_rag.state import Candidate, Phrase, to_candidate
from adaptive_rag.text.phrases import join_pieces, say
from adaptive_rag.text.places import section_at
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS, stem, terms, words

# Maximum number of chunks of a document that are read.
MOST_CHUNKS = 20_000
# Maximum number of rows that an answer names in a sentence, and in a list.
NAMED, LISTED = 6, 20
# Rows of tables with at most this many columns are shown whole.
FEW_COLUMNS = 4
# Maximum number of documents, best first, whose tables are read.
DOCUMENTS = 5

Kind = Literal["most", "least", "sum", "mean", "count", "list"]

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
_KINDS: Mapping[Kind, re.Pattern[str]] = {
    "sum": re.compile(r"\b(?:total|sum|altogether|combined|in all|adds? up)\b"),
    "mean": re.compile(r"\b(?:average|mean)\b"),
    "count": re.compile(r"\b(?:how many|number of|count)\b"),
    "list": re.compile(
        r"^(?:please |can you |could you )?(?:list|show|name|enumerate|give me)\b|\bwhat are (?:all )?the\b"
    ),
}
# "which courses are full" asks for rows; "what happens if it rains" has a verb before its object.
_WHICH = re.compile(
    r"^(?:which|what) (?P<what>[^\W\d_]+(?:s|es))\b(?! (?:if|when|to|after|a|an|the|it|me|us|my|our|your)\b)"
)
# Words that ask for rows, in addition to the words that ask for anything.
_FOR_ROWS = frozenset(
    map(
        stem,
        "row rows entry entries table list lists listed show file sheet document add adds added up "
        "altogether amount value overall currently together count total sum average mean give me thing "
        "things item items product products everything single money people person please each "
        "whole".split(),
    )
)
# "not paid", "over 100" and "before 2020" ask for other rows than those with the named cell.
_OTHER_ROWS = re.compile(
    r"\b(?:not|cannot|no|nor|never|neither|without|except|but|than|over(?! all\b)|under|above|below|between|"
    r"before|after|since|until|up to \W?\d|at (?:the )?(?:most|least))\b|n['’]t\b",
    re.IGNORECASE,
)
# The names of rows that sum up the others.
_SUMS_UP = re.compile(r"(?:(?:grand|overall) |sub-?)?totals?|sum|average|mean", re.IGNORECASE)
# The cells of a column that only says yes or no.
_FLAGS = frozenset({"yes", "no", "y", "n", "true", "false", "x", "✓", "✗", ""})
_NUMBER = re.compile(
    r"(?P<before>[£$€¥+−-]{0,2}) ?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?) ?"
    r"(?P<after>[^\W\d_]{0,12}|[%°£€])"
)
# "in the bike shop's list", "of our field trip"
_SCOPE = re.compile(
    r"\b(?:in|of|at|on|from|for) (?:the|our|my|your|this|that) (?P<what>[^,.?!]+?)"
    r"(?=$|[,.?!]| (?:in|of|at|on|from|for|is|are|was|has|have|that|which|who)\b)"
)
_APART = re.compile(r"[-_.]")
_SPELT = re.compile(r"[^\W\d_]*[a-z]{3}")
# Minimum cosine with the topic of a table for words that only say where to look: for a phrase after a
# preposition, and for other words. "the bike shop" has .31 with its stock and "choir" .43 with its members,
# "the year" and "Spain" are below .2.
NEAR_BEHIND, NEAR = 0.25, 0.4
_ANY_MEASURE = frozenset("size capacity amount total price cost fee rate".split())
_DATES = "%Y-%m-%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%d.%m.%Y", "%Y-%m-%d %H:%M:%S"


class NamedRow(NamedTuple):
    """A row of a table: its cells with the names of their columns, and its position."""

    cells: tuple[Cell, ...]
    chunk: Candidate
    start: int
    end: int

    def value(self, column: str) -> str:
        """Return the cell in a column; "" where it is empty."""
        return dict(self.cells).get(column, "")

    @property
    def headings(self) -> list[str]:
        """Return the headings above the row."""
        return (section_at(self.chunk, self.start) or "").split(" > ")


@dataclass(frozen=True)
class WholeTable:
    """All rows of one table in a document."""

    rows: list[NamedRow]

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
        """Name the table by its document, and its section or sheet."""
        first = self.rows[0].chunk
        below = first["metadata"].get("sheet") or "".join(self.headings[-1:])
        return f"{PurePath(first['source']).name}{f' ({readable(below)})' if below else ''}"

    @cached_property
    def about(self) -> str:
        """Return the names of the table's document and section as words."""
        return _APART.sub(" ", f"{self.place} {' '.join(self.headings)}")

    @cached_property
    def name_column(self) -> str:
        """Return the column that names the rows, preferably in words and not as "105" or "HC-001"."""
        for column in self.columns[:3]:
            cells = [row.value(column) for row in self.rows]
            if len(set(cells)) == len(cells) and all(map(_SPELT.search, cells)):
                return column
        return self.columns[0]

    def name_of(self, row: NamedRow) -> str:
        """Return the name of a row."""
        return row.value(self.name_column) or row.cells[0][1]


@dataclass(frozen=True)
class _Asked:
    """What a question asks of a table: the kind of question, the column and the rows."""

    kind: Kind
    table: WholeTable
    column: str
    rows: list[NamedRow]
    told: str  # the condition that the rows share: "status open"

    @property
    def of(self) -> Phrase:
        """The rows in words."""
        code = f"{'rows' if len(self.rows) > 1 else 'one_row'}{'_with' if self.told else ''}"
        return say(code, n=len(self.rows), table=self.table.place, condition=self.told)


def work_out(question: str, passages: Sequence[Candidate], source: ChunkSource) -> WholeAnswer | None:
    """Answer a question over all rows of a table; None for another question, or if no table has its words.

    Args:
        question: the question, in English.
        passages: the passages, best first; the tables of their documents are used.
        source: the chunks of the documents.
    """
    kind, by = _kind_of(question)
    if kind is None or _OTHER_ROWS.search(question) or not isinstance(source, ChoosesSources):
        return None
    held = source.sources()
    # Only documents with a row among the passages are read for their tables.
    with_rows = (passage["source"] for passage in passages if any(_rows_of(passage)))
    for name in list(dict.fromkeys(with_rows))[:DOCUMENTS]:
        if not 1 <= held.get(name, 0) <= MOST_CHUNKS:
            continue
        narrowed = source.only({name})
        if not isinstance(narrowed, ListsChunks):
            return None
        for table in collect_tables(narrowed):
            asked = _read_question(question, kind, by, _rows_asked_for(question, table))
            if asked and (said := _SAY[asked.kind](asked)):
                return _written(said, asked, passages)
    return None


def _kind_of(question: str) -> tuple[Kind | None, str]:
    """Return the kind of a question, and the adjective that it compares: "expensive" for "cheapest"."""
    plain = question.lower()
    for word in words(question):
        base = _SUPERLATIVES.get(word)
        if base is None or re.search(rf"\bat (?:the )?{word}\b", plain):
            continue
        if "least expensive" in plain:
            return "least", "expensive"
        after = re.search(rf"\b{word} (?P<what>[^\W\d_]+)", plain)
        return "most" if word in _MOST else "least", base or (after["what"] if after else "")
    kind = next((kind for kind, pattern in _KINDS.items() if pattern.search(plain)), None)
    several = _WHICH.match(plain)
    return "list" if kind is None and several and several["what"] not in STOP_WORDS else kind, ""


def _rows_of(passage: Candidate) -> Iterator[NamedRow]:
    for unit in read_units(passage, []):
        if len(unit.cells) > 1 and unit.cells[0][0] and unit.cells[0][1]:
            yield NamedRow(unit.cells, passage, unit.start, unit.end)


def collect_tables(source: ListsChunks) -> list[WholeTable]:
    """Return a document's tables with several rows; a table is identified by its sheet and first column."""
    found = dict[tuple[str, ...], dict[int, NamedRow]]()
    for chunk in in_time(source.chunks()):
        for row in _rows_of(to_candidate(chunk, {})):
            table = (str(chunk["metadata"].get("sheet", "")), row.cells[0][0])
            found.setdefault(table, {}).setdefault(row.start, row)
    return [WholeTable([rows[at] for at in sorted(rows)]) for rows in found.values() if len(rows) > 1]


def _rows_asked_for(question: str, table: WholeTable) -> WholeTable:
    """Return the rows below the headings that a question names, or all; without those that sum up others."""
    items = [row for row in table.rows if not _SUMS_UP.fullmatch(row.cells[0][1].strip(" *:"))] or table.rows
    asked = set(terms(question)) - set(terms(" ".join(table.headings)))
    below = [row for row in items if asked.intersection(terms(" ".join(row.headings)))]
    return WholeTable(below or items)


def _read_question(question: str, kind: Kind, by: str, table: WholeTable) -> _Asked | None:
    """Read a question by a table's names and cells; None where one of its words occurs in none of them."""
    said = words(question)
    if any(not terms(cell) and set(words(cell)) <= set(said) for row in table.rows for _, cell in row.cells):
        return None  # "in" may be the cell or just the word
    asked = set(terms(question)) - set(map(stem, ASKING_WORDS))
    matched, explained = _matching(asked, table)
    chosen = [row for row in table.rows if all(row.value(name) in cells for name, cells in matched.items())]
    if not chosen or (kind == "count" and any(_is_key(name, table) for name in matched)):
        return None  # no row matches, or the question asks for a cell of one row
    column = _column(asked, list(_measures(question, by)), matched, chosen, kind)
    known = explained | set(terms(" ".join([*table.columns, table.about])))
    known |= {stem(word) for word in said if word in _SUPERLATIVES or word in MEASURES}
    unknown = asked - known - _FOR_ROWS
    if column is None or not asked & known or not _may_be_left_out(unknown, question, table):
        return None
    told = " and ".join(f"{name} {' or '.join(cells)}" for name, cells in matched.items())
    return _Asked(kind, table, column, chosen, readable(told))


def _matching(asked: set[str], table: WholeTable) -> tuple[dict[str, list[str]], set[str]]:
    """Return the cells that the question names, by column, and the words that name them."""
    names = set(terms(" ".join([*table.columns, table.about])))
    matched, explained = dict[str, list[str]](), set[str]()
    for column in table.columns:
        cells = {cell: frozenset(terms(cell)) for row in table.rows if (cell := row.value(column))}
        named = {cell: of for cell, of in cells.items() if of and of <= asked and not of <= names}
        longest = [cell for cell, of in named.items() if not any(of < other for other in named.values())]
        if longest and len(longest) < len(cells):
            matched[column] = longest
            explained |= {term for cell in longest for term in named[cell]}
    return matched, explained


def _is_key(column: str, table: WholeTable) -> bool:
    cells = [row.value(column) for row in table.rows]
    return len(set(cells)) == len(cells)


def _may_be_left_out(unknown: set[str], question: str, table: WholeTable) -> bool:
    """Tell whether words that do not occur in a table only say where to look: "in the bike shop's list".

    They do where they are close in meaning to the topic of the table. After a preposition, a lower similarity
    is enough.
    """
    if not unknown:
        return True
    whole = f"{table.about}: {', '.join(table.columns)}"
    scopes = {scope["what"]: set(terms(scope["what"])) for scope in _SCOPE.finditer(question.lower())}
    named = set(terms(" ".join(table.columns)))
    # "of the overdue invoices" does not say where to look, but which rows
    behind = [scope for scope, of in scopes.items() if unknown & of and not named & of]
    rest = unknown - {term for scope in behind for term in terms(scope)}
    others = [word for word in words(question) if stem(word) in rest]
    vectors = load_minilm().encode([whole, *behind, *others])
    near = vectors[1:] @ vectors[0]
    return bool((near[: len(behind)] >= NEAR_BEHIND).all() and (near[len(behind) :] >= NEAR).all())


def _measures(question: str, by: str) -> Iterator[str]:
    """Yield possible names of columns for the measure that the question compares."""
    for word in (*words(question), by):
        yield from MEASURES.get(word, "").split()
    if by and by not in MEASURES:
        yield by


def _column(
    asked: set[str], measured: Sequence[str], matched: Collection[str], rows: Sequence[NamedRow], kind: Kind
) -> str | None:
    """Return the column that is asked for; None where there is none of the type that the question needs."""
    columns = [name for name in dict.fromkeys(name for row in rows for name, _ in row.cells)]
    first = columns[0]
    columns = [name for name in columns if name not in matched]
    named = [name for name in columns if asked.intersection(terms(name))]
    if kind == "count":
        # "How many weeks does it take?" asks for the number in the column "Weeks", and "How many have paid?"
        # for the rows with "yes" in the column "Paid".
        told = any(_numbers(rows, name) or _is_flag(rows, name) for name in named)
        return None if told else next(iter(named), None) or first
    if kind == "list":
        return next((name for name in named if name != first), first)
    numeric = [name for name in columns if _numbers(rows, name) or _days(rows, name)]
    # The measures are in order of preference: "price" before "cost".
    close = [name for measure in measured for name in numeric if stem(measure) in terms(name)]
    found = [name for name in numeric if name in named] or close
    if not found and set(measured) <= _ANY_MEASURE:
        found = [name for name in numeric if _numbers(rows, name)]
        return found[0] if len(found) == 1 else None
    return next(iter(found), None)


def _is_flag(rows: Sequence[NamedRow], column: str) -> bool:
    return all(row.value(column).lower() in _FLAGS for row in rows)


def _numbers(rows: Sequence[NamedRow], column: str) -> dict[int, Decimal]:
    """Return the numbers in a column by row; {} where a cell is no number, or the units differ."""
    found = {at: match for at, row in enumerate(rows) if (match := _NUMBER.fullmatch(row.value(column)))}
    units = {(match["before"].strip("+-−"), match["after"]) for match in found.values()}
    filled = sum(bool(row.value(column)) for row in rows)
    if not found or len(units) > 1 or len(found) < filled:
        return {}
    signed = {at: -1 if {"-", "−"} & set(match["before"]) else 1 for at, match in found.items()}
    return {at: signed[at] * Decimal(match["number"].replace(",", "")) for at, match in found.items()}


def _days(rows: Sequence[NamedRow], column: str) -> dict[int, datetime]:
    found = {at: day for at, row in enumerate(rows) if (day := _day(row.value(column)))}
    return found if len(found) == sum(bool(row.value(column)) for row in rows) else {}


def _day(text: str) -> datetime | None:
    for form in _DATES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


class _Said(NamedTuple):
    """An answer before it is written: an introduction, and the rows with a text for each."""

    lead: Phrase
    rows: list[tuple[NamedRow, str]]
    listed: bool = False  # whether each row is on a separate line


def _say_extreme(asked: _Asked) -> _Said | None:
    days = _days(asked.rows, asked.column)
    values: Mapping[int, Any] = days or _numbers(asked.rows, asked.column)
    if not values:
        return None
    highest = asked.kind == "most"
    best = max(values.values()) if highest else min(values.values())
    rows = [asked.rows[at] for at, value in values.items() if value == best]
    code = ("earliest", "latest")[highest] if days else ("lowest", "highest")[highest]
    lead = say(code, of=asked.of, n=len(rows), column=readable(with_unit(asked.column, "0")[0]))
    return _Said(lead, [(row, _said(asked, row, [asked.column])) for row in rows], listed=len(rows) > 1)


def _say_sum(asked: _Asked) -> _Said | None:
    values = _numbers(asked.rows, asked.column)
    if not values:
        return None
    total = sum(values.values(), Decimal())
    if asked.kind == "mean":
        total = (total / len(values)).quantize(Decimal("0.01"))
    rows = [asked.rows[at] for at in values]
    shape = _NUMBER.fullmatch(rows[0].value(asked.column))
    assert shape is not None  # `_numbers` matched it
    apart = " " if shape["after"].isalpha() else ""
    name, figure = with_unit(asked.column, f"{shape['before'].strip('+-−')}{total:,}{apart}{shape['after']}")
    cells = [(row, with_unit(asked.column, row.value(asked.column))[1]) for row in rows]
    named = [(row, f"{asked.table.name_of(row)} {cell}") for row, cell in cells]
    return _Said(say(asked.kind, of=asked.of, column=readable(name), figure=figure), named)


def _say_count(asked: _Asked) -> _Said | None:
    if asked.column != asked.table.columns[0] and not asked.told:
        each = dict[str, NamedRow]()
        for row in asked.rows:
            if value := row.value(asked.column):
                each.setdefault(value, row)
        lead = say("count_of_values", column=readable(asked.column), of=asked.of, n=len(each))
        return _Said(lead, [(row, value) for value, row in each.items()])
    table = asked.table
    named = [(row, table.name_of(row)) for row in asked.rows]
    if asked.told:
        counts = {"n": len(named), "all": len(table.rows)}
        return _Said(say("count_with", **counts, table=table.place, condition=asked.told), named)
    return _Said(say("count", table=table.place, n=len(named)), named)


def _say_list(asked: _Asked) -> _Said | None:
    of = asked.of
    lead = say("list", of={**of, "text": f"{of['text'][:1].upper()}{of['text'][1:]}"})
    wanted = [] if asked.column == asked.table.columns[0] else [asked.column]
    return _Said(lead, [(row, _said(asked, row, wanted)) for row in asked.rows], listed=True)


def _said(asked: _Asked, row: NamedRow, wanted: Sequence[str]) -> str:
    """Write a row in words: its name and the wanted cells, or all cells where the table has few columns."""
    table = asked.table
    few = len(table.columns) <= FEW_COLUMNS
    shown = [name for name in table.columns if name in wanted or (few and name != table.name_column)]
    return say_row(
        [("", table.name_of(row)), *((name, cell) for name, cell in row.cells if name in shown)], ""
    )


_SAY = {
    "most": _say_extreme, "least": _say_extreme, "sum": _say_sum, "mean": _say_sum, "count": _say_count,
    "list": _say_list,
}  # fmt: skip


def _written(said: _Said, asked: _Asked, passages: Sequence[Candidate]) -> WholeAnswer:
    """Write an answer with a marker for each row; a row outside the passages adds its chunk to them."""
    shown = said.rows[: LISTED if said.listed else NAMED]
    quotes = [Quote(text, row.chunk, row.start, row.end) for row, text in shown]
    parts, read = write_quotes(quotes, passages)
    if len(shown) < len(said.rows):
        parts.append([say("and_more", n=len(said.rows) - len(shown))])
    first, between = ("\n- ", "\n- ") if said.listed else (" ", ", ")
    how = f"{asked.kind} of {asked.column!r} over {len(asked.rows)} of {len(asked.table.rows)} rows"
    return WholeAnswer([said.lead, first, *join_pieces(parts, between)], read, how)
