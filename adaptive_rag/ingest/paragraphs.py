"""PDF paragraphs: write the lines of pages to the builder as paragraphs and headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from adaptive_rag.ingest.cleaning import clean
from adaptive_rag.ingest.documents import PARAGRAPH, TextBuilder
from adaptive_rag.ingest.layout import NEW_LINE, NEW_PARAGRAPH, WRAPPED, Flow, Line, Survey

_HEADING_CHARS, _HEADING_LINES = 150, 3
_LARGER = 1.1


class ParagraphWriter:
    """Writes lines into the builder; how a line ends depends on the next line.

    `outline` holds the bookmarks of each page as (level, title). Without bookmarks, lines in larger or bold
    type are headings.
    """

    def __init__(
        self, builder: TextBuilder, survey: Survey, outline: Mapping[int, list[tuple[int, str]]]
    ) -> None:
        self._builder = builder
        self._survey = survey
        self._outline = outline
        self._page_start = 0
        self._bookmarks: list[tuple[int, str]] = []  # of the page, not yet found on it
        self._start = 0  # offset of the paragraph
        self._lines: list[Line] = []  # its first lines, in case it is a heading
        self._found: list[tuple[int, str, tuple[float, bool]]] = []

    def write(self, pages: Iterable[tuple[int | None, Sequence[Line]]]) -> None:
        """Write all pages, and mark their headings; lines without a page number do not begin a page."""
        for line, number, following, relation in _follow(pages):
            if number is not None:
                self._mark_missed()
                self._builder.mark_page(number)
                self._page_start = self._builder.length
                self._bookmarks = list(self._outline.get(number, ()))
            if not self._lines:
                self._start = self._builder.length
            if len(self._lines) <= _HEADING_LINES:  # a heading has no more lines
                self._lines.append(line)
            self._write_line(line, following, relation)
        self._mark_missed()
        if self._outline:
            return
        # The largest type is the first level.
        ranks = sorted({rank for _, _, rank in self._found}, reverse=True)
        for offset, title, rank in self._found:
            self._builder.mark_heading(title, ranks.index(rank) + 1, offset=offset)

    def _write_line(self, line: Line, following: Line | None, relation: int) -> None:
        start = self._builder.length
        if line.columns:
            self._builder.add(" | ".join(map(self._read_cell, line.pieces)))
            self._mark_ocr(start, line)
            self._lines.clear()  # a row is not a heading
            if following is not None:
                self._builder.add("\n" if relation == NEW_LINE else PARAGRAPH)
            return
        pieces = [piece.strip() for piece in line.pieces]
        joint: str | None = None
        if relation == WRAPPED and following is not None:
            joint = self._survey.vocabulary.joins(line.text, following.text)
            if joint == "":  # the hyphen is dropped
                pieces[-1] = pieces[-1][:-1]
        self._builder.add(" ".join(map(clean, pieces)))
        self._mark_ocr(start, line)
        if relation == WRAPPED:
            if joint is None:
                self._builder.add(" ")
            return
        self._end_paragraph()
        if following is not None:
            self._builder.add("\n" if relation == NEW_LINE else PARAGRAPH)

    def _mark_ocr(self, start: int, line: Line) -> None:
        if line.confidence is not None:
            self._builder.mark_ocr(start, line.confidence)

    def _read_cell(self, cell: str) -> str:
        """Return the lines of a cell, joined into one."""
        first, *rest = map(clean, cell.split("\n"))
        for line in rest:
            joint = self._survey.vocabulary.joins(first, line)
            first = f"{first} {line}" if joint is None else f"{first[:-1]}{joint}{line}"
        return first

    def _mark_missed(self) -> None:
        """Mark the bookmarks whose titles were not found on the page, at the start of the page."""
        for level, title in self._bookmarks:
            self._builder.mark_heading(title, level, offset=self._page_start)

    def _end_paragraph(self) -> None:
        """Mark the paragraph that ends here as a heading, if it is one."""
        lines, self._lines = self._lines, []
        title = "".join(clean(line.text + " ") for line in lines).strip()
        if len(lines) > _HEADING_LINES or len(title) > _HEADING_CHARS:
            return
        key = _letters(title)
        for bookmark in self._bookmarks:
            wanted = _letters(bookmark[1])
            if wanted and (key == wanted or (wanted in key and len(wanted) > 0.5 * len(key))):
                self._builder.mark_heading(bookmark[1], bookmark[0], offset=self._start)
                self._bookmarks.remove(bookmark)
                return
        if self._stands_out(lines[0], title):
            self._found.append((self._start, title, (round(lines[0].size, 1), lines[0].bold)))

    def _stands_out(self, line: Line, title: str) -> bool:
        """Tell whether a line is in larger type than the body, or bold while the body is not."""
        if not re.search(r"[^\W\d_]{2}", title) or title.endswith((",", ";")):
            return False
        body = self._survey.body_size
        bold = line.bold and not self._survey.body_bold and not title.endswith(".")
        return line.size >= _LARGER * body or (bold and line.size >= 0.95 * body)


def _follow(
    pages: Iterable[tuple[int | None, Sequence[Line]]],
) -> Iterator[tuple[Line, int | None, Line | None, int]]:
    """Yield each line, the number of the page that it begins, the next line, and how that follows it."""
    waiting: tuple[Line, int | None] | None = None
    before = Flow(())
    for number, lines in pages:
        flow = Flow(lines)
        for index, line in enumerate(lines):
            if waiting:
                yield *waiting, line, flow.relation(index) if index else before.relation_across(flow, line)
            waiting = line, None if index else number
        before = flow if lines else before
    if waiting:
        yield *waiting, None, NEW_PARAGRAPH


def _letters(title: str) -> str:
    return "".join(char for char in title.casefold() if char.isalnum())
