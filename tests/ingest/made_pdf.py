"""Small PDFs that tests set line by line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymupdf

from adaptive_rag.ingest import SourceText, extract_text

# Ligatures
FI, FL = "\ufb01", "\ufb02"


@dataclass(frozen=True)
class Text:
    """A line at a place; `y` counts from the top of the page."""

    text: str
    x: float = 60
    y: float = 100
    size: float = 11
    bold: bool = False


@dataclass(frozen=True)
class Rule:
    """A drawn line from one place to another; `y` counts from the top of the page."""

    x0: float
    y0: float
    x1: float
    y1: float


def paragraph(lines: Sequence[str], *, y: float = 100, x: float = 60, indent: float = 0) -> list[Text]:
    """Set lines under each other at the usual pitch."""
    return [Text(line, x + (indent if at == 0 else 0), y + 14 * at) for at, line in enumerate(lines)]


def make_pdf(
    path: Path,
    pages: Iterable[Sequence[Text | Rule]],
    *,
    bookmarks: Sequence[tuple[str, int]] = (),
    encrypted: bool = False,
) -> Path:
    """Write a PDF; `bookmarks` are (title, page)."""
    with pymupdf.open() as document:
        for page in pages:
            made = document.new_page()
            drawn = made.new_shape()
            for one in page:
                if isinstance(one, Rule):
                    drawn.draw_line((one.x0, one.y0), (one.x1, one.y1))
                    drawn.finish()
                    continue
                font = "hebo" if one.bold else "helv"
                if max(one.text, default="") > "\xff":  # which the usual fonts do not have
                    made.insert_font(fontname=(font := "F0"), fontbuffer=pymupdf.Font("helv").buffer)
                drawn.insert_text((one.x, one.y), one.text, fontsize=one.size, fontname=font)
            drawn.commit()
        document.set_toc([[1, title, page] for title, page in bookmarks])
        secret = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "user_pw": "secret"} if encrypted else {}
        document.save(path, **secret)
    return path


def read_pdf(folder: Path, *pages: Sequence[Text | Rule], **options: Any) -> SourceText:
    """Make a PDF of these pages, and read it."""
    return extract_text(make_pdf(folder / "made.pdf", pages, **options))


def text_of(folder: Path, *pages: Sequence[Text | Rule], **options: Any) -> str:
    """Make a PDF of these pages, and return its text."""
    return read_pdf(folder, *pages, **options).text
