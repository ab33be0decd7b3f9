"""The loader of older PowerPoint presentations, .ppt ([MS-PPT]): slides in order, with titles and notes.

The file is a tree of records. The texts of a slide's placeholders may be stored in the list of slides, where
the slide's shapes refer to them by number; all other texts are in the shapes themselves.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.ole import open_ole

# Kinds of records.
_DOCUMENT, _SLIDE, _NOTES, _NOTES_ATOM, _LIST, _PERSIST = 0x03E8, 0x03EE, 0x03F0, 0x03F1, 0x0FF0, 0x03F3
_SHOW_SETTINGS, _EDIT, _DIRECTORY = 0x03F9, 0x0FF5, 0x1772
_TEXT_KIND, _CHARS, _BYTES, _REFERENCE, _PLACEHOLDER = 0x0F9F, 0x0FA0, 0x0FA8, 0x0F9E, 0x0BC3
_SHAPE, _TEXTBOX = 0xF004, 0xF00D
_HEADER_SIZE, _CONTAINER = 8, 0xF
# Kinds of texts.
_NOTE_TEXT, _OTHER_TEXT = 2, 4
_TITLE_TEXTS, _BODY_TEXTS = (0, 6), (1, 5, 7, 8)
# Placeholders that are on every slide: date, number, footer, header.
_SKIPPED_PLACEHOLDERS = (7, 8, 9, 10)
_HIDDEN_FLAG = 0x04
_ENCRYPTED = 0xF3D1C4DF
_MAX_DEPTH = 30
_MOST_EDITS = 10_000


class _Record(NamedTuple):
    """The header of a record, and the span of its content."""

    kind: int
    instance: int
    start: int
    end: int
    is_container: bool


class _Text(NamedTuple):
    """A text of a slide, its kind, and its number in the list of slides if it is stored there."""

    kind: int
    text: str
    number: int | None = None


def load_ppt(path: Path, builder: TextBuilder) -> None:
    """Write an older presentation's slides into `builder`: a slide is a page, and its title a heading."""
    streams = ("PowerPoint Document", "Current User")
    with open_ole(path, builder, streams, kind="PowerPoint presentation", newer=".pptx") as file:
        data, user = (file.openstream(name).read() for name in streams)
        _Presentation(data, user, builder).write()


