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
_FOOTNOTES, _ENDNOTES, _CHARACTER_PAGES, _PARAGRAPH_PAGES = 0xAA, 0x20A, 0xFA, 0x102
_PIECE_TABLE, _PIECE_TABLE_95 = 0x1A2, 0x160
_DELETED, _HIDDEN, _IN_TABLE, _ROW_END, _LIST = 0x0800, 0x083C, 0x2416, 0x2417, 0x460B
_NO_LIST = (0, 0xF801)
# The bytes of a property, by its upper bits; 0 means that their number comes first.
_OPERAND_SIZES = (1, 1, 2, 4, 2, 2, 0, 3)
_LONG_PROPERTY = 0xD608
_PAGE_SIZE = 512
_HIDDEN_CHARACTER = "\0"
_PARAGRAPH_MARKS = re.compile("[\r\x07\x0c]")
_REPLACEMENTS = str.maketrans({"\x0b": " ", "\x0e": " ", "\x1e": "-", "\t": " ", "\xa0": " "})
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
    offset: int
    width: int
    """The bytes of a character: 1 or 2."""


class _Run(NamedTuple):
    """The style and the properties of a stretch of the file."""

    start: int
    end: int
    style: int
    properties: dict[int, int]


class _Paragraph(NamedTuple):
    """A paragraph or a cell: its span, its visible text, the mark that ends it, and its properties."""

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


def _u16(data: bytes, offset: int) -> int:
    return int(struct.unpack_from("<H", data, offset)[0])


