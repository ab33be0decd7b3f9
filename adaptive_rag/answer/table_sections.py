"""Selects the rows of a table that a question is about: those of a section, without results of the others."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from adaptive_rag.answer.table_kinds import KINDS
from adaptive_rag.answer.validity import is_retired
from adaptive_rag.answer.whole_tables import NamedRow, WholeTable, column_numbers
from adaptive_rag.deadline import in_time
from adaptive_rag.text.words import terms

_Group = tuple[list[NamedRow], list[NamedRow]]

_TOTAL_ROW = re.compile("|".join(kind.row_names for kind in KINDS.values() if kind.row_names), re.IGNORECASE)
# "Total cost", if it has the sum of the others
_NAMES_TOTAL = re.compile(r"(?:(?:grand|overall) |sub-?)?totals?\b", re.IGNORECASE)
# "All households", if its numbers can be those of all others together
_ROW_OF_ALL = re.compile(r"[Aa]ll (?:[a-z]+s|people|children|men|women)")


def select_section(question: str, table: WholeTable) -> WholeTable:
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


def leave_out_row_of_all(table: WholeTable) -> tuple[WholeTable, set[str]]:
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
