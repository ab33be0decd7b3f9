"""The PDF loader: reads pages with PyMuPDF, which no other file imports (it is under AGPL-3.0).

A document is read twice: first to collect its words, its type sizes and the lines that recur at page edges,
then to write the text. The lines of a book are kept in between. A longer document is read page by page both
times, so that memory use stays bounded.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pymupdf

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import pdf_messages
from adaptive_rag.ingest.attachments import add_attachment
from adaptive_rag.ingest.documents import TextBuilder, attachment_name
from adaptive_rag.ingest.form_fields import insert_form_fields
from adaptive_rag.ingest.layout import Survey
from adaptive_rag.ingest.lines import Line, group_side_by_side, join_signs_to_figures, merge_lines
from adaptive_rag.ingest.paragraphs import ParagraphWriter
from adaptive_rag.ingest.pdf_lines import (
    RawLine,
    find_raw_lines,
    make_ltr_lines,
    make_rtl_lines,
    may_have_tables,
    split_line,
)
from adaptive_rag.ingest.properties import note_properties
from adaptive_rag.ingest.right_to_left import has_rtl_letters, is_mostly_rtl
from adaptive_rag.ingest.ruled_lines import RuledLines
from adaptive_rag.ingest.ruled_tables import read_ruled_tables
from adaptive_rag.ingest.table_headers import drop_repeated_headers
from adaptive_rag.ingest.unruled_tables import read_unruled_tables
from adaptive_rag.ingest.unseen_text import VisibleText

# What PyMuPDF raises for a file that it cannot read.
_BROKEN = (pymupdf.mupdf.FzErrorBase, RuntimeError)
_CODE_NAME = re.compile(r"uni([0-9A-F]{4})+$")
_UNKNOWN_CHARACTER = 0xFFFD
_ALEF, _LAM = "\u0627", "\u0644"
# The most lines kept from the first pass to the second: about 15 MB, a book of 500 pages.
_MAX_KEPT_LINES = 25_000
# MuPDF keeps the fonts and images of pages it has read; they are freed after this many pages.
_PAGES_PER_SHRINK = 50
# In pixels per point: 300 dpi; a large page is drawn at a lower resolution.
_MAX_ZOOM = 300 / 72
# A page with more paths has a map or a drawing, whose lines frame no table.
_MAX_PATHS = 5000
# The most characters of a stamp on a scan, such as the number of a signed document, and the least share of a
# page that its pictures cover.
_MAX_STAMP_LENGTH, _MIN_COVERED = 200, 0.8
# In bytes: a larger attachment is not read.
_MAX_ATTACHMENT_SIZE = 50_000_000
# The rotations of a page with which text in these directions is upright.
_TURNS = {(0, -1): 90, (-1, 0): 180, (0, 1): 270}
# A page's number, from 1, and its lines.
_Page = tuple[int, list[Line]]


def load_pdf(path: Path, builder: TextBuilder) -> None:
    """Write a PDF's text, pages and headings into `builder`."""
    with open_pdf(path) as document:
        hidden_words: dict[int, int] = {}
        survey, kept_pages, textless, stamped = _survey_pages(document, hidden_words)
        image_pages = {number: 0 for number in textless if document[number - 1].get_bboxlog()} | stamped
        has_ocr = bool(image_pages) and find_spec("rapidocr") is not None
        ocr_lines = _read_image_pages(document, image_pages, survey, builder) if has_ocr else {}
        pages = kept_pages or _read_pages(document, hidden_words)
        page_count = document.page_count
        # A running head is read once, above the first page's text, and a foot once, below the last page's.
        kept_edges = {1: "top", page_count: "foot"}
        bodies = (
            (number, survey.without_running_heads(ocr_lines.get(number, lines), kept_edges.get(number)))
            for number, lines in pages
        )
        ParagraphWriter(builder, survey, _read_outline(document)).write(drop_repeated_headers(bodies))
        metadata = document.metadata or {}
        note_properties(
            builder,
            title=metadata.get("title"),
            author=metadata.get("author"),
            date=metadata.get("creationDate"),
            tags=metadata.get("keywords") or "",
        )
        builder.hidden_words += sum(hidden_words.values())
        _add_attachments(document, builder)
    if not any(map(str.isalnum, builder.text)):
        reason = pdf_messages.describe_textless(
            path, page_count, len(textless), len(image_pages), builder.hidden_words
        )
        raise IndexingError(f"holds no text: {reason}")
    if ocr_lines:
        numbers = pdf_messages.format_ranges([*ocr_lines])
        builder.notes.append(f"{len(ocr_lines)} of {page_count} pages were read from pictures: {numbers}")
    if unread := sorted({*textless, *(() if has_ocr else stamped)}.difference(ocr_lines)):
        advice = pdf_messages.advise_ocr(path) if image_pages and not has_ocr else ""
        numbers = pdf_messages.format_ranges(unread)
        count = len(unread)
        some = f"{count} of {page_count} pages hold little or no text"
        none = f"{count} of {page_count} pages hold no text"
        builder.notes.append(f"{none if set(unread) <= set(textless) else some}: {numbers}{advice}")


