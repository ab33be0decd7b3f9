"""What is wrong with a PDF that cannot be read, or only in part, and what to do with it."""

from __future__ import annotations

import mmap
import re
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import count, groupby
from pathlib import Path

from adaptive_rag.errors import IndexingError, install_line
from adaptive_rag.ingest.conversions import as_argument

_FETCH_OR_PRINT = "Fetch or copy it again, or, if a program shows it, print it from there to a new PDF"
DAMAGED = f"is damaged. {_FETCH_OR_PRINT}"
NO_PAGES = f"is damaged: no page can be read from it. {_FETCH_OR_PRINT}"
# In bytes: mail and web servers add lines before a PDF, in which its start is searched for.
_MAX_LEAD = 65_536
_OBJECT = re.compile(rb"\b\d{1,10}\s+\d{1,5}\s+obj\b")


def is_truncated(path: Path) -> bool:
    """Return whether the end of a PDF is missing: it has no end mark, or objects follow the last mark.

    Other data after the end is harmless: transfers and tapes fill the last block with NUL bytes, and web
    servers add a line.

    Raises:
        IndexingError: the file does not begin like a PDF.
    """
    with path.open("rb") as file:
        if b"%PDF-" not in file.read(_MAX_LEAD):
            raise IndexingError(
                "is not a PDF, though its name says so. Rename it with the suffix of its own kind"
            )
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            end = max(map(content.rfind, (b"%%EOF", b"startxref", b"trailer")))
            return end < 0 or _OBJECT.search(content, end) is not None


def describe_encrypted(path: Path) -> str:
    """Return what to do with a PDF that asks for a password."""
    return (
        "is encrypted and asks for a password. Save a copy without one, for example with: "
        f"qpdf --decrypt --password=... {_name_copy(path, 'open')}"
    )


def describe_truncated(path: Path) -> str:
    """Return what to do with a PDF whose end is missing."""
    return (
        "is truncated: the file breaks off before its end. Fetch or copy it again, or save what is left: "
        f"qpdf {_name_copy(path, 'rest')}"
    )


def describe_textless(
    path: Path, pages: int, textless_pages: int, image_pages: int, hidden_words: int
) -> str:
    """Return why no text was found in a PDF, and what to do if its reader sees text."""
    all_pages = f"its {pages} page{'s are' if pages != 1 else ' is'}"
    advice = f"If you see text in it, {_advise_copy(path, '--force-ocr ')}"
    if textless_pages < pages:
        return f"its fonts do not say which letters they show. {advice}"
    if hidden_words:
        return f"the words in it are invisible ({hidden_words:,}). {advice}"
    if not image_pages:
        return f"{all_pages} empty. {advice}"
    if find_spec("rapidocr") is None:
        return f"{all_pages} only images{advise_ocr(path)}"
    return f"{all_pages} only images, without text. {advice}"


def advise_ocr(path: Path) -> str:
    """Return how to have pictures of text read; it continues a sentence."""
    return f". To have pictures of text read: {install_line('ocr')}, or {_advise_copy(path)}"


def _advise_copy(path: Path, option: str = "") -> str:
    return f"make a copy that holds the text: ocrmypdf {option}{_name_copy(path, 'text')}"


def _name_copy(path: Path, ending: str) -> str:
    """Return the names of a PDF and of its copy as arguments of a command: "a.pdf a-text.pdf"."""
    return f"{as_argument(path.name)} {as_argument(f'{path.stem}-{ending}.pdf')}"


def format_ranges(numbers: Sequence[int]) -> str:
    """Format page numbers with ranges: "1-3, 7"."""
    positions = count()
    runs = [list(run) for _, run in groupby(numbers, key=lambda number: number - next(positions))]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
