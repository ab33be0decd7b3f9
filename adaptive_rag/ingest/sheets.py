"""Used by the loaders of Excel and OpenDocument: the rows of a sheet to records, as those of a CSV file.

Sheets are made for eyes: a title above, a blank row, a table, a remark below. A row is written with the
names of its columns, and what is no table as the text that it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby, pairwise

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.tables import add_row, names_question_and_answer
from adaptive_rag.text.tables import EMPTY_CELL

# A year, or a name such as "Q1": they stand above columns, as other numbers do not.
_NUMBER = re.compile(r"(?!(?:18|19|20)\d\d$)[^\w]*\d[\d.,\s]*\W*|\d{4}-\d\d-\d\d.*|\d{1,2}:\d\d.*")


@dataclass
class SheetRow:
    """A row as a sheet counts it, from 1, and the text of each of its cells, "" where one is empty."""

    number: int
    cells: list[str]

    @property
    def filled(self) -> int:
        """Count the cells with a text of their own; a merged cell has the same text in each of its places."""
        return len(set(filter(None, self.cells)))


@dataclass
class Sheet:
    """A sheet and its rows from top to bottom; what is merged stands in each place that it covers."""

    name: str
    rows: list[SheetRow]
    columns: list[int]
    """The number of the column in which each cell of a row stands, from 1."""


def add_sheets(builder: TextBuilder, sheets: Sequence[Sheet]) -> None:
    """Write sheets into `builder`: a record for each row of a table and for each stretch of other text.

    A record's section is its sheet, and its metadata hold "sheet" and "row". Where there are several sheets,
    each row names its own, since nothing else tells two of the same columns apart.
    """
    used = [sheet for sheet in sheets if any(row.filled for row in sheet.rows)]
    for sheet in used:
        _Writer(builder, sheet, several=len(used) > 1).write(sheet.rows)


class _Writer:
    def __init__(self, builder: TextBuilder, sheet: Sheet, *, several: bool) -> None:
        self._builder = builder
        self._sheet = sheet.name
        self._letters = [column_letters(number) for number in sheet.columns]
        self._several = several
        # by place in the sheet: the name of the column, and whether it held a number last
        self._columns: dict[int, str] = {}
        self._numeric: dict[int, bool] = {}

    def write(self, rows: Sequence[SheetRow]) -> None:
        for places, block in _blocks(rows):
            at = next((at for at, row in enumerate(block) if row.filled > 1), len(block))
            self._add_text(block[:at])
            if at < len(block):
                self._write_table(places, block[at:])

    def _write_table(self, places: list[int], rows: list[SheetRow]) -> None:
        """Write what begins with a row of several cells, down to the next blank row."""
        if header := _read_header(rows):
            self._columns, self._numeric = dict(zip(places, header[0], strict=True)), {}
            rows = rows[header[1] :]
        elif not all(self._fits(places, row) for row in rows if row.filled > 1):
            self._columns = {}
        if not self._columns:
            self._add_text(rows)
            return
        names = [self._columns.get(place, f"column {place + 1}") for place in places]
        columns = {name: self._letters[place] for name, place in zip(names, places, strict=True)}
        grouped = rows[0].filled == 1
        group = ""
        for row, below in zip(rows, [*rows[1:], None], strict=True):
            merged = len(row.cells) > 1 and all(row.cells)
            if row.filled == 1 and (grouped or merged):
                group = _text(row)
                if below is None or below.filled == 1:  # a remark, or a group of groups
                    self._add_text([row])
            else:
                self._numeric.update(_numeric(places, row))
                self._add_record(dict(zip(names, row.cells, strict=True)), columns, row.number, group)

    def _fits(self, places: list[int], row: SheetRow) -> bool:
        """Tell whether a row after a blank one belongs to the table above it."""
        found = _numeric(places, row)
        known = all(self._numeric.get(place, is_number) == is_number for place, is_number in found.items())
        return known and found.keys() <= self._columns.keys() and 2 * len(found) >= len(self._columns)

    def _add_record(self, cells: dict[str, str], columns: dict[str, str], number: int, group: str) -> None:
        fields = {name: cell for name, cell in cells.items() if cell}
        if group:
            fields.setdefault("Group", group)
        if self._several:
            fields.setdefault("Sheet", self._sheet)
        place = {"sheet": self._sheet, "cells": {name: columns[name] for name in cells if cells[name]}}
        add_row(self._builder, fields, number, all_is_text=True, place=place)

    def _add_text(self, rows: Iterable[SheetRow]) -> None:
        """Write rows that have no names above them, one a line."""
        held = [row for row in rows if row.filled]
        if held:
            text = "\n".join(map(_text, held))
            known = {"sheet": self._sheet, "row": held[0].number}
            self._builder.add_record(text, known, title=self._sheet)


def column_letters(number: int) -> str:
    """Return how a sheet names a column, counted from 1: "AB" for 28."""
    letters = ""
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def _blocks(rows: Sequence[SheetRow]) -> Iterator[tuple[list[int], list[SheetRow]]]:
    """Yield the stretches of neighbouring rows that hold something, without the columns that are empty there.

    With each comes which columns of the sheet are left in it.
    """
    places = count()
    held = [row for row in rows if row.filled]
    for _, group in groupby(held, key=lambda row: row.number - next(places)):
        block = list(group)
        width = max(len(row.cells) for row in block)
        wide = [row.cells + [""] * (width - len(row.cells)) for row in block]
        used = [at for at in range(width) if any(cells[at] for cells in wide)]
        yield (
            used,
            [
                SheetRow(row.number, [cells[at] for at in used])
                for row, cells in zip(block, wide, strict=True)
            ],
        )


def _numeric(places: Sequence[int], row: SheetRow) -> dict[int, bool]:
    """Return for each filled cell of a row whether it holds a number."""
    cells = zip(places, row.cells, strict=True)
    return {place: bool(_NUMBER.fullmatch(cell)) for place, cell in cells if cell}


def _read_header(rows: Sequence[SheetRow]) -> tuple[tuple[str, ...], int] | None:
    """Return the names of the columns and how many rows hold them, or None where the first row names none.

    "Item | Price | Stock" and "Item | 2023 | 2024" do; "Bolt | 4.20 | 12" does not. Two columns of words
    ("Supplier | Acme") are a form, whose rows are understood without names.
    """
    first, *rest = rows
    named = [cell for cell in first.cells if cell]
    if not rest or 2 * len(named) <= len(first.cells) or any(map(_NUMBER.fullmatch, named)):
        return None
    if len(first.cells) == 2 and not names_question_and_answer(first.cells):
        numbers = [bool(_NUMBER.fullmatch(row.cells[-1])) for row in rest if row.filled > 1]
        if 2 * sum(numbers) <= len(numbers):
            return None
    names, count = first.cells, 1
    spanned = any(one == two != "" for one, two in pairwise(names))
    if spanned and len(rest) > 1 and not any(map(_NUMBER.fullmatch, rest[0].cells)):
        names = [
            one if one == two else f"{one} {two}".strip()
            for one, two in zip(names, rest[0].cells, strict=True)
        ]
        count = 2
    return tuple(_unlike(names)), count


def _unlike(names: Sequence[str]) -> Iterator[str]:
    """Give each column a name of its own."""
    seen: set[str] = set()
    for at, name in enumerate(names, start=1):
        name = name.replace(":", "") or f"column {at}"
        yield name if name not in seen else f"{name} ({at})"
        seen.add(name)


def _text(row: SheetRow) -> str:
    if row.filled == 1:
        return next(filter(None, row.cells))
    cells = list(row.cells)
    while not cells[-1]:
        cells.pop()
    return " | ".join(cell or EMPTY_CELL for cell in cells)
