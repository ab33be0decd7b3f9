"""Records from the rows of a sheet, as from a CSV file, for the loaders of Excel and OpenDocument.

Sheets are laid out for people: a title, a blank row, a table, a remark below it. A table row is written
with its column names, and everything else as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from adaptive_rag.ingest.documents import SECTION_SEPARATOR, TextBuilder
from adaptive_rag.ingest.sheet_blocks import SheetBlock, SheetRow, find_blocks, is_number, is_numeric_column
from adaptive_rag.ingest.sheet_tables import (
    HEADER_SEARCH_ROWS,
    SheetTable,
    find_header,
    find_table_end,
    flag_numbers,
    join_headers,
)
from adaptive_rag.ingest.tables import add_row
from adaptive_rag.text.tables import write_row

# In characters and in lines: longer text above a table is not its title.
_MAX_TITLE_LENGTH, _MAX_TITLE_LINES = 80, 3
# More consecutive rows than this with a single text are items without values, not names of nested groups.
_MAX_GROUP_DEPTH = 3
# Remarks: "* restated", "1) before tax", "Source: ...", "Note: ..."
_REMARK = re.compile(
    r"[*†‡¹²³]|\(?\d{1,2}\)|(?:notes?|sources?|quellen?|anmerkung(?:en)?)\b|.{80}", re.IGNORECASE
)


@dataclass
class Sheet:
    """A sheet and its rows from top to bottom; the text of a merged cell is in each cell that it covers."""

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
    used = [sheet for sheet in sheets if sheet.shapes or any(row.text_count for row in sheet.rows)]
    for sheet in used:
        _SheetWriter(builder, sheet.name, names_sheet=len(used) > 1).write(sheet)


class _SheetWriter:
    """Writes a sheet; with `names_sheet`, each row names it."""

    def __init__(self, builder: TextBuilder, sheet_name: str, *, names_sheet: bool) -> None:
        self._builder = builder
        self._sheet_name = sheet_name
        self._names_sheet = names_sheet
        self._tables: list[SheetTable] = []  # the last table in each set of columns
        self._last_text: list[SheetRow] = []  # the last rows written as text, if they may be a title

    def write(self, sheet: Sheet) -> None:
        """Write the tables and texts of a sheet, and then what is drawn on it."""
        for block in join_headers(find_blocks(sheet.rows, sheet.columns)):
            start = 0
            while start < len(block.rows):
                start = self._write_table(block, start)
        for shape in sheet.shapes:
            self._builder.add_record(shape, {"sheet": self._sheet_name}, title=self._sheet_name)

    def _write_table(self, block: SheetBlock, start: int) -> int:
        """Write a block from `start` up to the row where another table begins, and return its index."""
        rows = block.rows
        if header := find_header(rows[start : start + HEADER_SEARCH_ROWS]):
            header_start, first = start + header.start, start + header.end
            title = self._find_title(rows[start:header_start], rows[header_start].number)
            self._add_text(rows[start:header_start])
            title = ", ".join(filter(None, (title, header.title)))
            table = SheetTable(dict(zip(block.columns, header.names, strict=True)), title)
            self._tables = [other for other in self._tables if other.columns.keys().isdisjoint(block.columns)]
            self._tables.append(table)
        elif continued := next(
            (table for table in reversed(self._tables) if table.continues_in(block, start)), None
        ):
            table, first = continued, start
        else:
            self._add_text(rows[start:])
            return len(rows)
        end = find_table_end(rows, block.columns, first)
        self._write_rows(table, block.columns, rows[first:end], rows[first - 1] if header else None)
        return end

    def _find_title(self, above: Sequence[SheetRow], header_number: int) -> str:
        """Return the title above a header, such as "Balance sheet, in EUR million"; "" if there is none.

        `above` has the rows of the block above the header. If there are none, it is the text that was written
        last, if only a blank row separates it from the header.
        """
        above = above or [
            row for row in self._last_text if row.number >= header_number - 1 - len(self._last_text)
        ]
        if len(above) > _MAX_TITLE_LINES or any(row.text_count != 1 for row in above):
            return ""
        lines = list(map(_row_text, above))
        is_title = all(len(line) <= _MAX_TITLE_LENGTH and line[-1] not in ".!?" for line in lines)
        return ", ".join(lines) if is_title else ""

    def _write_rows(
        self, table: SheetTable, columns: Sequence[int], rows: Sequence[SheetRow], header: SheetRow | None
    ) -> None:
        """Write the rows of a table, and the remarks below them."""
        end = len(rows)
        while end and rows[end - 1].text_count == 1 and _REMARK.match(_row_text(rows[end - 1])):
            end -= 1
        rows, remarks = rows[:end], rows[end:]
        groups = _Groups(rows)
        if header:  # it may be repeated after page breaks
            rows = [row for row in rows if row.cells != header.cells]
        for may_be_groups, run in groupby(rows, groups.may_be_group):
            run_rows = list(run)
            if may_be_groups and len(run_rows) <= _MAX_GROUP_DEPTH and run_rows[-1] is not rows[-1]:
                groups.enter(run_rows)
            elif may_be_groups and any(map(groups.is_line, run_rows)):
                self._add_text(run_rows)
            else:
                for row in run_rows:
                    table.numeric.update(flag_numbers(columns, row))
                    self._add_record(table, columns, row, groups.path)
        self._add_text(remarks)

    def _add_record(self, table: SheetTable, columns: Sequence[int], row: SheetRow, group: str) -> None:
        """Add a row as a record, with its group, the table's title and the sheet as further fields."""
        fields: dict[str, str] = {}
        letters: dict[str, str] = {}
        for column, cell in zip(columns, row.cells, strict=True):
            if cell:
                name = table.columns.get(column, f"column {column}")
                fields[name], letters[name] = cell, column_letters(column)
        sheet = self._sheet_name if self._names_sheet else ""
        for name, value in (("Group", group), ("Table", table.title), ("Sheet", sheet)):
            if value:
                while name in fields:  # a column has this name
                    name += " (above)"
                fields[name] = value
        place = {"sheet": self._sheet_name, "cells": letters}
        add_row(self._builder, fields, row.number, all_is_text=True, place=place)

    def _add_text(self, rows: Iterable[SheetRow]) -> None:
        """Write rows without column names, each on one line."""
        filled = [row for row in rows if row.text_count]
        if filled:
            text = "\n".join(map(_row_text, filled))
            metadata = {"sheet": self._sheet_name, "row": filled[0].number}
            self._builder.add_record(text, metadata, title=self._sheet_name)
            self._last_text = filled if len(filled) <= _MAX_TITLE_LINES else []


