"""Answers questions over several rows of a table: the largest, a sum, an average, the count, or a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from adaptive_rag.answer.comparisons import read_comparisons
from adaptive_rag.answer.quotes import Quote, WholeAnswer, readable, write_quotes
from adaptive_rag.answer.rows import say_row, with_unit
from adaptive_rag.answer.table_kinds import KINDS, asks_for_other_rows, question_kind
from adaptive_rag.answer.table_questions import TableQuestion, read_table_question
from adaptive_rag.answer.whole_tables import (
    NUMBER,
    NamedRow,
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
DOCUMENTS = 5
# Number of passages searched for rows besides the strategy's. Among 25 documents, 12 missed a CSV file of 25
# rows, and 40 did not.
SEARCHED = 40


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
    fitting = list[TableQuestion]()
    for name in list(dict.fromkeys(with_rows))[:DOCUMENTS]:
        if not 1 <= chunk_counts.get(name, 0) <= MOST_CHUNKS:
            continue
        document = source.only({name})
        if not isinstance(document, ListsChunks):
            return None
        tables = without_retired(collect_tables(document))
        asked_of = (
            read_table_question(marked, kind, measure, table, comparisons) for table in in_time(tables)
        )
        fitting += filter(None, asked_of)
    best = max((asked.fit for asked in fitting), default=())
    chosen = [asked for asked in fitting if asked.fit == best]
    # Where several tables fit equally, the question may mean any of them.
    result = _ANSWERS.get(chosen[0].kind, _calculate)(chosen[0]) if len(chosen) == 1 else None
    return _write(result, chosen[0], passages) if result else None


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
    if not values or calculate is None:
        return None
    number = calculate(list(values.values()))
    rows = [asked.rows[i] for i in values]
    examples = [match for row in rows if (match := NUMBER.fullmatch(row.value(asked.column)))]
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
