"""The loaders of plain text and Markdown: the file as it stands, so that spans count in the file itself."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from contextlib import suppress
from pathlib import Path
from statistics import median_low

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.properties import note_properties

_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
# Python's encodings of domain names take forever for a page; what names its encoding in ASCII is not UTF-16
_NO_CHARSETS = ("punycode", "idna", "utf-16", "utf-32")
_WIDE = ["utf_16_le", "utf_16_be"]
_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+([^ \t\n].*)$", re.MULTILINE)
_SETEXT = re.compile(r"^(?! {0,3}(?:[-=#>|*+]|\d+[.)] ))(\S[^\n]*)\n {0,3}(=+|-{3,})[ \t]*$", re.MULTILINE)
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")
# "{3,}+" gives nothing back of what it took, so that a long line of backticks is not tried at each of them
_FENCE = re.compile(
    r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
# a longer line is no heading, and would only be cut
_LONGEST_HEADING = 1000
_FRONT_MATTER = re.compile(r"\A---\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


def load_text(path: Path, builder: TextBuilder) -> None:
    """Write a text file into `builder`."""
    builder.keeps_lines = True
    builder.add(decode(path.read_bytes(), builder))


def load_markdown(path: Path, builder: TextBuilder) -> None:
    """Write a Markdown file into `builder`, and note its headings."""
    builder.keeps_lines = True
    add_markdown(decode(path.read_bytes(), builder), builder)


def add_markdown(text: str, builder: TextBuilder) -> None:
    """Append Markdown as it stands, and note its headings; code blocks hold none."""
    before_all = builder.length
    fences = [match.span() for match in _FENCE.finditer(text)]
    front = _FRONT_MATTER.match(text)
    first = front.end() if front else 0
    if front:
        _note_front_matter(front[0], builder)
    found = [(match.start(), _without_closing(match[2]), len(match[1])) for match in _ATX.finditer(text)]
    found += [(match.start(), match[1], 1 if match[2][0] == "=" else 2) for match in _SETEXT.finditer(text)]
    for offset, title, level in found:
        before = bisect_right(fences, offset, key=lambda span: span[0])
        fenced = before > 0 and offset < fences[before - 1][1]
        if offset >= first and not fenced:
            builder.mark_heading(
                _EMPHASIS.sub("", title[:_LONGEST_HEADING]), level, offset=before_all + offset
            )
    builder.add(text)


def _note_front_matter(front: str, builder: TextBuilder) -> None:
    """Note what a Markdown file says of itself above its text, in YAML; what cannot be read is text alone."""
    import yaml  # type: ignore[import-untyped]

    try:
        # dates and numbers as they are written: a version 1.10 is no number
        known = yaml.load(front.strip("-. \n\t"), Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        builder.notes.append(f"its front matter is not YAML ({str(error).splitlines()[0]})")
        return
    if not isinstance(known, dict):
        return
    fields = {str(name).lower(): value for name, value in known.items()}
    author = fields.get("author") or fields.get("authors") or ""
    note_properties(
        builder,
        title=_plain(fields.get("title")),
        author=author if isinstance(author, list) else _plain(author),
        date=_plain(fields.get("date")),
        language=_plain(fields.get("lang") or fields.get("language")),
        tags=fields.get("tags") or fields.get("keywords") or "",
    )


def _plain(value: object) -> str:
    return value if isinstance(value, str) else ""


def _without_closing(title: str) -> str:
    """Return a heading without the marks that may close it: "Storms ##"."""
    title = title.rstrip()
    bare = title.rstrip("#")
    return bare.rstrip() if bare.endswith((" ", "\t")) else title


def decode(data: bytes, builder: TextBuilder, declared: str | None = None) -> str:
    """Turn bytes into text and note the encoding where it was not plain UTF-8.

    A byte order mark decides; else the encoding that a page or a mail declares, where it fits; else UTF-8;
    else the encoding is guessed. Line ends become line feeds.

    Raises:
        IndexingError: these are no characters at all.
    """
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    if encoding is None and declared:
        with suppress(LookupError, ValueError):
            known = codecs.lookup(declared).name
            if not known.startswith(_NO_CHARSETS):
                text = data.decode("cp1252" if known == "iso8859-1" else known)
                if known not in ("utf-8", "ascii"):
                    builder.metadata["encoding"] = known
                return _with_line_feeds(text)
    encoding = encoding or _guess(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise IndexingError(
            f"is not text in {encoding}, which its first bytes announce. Save it as UTF-8"
        ) from error
    if "\x00" in text:
        raise IndexingError(
            "holds zero bytes: it is a binary file, though its name says that it is text. "
            "Give it its own suffix"
        )
    if encoding != "utf-8":
        builder.metadata["encoding"] = encoding
    if not encoding.startswith("utf"):
        builder.notes.append(f"not UTF-8; read as {encoding}. Save it as UTF-8 if letters look wrong")
    return _with_line_feeds(text)


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _guess(data: bytes) -> str:
    """Guess an encoding by the letters that the bytes would be.

    A guess counts where it is sure: most letters are other than Latin (Russian, Greek, Japanese), or
    zero bytes say that it is UTF-16. All else is Windows-1252, because charset-normalizer takes a French
    text for Estonian, and a lone "°" for Chinese.
    """
    wide = b"\x00" in data
    if not wide:
        with suppress(UnicodeDecodeError):
            data.decode("utf-8")
            return "utf-8"
    from charset_normalizer import from_bytes

    matches = from_bytes(data, cp_isolation=_WIDE) if wide else from_bytes(data, cp_exclusion=_WIDE)
    if (best := matches.best()) and (letters := [char for char in str(best) if char.isalpha()]):
        middle = median_low(letters)
        # the bytes of a program would be Chinese in UTF-16
        if middle < "\u0800" if wide else middle > "\u024f":
            return best.encoding.replace("_", "-")
    with suppress(UnicodeDecodeError):  # five bytes have no meaning in Windows-1252
        data.decode("cp1252")
        return "cp1252"
    return "latin-1"
