"""The plain text loader: the file as it is, so that spans count characters of the file itself.

Only line ends change, and a letter with a separate accent, as in texts from a Mac, becomes one character,
as in the words of a question.
"""

from __future__ import annotations

import codecs
from collections import Counter
from contextlib import suppress
from pathlib import Path

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.cleaning import join_accents
from adaptive_rag.ingest.documents import TextBuilder

_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
# Python's codecs for domain names take forever for a page.
SLOW_CHARSETS = ("punycode", "idna")
# A page that declares its encoding in ASCII letters is not in UTF-16 or UTF-32.
_IGNORED_CHARSETS = (*SLOW_CHARSETS, "utf-16", "utf-32")
_UTF_16 = ["utf_16_le", "utf_16_be"]

# A text in UTF-8 has at least this many valid characters beyond ASCII for each damaged place; texts in other
# encodings have more damaged places than valid ones.
_LEAST_VALID = 10

# Encodings of Windows code pages by number; any other is called "cp" and its number.
_CODE_PAGES = {
    708: "iso8859-6", 1200: "utf-16-le", 1201: "utf-16-be", 10000: "mac_roman", 10006: "mac_greek",
    10007: "mac_cyrillic", 10029: "mac_latin2", 10081: "mac_turkish", 20127: "ascii", 20866: "koi8_r",
    20932: "euc_jp", 20936: "gb2312", 20949: "cp949", 21866: "koi8_u", 28591: "cp1252", 38598: "iso8859-8",
    50220: "iso2022_jp", 50221: "iso2022_jp", 50222: "iso2022_jp", 50225: "iso2022_kr", 51932: "euc_jp",
    51936: "gb2312", 51949: "euc_kr", 52936: "hz", 54936: "gb18030", 65000: "utf-7", 65001: "utf-8",
    **{28590 + part: f"iso8859-{part}" for part in range(2, 17)},
}  # fmt: skip


def load_text(path: Path, builder: TextBuilder) -> None:
    """Write a text file into `builder`."""
    builder.keeps_lines = True
    builder.add(decode(path.read_bytes(), builder))


def decode(data: bytes, builder: TextBuilder, declared: str | None = None) -> str:
    """Decode bytes to text, and note the encoding if it is not plain UTF-8.

    A byte order mark decides; else the encoding that a page or a mail declares, if the bytes are valid in it;
    else UTF-8, if they are valid in it but for a few places; else the encoding is guessed. Line ends become
    line feeds, and a letter with a separate accent becomes one character.

    Raises:
        IndexingError: the bytes are not text.
    """
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    if encoding is None and declared:
        with suppress(LookupError, ValueError):
            codec = codecs.lookup(declared).name
            if not codec.startswith(_IGNORED_CHARSETS):
                text = data.decode("cp1252" if codec == "iso8859-1" else codec)
                if codec not in ("utf-8", "ascii"):
                    builder.metadata["encoding"] = codec
                return _normalize(text)
    encoding = encoding or _guess(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if not encoding.startswith("utf-8") or not (damaged := _count_damage(data)):
            raise IndexingError(
                f"is not text in {encoding}, which its first bytes announce. Save it as UTF-8"
            ) from error
        text = data.decode(encoding, "replace")
        places = "place" if damaged == 1 else "places"
        builder.notes.append(f"not UTF-8 in {damaged:,} {places}, which are read as �. Save it as UTF-8")
    if "\x00" in text:
        raise IndexingError(
            "holds zero bytes: it is a binary file, though its name says that it is text. "
            "Give it its own suffix"
        )
    if encoding != "utf-8":
        builder.metadata["encoding"] = encoding
    if not encoding.startswith("utf"):
        builder.notes.append(f"not UTF-8; read as {encoding}. Save it as UTF-8 if letters look wrong")
    return _normalize(text)


def code_page(number: int | None) -> str | None:
    """Return the encoding of a Windows code page by its number; None if it is unknown."""
    with suppress(LookupError):
        return codecs.lookup(_CODE_PAGES.get(number or 0, f"cp{number}")).name
    return None


def _normalize(text: str) -> str:
    return join_accents(text.replace("\r\n", "\n").replace("\r", "\n"))


def _guess(data: bytes) -> str:
    """Guess an encoding from the letters that the bytes would decode to.

    A guess is used only if it is certain: most letters are not Latin (Russian, Greek, Japanese), or zero
    bytes show that it is UTF-16. Everything else is Windows-1252, because charset-normalizer takes a French
    text for Estonian, and a lone "°" for Chinese.
    """
    has_zeros = b"\x00" in data
    if not has_zeros:
        with suppress(UnicodeDecodeError):
            data.decode("utf-8")
            return "utf-8"
        if _count_damage(data):
            return "utf-8"
    from charset_normalizer import from_bytes

    matches = from_bytes(data, cp_isolation=_UTF_16) if has_zeros else from_bytes(data, cp_exclusion=_UTF_16)
    if (best := matches.best()) and (letters := Counter(filter(str.isalpha, str(best)))):
        # A program's bytes read as UTF-16 would be Chinese.
        far = sum(letters[letter] for letter in letters if letter >= ("\u0800" if has_zeros else "\u0250"))
        if (2 * far > letters.total()) is not has_zeros:
            return best.encoding.replace("_", "-")
    with suppress(UnicodeDecodeError):  # five bytes are undefined in Windows-1252
        data.decode("cp1252")
        return "cp1252"
    return "latin-1"


def _count_damage(data: bytes) -> int:
    """Return the number of damaged places in a text in UTF-8; 0 if it is more likely in another encoding."""
    text = data.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    valid = len(text) - len(text.encode("ascii", "ignore")) - damaged
    return damaged if valid >= _LEAST_VALID * damaged else 0
