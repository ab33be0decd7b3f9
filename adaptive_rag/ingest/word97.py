"""The loader of older Word documents, .doc ([MS-DOC]): paragraphs, headings, lists, tables and notes.

The text is stored in pieces, which a table lists. The properties of paragraphs and letters are stored in
pages, by their position in the file. Only the text of Word 6 and 95 files is read, since their properties
have other numbers.
"""

from __future__ import annotations

import itertools
import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.ole import open_ole
from adaptive_rag.text.tables import EMPTY_CELL, write_row

_WORD_97 = 0xC1
_COMPLEX, _ENCRYPTED, _TABLE_1 = 0x0004, 0x0100, 0x0200
# The offsets, in the first block of the document stream, of the entries that locate each structure.
_FOOTNOTES, _ENDNOTES, _LETTERS, _PARAGRAPHS, _PIECES, _PIECES_95 = 0xAA, 0x20A, 0xFA, 0x102, 0x1A2, 0x160
_DELETED, _HIDDEN, _IN_TABLE, _ROW_END, _LIST = 0x0800, 0x083C, 0x2416, 0x2417, 0x460B
_NO_LIST = (0, 0xF801)
_OPERANDS = (1, 1, 2, 4, 2, 2, 0, 3)  # bytes of a property, by its upper bits; 0: their number comes first
_LONG_PROPERTY = 0xD608
_PAGE = 512
_UNSEEN = "\0"
_MARKS = re.compile("[\r\x07\x0c]")
_SHOWN = str.maketrans({"\x0b": " ", "\x0e": " ", "\x1e": "-", "\t": " ", "\xa0": " "})
_CONTROLS = re.compile("[\0-\x1f]")
# The encodings of Word 6 and 95, by the lower bits of the document's language; 1252 for all others.
_CODE_PAGES = {
    0x01: "cp1256", 0x02: "cp1251", 0x05: "cp1250", 0x08: "cp1253", 0x0D: "cp1255", 0x0E: "cp1250",
    0x15: "cp1250", 0x18: "cp1250", 0x19: "cp1251", 0x1A: "cp1250", 0x1B: "cp1250", 0x1F: "cp1254",
    0x22: "cp1251", 0x23: "cp1251", 0x24: "cp1250",
}  # fmt: skip


class _Piece(NamedTuple):
    """A stretch of the text, in characters, and its position in the file, in bytes."""

    start: int
    end: int
    at: int
    width: int


class _Run(NamedTuple):
    """The style and the properties of a stretch of the file."""

    start: int
    end: int
    style: int
    properties: dict[int, int]


class _Paragraph(NamedTuple):
    start: int
    end: int
    text: str
    mark: str
    run: _Run | None

    def has(self, number: int) -> bool:
        return bool(self.run and self.run.properties.get(number))


def load_doc(path: Path, builder: TextBuilder) -> None:
    """Write an older Word document's text and headings into `builder`."""
    with open_ole(path, builder, ("WordDocument",), kind="Word document", newer=".docx") as file:
        data = file.openstream("WordDocument").read()
        flags = _u16(data, 0x0A)
        if flags & _ENCRYPTED:
            raise IndexingError("asks for a password. Save it as .docx without one")
        name = "1Table" if flags & _TABLE_1 else "0Table"
        table = file.openstream(name).read() if file.exists(name) else b""
        _Document(data, table, builder).write()


def _u16(data: bytes, at: int) -> int:
    return int(struct.unpack_from("<H", data, at)[0])


