"""The loader of older Word documents, .doc: paragraphs, headings, lists, tables and notes, by [MS-DOC].

The text lies in pieces that a table names. What a paragraph or some letters are, stands in pages of
properties by their place in the file.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import olefile  # type: ignore[import-untyped]

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.properties import note_properties
from adaptive_rag.ingest.text import code_page
from adaptive_rag.text.tables import EMPTY_CELL

_WORD_97 = 0xC1
_ENCRYPTED, _TABLE_1 = 0x0100, 0x0200
# where the first block of the document stream says how long each part is, and where each structure lies
_COUNTS, _LETTERS, _PARAGRAPHS, _PIECES = 0x4C, 0xFA, 0x102, 0x1A2
_DELETED, _HIDDEN, _IN_TABLE, _ROW_END, _LIST = 0x0800, 0x083C, 0x2416, 0x2417, 0x460B
_NO_LIST = (0, 0xF801)
_OPERANDS = (1, 1, 2, 4, 2, 2, 0, 3)  # bytes of a property, by its upper bits; 0: their number stands first
_LONG_PROPERTY = 0xD608
_PAGE = 512
_UNSEEN = "\0"
_SHOWN = str.maketrans({"\x0b": " ", "\x0e": " ", "\x1e": "-", "\t": " ", "\xa0": " "})


class _Piece(NamedTuple):
    """A stretch of the text, in characters, and where it lies in the file, in bytes."""

    start: int
    end: int
    at: int
    width: int


class _Run(NamedTuple):
    """What holds for a stretch of the file."""

    start: int
    end: int
    style: int
    properties: Mapping[int, int]


def load_doc(path: Path, builder: TextBuilder) -> None:
    """Write an older Word document's text and headings into `builder`."""
    with open_ole(path, "a Word document", "Word", ".docx", builder) as file:
        data = file.openstream("WordDocument").read()
        flags = _u16(data, 0x0A)
        if flags & _ENCRYPTED:
            raise IndexingError("asks for a password. Save it as .docx without one")
        if _u16(data, 2) < _WORD_97:
            raise IndexingError("was written by Word 6 or 95. Save it as .docx in Word or LibreOffice")
        _Document(data, file.openstream("1Table" if flags & _TABLE_1 else "0Table").read(), builder).write()


@contextmanager
def open_ole(path: Path, kind: str, program: str, suffix: str, builder: TextBuilder) -> Iterator[Any]:
    """Open a document of Office 97, and say in plain words what is wrong with it; note its properties."""
    try:
        with olefile.OleFileIO(path) as file:
            yield file
            known = file.get_metadata()
    except (OSError, struct.error, IndexError) as error:
        ways = f"Open it in {program} or LibreOffice and save it as {suffix}"
        raise IndexingError(f"is not {kind} or is damaged. {ways}") from error
    title, author = (_decode(value, known.codepage) for value in (known.title, known.author))
    note_properties(builder, title=title, author=author, date=known.create_time)


def _decode(value: bytes | str | None, page: int | None) -> str:
    """Return a property that an OLE file holds in the code page that it names."""
    if isinstance(value, bytes):
        value = value.decode(code_page((page or 0) & 0xFFFF) or "cp1252", "replace")
    return str(value or "").strip("\0 ")


def _u16(data: bytes, at: int) -> int:
    return int(struct.unpack_from("<H", data, at)[0])


