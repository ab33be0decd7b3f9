"""The rich text loader: the paragraphs, headings, lists and tables of an .rtf.

The control words are read directly: libraries for the format return plain text, without headings and lists.
The control words are defined in Microsoft's "Rich Text Format Specification", version 1.9.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import HEADING_STYLE, TextBuilder
from adaptive_rag.ingest.page_headers import add_page_edges
from adaptive_rag.ingest.properties import note_properties
from adaptive_rag.ingest.superscripts import raise_digits
from adaptive_rag.ingest.text import code_page
from adaptive_rag.text.tables import write_row

_TOKEN = re.compile(
    rb"\\(?:'(?P<byte>[0-9a-fA-F]{2})|(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|(?P<symbol>.))|"
    rb"(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+|\\",
    re.DOTALL,
)
# Groups that hold no text of the document.
_SKIPPED_GROUPS = frozenset(
    "colortbl filetbl pict nonshppict shprslt info listtable listoverridetable revtbl rsidtbl generator "
    "themedata colorschememapping datastore latentstyles fldinst bkmkstart bkmkend xe tc private annotation "
    "atnid atnauthor mmathPr xmlnstbl".split()
)
# Groups inside "info" that are noted as properties.
_PROPERTIES = ("title", "author")
# Groups whose text is not body text. The visible text of a "holder" is in a group inside it.
_PARTS = {
    **dict.fromkeys(("listtext", "pntext"), "listtext"),
    **dict.fromkeys((f"{edge}{side}" for edge in ("header", "footer") for side in ("", *"lrf")), "edge"),
    **dict.fromkeys(("object", "shpinst"), "holder"),
    "footnote": "footnote",
}
_HOLDER_PARTS = {"result": "", "shptxt": "box"}
# Groups that are read although "*" says that a reader may ignore them.
_READ_DESPITE_STAR = ("shpinst", "shptxt", "footnote", "listtext", "pntext")
_CHARACTERS = {
    "tab": " ", "line": " ", "nestcell": " ", "nestrow": " ", "emdash": "—", "endash": "–", "lquote": "‘",
    "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•", "~": " ", "_": "-", "{": "{", "}": "}",
    "\\": "\\", "emspace": " ", "enspace": " ", "qmspace": " ",
}  # fmt: skip
# A backslash at the end of a line ends a paragraph, as in the files of macOS.
_PARAGRAPH_ENDS = ("par", "page", "sect", "\r", "\n")
_CHARSETS = {
    77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "big5", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip
_DEFAULT_ENCODINGS = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}


@dataclass(slots=True)
class _State:
    """The settings that apply in a group and end with it."""

    part: str = ""
    """The content of the group, if it is not body text.

    It is "fonttbl", "stylesheet", "title", "author", "listtext", "footnote", "box", "edge" (of pages),
    "holder" (of text) or "skipped".
    """
    encoding: str = ""
    hidden: bool = False
    raised: bool = False
    """Whether letters are superscripts."""
    fallback: int = 1
    """The number of substitute characters after each Unicode character."""
    style: int = 0
    outline: int = -1
    in_table: bool = False


def load_rtf(path: Path, builder: TextBuilder) -> None:
    """Write the text of a rich text document into `builder`."""
    write_rtf(path.read_bytes(), builder)


def write_rtf(data: bytes, builder: TextBuilder) -> None:
    """Write rich text into `builder`.

    Raises:
        IndexingError: the data is not rich text.
    """
    if not data.lstrip().startswith(b"{\\rtf"):
        raise IndexingError(
            "is not a rich text document: it does not begin with {\\rtf. Give it its own suffix"
        )
    body = TextBuilder()
    reader = _Reader(body)
    reader.read(data)
    note_properties(builder, **reader.properties)
    add_page_edges(builder, reader.edges, [body.text])
    builder.insert(body)
    if reader.depth > 0:
        builder.notes.append("breaks off before its end: what is there was read")


class _Reader:
    """Reads rich text token by token, and writes each paragraph and table when it ends."""

    def __init__(self, builder: TextBuilder) -> None:
        self.depth = 0
        self.edges: list[str] = []
        """The paragraphs of page headers and footers."""
        self.properties: dict[str, str] = {}
        self._builder = builder
        self._state = _State()
        self._stack: list[_State] = []
        self._encoding = "cp1252"
        self._fonts: dict[int, str] = {}
        self._levels: dict[int, int] = {}  # heading levels by style number
        self._font = 0  # the font whose encoding is defined next
        self._bytes = bytearray()  # not yet decoded
        self._default_font = 0
        self._after_star = False  # whether the last word was "*" at the start of a group
        self._to_skip = 0  # the number of substitute characters still to be skipped
        self._words: dict[str, list[str]] = {"": []}  # of the current paragraph, by part
        self._boxes: list[str] = []  # the paragraphs of text boxes
        self._cells: list[str] = []
        self._rows: list[str] = []

    def read(self, data: bytes) -> None:
        """Read all tokens."""
        position, begins_group = 0, False
        while token := _TOKEN.match(data, position):
            position = token.end()
            if token["byte"]:
                self._add_bytes(bytes.fromhex(token["byte"].decode()))
            elif token["text"]:
                self._add_bytes(token["text"])
            elif token["brace"] == b"{":
                self._flush()
                self._stack.append(self._state)
                self._state = replace(self._state)
                self.depth += 1
            elif token["brace"]:
                self._close_group()
            elif token["word"] or token["symbol"]:
                self._flush()
                word = (token["word"] or token["symbol"]).decode("latin-1")
                number = int(token["number"]) if token["number"] else None
                if word == "bin":
                    position += max(number or 0, 0)
                elif word == "*":  # "*" has a meaning only at the start of a group
                    self._after_star, begins_group = begins_group, False
                    continue
                else:
                    self._apply_word(word, number)
            self._after_star = False
            begins_group = token["brace"] == b"{" or (begins_group and not token[0].strip())
        self._flush()
        self._end_paragraph()
        self._end_table()
        self.properties = {name: self._take(name) for name in _PROPERTIES}

    def _close_group(self) -> None:
        """End a group: restore the settings before it, and keep what it held besides body text."""
        self._flush()
        closed, self._to_skip = self._state, 0
        self.depth -= 1
        if self._stack:
            self._state = self._stack.pop()
        if closed.part == "edge" != self._state.part:
            self.edges.append(self._take("edge"))
        if closed.part == "box" != self._state.part:
            self._boxes.append(self._take("box"))
        if closed.part == self._state.part == "stylesheet":
            heading = HEADING_STYLE.match(self._take("stylesheet"))
            if heading or 0 <= closed.outline < 9:
                self._levels[closed.style] = int(heading[1] or 1) if heading else closed.outline + 1

    def _apply_word(self, word: str, number: int | None) -> None:
        """Apply a control word; an unknown one has an effect only after "*": its group is skipped."""
        state = self._state
        if word in _CHARACTERS:
            self._add(_CHARACTERS[word])
        elif word in _SKIPPED_GROUPS or (self._after_star and word not in _READ_DESPITE_STAR):
            state.part = "skipped"
        elif word in ("fonttbl", "stylesheet") or (word in _PROPERTIES and state.part == "skipped"):
            state.part = word
        elif word in _PARTS:
            state.part, state.raised = state.part or _PARTS[word], False
        elif word in _HOLDER_PARTS:
            state.part = _HOLDER_PARTS[word] if state.part == "holder" else state.part
        elif word == "u" and number is not None:
            self._add(chr(number & 0xFFFF))
            self._to_skip = state.fallback
        elif word == "uc":
            state.fallback = max(number or 0, 0)
        elif word in ("v", "deleted"):
            state.hidden = number != 0
        elif word in ("super", "sub", "nosupersub"):
            state.raised = word == "super" and number != 0
        elif word == "ansicpg" and number:
            self._encoding = _code_page_encoding(number)
        elif word in _DEFAULT_ENCODINGS:
            self._encoding = _DEFAULT_ENCODINGS[word]
        elif word == "plain":
            state.hidden = state.raised = False
            state.encoding = self._fonts.get(self._default_font, "")
        elif word == "deff":
            self._default_font = number or 0
        elif word == "cpg" and state.part == "fonttbl" and number:
            self._fonts[self._font] = _code_page_encoding(number)
        elif word == "f" and number is not None:
            self._font = number
            state.encoding = self._fonts.get(number, "")
        elif word == "fcharset" and state.part == "fonttbl":
            self._fonts[self._font] = _CHARSETS.get(number or 0, "")
        elif state.part != "skipped":
            self._apply_paragraph_word(word, number)

    def _apply_paragraph_word(self, word: str, number: int | None) -> None:
        """Apply a control word that sets or ends a paragraph, a cell or a row."""
        state = self._state
        if word == "pard":
            state.style, state.outline, state.in_table = 0, -1, False
        elif word == "s":
            state.style = number or 0
        elif word == "outlinelevel":
            state.outline = -1 if number is None else number
        elif word == "intbl":
            state.in_table = True
        elif word in ("cell", "row", *_PARAGRAPH_ENDS) and state.part in ("footnote", "box"):
            if state.part == "box" and word in _PARAGRAPH_ENDS:
                self._boxes.append(self._take("box"))
            self._add(" ")
        elif word in ("cell", "row"):
            self._end_cell(ends_row=word == "row")
        elif word in _PARAGRAPH_ENDS:
            if state.part == "edge":
                self.edges.append(self._take("edge"))
            elif state.in_table:
                self._add(" ")
            else:
                self._end_paragraph()

    def _add_bytes(self, data: bytes) -> None:
        skip_count = min(self._to_skip, len(data))
        self._to_skip -= skip_count
        self._bytes += data[skip_count:]

    def _flush(self) -> None:
        """Decode the collected bytes together, since a character may take several bytes."""
        if self._bytes:
            self._add(self._bytes.decode(self._state.encoding or self._encoding, "replace"))
            self._bytes.clear()

    def _add(self, text: str) -> None:
        if not self._state.hidden and self._state.part not in ("skipped", "fonttbl", "holder"):
            text = raise_digits(text) if self._state.raised else text
            self._words.setdefault(self._state.part, []).append(text)

    def _take(self, part: str) -> str:
        """Return the text collected for a part, and clear it."""
        text = "".join(self._words.pop(part, []))
        # The two surrogates of a character may have been added one after the other.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return " ".join(text.split())

    def _end_cell(self, *, ends_row: bool) -> None:
        text = " ".join(filter(None, (*map(self._take, ("listtext", "", "footnote")), *self._boxes)))
        self._boxes.clear()
        if text or not ends_row:
            self._cells.append(text)
        if ends_row:
            self._rows.append(write_row(self._cells, shorten=True))
            self._cells.clear()

    def _end_table(self) -> None:
        if self._cells:  # the last row has no end mark
            self._end_cell(ends_row=True)
        if rows := [row for row in self._rows if row]:
            self._builder.add_paragraph("\n".join(rows))
        self._rows.clear()

    def _end_paragraph(self) -> None:
        """Write a paragraph, with its marker if it is a list item, and then its notes and text boxes."""
        marker, text, note = map(self._take, ("listtext", "", "footnote"))
        attached, self._boxes = [each for each in (note, *self._boxes) if each], []
        if text or attached:
            self._end_table()
        if text:
            self._write_paragraph(text, marker)
        for each in attached:
            self._builder.add_paragraph(each)

    def _write_paragraph(self, text: str, marker: str) -> None:
        state = self._state
        level = state.outline + 1 if 0 <= state.outline < 9 else self._levels.get(state.style)
        if marker and not any(map(str.isalnum, marker)):
            marker = "-"
        if marker and level is not None:  # a heading's own number
            text, marker = f"{marker} {text}", ""
        self._builder.add_paragraph(text, level=level, marker=marker)


def _code_page_encoding(page: int) -> str:
    """Return the encoding of a code page, or that of Western Windows if it is unknown or UTF-16."""
    encoding = code_page(page)
    return "cp1252" if encoding is None or encoding.startswith("utf-16") else encoding
