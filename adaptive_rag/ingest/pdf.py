"""The PDF loader: pages to text by PyMuPDF, which no other file imports (it is under AGPL-3.0).

A document is gone through twice: once to learn its words, its type sizes and what recurs at the pages'
edges, once to write the text. The lines of a book are kept in between; a longer document is read page
by page both times, so that its memory stays bounded.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.builder import PARAGRAPH, TextBuilder
from adaptive_rag.ingest.cleaning import clean
from adaptive_rag.ingest.layout import (
    NEW_LINE,
    NEW_PARAGRAPH,
    WRAPPED,
    Flow,
    Line,
    Survey,
    merge_fragments,
)

_BOLD = 16
# no word is that long: the blanks were set too narrow to be seen as such
_RUN_TOGETHER = re.compile(r"[^\W\d_]{20,}")
_NARROW_BLANK = 0.1  # of the type size
_HEADING_CHARS, _HEADING_LINES = 150, 3
_LARGER = 1.1
# lines kept from the first pass to the second: about 15 MB, a book of 500 pages
_KEPT_LINES = 25_000
# MuPDF keeps fonts and images of the pages it has seen; this many pages at most
_STORE_PAGES = 50


def load_pdf(path: Path, builder: TextBuilder) -> None:
    """Write a PDF's text, pages and headings into `builder`.

    Raises:
        IndexingError: the file is encrypted, damaged, not a PDF, or holds no text.
    """
    with _open(path) as document:
        survey = Survey()
        kept: list[tuple[int, list[Line]]] = []
        for page in _pages(document):
            survey.add(page[1])
            if survey.lines <= _KEPT_LINES:
                kept.append(page)
            else:
                kept.clear()
        writer = _Writer(builder, survey, _outline(document))
        silent = []
        for number, lines in kept or _pages(document):
            if not lines:
                silent.append(number)
            writer.write_page(number, survey.body(lines))
        writer.close()
        pages = document.page_count
        title = ((document.metadata or {}).get("title") or "").strip()
    if not builder.length:
        raise IndexingError(
            f"holds no text: its {pages} page{'s are' if pages != 1 else ' is'} only images. Recognise the "
            f"text first, for example with: ocrmypdf {path.name} {path.stem}-text.pdf"
        )
    if title:
        builder.metadata["title"] = title
    if silent:
        builder.notes.append(f"{len(silent)} of {pages} pages hold no text: {_ranges(silent)}")


def _library() -> Any:
    """Import PyMuPDF, which has no types, when a PDF is met."""
    import pymupdf

    return pymupdf


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    pymupdf = _library()
    shown = pymupdf.TOOLS.mupdf_display_errors(), pymupdf.TOOLS.mupdf_display_warnings()
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    document = None
    try:
        truncated = _check_ends(path)
        try:
            document = pymupdf.open(path, filetype="pdf")
            if document.needs_pass:
                raise IndexingError(
                    "is encrypted and asks for a password. Save a copy without one, for example with: "
                    f"qpdf --decrypt --password=... {path.name} {path.stem}-open.pdf"
                )
            if truncated and document.is_repaired:
                raise IndexingError(
                    "is truncated: the file breaks off before its end. Fetch or copy it again"
                )
            if document.page_count == 0:
                raise IndexingError("is damaged: no page can be read from it. Fetch or copy it again")
            yield document
        except IndexingError:
            # Said above, or by who reads the pages; it is a RuntimeError too.
            raise
        except (pymupdf.FileDataError, pymupdf.mupdf.FzErrorBase, RuntimeError) as error:
            state = "truncated: the file breaks off before its end" if truncated else f"damaged ({error})"
            raise IndexingError(f"is {state}. Fetch or copy it again") from error
    finally:
        if document is not None:
            document.close()
        pymupdf.TOOLS.store_shrink(100)
        pymupdf.TOOLS.mupdf_display_errors(shown[0])
        pymupdf.TOOLS.mupdf_display_warnings(shown[1])


def _check_ends(path: Path) -> bool:
    """Return whether the end mark is missing.

    Raises:
        IndexingError: the file does not begin as a PDF does.
    """
    with path.open("rb") as file:
        head = file.read(1024)
        if b"%PDF-" not in head:
            raise IndexingError(f"is not a PDF, though its name says so: it begins with {head[:12]!r}")
        file.seek(0, 2)
        file.seek(max(0, file.tell() - 2048))
        return b"%%EOF" not in file.read()


def _pages(document: Any) -> Iterator[tuple[int, list[Line]]]:
    """Yield the number and the lines of each page."""
    pymupdf = _library()
    for number, page in enumerate(document, start=1):
        lines = []
        found = _raw_lines(page)
        words = _narrow_words(page) if any(_RUN_TOGETHER.search(text) for text, _, _ in found) else {}
        level = sum(horizontal for _, _, horizontal in found) > 0.8 * len(found)
        for index, (text, line, horizontal) in enumerate(found):
            # a note set upright in the margin is no part of the page's text
            if horizontal or not level:
                lines.append(_line(line, text, words.get(index)))
        yield number, merge_fragments(lines)
        if number % _STORE_PAGES == 0:
            pymupdf.TOOLS.store_shrink(100)


def _raw_lines(page: Any) -> list[tuple[str, dict[str, Any], bool]]:
    blocks = page.get_text("dict", flags=_library().TEXTFLAGS_TEXT)["blocks"]
    return [
        ("".join(span["text"] for span in line["spans"]), line, abs(line["dir"][1]) < 0.1)
        for block in blocks
        for line in block.get("lines", ())
    ]


def _line(line: dict[str, Any], text: str, words: list[tuple[int, int]] | None) -> Line:
    x0, y0, x1, y1 = line["bbox"]
    sizes: dict[float, int] = {}
    heavy = letters = 0
    for span in line["spans"]:
        count = len(span["text"].strip())
        letters += count
        sizes[span["size"]] = sizes.get(span["size"], 0) + count
        if span["flags"] & _BOLD:
            heavy += count
    size = max(sizes, key=sizes.__getitem__, default=1.0)
    bold = heavy > 0.9 * letters
    pieces = [text[start:end] for start, end in words] if words else [text]
    return Line(pieces, x0, y0, x1, y1, size, bold)


def _narrow_words(page: Any) -> dict[int, list[tuple[int, int]]]:
    """Cut lines whose words run together where the letters stand apart; keyed by the line's number."""
    cuts = {}
    blocks = page.get_text("rawdict", flags=_library().TEXTFLAGS_TEXT)["blocks"]
    for index, line in enumerate(line for block in blocks for line in block.get("lines", ())):
        letters = [(char, span["size"]) for span in line["spans"] for char in span["chars"]]
        text = "".join(char["c"] for char, _ in letters)
        if not _RUN_TOGETHER.search(text):
            continue
        borders = [0]
        for at, ((left, size), (right, _)) in enumerate(pairwise(letters), start=1):
            apart = right["bbox"][0] - left["bbox"][2] > _NARROW_BLANK * size
            if apart and left["c"].isalpha() and right["c"].isalpha():
                borders.append(at)
        cuts[index] = list(zip(borders, [*borders[1:], len(text)], strict=True))
    return cuts