@contextmanager
def open_pdf(path: Path) -> Iterator[Any]:
    """Open a PDF, and translate the errors that occur while it is read.

    Raises:
        IndexingError: it is damaged, truncated or encrypted, or it is not a PDF.
    """
    kind = path.suffix[1:].lower() if path.suffix.lower() in (".xps", ".oxps") else "pdf"
    truncated = kind == "pdf" and pdf_messages.is_truncated(path)
    tools = pymupdf.TOOLS
    displayed = tools.mupdf_display_errors(), tools.mupdf_display_warnings()
    tools.mupdf_display_errors(False)
    tools.mupdf_display_warnings(False)
    document = None
    try:
        document = pymupdf.open(path, filetype=kind)
        if document.needs_pass:
            raise IndexingError(pdf_messages.describe_encrypted(path))
        if truncated and document.is_repaired:
            raise IndexingError(pdf_messages.describe_truncated(path))
        if kind != "pdf":  # XPS is converted to PDF, so that all functions for a PDF work
            document = pymupdf.open("pdf", document.convert_to_pdf())
        if not document.page_count:
            raise IndexingError(pdf_messages.NO_PAGES)
        yield document
    except IndexingError:
        raise  # raised above, or while pages are read; it is also a RuntimeError
    except _BROKEN as error:
        reason = pdf_messages.describe_truncated(path) if truncated else pdf_messages.DAMAGED
        raise IndexingError(reason) from error
    finally:
        if document is not None:
            document.close()
        tools.store_shrink(100)
        tools.mupdf_display_errors(displayed[0])
        tools.mupdf_display_warnings(displayed[1])


def _survey_pages(
    document: Any, hidden_words: dict[int, int]
) -> tuple[Survey, list[_Page], list[int], dict[int, int]]:
    """Read all pages once; return a survey of them, the pages, and the numbers of those without text.

    The pages of a document with more than _MAX_KEPT_LINES lines are not returned. The last result has the
    numbers of scans with a stamp, and the length of its text.
    """
    survey = Survey()
    kept_pages: list[_Page] = []
    textless, stamped = [], {}
    for number, lines in _read_pages(document, hidden_words):
        survey.add(lines)
        length = sum(len(line.text) for line in lines)
        if not lines:
            textless.append(number)
        elif length <= _MAX_STAMP_LENGTH and _is_scan(document[number - 1]):
            stamped[number] = length
        if survey.line_count <= _MAX_KEPT_LINES:
            kept_pages.append((number, lines))
        else:
            kept_pages.clear()
    return survey, kept_pages, textless, stamped


def _is_scan(page: Any) -> bool:
    """Return whether pictures cover a page and no invisible text, which OCR adds, is behind them."""
    log = page.get_bboxlog()
    pictures = (pymupdf.Rect(box) for kind, box in log if kind in ("fill-image", "fill-imgmask"))
    covered = sum((box & page.rect).get_area() for box in pictures)
    return covered > _MIN_COVERED * page.rect.get_area() and all(kind != "ignore-text" for kind, _ in log)


