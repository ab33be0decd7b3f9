"""Records from the rows of a sheet, as from a CSV file, for the loaders of Excel and OpenDocument.

Sheets are laid out for the eye: a title above, a blank row, a table, a remark below. A table row is written
with its column names, and everything else as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from adaptive_rag.ingest.documents import SECTION_SEPARATOR, TextBuilder
from adaptive_rag.ingest.sheet_tables import (
    HEAD,
    SheetBlock,
    SheetRow,
    SheetTable,
    find_blocks,
    is_number,
    join_headers,
    numbers_in,
    numeric_below,
    read_header,
    restarts,
)
from adaptive_rag.ingest.tables import add_row
from adaptive_rag.text.tables import write_row

# In characters and in lines: longer text above a table is not its title.
_LONGEST_TITLE, _MOST_TITLES = 80, 3
# More consecutive lines than this are items without further values, not names of nested groups.
_DEEPEST_GROUP = 3
# Remarks: "* restated", "1) before tax", "Source: ...", "Note: ..."
_REMARK = re.compile(
    r"[*†‡¹²³]|\(?\d{1,2}\)|(?:notes?|sources?|quellen?|anmerkung(?:en)?)\b|.{80}", re.IGNORECASE
)


@dataclass
class Sheet:
    """A sheet and its rows from top to bottom; the text of a merged cell is in each place that it covers."""

    name: str
    rows: list[SheetRow]
    columns: list[int]
    """The column number, from 1, of each cell of a row."""
    shapes: tuple[str, ...] = ()
    """The text of each box that is drawn on the sheet."""


def add_sheets(builder: TextBuilder, sheets: Sequence[Sheet]) -> None:
    """Write sheets into `builder`: a record for each row of a table and for each stretch of other text.

    A record's section is the name of its sheet, and its metadata contain "sheet" and "row". If there are
    several sheets, each row also names its sheet, since nothing else distinguishes two rows with the same
    columns.
    """
    used = [sheet for sheet in sheets if sheet.shapes or any(row.filled for row in sheet.rows)]
    for sheet in used:
        _Writer(builder, sheet, several=len(used) > 1).write(sheet)


class _Writer:
    def __init__(self, builder: TextBuilder, sheet: Sheet, *, several: bool) -> None:
        self._builder = builder
        self._sheet = sheet.name
        self._several = several
        self._tables: list[SheetTable] = []  # the last table in each set of columns
        self._above: list[SheetRow] = []  # the text that was written last

    def write(self, sheet: Sheet) -> None:
        for block in join_headers(find_blocks(sheet.rows, sheet.columns)):
            at = 0
            while at < len(block.rows):
                at = self._write_block(block, at)
        for shape in sheet.shapes:
            self._builder.add_record(shape, {"sheet": self._sheet}, title=self._sheet)

    def _write_block(self, block: SheetBlock, start: int) -> int:
        """Write a block from a row on, up to the row where another table begins; return that row."""
        rows, first = block.rows, start
        header = read_header(rows[start : start + HEAD])
        if header:
            above, first = rows[start : start + header.start], start + header.end
            title = self._title(above, rows[start + header.start].number)
            self._add_text(above)
            title = ", ".join(filter(None, (title, header.title)))
            table = SheetTable(dict(zip(block.places, header.names, strict=True)), title)
            self._tables = [each for each in self._tables if each.columns.keys().isdisjoint(block.places)]
            self._tables.append(table)
        elif known := next((each for each in reversed(self._tables) if each.fits(block, start)), None):
            table = known
        else:
            self._add_text(rows[start:])
            return len(rows)
        end = restarts(rows, block.places, first)
        self._write_rows(table, block.places, rows[first:end], rows[first - 1] if header else None)
        return end

    def _title(self, above: Sequence[SheetRow], number: int) -> str:
        """Return the title above a table, such as "Balance sheet, in EUR million"."""
        above = above or [row for row in self._above if row.number >= number - 1 - len(self._above)]
        lines = [_text(row) for row in above[: _MOST_TITLES + 1]]
        short = len(above) <= _MOST_TITLES and all(row.filled == 1 for row in above)
        is_title = short and all(len(line) <= _LONGEST_TITLE and line[-1] not in ".!?" for line in lines)
        return ", ".join(lines) if is_title else ""

    def _write_rows(
        self, table: SheetTable, places: Sequence[int], rows: Sequence[SheetRow], header: SheetRow | None
    ) -> None:
        """Write the rows of a table, and the remarks below them."""
        end = len(rows)
        while end and rows[end - 1].filled == 1 and _REMARK.match(_text(rows[end - 1])):
            end -= 1
        rows, remarks = rows[:end], rows[end:]
        groups = _Groups(rows, several=_has_numbers(rows))
        if header:  # it may be repeated after page breaks
            rows = [row for row in rows if row.cells != header.cells]
        for alone, group in groupby(rows, groups.is_group):
            run = list(group)
            if alone and len(run) <= _DEEPEST_GROUP and run[-1] is not rows[-1]:
                groups.enter(run)
            elif alone and any(map(groups.is_line, run)):
                self._add_text(run)
            else:
                for row in run:
                    table.numeric.update(numbers_in(places, row))
                    self._add_record(table, places, row, groups.path)
        self._add_text(remarks)

    def _add_record(self, table: SheetTable, places: Sequence[int], row: SheetRow, group: str) -> None:
        fields: dict[str, str] = {}
        columns: dict[str, str] = {}
        for place, cell in zip(places, row.cells, strict=True):
            if cell:
                name = table.columns.get(place, f"column {place}")
                fields[name], columns[name] = cell, column_letters(place)
        for name, said in (("Group", group), ("Table", table.title), ("Sheet", self._sheet)):
            if said and (name != "Sheet" or self._several):
                while name in fields:  # a column has this name
                    name += " (above)"
                fields[name] = said
        stands = {"sheet": self._sheet, "cells": columns}
        add_row(self._builder, fields, row.number, all_is_text=True, place=stands)

    def _add_text(self, rows: Iterable[SheetRow]) -> None:
        """Write rows without column names, each on one line."""
        held = [row for row in rows if row.filled]
        if held:
            text = "\n".join(map(_text, held))
            known = {"sheet": self._sheet, "row": held[0].number}
            self._builder.add_record(text, known, title=self._sheet)
            self._above = held if len(held) <= _MOST_TITLES else []


class _Groups:
    """The group names above rows of a table: "Assets", and below it "Current assets"."""

    def __init__(self, rows: Sequence[SheetRow], *, several: bool) -> None:
        self._first = bool(rows) and rows[0].filled == 1
        self._several = several
        self._names: list[str] = []
        self._looks: list[tuple[bool, bool]] = []

    @property
    def path(self) -> str:
        return SECTION_SEPARATOR.join(self._names)

    def is_line(self, row: SheetRow) -> bool:
        """Return whether a row with one text is a line above other rows, and not an item of the table."""
        return (len(row.cells) > 1 and all(row.cells)) or (self._first and bool(row.cells[0]))

    def is_group(self, row: SheetRow) -> bool:
        """Return whether a row may be the name of a group; an item without further values is not."""
        if row.filled != 1 or is_number(_text(row)):
            return False
        set_apart = self._several or row.is_bold or _text(row).endswith(":")
        return self.is_line(row) or (bool(row.cells[0]) and set_apart)

    def enter(self, rows: Sequence[SheetRow]) -> None:
        """Enter groups, each inside the one before it; the first one replaces a group that looks the same."""
        looks = [(row.is_bold, _text(row).isupper()) for row in rows]
        alike = [at for at, look in enumerate(self._looks) if look == looks[0]]
        kept = min(alike[-1] if alike else max(0, len(self._names) - 1), _DEEPEST_GROUP - 1)
        self._names[kept:], self._looks[kept:] = [_text(row).rstrip(": ") for row in rows], looks


def _has_numbers(rows: Sequence[SheetRow]) -> bool:
    """Return whether several columns hold numbers; if so, a row without numbers is the name of a group."""
    return sum(numeric_below(rows, at) for at in range(len(rows[0].cells) if rows else 0)) > 1


def column_letters(number: int) -> str:
    """Return the letters that name a column of a sheet, counted from 1: "AB" for 28."""
    letters = ""
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def _text(row: SheetRow) -> str:
    if row.filled == 1:
        return next(filter(None, row.cells))
    return write_row(row.cells, shorten=True)