class _Document:
    def __init__(self, data: bytes, table: bytes, builder: TextBuilder) -> None:
        self._data, self._builder = data, builder
        self._new = _u16(data, 2) >= _WORD_97
        self._table = table if self._new else data
        self._pieces = list(self._read_pieces())
        self._starts = [piece.start for piece in self._pieces]
        self._paragraphs = sorted(self._read_runs(_PARAGRAPHS, 13), key=lambda run: run.start)
        self._paragraph_starts = [run.start for run in self._paragraphs]
        letters = self._read_runs(_LETTERS, 1)
        self._hidden = sorted(
            (run.start, run.end)
            for run in letters
            if run.properties.get(_HIDDEN) == 1 or run.properties.get(_DELETED) == 1
        )
        self._text = _without_codes("".join(map(self._read_piece, self._pieces)))
        self._cells: list[str] = []
        self._rows: list[str] = []

    def write(self) -> None:
        """Write the text, each note after the paragraph that refers to it, and then the text boxes."""
        counts = struct.unpack_from("<7i", self._data, 0x4C if self._new else 0x34)
        if min(counts) < 0:
            raise IndexError("a part of the text has no length")
        text, footnotes, headers, macros, comments, endnotes, boxes = counts
        at_endnotes = text + footnotes + headers + macros + comments
        notes = self._read_notes(_FOOTNOTES, text) | self._read_notes(_ENDNOTES, at_endnotes)
        waiting = sorted(notes.items(), reverse=True)
        for paragraph in self._split(0, text):
            self._add(paragraph)
            while waiting and waiting[-1][0] <= paragraph.end and not self._cells and not self._rows:
                self._add_all(*waiting.pop()[1])
        self._end_table()
        for _, note in reversed(waiting):
            self._add_all(*note)
        if not self._new:
            self._add_all(text, text + footnotes)
        self._add_all(at_endnotes + endnotes, at_endnotes + endnotes + boxes)

    def _read_pieces(self) -> Iterator[_Piece]:
        at, size = struct.unpack_from("<II", self._data, _PIECES if self._new else _PIECES_95)
        if not self._new and not (_u16(self._data, 0x0A) & _COMPLEX and size):
            start, end = struct.unpack_from("<II", self._data, 0x18)
            yield _Piece(0, max(0, min(end, len(self._data)) - start), start, 1)
            return
        held, place = self._table[at : at + size], 0
        while held[place] == 1:  # properties that pieces share
            place += 3 + _u16(held, place + 1)
        if held[place] != 2:
            raise IndexError("there is no table of pieces")
        count = (struct.unpack_from("<I", held, place + 1)[0] - 4) // 12
        starts = struct.unpack_from(f"<{count + 1}I", held, place + 5)
        if starts[-1] > len(self._data):  # pieces that repeat one stretch endlessly
            raise IndexError("the text is longer than the file")
        for number, (start, end) in enumerate(itertools.pairwise(starts)):
            (where,) = struct.unpack_from("<I", held, place + 5 + 4 * (count + 1) + 8 * number + 2)
            packed, where = bool(where & 0x40000000), where & 0x3FFFFFFF
            if start > end:
                raise IndexError("a piece ends before it starts")
            yield _Piece(start, end, where // 2 if packed else where, 1 if packed or not self._new else 2)

    def _read_piece(self, piece: _Piece) -> str:
        """Return the characters of a piece; hidden and deleted ones become zeros, to keep offsets."""
        length = piece.end - piece.start
        raw = self._data[piece.at : piece.at + length * piece.width]
        if piece.width == 2:
            text = "".join(map(chr, struct.unpack(f"<{len(raw) // 2}H", raw[: len(raw) // 2 * 2])))
        else:
            page = "cp1252" if self._new else _CODE_PAGES.get(_u16(self._data, 6) & 0x3FF, "cp1252")
            text = raw.decode(page, "replace")
        parts, done = [], 0
        first = max(0, bisect_right(self._hidden, (piece.at, 0)) - 1)
        for start, end in self._hidden[first:]:
            low, high = (start - piece.at) // piece.width, (end - piece.at) // piece.width
            if low >= length:
                break
            low, high = max(low, done), min(high, len(text))
            if low < high:
                unseen = re.sub("[^\r\x07\x0c\x13-\x15]", _UNSEEN, text[low:high])
                parts += [text[done:low], unseen]
                done = high
        return ("".join(parts) + text[done:]).ljust(length, _UNSEEN)

    def _read_runs(self, where: int, width: int) -> Iterator[_Run]:
        """Yield the properties of paragraphs, or of letters if `width` is 1, from their pages."""
        if not self._new:
            return
        at, size = struct.unpack_from("<II", self._data, where)
        count = max(0, min(size, len(self._table) - at) - 4) // 8
        pages = struct.unpack_from(f"<{count}I", self._table, at + 4 * (count + 1)) if count else ()
        for page in dict.fromkeys(pages):
            held = self._data[(page & 0x3FFFFF) * _PAGE :][:_PAGE]
            runs = held[-1] if len(held) == _PAGE else 0
            if not runs or 4 * (runs + 1) + runs * width > _PAGE:
                continue
            places = struct.unpack_from(f"<{runs + 1}I", held)
            for number in range(runs):
                style, properties = 0, b""
                if at := 2 * held[4 * (runs + 1) + number * width]:
                    length, start = held[at], at + 1
                    if width > 1:  # in words; if it is 0, the length is in the next byte
                        length, start = (2 * length - 1, start) if length else (2 * held[start], start + 1)
                    properties = held[start : start + length]
                    if width > 1 and len(properties) > 1:
                        style, properties = _u16(properties, 0), properties[2:]
                yield _Run(places[number], places[number + 1], style, _read_properties(properties))

    def _read_notes(self, where: int, start: int) -> dict[int, tuple[int, int]]:
        """Return the spans of notes by the positions of their marks in the text."""
        if not self._new:
            return {}
        references, size, texts, more = struct.unpack_from("<4I", self._data, where)
        count = (size - 4) // 6
        if count < 1 or more < 4 * (count + 1) or max(references + size, texts + more) > len(self._table):
            return {}
        marks = struct.unpack_from(f"<{count}I", self._table, references)
        ends = struct.unpack_from(f"<{count + 1}I", self._table, texts)
        return {mark: (start + a, start + b) for mark, a, b in zip(marks, ends, ends[1:], strict=False)}

    def _split(self, start: int, end: int) -> Iterator[_Paragraph]:
        """Yield the paragraphs and cells of a stretch, each with the mark that ends it."""
        end = min(end, len(self._text))
        for mark in _MARKS.finditer(self._text, start, end):
            at = mark.start()
            yield _Paragraph(start, at, _plain(self._text[start:at]), mark[0], self._run_at(at))
            start = at + 1
        if start < end:
            yield _Paragraph(start, end, _plain(self._text[start:end]), "\r", self._run_at(end - 1))

    def _run_at(self, place: int) -> _Run | None:
        piece = self._pieces[max(0, bisect_right(self._starts, place) - 1)]
        at = piece.at + (place - piece.start) * piece.width
        index = bisect_right(self._paragraph_starts, at) - 1
        run = self._paragraphs[index] if index >= 0 else None
        return run if run and at < run.end else None

    def _add(self, paragraph: _Paragraph) -> None:
        """Write a paragraph, or keep a cell until its row and table have ended."""
        text = paragraph.text
        if paragraph.mark == "\x07":
            # Without properties, an empty cell counts as the end of a row.
            if paragraph.has(_ROW_END) or (not paragraph.run and not text and self._cells):
                self._rows.append(write_row(map(str.strip, self._cells)))
                self._cells.clear()
            else:
                self._cells.append(f"{self._open_cell()} {text}")
            return
        if paragraph.has(_IN_TABLE):  # a cell of several paragraphs
            self._cells.append(f"{self._open_cell()} {text}\r")
            return
        self._end_table()
        if text:
            style = paragraph.run.style if paragraph.run else 0
            listed = paragraph.run and paragraph.run.properties.get(_LIST, 0) not in _NO_LIST
            level = style if 1 <= style <= 9 else None
            self._builder.add_paragraph(text, level=level, marker="-" if listed and level is None else "")

    def _open_cell(self) -> str:
        """Take back the last cell if it has not ended, that is, if it ends with a paragraph mark."""
        return self._cells.pop()[:-1] if self._cells and self._cells[-1].endswith("\r") else ""

    def _end_table(self) -> None:
        if self._cells:
            self._rows.append(write_row(map(str.strip, self._cells)))
        if rows := [row for row in self._rows if row.strip(f" |{EMPTY_CELL}")]:
            self._builder.add_paragraph("\n".join(rows))
        self._cells.clear()
        self._rows.clear()

    def _add_all(self, start: int, end: int) -> None:
        for paragraph in self._split(start, end):
            if paragraph.text:
                self._builder.add_paragraph(paragraph.text)


def _read_properties(data: bytes) -> dict[int, int]:
    """Return the properties that have a single number as their value."""
    properties, at = dict[int, int](), 0
    while at + 2 < len(data):
        number = _u16(data, at)
        size = _OPERANDS[number >> 13]
        if not size:
            size = 1 + _u16(data, at + 2) if number == _LONG_PROPERTY else 1 + data[at + 2]
        else:
            properties[number] = int.from_bytes(data[at + 2 : at + 2 + size], "little")
        at += 2 + size
    return properties


def _without_codes(text: str) -> str:
    """Replace the codes of fields, "HYPERLINK ...", by zeros, and keep what the fields show.

    A code ends no later than its paragraph or cell, even if the field does not.
    """
    parts, done = [], 0
    codes: list[bool] = []  # of each open field: whether its code continues
    for mark in re.finditer("[\r\x07\x13\x14\x15]", text):
        at, kept = mark.start(), not any(codes[-1:])
        parts.append(text[done:at] if kept else _UNSEEN * (at - done))
        is_end = mark[0] in "\r\x07"
        parts.append(mark[0] if is_end else _UNSEEN)
        done = at + 1
        if is_end:
            codes = [False] * len(codes)
        elif mark[0] == "\x13":
            codes.append(True)
        elif codes and mark[0] == "\x14":
            codes[-1] = len(codes) > 1 and codes[-2]
        elif codes:
            codes.pop()
    return "".join(parts) + text[done:]


def _plain(text: str) -> str:
    text = _CONTROLS.sub("", text.translate(_SHOWN))
    # Until here, a surrogate pair was two characters.
    return " ".join(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").split())