class _Groups:
    """The group names above rows of a table: "Assets", and below it "Current assets"."""

    def __init__(self, rows: Sequence[SheetRow]) -> None:
        self._begins_with_group = bool(rows) and rows[0].text_count == 1
        column_count = len(rows[0].cells) if rows else 0
        # If several columns are numeric, a row without numbers is the name of a group.
        self._has_numbers = sum(is_numeric_column(rows, index) for index in range(column_count)) > 1
        self._names: list[str] = []
        self._looks: list[tuple[bool, bool]] = []  # whether each name is bold, and in capitals

    @property
    def path(self) -> str:
        return SECTION_SEPARATOR.join(self._names)

    def is_line(self, row: SheetRow) -> bool:
        """Return whether a row with one text is a line above other rows, and not an item of the table."""
        is_merged = len(row.cells) > 1 and all(row.cells)
        return is_merged or (self._begins_with_group and bool(row.cells[0]))

    def may_be_group(self, row: SheetRow) -> bool:
        """Return whether a row may be the name of a group, and not an item without values."""
        if row.text_count != 1 or is_number(_row_text(row)):
            return False
        stands_out = self._has_numbers or row.is_bold or _row_text(row).endswith(":")
        return self.is_line(row) or (bool(row.cells[0]) and stands_out)

    def enter(self, rows: Sequence[SheetRow]) -> None:
        """Enter groups, each inside the one before it; the first one replaces a group that looks the same."""
        looks = [(row.is_bold, _row_text(row).isupper()) for row in rows]
        alike = [depth for depth, look in enumerate(self._looks) if look == looks[0]]
        depth = min(alike[-1] if alike else max(0, len(self._names) - 1), _MAX_GROUP_DEPTH - 1)
        self._names[depth:], self._looks[depth:] = [_row_text(row).rstrip(": ") for row in rows], looks


def column_letters(number: int) -> str:
    """Return the letters that name a column of a sheet, counted from 1: "AB" for 28."""
    letters = ""
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def _row_text(row: SheetRow) -> str:
    if row.text_count == 1:
        return next(filter(None, row.cells))
    return write_row(row.cells, shorten=True)
