"""Used where a PDF is read: its file opened, or what is wrong with it in plain words."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymupdf

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.conversions import as_argument

# what PyMuPDF raises where it finds no sense in a file
_BROKEN = (pymupdf.mupdf.FzErrorBase, RuntimeError)
_FETCH_OR_PRINT = "Fetch or copy it again, or, if a program shows it, print it from there to a new PDF"
# Mail and web servers put lines of their own before a PDF. Readers look for its start in the first 1 kB.
_LONGEST_LEAD = 65_536
_END_MARKS = (b"%%EOF", b"startxref", b"trailer")
_OBJECT = re.compile(rb"\b\d{1,10}\s+\d{1,5}\s+obj\b")


@contextmanager
def open_pdf(path: Path) -> Iterator[Any]:
    """Open a PDF, and say in plain words what goes wrong with it.

    Raises:
        IndexingError: it is damaged, truncated, encrypted, or none.
    """
    kind = path.suffix[1:].lower() if path.suffix.lower() in (".xps", ".oxps") else "pdf"
    truncated = kind == "pdf" and _is_truncated(path)
    tools = pymupdf.TOOLS
    shown = tools.mupdf_display_errors(), tools.mupdf_display_warnings()
    tools.mupdf_display_errors(False)
    tools.mupdf_display_warnings(False)
    document = None
    try:
        document = pymupdf.open(path, filetype=kind)
        if document.needs_pass:
            copy = f"{as_argument(path.name)} {as_argument(f'{path.stem}-open.pdf')}"
            raise IndexingError(
                "is encrypted and asks for a password. Save a copy without one, for example with: "
                f"qpdf --decrypt --password=... {copy}"
            )
        if truncated and document.is_repaired:
            raise IndexingError(_truncated(path))
        if kind != "pdf":  # such a document is printed to a PDF, for all that is asked of one
            document = pymupdf.open("pdf", document.convert_to_pdf())
        if not _has_pages(document):
            raise IndexingError(f"is damaged: no page can be read from it. {_FETCH_OR_PRINT}")
        yield document
    except IndexingError:
        raise  # said above, or by who reads the pages; it is a RuntimeError too
    except _BROKEN as error:
        raise IndexingError(_truncated(path) if truncated else f"is damaged. {_FETCH_OR_PRINT}") from error
    finally:
        if document is not None:
            document.close()
        tools.store_shrink(100)
        tools.mupdf_display_errors(shown[0])
        tools.mupdf_display_warnings(shown[1])


def _has_pages(document: Any) -> bool:
    """Tell whether a list of pages leads to its last one; a damaged list refers to itself, or to nothing."""
    try:
        pages = document.page_count
        return pages > 0 and all(_has_entries(document, document.page_xref(at)) for at in {0, pages - 1})
    except _BROKEN:
        return False


def _is_truncated(path: Path) -> bool:
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


def _has_entries(document: Any, at: int) -> bool:
    """Tell whether a PDF has an object of this number, and something in it."""
    return 0 < at < document.xref_length() and bool(document.xref_get_keys(at))


def _truncated(path: Path) -> str:
    rest = f"qpdf {as_argument(path.name)} {as_argument(f'{path.stem}-rest.pdf')}"
    return (
        "is truncated: the file breaks off before its end. Fetch or copy it again, or save what is left: "
        f"{rest}"
    )