class _Document:
    def __init__(self, data: bytes, table: bytes, builder: TextBuilder) -> None:
        self._data, self._table, self._builder = data, table, builder
        self._pieces = list(self._read_pieces())
        self._runs = sorted(self._read_runs(_PARAGRAPHS, 13), key=lambda run: run.start)
        unseen = (_HIDDEN, _DELETED)
        letters = self._read_runs(_LETTERS, 1)
        hidden = [run for run in letters if any(run.properties.get(each) == 1 for each in unseen)]
        self._text = _without_codes("".join(self._read_piece(piece, hidden) for piece in self._pieces))
        self._cells: list[str] = []
        self._rows: list[str] = []

    def write(self) -> None:
        """Write the text, and below it the notes and what stands in boxes."""
        counts = struct.unpack_from("<7i", self._data, _COUNTS)
        if min(counts) < 0:
            raise IndexError("a part of the text has no length")
        text, footnotes, headers, macros, comments, endnotes, boxes = counts
        self._write_part(0, text)
        self._write_part(text, text + footnotes)
        at = text + footnotes + headers + macros + comments
        self._write_part(at, at + endnotes + boxes)

    def _read_pieces(self) -> Iterator[_Piece]:
        at, size = struct.unpack_from("<II", self._data, _PIECES)
        held, place = self._table[at : at + size], 0
        while held[place] == 1:  # properties that pieces share
            place += 3 + _u16(held, place + 1)
        if held[place] != 2:
            raise IndexError("there is no table of pieces")
        count = (struct.unpack_from("<I", held, place + 1)[0] - 4) // 12
        starts = struct.unpack_from(f"<{count + 1}I", held, place + 5)
        if starts[-1] > len(self._data) or any(start > end for start, end in pairwise(starts)):
            raise IndexError("the text is longer than the file")
        for number, (start, end) in enumerate(pairwise(starts)):
            (where,) = struct.unpack_from("<I", held, place + 5 + 4 * (count + 1) + 8 * number + 2)
            packed, where = bool(where & 0x40000000), where & 0x3FFFFFFF
            yield _Piece(start, end, where // 2 if packed else where, 1 if packed else 2)

    def _read_piece(self, piece: _Piece, hidden: list[_Run]) -> str:
        """Return the characters of a piece, with zeros for hidden and deleted ones, so that places stay."""
        length = piece.end - piece.start
        raw = self._data[piece.at : piece.at + length * piece.width]
        # the two halves of a character stay two, so that places count
        letters = (
            list(map(chr, struct.unpack(f"<{len(raw) // 2}H", raw[: len(raw) // 2 * 2])))
            if piece.width == 2
            else list(raw.decode("cp1252", "replace"))
        )
        letters += _UNSEEN * (length - len(letters))
        for run in hidden:
            low, high = ((at - piece.at) // piece.width for at in (run.start, run.end))
            for at in range(max(low, 0), min(high, length)):
                letters[at] = letters[at] if letters[at] in "\r\x07\x0c\x13\x14\x15" else _UNSEEN
        return "".join(letters)

    def _read_runs(self, where: int, width: int) -> Iterator[_Run]:
        """Yield what the pages of properties say of paragraphs, or of letters where `width` is 1."""
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
                    if width > 1:  # in words; a zero says that the length is in the next byte
                        length, start = (2 * length - 1, start) if length else (2 * held[start], start + 1)
                    properties = held[start : start + length]
                    if width > 1 and len(properties) > 1:
                        style, properties = _u16(properties, 0), properties[2:]
                yield _Run(places[number], places[number + 1], style, _read_properties(properties))

    def _write_part(self, start: int, end: int) -> None:
        """Write a stretch of the text, in which marks end paragraphs, cells and rows."""
        end = min(end, len(self._text))
        for found in re.finditer("[^\r\x07\x0c]*[\r\x07\x0c]|[^\r\x07\x0c]+$", self._text[start:end]):
            self._write_paragraph(_plain(found[0]), found[0][-1], self._run_at(start + found.end() - 1))
        self._end_table()

    def _run_at(self, place: int) -> _Run:
        piece = self._pieces[max(0, bisect_right(self._pieces, place, key=lambda piece: piece.start) - 1)]
        at = piece.at + (place - piece.start) * piece.width
        index = bisect_right(self._runs, at, key=lambda run: run.start) - 1
        return self._runs[index] if index >= 0 and at < self._runs[index].end else _Run(0, 0, 0, {})

    def _write_paragraph(self, text: str, mark: str, run: _Run) -> None:
        """Write a paragraph, or keep what is a cell until its row and table have ended."""
        known = run.properties
        if mark == "\x07" or known.get(_IN_TABLE):
            # without properties an empty cell is taken for the end of a row
            if mark == "\x07" and (known.get(_ROW_END) or (not known and not text and self._cells)):
                self._end_row()
            else:  # a cell of several paragraphs goes on behind each but the last
                goes_on = self._cells.pop()[:-1] if self._cells and self._cells[-1].endswith("\r") else ""
                self._cells.append(f"{goes_on} {text}{'' if mark == chr(7) else mark}")
            return
        self._end_table()
        if text:
            level = run.style if 1 <= run.style <= 9 else None
            listed = level is None and known.get(_LIST, 0) not in _NO_LIST
            self._builder.add_paragraph(text, level=level, marker="-" if listed else "")

    def _end_row(self) -> None:
        cells = [cell.strip() for cell in self._cells]
        if any(cells):
            self._rows.append(" | ".join(cell or EMPTY_CELL for cell in cells))
        self._cells.clear()

    def _end_table(self) -> None:
        self._end_row()
        if self._rows:
            self._builder.add_paragraph("\n".join(self._rows))
        self._rows.clear()


def _read_properties(data: bytes) -> dict[int, int]:
    """Return the properties that hold one number."""
    found, at = dict[int, int](), 0
    while at + 2 < len(data):
        number = _u16(data, at)
        size = _OPERANDS[number >> 13]
        if not size:
            size = 1 + _u16(data, at + 2) if number == _LONG_PROPERTY else 1 + data[at + 2]
        else:
            found[number] = int.from_bytes(data[at + 2 : at + 2 + size], "little")
        at += 2 + size
    return found


def _without_codes(text: str) -> str:
    """Put zeros in the place of the codes of fields, "HYPERLINK ...", and keep what they show.

    A code ends with its paragraph or cell, whatever ends the field.
    """
    parts, done = [], 0
    codes: list[bool] = []  # whether the code of each open field goes on
    for found in re.finditer("[\r\x07\x13\x14\x15]", text):
        at, kept = found.start(), not any(codes[-1:])
        parts.append(text[done:at] if kept else _UNSEEN * (at - done))
        is_end = found[0] in "\r\x07"
        parts.append(found[0] if is_end else _UNSEEN)
        done = at + 1
        if is_end:
            codes = [False] * len(codes)
        elif found[0] == "\x13":
            codes.append(True)
        elif codes and found[0] == "\x14":
            codes[-1] = len(codes) > 1 and codes[-2]
        elif codes:
            codes.pop()
    return "".join(parts) + text[done:]


def _plain(text: str) -> str:
    text = re.sub("[\0-\x1f]", "", text.translate(_SHOWN))
    # two halves of a character were two characters until here
    return " ".join(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").split())