class _Document:
    """Reads the text and the properties of a document, and writes its paragraphs."""

    def __init__(self, data: bytes, table: bytes, builder: TextBuilder) -> None:
        self._data, self._builder = data, builder
        self._is_word97 = _u16(data, 2) >= _WORD_97
        self._table = table if self._is_word97 else data
        self._pieces = list(self._read_pieces())
        self._piece_starts = [piece.start for piece in self._pieces]
        self._paragraph_runs = sorted(self._read_runs(_PARAGRAPH_PAGES, 13), key=lambda run: run.start)
        self._run_starts = [run.start for run in self._paragraph_runs]
        character_runs = self._read_runs(_CHARACTER_PAGES, 1)
        self._hidden_spans = sorted(
            (run.start, run.end)
            for run in character_runs
            if run.properties.get(_HIDDEN) == 1 or run.properties.get(_DELETED) == 1
        )
        self._text = _hide_field_codes("".join(map(self._read_piece, self._pieces)))
        self._cells: list[str] = []
        self._rows: list[str] = []

    def write(self) -> None:
        """Write the text, each note after the paragraph that refers to it, and then the text boxes."""
        counts = struct.unpack_from("<7i", self._data, 0x4C if self._is_word97 else 0x34)
        if min(counts) < 0:
            raise IndexError("a part of the text has no length")
        text, footnotes, headers, macros, comments, endnotes, boxes = counts
        endnotes_start = text + footnotes + headers + macros + comments
        notes = self._read_notes(_FOOTNOTES, text) | self._read_notes(_ENDNOTES, endnotes_start)
        pending = sorted(notes.items(), reverse=True)
        for paragraph in self._split_paragraphs(0, text):
            self._add(paragraph)
            while pending and pending[-1][0] <= paragraph.end and not self._cells and not self._rows:
                self._add_paragraphs(*pending.pop()[1])
        self._end_table()
        for _, note in reversed(pending):
            self._add_paragraphs(*note)
        if not self._is_word97:
            self._add_paragraphs(text, text + footnotes)
        self._add_paragraphs(endnotes_start + endnotes, endnotes_start + endnotes + boxes)

    def _read_pieces(self) -> Iterator[_Piece]:
        """Yield the pieces of the text in order; a simple file of Word 6 or 95 is one piece."""
        entry = _PIECE_TABLE if self._is_word97 else _PIECE_TABLE_95
        offset, size = struct.unpack_from("<II", self._data, entry)
        if not self._is_word97 and not (_u16(self._data, 0x0A) & _COMPLEX and size):
            start, end = struct.unpack_from("<II", self._data, 0x18)
            yield _Piece(0, max(0, min(end, len(self._data)) - start), start, 1)
            return
        structure, position = self._table[offset : offset + size], 0
        while structure[position] == 1:  # properties that pieces share
            position += 3 + _u16(structure, position + 1)
        if structure[position] != 2:
            raise IndexError("there is no table of pieces")
        count = (struct.unpack_from("<I", structure, position + 1)[0] - 4) // 12
        starts = struct.unpack_from(f"<{count + 1}I", structure, position + 5)
        locations = position + 5 + 4 * (count + 1)
        if starts[-1] > len(self._data):  # pieces that repeat one stretch endlessly
            raise IndexError("the text is longer than the file")
        for number, (start, end) in enumerate(itertools.pairwise(starts)):
            (location,) = struct.unpack_from("<I", structure, locations + 8 * number + 2)
            is_compressed, offset = bool(location & 0x40000000), location & 0x3FFFFFFF
            if start > end:
                raise IndexError("a piece ends before it starts")
            width = 1 if is_compressed or not self._is_word97 else 2
            yield _Piece(start, end, offset // 2 if is_compressed else offset, width)

    def _read_piece(self, piece: _Piece) -> str:
        """Return the characters of a piece; hidden and deleted ones become zeros, to keep offsets."""
        length = piece.end - piece.start
        raw = self._data[piece.offset : piece.offset + length * piece.width]
        if piece.width == 2:
            text = "".join(map(chr, struct.unpack(f"<{len(raw) // 2}H", raw[: len(raw) // 2 * 2])))
        else:
            encoding = "cp1252" if self._is_word97 else _CODE_PAGES.get(_u16(self._data, 6) & 0x3FF, "cp1252")
            text = raw.decode(encoding, "replace")
        parts, done = [], 0
        first = max(0, bisect_right(self._hidden_spans, (piece.offset, 0)) - 1)
        for start, end in itertools.islice(self._hidden_spans, first, None):
            low, high = (start - piece.offset) // piece.width, (end - piece.offset) // piece.width
            if low >= length:
                break
            low, high = max(low, done), min(high, len(text))
            if low < high:
                hidden = re.sub("[^\r\x07\x0c\x13-\x15]", _HIDDEN_CHARACTER, text[low:high])
                parts += [text[done:low], hidden]
                done = high
        return ("".join(parts) + text[done:]).ljust(length, _HIDDEN_CHARACTER)

    def _read_runs(self, entry: int, width: int) -> Iterator[_Run]:
        """Yield the properties of paragraphs or of characters from their pages, which an entry locates.

        `width` is the bytes of a page for each run besides its start: 13 for paragraphs, 1 for characters.
        """
        if not self._is_word97:
            return
        list_start, size = struct.unpack_from("<II", self._data, entry)
        count = max(0, min(size, len(self._table) - list_start) - 4) // 8
        numbers = struct.unpack_from(f"<{count}I", self._table, list_start + 4 * (count + 1)) if count else ()
        for number in dict.fromkeys(numbers):
            page = self._data[(number & 0x3FFFFF) * _PAGE_SIZE :][:_PAGE_SIZE]
            runs = page[-1] if len(page) == _PAGE_SIZE else 0
            if not runs or 4 * (runs + 1) + runs * width > _PAGE_SIZE:
                continue
            starts = struct.unpack_from(f"<{runs + 1}I", page)
            for index, (start, end) in enumerate(itertools.pairwise(starts)):
                style, properties = 0, b""
                if offset := 2 * page[4 * (runs + 1) + index * width]:
                    length, first = page[offset], offset + 1
                    if width > 1:  # in words; if it is 0, the length is in the next byte
                        length, first = (2 * length - 1, first) if length else (2 * page[first], first + 1)
                    properties = page[first : first + length]
                    if width > 1 and len(properties) > 1:
                        style, properties = _u16(properties, 0), properties[2:]
                yield _Run(start, end, style, _read_properties(properties))

    def _read_notes(self, entry: int, start: int) -> dict[int, tuple[int, int]]:
        """Return the spans of notes by the positions of their marks in the text."""
        if not self._is_word97:
            return {}
        references, size, texts, texts_size = struct.unpack_from("<4I", self._data, entry)
        count = (size - 4) // 6
        last = max(references + size, texts + texts_size)
        if count < 1 or texts_size < 4 * (count + 1) or last > len(self._table):
            return {}
        marks = struct.unpack_from(f"<{count}I", self._table, references)
        ends = struct.unpack_from(f"<{count + 1}I", self._table, texts)
        spans = itertools.pairwise(start + end for end in ends)
        return dict(zip(marks, spans, strict=True))

    def _split_paragraphs(self, start: int, end: int) -> Iterator[_Paragraph]:
        """Yield the paragraphs and cells of a stretch, each with the mark that ends it."""
        end = min(end, len(self._text))
        for mark in _PARAGRAPH_MARKS.finditer(self._text, start, end):
            text = _plain(self._text[start : mark.start()])
            yield _Paragraph(start, mark.start(), text, mark[0], self._run_at(mark.start()))
            start = mark.end()
        if start < end:
            yield _Paragraph(start, end, _plain(self._text[start:end]), "\r", self._run_at(end - 1))

    def _run_at(self, position: int) -> _Run | None:
        """Return the paragraph properties that apply to a character of the text."""
        piece = self._pieces[max(0, bisect_right(self._piece_starts, position) - 1)]
        offset = piece.offset + (position - piece.start) * piece.width
        index = bisect_right(self._run_starts, offset) - 1
        run = self._paragraph_runs[index] if index >= 0 else None
        return run if run and offset < run.end else None

    def _add(self, paragraph: _Paragraph) -> None:
        """Write a paragraph, or keep a cell until its row and table have ended."""
        text = paragraph.text
        if paragraph.mark == "\x07":
            # Without properties, an empty cell counts as the end of a row.
            if paragraph.has(_ROW_END) or (not paragraph.run and not text and self._cells):
                self._end_row()
            else:
                self._cells.append(f"{self._open_cell()} {text}")
            return
        if paragraph.has(_IN_TABLE):  # a cell of several paragraphs
            self._cells.append(f"{self._open_cell()} {text}\r")
            return
        self._end_table()
        if text:
            style = paragraph.run.style if paragraph.run else 0
            is_item = paragraph.run and paragraph.run.properties.get(_LIST, 0) not in _NO_LIST
            level = style if 1 <= style <= 9 else None
            self._builder.add_paragraph(text, level=level, marker="-" if is_item and level is None else "")

    def _open_cell(self) -> str:
        """Take back the last cell if it has not ended, that is, if it ends with a paragraph mark."""
        return self._cells.pop()[:-1] if self._cells and self._cells[-1].endswith("\r") else ""

    def _end_row(self) -> None:
        self._rows.append(write_row(map(str.strip, self._cells)))
        self._cells.clear()

    def _end_table(self) -> None:
        self._end_row()
        if rows := [row for row in self._rows if row.strip(f" |{EMPTY_CELL}")]:
            self._builder.add_paragraph("\n".join(rows))
        self._rows.clear()

    def _add_paragraphs(self, start: int, end: int) -> None:
        for paragraph in self._split_paragraphs(start, end):
            if paragraph.text:
                self._builder.add_paragraph(paragraph.text)


def _read_properties(data: bytes) -> dict[int, int]:
    """Return the properties that have a single number as their value."""
    properties, offset = dict[int, int](), 0
    while offset + 2 < len(data):
        number = _u16(data, offset)
        size = _OPERAND_SIZES[number >> 13]
        if not size:
            size = 1 + _u16(data, offset + 2) if number == _LONG_PROPERTY else 1 + data[offset + 2]
        else:
            properties[number] = int.from_bytes(data[offset + 2 : offset + 2 + size], "little")
        offset += 2 + size
    return properties


def _hide_field_codes(text: str) -> str:
    """Replace the codes of fields, "HYPERLINK ...", by zeros, and keep what the fields show.

    A code ends no later than its paragraph or cell, even if the field does not.
    """
    parts, done = [], 0
    codes: list[bool] = []  # of each open field: whether its code continues
    for mark in re.finditer("[\r\x07\x13\x14\x15]", text):
        offset, is_visible = mark.start(), not (codes and codes[-1])
        parts.append(text[done:offset] if is_visible else _HIDDEN_CHARACTER * (offset - done))
        ends_paragraph = mark[0] in "\r\x07"
        parts.append(mark[0] if ends_paragraph else _HIDDEN_CHARACTER)
        done = offset + 1
        if ends_paragraph:
            codes = [False] * len(codes)
        elif mark[0] == "\x13":
            codes.append(True)
        elif codes and mark[0] == "\x14":
            codes[-1] = len(codes) > 1 and codes[-2]
        elif codes:
            codes.pop()
    return "".join(parts) + text[done:]


def _plain(text: str) -> str:
    text = _CONTROLS.sub("", text.translate(_REPLACEMENTS))
    # Until here, a surrogate pair was two characters.
    return " ".join(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").split())
