"""The loader of older PowerPoint presentations, .ppt: slides in order, with titles and notes, by [MS-PPT].

The file is a tree of records. A slide's placeholders may keep their texts apart, in the list of slides; all
other texts stand in the slide's own shapes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.word97 import open_ole

# kinds of records
_DOCUMENT, _SLIDE, _NOTES, _NOTES_ATOM, _LIST, _PERSIST = 0x03E8, 0x03EE, 0x03F0, 0x03F1, 0x0FF0, 0x03F3
_SHOW, _EDIT, _DIRECTORY = 0x03F9, 0x0FF5, 0x1772
_KIND, _CHARS, _BYTES, _REFERENCE, _PLACEHOLDER = 0x0F9F, 0x0FA0, 0x0FA8, 0x0F9E, 0x0BC3
_SHAPE, _TEXTBOX = 0xF004, 0xF00D
_HEAD, _CONTAINER = 8, 0xF
# kinds of texts
_NOTE, _OTHER = 2, 4
_TITLES, _BODIES = (0, 6), (1, 5, 7, 8)
# placeholders of what stands on every slide: date, number, footer, header
_FURNITURE = (7, 8, 9, 10)
_HIDDEN = 0x04
_ENCRYPTED = 0xF3D1C4DF
_DEEPEST = 30
_MOST_EDITS = 10_000
# the kind of a text, and its words
_Text = tuple[int, str]


class _Record(NamedTuple):
    kind: int
    instance: int
    start: int
    end: int
    container: bool


def load_ppt(path: Path, builder: TextBuilder) -> None:
    """Write an older presentation's slides into `builder`: a slide is a page, and its title a heading."""
    with open_ole(path, "a PowerPoint presentation", "PowerPoint", ".pptx", builder) as file:
        data, user = (file.openstream(name).read() for name in ("PowerPoint Document", "Current User"))
        _, token, last_edit = struct.unpack_from("<III", user, 8)
        if token == _ENCRYPTED:
            raise IndexingError("asks for a password. Save it as .pptx without one")
        _Presentation(data, builder).write(last_edit)