def _outline(document: Any) -> dict[int, list[tuple[int, str]]]:
    """Return the bookmarks of each page as (level, title); none where there are too few to be of use."""
    entries = document.get_toc(simple=True)
    outline: dict[int, list[tuple[int, str]]] = defaultdict(list)
    if len(entries) >= 3:
        for level, title, page in entries:
            outline[page].append((level, title))
    return outline


@dataclass(slots=True)
class _Paragraph:
    """Where a paragraph began and its first lines, in case it is a heading."""

    offset: int
    lines: list[Line]

    @property
    def title(self) -> str:
        return "".join(clean(line.text + " ") for line in self.lines).strip()


class _Writer:
    """Writes lines into the builder, one behind: what follows a line decides how it ends."""

    def __init__(
        self, builder: TextBuilder, survey: Survey, outline: dict[int, list[tuple[int, str]]]
    ) -> None:
        self._builder = builder
        self._survey = survey
        self._outline = outline
        self._waiting: Line | None = None
        self._flow: Flow | None = None
        self._paragraph: _Paragraph | None = None
        self._page_start = 0
        self._marked: list[tuple[int, str]] = []
        self._found: list[tuple[int, str, tuple[float, bool]]] = []

    def write_page(self, number: int, lines: Sequence[Line]) -> None:
        """Write one page's lines."""
        if not lines:
            return
        flow = Flow(lines)
        for index, line in enumerate(lines):
            if self._waiting is not None:
                if index:
                    relation = flow.relation(index)
                else:
                    assert self._flow is not None
                    relation = self._flow.relation_across(flow, line)
                self._write(self._waiting, line, relation)
            if index == 0:
                self._turn_page(number)
            if self._paragraph is None:
                self._paragraph = _Paragraph(self._builder.length, [])
            self._waiting = line
        self._flow = flow

    def close(self) -> None:
        """Write the last line and decide which paragraphs were headings."""
        if self._waiting is not None:
            self._write(self._waiting, None, NEW_PARAGRAPH)
        self._mark_unseen()
        if not self._outline:
            self._mark_by_type()

    def _turn_page(self, number: int) -> None:
        self._mark_unseen()
        self._builder.mark_page(number)
        self._page_start = self._builder.length
        self._marked = list(self._outline.get(number, ()))

    def _mark_unseen(self) -> None:
        """Mark the bookmarks whose words do not stand on the page."""
        for level, title in self._marked:
            self._builder.mark_heading(title, level, offset=self._page_start)

    def _write(self, line: Line, following: Line | None, relation: int) -> None:
        assert self._paragraph is not None
        if len(self._paragraph.lines) <= _HEADING_LINES:  # more can be no heading
            self._paragraph.lines.append(line)
        joint: str | None = " "
        if relation == WRAPPED and following is not None:
            met = self._survey.vocabulary.joins(line.text, following.text)
            joint = " " if met is None else met
        pieces = [piece.strip() for piece in line.pieces]
        if joint == "":  # the hyphen goes
            pieces[-1] = pieces[-1][:-1]
        self._builder.add(" ".join(map(clean, pieces)))
        if relation == WRAPPED:
            if joint == " ":
                self._builder.add(" ")
            return
        self._end_paragraph()
        if following is not None:
            self._builder.add("\n" if relation == NEW_LINE else PARAGRAPH)

    def _end_paragraph(self) -> None:
        paragraph, self._paragraph = self._paragraph, None
        assert paragraph is not None
        first = paragraph.lines[0]
        title = paragraph.title
        if len(paragraph.lines) > _HEADING_LINES or len(title) > _HEADING_CHARS:
            return
        key = _letters(title)
        for entry in self._marked:
            wanted = _letters(entry[1])
            if wanted and (key == wanted or (wanted in key and len(wanted) > 0.5 * len(key))):
                self._builder.mark_heading(entry[1], entry[0], offset=paragraph.offset)
                self._marked.remove(entry)
                return
        if self._stands_out(first, title):
            self._found.append((paragraph.offset, title, (round(first.size, 1), first.bold)))

    def _stands_out(self, line: Line, title: str) -> bool:
        """Tell what is set larger than the body, or bold where the body is not."""
        if not re.search(r"[^\W\d_]{2}", title) or title.endswith((",", ";")):
            return False
        body = self._survey.body_size
        bold = line.bold and not self._survey.body_bold and not title.endswith(".")
        return line.size >= _LARGER * body or (bold and line.size >= 0.95 * body)

    def _mark_by_type(self) -> None:
        """Mark the headings found by their type; the largest type is the first level."""
        ranks = sorted({rank for _, _, rank in self._found}, reverse=True)
        for offset, title, rank in self._found:
            self._builder.mark_heading(title, ranks.index(rank) + 1, offset=offset)


def _letters(title: str) -> str:
    return "".join(char for char in title.casefold() if char.isalnum())


def _ranges(numbers: Sequence[int]) -> str:
    """Write page numbers as people do: "1-3, 7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
