"""Checks of whether a PDF is complete, and a new list of pages if its own is lost."""

from __future__ import annotations

import mmap
import re
from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError

# In bytes: mail and web servers add lines before a PDF, in which its start is searched for.
_MAX_LEAD = 65_536
_OBJECT = re.compile(rb"\b\d{1,10}\s+\d{1,5}\s+obj\b")
# The entries that a page inherits from the nodes above it, unless it has them itself (ISO 32000-1, 7.7.3.4).
_INHERITED = ("Resources", "MediaBox", "CropBox", "Rotate")
_MAX_DEPTH = 50


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


def has_entries(document: Any, number: int) -> bool:
    """Return whether a PDF has an object with this number that is not empty."""
    return 0 < number < document.xref_length() and bool(document.xref_get_keys(number))


def restore_pages(document: Any) -> None:
    """Build a new list of pages, in the order of the file, where a PDF's own list is lost."""
    catalog = document.pdf_catalog()
    numbers = range(1, document.xref_length())
    pages = [number for number in numbers if _read_entry(document, number, "Type") == "/Page"]
    if catalog < 1 or not pages:
        return
    for page in pages:
        for key in _INHERITED:
            if value := _find_inherited(document, page, key):
                document.xref_set_key(page, key, value)
    page_list = document.get_new_xref()
    kids = " ".join(f"{page} 0 R" for page in pages)
    document.update_object(page_list, f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>")
    for page in pages:
        document.xref_set_key(page, "Parent", f"{page_list} 0 R")
    document.xref_set_key(catalog, "Pages", f"{page_list} 0 R")


def _find_inherited(document: Any, page: int, key: str) -> str:
    """Return the value of an entry that a page inherits; "" if it has its own or there is none."""
    number = page
    for _ in range(_MAX_DEPTH):
        if value := _read_entry(document, number, key):
            return "" if number == page else value
        parent = _read_entry(document, number, "Parent").split()
        if not parent or not parent[0].isdigit():
            break
        number = int(parent[0])
        if not has_entries(document, number):
            break
    return ""


def _read_entry(document: Any, number: int, key: str) -> str:
    kind, value = document.xref_get_key(number, key)
    return "" if kind == "null" else str(value)