class _Presentation:
    def __init__(self, data: bytes, builder: TextBuilder) -> None:
        self._data, self._builder = data, builder
        self._places = dict[int, int]()

    def write(self, last_edit: int) -> None:
        """Write the slides that are shown; a note names the hidden ones."""
        lists: dict[int, dict[int, tuple[int, list[_Text]]]] = {}
        for record in self._part(self._read_edits(last_edit), _DOCUMENT):
            if record.kind == _LIST:
                lists[record.instance] = self._read_list(record)
        notes = dict[int, int]()  # by the slide that they are for
        for number in lists.get(2, {}):
            for record in self._part(number, _NOTES):
                if record.kind == _NOTES_ATOM:
                    notes[self._number(record)] = number
        hidden = []
        for position, (number, (identity, listed)) in enumerate(lists.get(0, {}).items(), start=1):
            shapes = list(self._part(number, _SLIDE))
            if any(self._data[each.start + 10] & _HIDDEN for each in shapes if each.kind == _SHOW):
                hidden.append(str(position))
                continue
            self._builder.mark_page(position)
            self._write_slide(self._texts(shapes, listed), position)
            if identity in notes:
                own = self._texts(list(self._part(notes[identity], _NOTES)), lists[2][notes[identity]][1])
                lines = (line for kind, text in own if kind == _NOTE for line in _lines(text))
                for line in dict.fromkeys(lines):
                    self._builder.add_paragraph(line)
        self._builder.note_hidden("slides", hidden)

    def _read_edits(self, at: int) -> int:
        """Find where the parts lie, from the last edit back to the first; return the document's number."""
        document = 0
        for _ in range(_MOST_EDITS):
            record = self._record(at)
            if record.kind != _EDIT:
                raise IndexError("an edit was expected")
            before, directory, root = struct.unpack_from("<III", self._data, record.start + 8)
            document = document or root
            held = self._record(directory)
            place = held.start
            while held.kind == _DIRECTORY and place + 4 <= held.end:
                (run,) = struct.unpack_from("<I", self._data, place)
                first, count = run & 0xFFFFF, run >> 20
                offsets = struct.unpack_from(f"<{count}I", self._data, place + 4)
                for number, offset in enumerate(offsets, start=first):
                    self._places.setdefault(number, offset)
                place += 4 + 4 * count
            if not before or before >= at:
                break
            at = before
        return document

    def _read_list(self, record: _Record) -> dict[int, tuple[int, list[_Text]]]:
        """Return by the number of each slide its id and the texts of its placeholders."""
        found: dict[int, tuple[int, list[_Text]]] = {}
        texts, kind = list[_Text](), _OTHER
        for each in self._records(record.start, record.end):
            if each.kind == _PERSIST:
                number, _, _, identity = struct.unpack_from("<IIiI", self._data, each.start)
                _, texts = found.setdefault(number, (identity, []))
            elif each.kind == _KIND:
                kind = self._number(each)
            elif each.kind in (_CHARS, _BYTES):
                texts.append((kind, self._text(each)))
        return found

    def _write_slide(self, texts: list[_Text], position: int) -> None:
        texts.sort(key=lambda each: each[0] not in _TITLES)
        title = _lines(texts[0][1]) if texts and texts[0][0] in _TITLES else []
        if title:
            self._builder.add_paragraph(" ".join(title), level=1)
        else:
            self._builder.mark_heading(f"Slide {position}", 1)
        for kind, text in texts[1:] if title else texts:
            for line in _lines(text):
                self._builder.add_paragraph(line, marker="-" if kind in _BODIES else "")

    def _texts(self, records: list[_Record], listed: list[_Text]) -> list[_Text]:
        """Return the texts of shapes; one may stand in the list and be named by its number there."""
        texts, named = list[_Text](), set[int]()
        for shape in self._below(records, _SHAPE):
            inside = list(self._records(shape.start, shape.end))
            if any(self._data[each.start + 4] in _FURNITURE for each in self._below(inside, _PLACEHOLDER)):
                continue
            kind = _OTHER
            for box in self._below(inside, _TEXTBOX):
                for record in self._records(box.start, box.end):
                    if record.kind == _KIND:
                        kind = self._number(record)
                    elif record.kind == _REFERENCE and (at := self._number(record)) < len(listed):
                        texts += [listed[at]] if at not in named else []
                        named.add(at)
                    elif record.kind in (_CHARS, _BYTES):
                        texts.append((kind, self._text(record)))
        return texts + [each for at, each in enumerate(listed) if at not in named]

    def _text(self, record: _Record) -> str:
        raw = self._data[record.start : record.end]
        return raw.decode("utf-16-le" if record.kind == _CHARS else "latin-1", "replace")

    def _number(self, record: _Record) -> int:
        return int(struct.unpack_from("<I", self._data, record.start)[0])

    def _part(self, number: int, kind: int) -> Iterator[_Record]:
        """Yield the records of a part by its number; none, if it is of another kind."""
        record = self._record(self._places[number]) if number in self._places else None
        if record and record.kind == kind:
            yield from self._records(record.start, record.end)

    def _below(self, records: list[_Record], kind: int, depth: int = 0) -> Iterator[_Record]:
        """Yield the records of a kind, at any depth, in their order."""
        if depth > _DEEPEST:
            raise IndexError("its records are nested too deep")
        for record in records:
            if record.kind == kind:
                yield record
            elif record.container:
                yield from self._below(list(self._records(record.start, record.end)), kind, depth + 1)

    def _records(self, start: int, end: int) -> Iterator[_Record]:
        while start + _HEAD <= end:
            record = self._record(start, end)
            yield record
            start = record.end

    def _record(self, at: int, limit: int | None = None) -> _Record:
        """Return the record at a place, which ends no later than the one that it lies in."""
        version, kind, length = struct.unpack_from("<HHI", self._data, at)
        end = min(at + _HEAD + length, len(self._data) if limit is None else limit)
        return _Record(kind, version >> 4, at + _HEAD, end, version & 0xF == _CONTAINER)


def _lines(text: str) -> list[str]:
    """Return the paragraphs of a text, without what stands for the number or the date of the slide."""
    lines = (" ".join(line.replace("\x0b", " ").split()) for line in text.split("\r"))
    return [line for line in lines if line.strip("*\0 ")]
