"""The loaders of plain text and Markdown: the file as it stands, so that spans count in the file itself."""

from __future__ import annotations

import re
from pathlib import Path

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.builder import TextBuilder

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$", re.MULTILINE)
_SETEXT = re.compile(r"^(?! {0,3}(?:[-=#>|*+]|\d+[.)] ))(\S[^\n]*)\n {0,3}(=+|-{3,})[ \t]*$", re.MULTILINE)
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


def read_text(path: Path, builder: TextBuilder) -> None:
    """Write a text file into `builder`."""
    builder.add(decode(path.read_bytes(), builder))


def read_markdown(path: Path, builder: TextBuilder) -> None:
    """Write a Markdown file into `builder`, and note its headings; code blocks hold none."""
    text = decode(path.read_bytes(), builder)
    hidden = [match.span() for match in _FENCE.finditer(text)]
    if front := _FRONT_MATTER.match(text):
        hidden.append(front.span())
    found = [(match.start(), match[2], len(match[1])) for match in _ATX.finditer(text)]
    found += [(match.start(), match[1], 1 if match[2][0] == "=" else 2) for match in _SETEXT.finditer(text)]
    for offset, title, level in found:
        if not any(start <= offset < end for start, end in hidden):
            builder.mark_heading(_EMPHASIS.sub("", title), level, offset=offset)
    builder.add(text)


def decode(data: bytes, builder: TextBuilder) -> str:
    """Turn bytes into text and note the encoding where it was not plain UTF-8.

    A byte order mark decides; else UTF-8; else UTF-16 where every other byte is zero; else
    Windows-1252, of which Latin-1 is a part for all printed characters. Line ends become line feeds.

    Raises:
        IndexingError: these are no characters at all.
    """
    encoding = _guess(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise IndexingError(f"is not text in {encoding}, which its first bytes announce: {error}") from error
    if text.count("\x00") > 0:
        raise IndexingError("holds zero bytes: it is a binary file, though its name says that it is text")
    if encoding != "utf-8":
        builder.metadata["encoding"] = encoding
    if encoding in {"cp1252", "latin-1"}:
        builder.notes.append(f"is not UTF-8; read as {encoding}. Save it as UTF-8 if letters look wrong")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _guess(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return _guess_wide(data) or "utf-8"
    if wide := _guess_wide(data):
        return wide
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:  # five bytes have no meaning in Windows-1252
        return "latin-1"
    return "cp1252"


def _guess_wide(data: bytes) -> str | None:
    """Tell UTF-16 without a byte order mark by where its zero bytes stand."""
    sample = data[:4096]
    half = len(sample) // 2
    if half < 2 or len(data) % 2:
        return None
    if sample[1::2].count(0) > 0.7 * half and sample[::2].count(0) < 0.1 * half:
        return "utf-16-le"
    if sample[::2].count(0) > 0.7 * half and sample[1::2].count(0) < 0.1 * half:
        return "utf-16-be"
    return None
