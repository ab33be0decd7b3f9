"""Checks whether a PDF is complete."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from adaptive_rag.errors import IndexingError

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
