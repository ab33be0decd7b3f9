"""Answers questions over several rows of a table: the largest, a sum, an average, the count, or a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from adaptive_rag.answer.comparisons import YEAR, read_comparisons
from adaptive_rag.answer.quotes import Quote, WholeAnswer, readable, write_quotes
from adaptive_rag.answer.row_conditions import NOT
from adaptive_rag.answer.rows import say_row, with_unit
from adaptive_rag.answer.table_kinds import KINDS, asks_for_other_rows, question_kind
from adaptive_rag.answer.table_questions import TableQuestion, read_table_question
from adaptive_rag.answer.whole_tables import (
    NUMBER,
    NamedRow,
    WholeTable,
    collect_tables,
    column_dates,
    column_numbers,
    rows_of,
    without_retired,
    write_number,
)
from adaptive_rag.deadline import in_time
from adaptive_rag.source import ChoosesSources, ChunkSource, ListsChunks
from adaptive_rag.state import Candidate, Phrase
from adaptive_rag.text.phrases import join_pieces, say
from adaptive_rag.text.words import read_ends

# Maximum number of chunks of a document that are read.
MOST_CHUNKS = 20_000
# Maximum number of rows that an answer names in a sentence, and in a list.
NAMED, LISTED = 6, 20
# Rows of tables with at most this many columns are shown with all their cells.
FEW_COLUMNS = 4
# Maximum number of documents, best first, whose tables are read.
DOCUMENTS = 8
# Number of passages searched for rows besides the strategy's. Among 25 documents, 12 missed a CSV file of 25
# rows, and 40 did not.
SEARCHED = 40
# The weight of a chunk falls with its rank (Cormack et al. 2009). A table that is read by meaning has at
# least this weight, this share of the heaviest table's, and so many times that of the next one that fits.
# On 130 questions over 5 folders, no wrong table was read; with .5, 3 right ones fewer were.
SMOOTHING, LEAST_FOUND, SHARE, CLEARLY = 5, 0.35, 0.7, 1.3
# A table of fewer chunks whose names the question has weighs as one of so many does.
FEW = 3


def work_out(question: str, passages: Sequence[Candidate], source: ChunkSource) -> WholeAnswer | None:
    """Answer an English question over all rows of a table; None if it is another, or no table has its words.

    The tables are those of the documents of the passages, which are given best first.
    """
    marked, comparisons = read_comparisons(read_ends(question))
    kind, measure = question_kind(marked)
    if kind is None or asks_for_other_rows(marked) or not isinstance(source, ChoosesSources):
        return None
    chunk_counts = source.sources()
    # Only documents with a row among the passages are read for their tables; a strategy may have searched
    # for something else than the question itself.
    read = [*passages, *source.search([question], limit=SEARCHED)[0]]
    with_rows = (passage["source"] for passage in read if any(rows_of(passage)))
    tables = list[WholeTable]()
    for name in list(dict.fromkeys(with_rows))[:DOCUMENTS]:
        if not 1 <= chunk_counts.get(name, 0) <= MOST_CHUNKS:
            continue
        document = source.only({name})
        if not isinstance(document, ListsChunks):
            return None
        tables += without_retired(collect_tables(document))
    asked_of = (read_table_question(marked, kind, measure, table, comparisons) for table in in_time(tables))
    fitting = list(filter(None, asked_of))
    best = max((asked.fit for asked in fitting), default=())
    # Where several tables fit equally, the question may mean any of them.
    chosen = [asked for asked in fitting if asked.fit == best]
    found = [passage["id"] for passage in read[len(passages) :]]
    if comparisons and not any(best[:4]):  # its only words are those of columns
        chosen = _choose_by_rank(chosen, tables, found)
    if not fitting and (kind in ("most", "least") or comparisons or NOT.search(marked)):
        tables = of_latest_editions(question, tables)
        by_meaning = (
            read_table_question(marked, kind, measure, table, comparisons, by_meaning=True)
            for table in in_time(tables)
        )
        # Conditions that leave out none of the rows may mean another table.
        fitting = [
            one for one in by_meaning if one and (one.kind != "list" or len(one.rows) < len(one.table.rows))
        ]
        chosen = _choose_by_rank(fitting, tables, found)
    result = _ANSWERS.get(chosen[0].kind, _calculate)(chosen[0]) if len(chosen) == 1 else None
    return _write(result, chosen[0], passages) if result else None


def _choose_by_rank(
    fitting: Sequence[TableQuestion], tables: Sequence[WholeTable], found: Sequence[str]
) -> list[TableQuestion]:
    """Return the question of the table whose chunks are clearly first among those found."""
    firsts = [1 / (SMOOTHING + rank) for rank in range(len(found))]
    chunk_weights = dict(zip(found, firsts, strict=True))

    def weigh(table: WholeTable, few: int = 0) -> float:
        chunks = {row.chunk["id"] for row in table.rows}
        weight = sum(chunk_weights.get(chunk, 0.0) for chunk in chunks)
        return weight * max(1.0, sum(firsts[:few]) / sum(firsts[: len(chunks)])) if weight else 0.0

    weights = [weigh(asked.table, FEW if any(asked.fit[:5]) else 0) for asked in fitting]
    least = max([LEAST_FOUND, *(SHARE * weigh(table) for table in tables)])
    first, second = sorted([*weights, 0, 0], reverse=True)[:2]
    return [
        asked
        for weight, asked in zip(weights, fitting, strict=True)
        if weight == first > max(least, CLEARLY * second)
    ]


def of_latest_editions(question: str, tables: Sequence[WholeTable]) -> list[WholeTable]:
    """Leave out the tables of "prices-2025.csv" beside "prices-2026.xlsx" unless the year is asked for."""
    paths = [PurePath(table.rows[0].chunk["source"]) for table in tables]
    series = [(path.parent, YEAR.sub("", path.stem)) for path in paths]
    asked, latest = set(YEAR.findall(question)), dict[tuple[PurePath, str], str]()
    for path, one in zip(paths, series, strict=True):
        latest[one] = max(latest.get(one, ""), *YEAR.findall(path.stem), "")
    return [
        table
        for path, one, table in zip(paths, series, tables, strict=True)
        if latest[one] in path.stem or not asked.isdisjoint(YEAR.findall(path.stem))
    ]


class _Result(NamedTuple):
    """An answer before it is written: an introduction, and the rows with a text for each."""

    lead: Phrase
    rows: list[tuple[NamedRow, str]]
    is_list: bool = False  # whether each row is on a separate line


def _find_extreme(asked: TableQuestion) -> _Result | None:
    dates = column_dates(asked.rows, asked.column)
    values: Mapping[int, Any] = dates or column_numbers(asked.rows, asked.column)
    if len(values) < 2:  # nothing to compare
        return None
    is_most = asked.kind == "most"
    best = max(values.values()) if is_most else min(values.values())
    rows = [asked.rows[i] for i, value in values.items() if value == best]
    code = ("earliest", "latest")[is_most] if dates else ("lowest", "highest")[is_most]
    column = readable(with_unit(asked.column, "0")[0])
    lead = say(code, of=asked.rows_phrase, n=len(rows), column=column)
    columns = [asked.column, *asked.other_columns]
    if columns == [asked.table.name_column]:
        columns = asked.table.columns
    return _Result(lead, [(row, _say_row(asked, row, columns)) for row in rows], len(rows) > 1)


def _calculate(asked: TableQuestion) -> _Result | None:
    values, calculate = column_numbers(asked.rows, asked.column), KINDS[asked.kind].calculate
    examples = [match for row in asked.rows if (match := NUMBER.fullmatch(row.value(asked.column)))]
    filled = [row for row in asked.rows if row.value(asked.column)]
    if not values or calculate is None or len(examples) < len(filled):
        return None
    number = calculate(list(values.values()))
    rows = [asked.rows[i] for i in values]
    figure = write_number(number, (match["number"] for match in examples))
    example = examples[0]
    written = f"{example['before'].strip('+-−')}{figure}{example.string[example.end('number') :]}"
    column, figure = with_unit(asked.column, written)
    cells = [(row, with_unit(asked.column, row.value(asked.column))[1]) for row in rows]
    named = [(row, f"{asked.table.name_of(row)} {cell}") for row, cell in cells]
    return _Result(say(asked.kind, of=asked.rows_phrase, column=readable(column), figure=figure), named)


def _count(asked: TableQuestion) -> _Result | None:
    table, first_rows = asked.table, dict[str, NamedRow]()
    for row in asked.rows:
        if value := row.value(asked.column):
            first_rows.setdefault(value, row)
    is_repeated = asked.is_counted and len(first_rows) < len(asked.rows)  # a city has a row for each year
    if is_repeated or (asked.column != table.columns[0] and not asked.condition):
        column = readable(asked.column)
        lead = say("count_of_values", column=column, of=asked.rows_phrase, n=len(first_rows))
        return _Result(lead, [(row, value) for value, row in first_rows.items()])
    named = [(row, table.name_of(row)) for row in asked.rows]
    if asked.condition:
        counts = {"n": len(named), "all": len(table.rows)}
        return _Result(say("count_with", **counts, table=table.place, condition=asked.condition), named)
    return _Result(say("count", table=table.place, n=len(named)), named)


def _list(asked: TableQuestion) -> _Result | None:
    phrase = asked.rows_phrase
    lead = say("list", of={**phrase, "text": f"{phrase['text'][:1].upper()}{phrase['text'][1:]}"})
    columns = [] if asked.column == asked.table.columns[0] else [asked.column]
    columns += asked.other_columns
    return _Result(lead, [(row, _say_row(asked, row, columns)) for row in asked.rows], is_list=True)


def _say_row(asked: TableQuestion, row: NamedRow, columns: Sequence[str]) -> str:
    """Write a row in words: its name and some columns, or all columns where the table has few."""
    table = asked.table
    if len(table.columns) <= FEW_COLUMNS:
        columns = table.columns
    columns = [*table.name_columns, *columns]
    cells = [
        (name, value) for name, value in row.cells if value and name in columns and name != table.name_column
    ]
    return say_row([("", table.name_of(row)), *cells], "")


# The answers of the kinds whose result is not one number.
_ANSWERS = {"most": _find_extreme, "least": _find_extreme, "count": _count, "list": _list}


def _write(result: _Result, asked: TableQuestion, passages: Sequence[Candidate]) -> WholeAnswer:
    """Write an answer with a marker for each row; a row outside the passages adds its chunk to them."""
    shown = result.rows[: LISTED if result.is_list else NAMED]
    quotes = [Quote(text, row.chunk, row.start, row.end) for row, text in shown]
    parts, all_passages = write_quotes(quotes, passages)
    if len(shown) < len(result.rows):
        parts.append([say("and_more", n=len(result.rows) - len(shown))])
    first, between = ("\n- ", "\n- ") if result.is_list else (" ", ", ")
    basis = f"{asked.kind} of {asked.column!r} over {len(asked.rows)} of {len(asked.table.rows)} rows"
    return WholeAnswer([result.lead, first, *join_pieces(parts, between)], all_passages, basis)