def _read_pages(document: Any, hidden_words: dict[int, int]) -> Iterator[_Page]:
    """Yield all pages, and record the number of hidden words on each page in `hidden_words`."""
    for number, page in enumerate(document, start=1):
        if page.rotation:
            _set_upright(page)
        visible = VisibleText(page, pymupdf.TEXTFLAGS_TEXT)
        raw_lines = find_raw_lines(visible)
        if turn := _find_turn(raw_lines):
            page.set_rotation(turn)
            _set_upright(page)
            visible = VisibleText(page, pymupdf.TEXTFLAGS_TEXT)
            raw_lines = find_raw_lines(visible)
        hidden_words[number] = visible.hidden_words
        texts = [raw.text for raw in raw_lines]
        has_rtl = has_rtl_letters("".join(texts))
        is_rtl_page = has_rtl and is_mostly_rtl(texts)
        if has_rtl:
            rules, named_glyphs = _find_ruled_lines(page), _find_named_glyphs(page)
            page_lines = make_rtl_lines(visible, rules, named_glyphs, is_rtl_page=is_rtl_page)
        else:
            page_lines = make_ltr_lines(visible, raw_lines)
        lines = [line for line in page_lines if line.text]
        if document.is_form_pdf:
            lines = insert_form_fields(page, lines, is_rtl_page=is_rtl_page)
        yield number, _merge_rows(page, visible, lines, is_rtl_page=is_rtl_page)
        if number % _PAGES_PER_SHRINK == 0:
            pymupdf.TOOLS.store_shrink(100)


def _find_turn(raw_lines: Sequence[RawLine]) -> int:
    """Return the rotation with which most text of a page is upright: a wide table may be set sideways."""
    letters: Counter[int] = Counter()
    for line, text, _ in raw_lines:
        x, y = map(round, line["dir"])
        letters[_TURNS.get((x, y), 0) if line["wmode"] == 0 else 0] += len(text)
    return max(letters, key=letters.__getitem__, default=0)


def _set_upright(page: Any) -> None:
    """Rotate a page so that the coordinates of its text and lines are those that a reader sees."""
    sheet, visible = page.mediabox, page.cropbox
    # PyMuPDF rotates the whole sheet, and would leave the visible part where it was.
    page.set_mediabox(pymupdf.Rect(visible.x0, sheet.y1 - visible.y1, visible.x1, sheet.y1 - visible.y0))
    page.remove_rotation()


def _find_named_glyphs(page: Any) -> dict[tuple[float, float, str], str]:
    """Return the letters for which the font, but not the page, names a character.

    The key is the position of a letter and the page's character for it, since both letters of a ligature may
    be in the same position. Such a font names a form of an Arabic letter "uni0644.init"; the part after the
    full stop does not belong to the name (Adobe Glyph List Specification). MuPDF uses the glyph number as the
    character.
    """
    mupdf = pymupdf.mupdf
    unknown = mupdf.FZ_STEXT_UNICODE_IS_CID | mupdf.FZ_STEXT_UNICODE_IS_GID
    glyph_letters = {}
    text = page.get_textpage(flags=pymupdf.TEXTFLAGS_TEXT)  # keeps its letters alive
    for block in text.this:
        for line in block:
            after_ligature = False  # whether the letter before is a lam that is joined to the next one
            for char in (wrapped.m_internal for wrapped in line):
                name = mupdf.ll_fz_get_glyph_name2(char.font, char.c) if char.flags & unknown else ""
                letters = _parse_glyph_name(name)
                mark = unicodedata.combining(letters[:1] or chr(char.c))
                if after_ligature and not mark and not has_rtl_letters(letters):
                    letters = _ALEF  # lam-alef is Arabic's only mandatory ligature
                if has_rtl_letters(letters):
                    glyph_letters[char.origin.x, char.origin.y, chr(char.c)] = letters
                if not mark:
                    after_ligature = name.endswith(".rlig") and unicodedata.normalize("NFKC", letters) == _LAM
    return glyph_letters


def _parse_glyph_name(name: str) -> str:
    """Return the characters that a glyph name stands for, "uni064E_uni0651" or "uni0651064E.alt", or ""."""
    parts = (
        [f"uni{part[start : start + 4]}" for start in range(3, len(part), 4)]
        if _CODE_NAME.match(part)
        else [part]
        for part in name.partition(".")[0].split("_")
    )
    codes = [
        pymupdf.mupdf.ll_fz_unicode_from_glyph_name(code_name)
        for part in parts
        for code_name in part
        if code_name
    ]
    return "" if _UNKNOWN_CHARACTER in codes else "".join(map(chr, codes))