class _Presentation:
    """Reads the records of a presentation and writes its slides."""

    def __init__(self, data: bytes, user: bytes, builder: TextBuilder) -> None:
        self._data, self._builder = data, builder
        _, token, last_edit = struct.unpack_from("<III", user, 8)
        self._offsets = dict[int, int]()
        self._ids = dict[int, int]()
        self._document = 0
        if token == _ENCRYPTED:
            raise IndexingError("asks for a password. Save it as .pptx without one")
        self._read_edits(last_edit)

    def write(self) -> None:
        """Write the visible slides; a note names the hidden ones."""
        lists: dict[int, dict[int, list[_Text]]] = {}
        for record in self._iter_records(*self._part_span(self._document, _DOCUMENT)):
            if record.kind == _LIST:  # instance 0 lists the slides, 2 their notes
                lists[record.instance] = self._read_list(record)
        notes_of = dict[int, int]()
        for number in lists.get(2, {}):
            for record in self._iter_records(*self._part_span(number, _NOTES)):
                if record.kind == _NOTES_ATOM:
                    notes_of[struct.unpack_from("<I", self._data, record.start)[0]] = number
        hidden = []
        for position, (number, texts) in enumerate(lists.get(0, {}).items(), start=1):
            span = self._part_span(number, _SLIDE)
            if self._is_hidden(span):
                hidden.append(str(position))
                continue
            self._write_slide(span, texts, position)
            note = notes_of.get(self._ids[number])
            if note is not None:
                self._write_notes(self._part_span(note, _NOTES), lists[2][note])
        self._builder.note_hidden("slides", hidden)

    def _read_edits(self, offset: int) -> None:
        """Find the offsets of the parts, from the last edit back to the first; the latest offset counts."""
        for _ in range(_MOST_EDITS):
            edit = self._read_record(offset)
            if edit.kind != _EDIT:
                raise IndexError("an edit was expected")
            previous, directory_offset, document = struct.unpack_from("<III", self._data, edit.start + 8)
            self._document = self._document or document
            directory = self._read_record(directory_offset)
            entry = directory.start
            while directory.kind == _DIRECTORY and entry + 4 <= directory.end:
                (run,) = struct.unpack_from("<I", self._data, entry)
                first, count = run & 0xFFFFF, run >> 20
                part_offsets = struct.unpack_from(f"<{count}I", self._data, entry + 4)
                for number, part_offset in enumerate(part_offsets, start=first):
                    self._offsets.setdefault(number, part_offset)
                entry += 4 + 4 * count
            if not previous or previous >= offset:
                return
            offset = previous

    def _read_list(self, record: _Record) -> dict[int, list[_Text]]:
        """Return the texts of placeholders, each with its kind, by the slide's number in the file."""
        texts_of: dict[int, list[_Text]] = {}
        texts, kind = list[_Text](), _OTHER_TEXT
        for each in self._iter_records(record.start, record.end):
            if each.kind == _PERSIST:
                number, _, _, slide_id = struct.unpack_from("<IIiI", self._data, each.start)
                texts = texts_of.setdefault(number, [])
                self._ids[number] = slide_id
            elif each.kind == _TEXT_KIND:
                (kind,) = struct.unpack_from("<I", self._data, each.start)
            elif each.kind in (_CHARS, _BYTES):
                texts.append(_Text(kind, self._decode_text(each)))
        return texts_of

    def _write_slide(self, span: tuple[int, int], listed: list[_Text], position: int) -> None:
        """Write the texts of a slide's shapes, titles first, and then the listed texts that no shape uses."""
        texts, used = list[_Text](), set[int]()
        for text in self._shape_texts(*span):
            if text.number is None:
                texts.append(text)
            elif text.number < len(listed) and text.number not in used:
                used.add(text.number)
                texts.append(listed[text.number])
        texts += [text for number, text in enumerate(listed) if number not in used]
        texts.sort(key=lambda text: text.kind not in _TITLE_TEXTS)
        title = _lines(texts[0].text) if texts and texts[0].kind in _TITLE_TEXTS else []
        self._builder.begin_slide(position, " ".join(title))
        for text in texts[1:] if title else texts:
            for line in _lines(text.text):
                self._builder.add_paragraph(line, marker="-" if text.kind in _BODY_TEXTS else "")

    def _write_notes(self, span: tuple[int, int], listed: list[_Text]) -> None:
        texts = [*(text for text in self._shape_texts(*span) if text.number is None), *listed]
        lines = [line for text in texts if text.kind == _NOTE_TEXT for line in _lines(text.text)]
        for line in dict.fromkeys(lines):
            self._builder.add_paragraph(line)

    def _is_hidden(self, span: tuple[int, int]) -> bool:
        records = (record for record in self._iter_records(*span) if record.kind == _SHOW_SETTINGS)
        flags = (struct.unpack_from("<H", self._data, record.start + 10)[0] for record in records)
        return any(flag & _HIDDEN_FLAG for flag in flags)

    def _shape_texts(self, start: int, end: int) -> Iterator[_Text]:
        """Yield the texts of shapes; one that the list of slides stores has its number and no text."""
        for shape in self._find_records(start, end, _SHAPE):
            placeholders = self._find_records(shape.start, shape.end, _PLACEHOLDER)
            if any(self._data[each.start + 4] in _SKIPPED_PLACEHOLDERS for each in placeholders):
                continue
            for box in self._find_records(shape.start, shape.end, _TEXTBOX):
                kind = _OTHER_TEXT
                for record in self._iter_records(box.start, box.end):
                    if record.kind == _TEXT_KIND:
                        (kind,) = struct.unpack_from("<I", self._data, record.start)
                    elif record.kind == _REFERENCE:
                        yield _Text(kind, "", struct.unpack_from("<I", self._data, record.start)[0])
                    elif record.kind in (_CHARS, _BYTES):
                        yield _Text(kind, self._decode_text(record))

    def _decode_text(self, record: _Record) -> str:
        raw = self._data[record.start : record.end]
        return raw.decode("utf-16-le" if record.kind == _CHARS else "latin-1", "replace")

    def _part_span(self, number: int, kind: int) -> tuple[int, int]:
        """Return the span of a part's records; (0, 0) if the part is of another kind."""
        record = self._read_record(self._offsets[number]) if number in self._offsets else None
        return (record.start, record.end) if record and record.kind == kind else (0, 0)

    def _find_records(self, start: int, end: int, kind: int, depth: int = 0) -> Iterator[_Record]:
        """Yield the records of a kind, at any depth, in order."""
        if depth > _MAX_DEPTH:
            raise IndexError("its records are nested too deep")
        for record in self._iter_records(start, end):
            if record.kind == kind:
                yield record
            elif record.is_container:
                yield from self._find_records(record.start, record.end, kind, depth + 1)

    def _iter_records(self, start: int, end: int) -> Iterator[_Record]:
        while start + _HEADER_SIZE <= end:
            record = self._read_record(start, end)
            yield record
            start = record.end

    def _read_record(self, offset: int, limit: int | None = None) -> _Record:
        """Return the record at an offset; it ends no later than the record that contains it."""
        version, kind, length = struct.unpack_from("<HHI", self._data, offset)
        end = min(offset + _HEADER_SIZE + length, len(self._data) if limit is None else limit)
        return _Record(kind, version >> 4, offset + _HEADER_SIZE, end, version & 0xF == _CONTAINER)


def _lines(text: str) -> list[str]:
    """Return the paragraphs of a text, without placeholders for the slide's number or date."""
    lines = (" ".join(line.replace("\x0b", " ").replace("\0", "").split()) for line in text.split("\r"))
    return [line for line in lines if line.strip("* ")]
