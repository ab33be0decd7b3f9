"""Used while a PDF is opened: whether its file is whole."""

from __future__ import annotations

import mmap
import re
from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError

# Mail and web servers put lines of their own before a PDF. Readers look for its start in the first 1 kB.
_LONGEST_LEAD = 65_536
_END_MARKS = (b"%%EOF", b"startxref", b"trailer")
_OBJECT = re.compile(rb"\b\d{1,10}\s+\d{1,5}\s+obj\b")


def is_truncated(path: Path) -> bool:
    """Tell whether the end is missing: no mark of it is there, or objects go on behind it.

    What else stands behind the end is no part of a PDF: transfers and tapes fill a last block with NUL bytes,
    web servers add a line.

    Raises:
        IndexingError: the file does not begin as a PDF does.
    """
    with path.open("rb") as file:
        if b"%PDF-" not in file.read(_LONGEST_LEAD):
            raise IndexingError("is not a PDF, though its name says so. Give it the ending of its own kind")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            end = max(map(content.rfind, _END_MARKS))
            return end < 0 or _OBJECT.search(content, end) is not None


def has_entries(document: Any, at: int) -> bool:
    """Tell whether a PDF has an object of this number, and something in it."""
    return 0 < at < document.xref_length() and bool(document.xref_get_keys(at))
