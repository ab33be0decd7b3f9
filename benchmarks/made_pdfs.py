"""Writes the blocks of a made document as PDFs in several layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pymupdf

from benchmarks.made_documents import Block, Heading, Paragraph, Table
from benchmarks.made_formats import to_html

_PAPER = pymupdf.paper_rect("a4")
_MARGIN = (56, 70, -56, -70)
_STYLE = "body{font-size:10pt} p{margin:0 0 8px 0} td,th{padding:2px 6px}"
_RULED = _STYLE + "td,th{border:1px solid black}"
# in points: where the columns of a table without rules stand, and how far down a row is
_STOPS, _STEP = (56, 190, 270, 350, 420, 490), 16
_LINE = 64  # characters of a hyphenated line


def write_pdf(path: Path, blocks: Sequence[Block]) -> None:
    """Write pages of one column, with ruled tables and bookmarks."""
    _lay_out(path, blocks, [pymupdf.Rect(_PAPER) + _MARGIN], toc=True)


def write_columns(path: Path, blocks: Sequence[Block]) -> None:
    """Write pages of two columns; a table stands in one of them."""
    middle = (_PAPER.x0 + _PAPER.x1) / 2
    left = pymupdf.Rect(40, 70, middle - 10, _PAPER.y1 - 70)
    _lay_out(path, blocks, [left, pymupdf.Rect(middle + 10, left.y0, _PAPER.x1 - 40, left.y1)])


def write_running_heads(path: Path, blocks: Sequence[Block]) -> None:
    """Write pages with a running head, a page number and a line at their foot."""
    _lay_out(path, blocks, [pymupdf.Rect(_PAPER) + _MARGIN])
    with pymupdf.open(path) as document:
        for number, page in enumerate(document, start=1):
            page.insert_text((56, 40), "Harbour Board Annual Digest", fontsize=8)
            page.insert_text((500, 40), f"Page {number}", fontsize=8)
            page.insert_text((56, 810), "Printed for members only", fontsize=8)
        document.saveIncr()


def write_rotated(path: Path, blocks: Sequence[Block]) -> None:
    """Write pages that are stored on their side and shown upright."""
    _lay_out(path, blocks, [pymupdf.Rect(_PAPER) + _MARGIN])
    with pymupdf.open(path) as flat:
        turned = pymupdf.open()
        for page in flat:
            made = turned.new_page(width=_PAPER.height, height=_PAPER.width)
            made.show_pdf_page(made.rect, flat, page.number, rotate=90)
            made.set_rotation(90)
        turned.save(path.with_suffix(".turned"))
    path.with_suffix(".turned").replace(path)


def write_hyphenated(path: Path, blocks: Sequence[Block]) -> None:
    """Write narrow lines that cut words in two with hyphens; a table has its columns at fixed places."""
    _write_lines(path, blocks, hyphenate=True)


def write_unruled(path: Path, blocks: Sequence[Block]) -> None:
    """Write a table whose columns only blanks part."""
    _write_lines(path, blocks, hyphenate=False)


def write_form(path: Path, blocks: Sequence[Block]) -> None:
    """Write pages, and after them one with a form: the last paragraph's sentences are what was filled in."""
    *before, last = blocks
    assert isinstance(last, Paragraph)
    _lay_out(path, before, [pymupdf.Rect(_PAPER) + _MARGIN])
    with pymupdf.open(path) as document:
        page = document.new_page()
        for number, sentence in enumerate(last.sentences, start=1):
            widget = pymupdf.Widget()
            widget.field_type = pymupdf.PDF_WIDGET_TYPE_TEXT
            widget.field_name, widget.field_value = f"Remark {number}", sentence
            widget.text_fontsize = 6
            widget.rect = pymupdf.Rect(56, 60 * number, 560, 60 * number + 30)
            page.add_widget(widget)
        document.saveIncr()


def _lay_out(path: Path, blocks: Sequence[Block], frames: Sequence[Any], *, toc: bool = False) -> None:
    story = pymupdf.Story(to_html(blocks), user_css=_RULED)
    headings: list[tuple[int, str, int]] = []
    number = 0
    writer = pymupdf.DocumentWriter(str(path))
    more = True
    while more:
        device = writer.begin_page(_PAPER)
        number += 1
        for frame in frames if more else ():
            if more:
                more, _ = story.place(frame)
                story.element_positions(
                    lambda position: (
                        headings.append((position.heading, position.text, position.page))
                        if position.heading and position.open_close & 1
                        else None
                    ),
                    {"page": number},
                )
                story.draw(device)
        writer.end_page()
    writer.close()
    if toc and headings:
        with pymupdf.open(path) as document:
            document.set_toc([list(entry) for entry in headings])
            document.saveIncr()


def _write_lines(path: Path, blocks: Sequence[Block], *, hyphenate: bool) -> None:
    document = pymupdf.open()
    page, y = document.new_page(), 70.0

    def write(pieces: Sequence[tuple[float, str]], size: float = 10) -> None:
        nonlocal page, y
        if y > 760:
            page, y = document.new_page(), 70.0
        for x, text in pieces:
            page.insert_text((x, y), text, fontsize=size)
        y += _STEP

    for block in blocks:
        y += 10
        if isinstance(block, Heading):
            write([(_STOPS[0], block.text)], 15)
        elif isinstance(block, Paragraph):
            for line in _hyphenated(block.text) if hyphenate else _wrapped(block.text):
                write([(_STOPS[0], line)])
        elif isinstance(block, Table):
            for row in block.grid:
                filled = [cell for cell in row if cell[0]]
                free = len(block.columns) - sum(columns for _, columns, _ in filled)
                at = free
                pieces = []
                for text, columns, _ in filled:
                    pieces.append((_STOPS[at], text))
                    at += columns
                write(pieces)
    document.save(path)
    document.close()


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, 90, break_on_hyphens=False)


def _hyphenated(text: str) -> list[str]:
    """Fill each line to its end: a word that does not fit is cut, three letters or more on each side."""
    lines, line = [], ""
    for word in text.split():
        room = _LINE - len(line) - 1
        if len(word) <= room:
            line = f"{line} {word}".strip()
        elif room >= 5 and len(word) - room >= 3 and word.isalpha():
            lines.append(f"{line} {word[: room - 1]}-")
            line = word[room - 1 :]
        else:
            lines.append(line)
            line = word
    return [*lines, line]


LAYOUTS: dict[str, Callable[[Path, Sequence[Block]], None]] = {
    "columns": write_columns,
    "heads": write_running_heads,
    "rotated": write_rotated,
    "hyphens": write_hyphenated,
    "unruled": write_unruled,
    "form": write_form,
}