def _read_image_pages(
    document: Any, text_lengths: Mapping[int, int], survey: Survey, builder: TextBuilder
) -> dict[int, list[Line]]:
    """Read up to MAX_PAGES pages with OCR; return the lines of those with text, and add them to `survey`.

    `text_lengths` has the length of the text on each of these pages; that in its picture must be longer.
    """
    import numpy as np

    from adaptive_rag.ingest.ocr import MAX_PAGES, MAX_SIDE, note_unread, read_picture

    note_unread(builder, len(text_lengths))
    lines_by_page = {}
    body_size = survey.body_size
    for number in sorted(text_lengths)[:MAX_PAGES]:
        page = document[number - 1]
        zoom = min(MAX_SIDE / max(page.rect.width, page.rect.height), _MAX_ZOOM)
        pixmap = page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csRGB, alpha=False)
        pixels = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)
        bgr = np.ascontiguousarray(pixels[:, :, ::-1])
        lines = read_picture(bgr, 1 / zoom, body_size=body_size)
        pymupdf.TOOLS.store_shrink(100)
        if sum(len(line.text) for line in lines) > 2 * text_lengths[number]:
            survey.add(lines)
            lines_by_page[number] = lines
    return lines_by_page


def _merge_rows(page: Any, visible: VisibleText, lines: list[Line], *, is_rtl_page: bool) -> list[Line]:
    """Merge lines that are side by side, and make rows of lines that are in a table.

    A page that is read from right to left is mirrored.
    """
    width = page.rect.width
    if is_rtl_page:
        lines = [replace(line, x0=width - line.x1, x1=width - line.x0) for line in lines]
    groups = group_side_by_side(lines)
    if not may_have_tables(groups):
        return list(map(merge_lines, groups))
    rules = _find_ruled_lines(page)
    if is_rtl_page:
        rules = rules.mirror(width)
    else:
        lines = join_signs_to_figures(cell for line in lines for cell in split_line(line, visible, rules))
        rules.mark_underlines(lines)
    return read_unruled_tables(read_ruled_tables(lines, rules))


def _find_ruled_lines(page: Any) -> RuledLines:
    """Return the ruled lines of a page; none if it has a drawing."""
    paths = sum(kind.endswith("-path") for kind, _ in page.get_bboxlog())
    if not 0 < paths <= _MAX_PATHS:
        return RuledLines()
    return RuledLines.from_boxes(box for path in page.get_cdrawings() for box in _path_edges(path))


def _path_edges(path: dict[str, Any]) -> Iterator[tuple[float, float, float, float]]:
    """Yield the straight lines of a path, and the sides of its rectangles, as boxes."""
    for kind, *points in path["items"]:
        if kind == "l":
            (ax, ay), (bx, by) = points
            yield min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)
        elif kind == "re":
            x0, y0, x1, y1 = points[0]
            yield points[0]
            if "s" in path["type"]:
                yield from ((x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1))


def _read_outline(document: Any) -> dict[int, list[tuple[int, str]]]:
    """Return the bookmarks of each page as (level, title); none if there are too few to be useful."""
    outline: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for level, title, page in document.get_toc(simple=True):
        if page > 0:  # it leads to a page
            outline[page].append((level, title))
    return outline if sum(map(len, outline.values())) >= 3 else {}


def _add_attachments(document: Any, builder: TextBuilder) -> None:
    """Read the files that are attached to the document or to a place on one of its pages."""
    for info, read_content in _find_attachments(document):
        path = str(info.get("ufilename") or info.get("filename") or info.get("name") or "")
        name = attachment_name(path)
        if info["size"] > _MAX_ATTACHMENT_SIZE:
            builder.notes.append(
                f"the attachment {name} holds more than {_MAX_ATTACHMENT_SIZE // 1_000_000} MB"
            )
        elif name:
            try:
                data = read_content()
            except (*_BROKEN, ValueError):
                builder.notes.append(f"the attachment {name} is damaged")
            else:
                add_attachment(data, name, builder, 1, {})


def _find_attachments(document: Any) -> Iterator[tuple[dict[str, Any], Callable[[], bytes]]]:
    """Yield the properties of each attached file, and a function that reads it."""
    for index in range(document.embfile_count()):
        yield document.embfile_info(index), partial(document.embfile_get, index)
    if document.has_annots():
        for page in document:
            for annotation in page.annots([pymupdf.PDF_ANNOT_FILE_ATTACHMENT]):
                yield annotation.file_info, annotation.get_file
