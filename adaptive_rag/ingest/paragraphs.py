"""PDF paragraphs: write the lines of pages to the builder as paragraphs and headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise

from adaptive_rag.ingest.cleaning import clean
from adaptive_rag.ingest.documents import PARAGRAPH, TextBuilder
from adaptive_rag.ingest.layout import NEW_LINE, NEW_PARAGRAPH, WRAPPED, Flow, Survey
from adaptive_rag.ingest.lines import Line

_MAX_HEADING_LENGTH, _MAX_HEADING_LINES = 150, 3
# The least type size of a heading that is not bold, as a multiple of the body's.
_HEADING_SIZE = 1.1
# The largest type size of a note, as a multiple of the body's.
_MAX_NOTE_SIZE = 0.9
_ENDED = re.compile(r"[.!?:]\W*$")


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
        self._bookmarks: list[tuple[int, str]] = []  # those of the page that were not found on it yet
        self._paragraph_start = 0  # offset
        self._paragraph_lines: list[Line] = []  # the first ones, in case the paragraph is a heading
        # Headings found without bookmarks: offset, title, and type size and whether it is bold.
        self._headings: list[tuple[int, str, tuple[float, bool]]] = []

    def write(self, pages: Iterable[tuple[int | None, Sequence[Line]]]) -> None:
        """Write all pages, and mark their headings; a page without a number is not marked as a page."""
        ordered = (
            (number, self._move_notes(lines, next_lines))
            for (number, lines), (_, next_lines) in pairwise(chain(pages, [(None, ())]))
        )
        for line, page, next_line, relation in _with_next_line(ordered):
            if page is not None:
                self._mark_remaining_bookmarks()
                self._builder.mark_page(page)
                self._page_start = self._builder.length
                self._bookmarks = list(self._outline.get(page, ()))
            if not self._paragraph_lines:
                self._paragraph_start = self._builder.length
            if len(self._paragraph_lines) <= _MAX_HEADING_LINES:  # a heading has no more lines
                self._paragraph_lines.append(line)
            self._write_line(line, next_line, relation)
        self._mark_remaining_bookmarks()
        if self._outline:
            return
        # The largest type is the first level.
        ranks = sorted({rank for _, _, rank in self._headings}, reverse=True)
        for offset, title, rank in self._headings:
            self._builder.mark_heading(title, ranks.index(rank) + 1, offset=offset)

    def _move_notes(self, lines: Sequence[Line], next_lines: Sequence[Line]) -> Sequence[Line]:
        """Move the notes at a page's foot above the paragraph of a sentence that the next page continues."""
        max_size, end = _MAX_NOTE_SIZE * self._survey.body_size, len(lines)
        while end and lines[end - 1].size < max_size and not lines[end - 1].columns:
            end -= 1
        if end in (0, len(lines)) or not next_lines or _ENDED.search(lines[end - 1].text):
            return lines
        flow = Flow(lines[:end])
        if flow.relation_to_next_page(Flow(next_lines)) != WRAPPED:
            return lines
        start = end - 1
        while start and flow.relation(start) == WRAPPED:
            start -= 1
        return [*lines[:start], *lines[end:], *lines[start:end]]

    def _write_line(self, line: Line, next_line: Line | None, relation: int) -> None:
        """Write a line, and what separates it from the next one."""
        pieces = [piece.strip() for piece in line.pieces]
        hyphen: str | None = None  # of a word that continues on the next line
        if line.columns:
            text = " | ".join(map(self._join_cell, line.pieces))
        else:
            if relation == WRAPPED and next_line is not None:
                hyphen = self._survey.vocabulary.joins(line.text, next_line.text)
                if hyphen == "":
                    pieces[-1] = pieces[-1][:-1]
            text = " ".join(map(clean, pieces))
        start = self._builder.length
        self._builder.add(text)
        if line.confidence is not None:
            self._builder.mark_ocr(start, line.confidence)
        if line.columns:
            self._paragraph_lines.clear()  # a row is not a heading
        elif relation == WRAPPED:
            if hyphen is None:
                self._builder.add(" ")
            return
        else:
            self._end_paragraph()
        if next_line is not None:
            self._builder.add("\n" if relation == NEW_LINE else PARAGRAPH)

    def _join_cell(self, cell: str) -> str:
        """Return the lines of a cell, joined into one."""
        text, *rest = map(clean, cell.split("\n"))
        for line in rest:
            hyphen = self._survey.vocabulary.joins(text, line)
            text = f"{text} {line}" if hyphen is None else f"{text[:-1]}{hyphen}{line}"
        return text

    def _mark_remaining_bookmarks(self) -> None:
        """Mark the bookmarks whose titles were not found on the page, at the start of the page."""
        for level, title in self._bookmarks:
            self._builder.mark_heading(title, level, offset=self._page_start)

    def _end_paragraph(self) -> None:
        """Mark the paragraph that ends here as a heading, if it is one."""
        lines, self._paragraph_lines = self._paragraph_lines, []
        title = "".join(clean(line.text + " ") for line in lines).strip()
        if len(lines) > _MAX_HEADING_LINES or len(title) > _MAX_HEADING_LENGTH:
            return
        if bookmark := next((each for each in self._bookmarks if _contains_title(title, each[1])), None):
            level, bookmark_title = bookmark
            self._builder.mark_heading(bookmark_title, level, offset=self._paragraph_start)
            self._bookmarks.remove(bookmark)
        elif self._looks_like_heading(lines[0], title):
            self._headings.append((self._paragraph_start, title, (round(lines[0].size, 1), lines[0].bold)))

    def _looks_like_heading(self, line: Line, title: str) -> bool:
        """Return whether a line is in larger type than the body, or bold while the body is not."""
        if not re.search(r"[^\W\d_]{2}", title) or title.endswith((",", ";")):
            return False
        body_size = self._survey.body_size
        is_bold = line.bold and not self._survey.body_bold and not title.endswith(".")
        return line.size >= _HEADING_SIZE * body_size or (is_bold and line.size >= 0.95 * body_size)


def _with_next_line(
    pages: Iterable[tuple[int | None, Sequence[Line]]],
) -> Iterator[tuple[Line, int | None, Line | None, int]]:
    """Yield each line, the number of the page that it begins, the next line, and how that one follows."""
    pending: tuple[Line, int | None] | None = None
    last_flow = Flow(())
    for number, lines in pages:
        flow = Flow(lines)
        for index, line in enumerate(lines):
            if pending:
                relation = flow.relation(index) if index else last_flow.relation_to_next_page(flow)
                yield *pending, line, relation
            pending = line, None if index else number
        last_flow = flow if lines else last_flow
    if pending:
        yield *pending, None, NEW_PARAGRAPH


def _contains_title(text: str, title: str) -> bool:
    """Return whether most letters of a text are those of a bookmark's title: "2.1 Tides" has "Tides"."""
    letters, title_letters = _letters(text), _letters(title)
    return bool(title_letters) and title_letters in letters and len(title_letters) > 0.5 * len(letters)


def _letters(title: str) -> str:
    return "".join(char for char in title.casefold() if char.isalnum())
