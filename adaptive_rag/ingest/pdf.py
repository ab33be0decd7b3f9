"""The PDF loader: reads pages with PyMuPDF, which no other file imports (it is under AGPL-3.0).

A document is read twice: first to collect its words, its type sizes and the lines that recur at page edges,
then to write the text. The lines of a book are kept in between. A longer document is read page by page both
times, so that memory use stays bounded.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import count, groupby, pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import pymupdf

from adaptive_rag.errors import IndexingError, install_line
from adaptive_rag.ingest.attachments import add_attachment
from adaptive_rag.ingest.columns import read_columns, without_repeated_headers
from adaptive_rag.ingest.conversions import as_argument
from adaptive_rag.ingest.documents import TextBuilder, printable
from adaptive_rag.ingest.form_fields import with_fields
from adaptive_rag.ingest.layout import (
    Line,
    Survey,
    around,
    is_sign,
    merge,
    parts_cells,
    side_by_side,
    with_whole_figures,
)
from adaptive_rag.ingest.paragraphs import ParagraphWriter
from adaptive_rag.ingest.pdf_repair import has_entries, is_truncated, restore_pages
from adaptive_rag.ingest.properties import note_properties
from adaptive_rag.ingest.raised import raise_digits
from adaptive_rag.ingest.right_to_left import Letter, mostly_from_right, read_parts, runs_from_right
from adaptive_rag.ingest.rules import Rules, read_framed
from adaptive_rag.ingest.unseen_text import SeenText

# What PyMuPDF raises for a file that it cannot make sense of.
_BROKEN = (pymupdf.mupdf.FzErrorBase, RuntimeError)
_FETCH_OR_PRINT = "Fetch or copy it again, or, if a program shows it, print it from there to a new PDF"
# Bits of a span's flags.
_RAISED, _BOLD = 1, 16
# Of the type size of its line: larger text off the baseline is no superscript.
_SMALL = 0.9
# No word is that long: its blanks are too narrow to be recognized.
_RUN_TOGETHER = re.compile(r"[^\W\d_]{20,}")
_NARROW_BLANK = 0.1  # of the type size
# Several cells may be set in one line: "PK–12       PK–8", "2,218,406 1,180,160".
_SET_APART = re.compile(
    r"^[$£€¥] | {3,}|\d[)\]%*†‡⁰¹²³⁴-⁹]* (?:[%$£€¥] ?)*[(\[]?[-–−+$£€.<≤≥]*\d|[\d%)—] [$£€¥]$|(?:\. ?){5}|…"
)
# The fewest such lines that may be a table by themselves, with each row in one line.
_FEWEST_SET_APART = 3
# In type sizes: baselines that are closer belong to one line, as that of an exponent does.
_SAME_LINE = 0.6
_NAMED_BY_CODE = re.compile(r"uni([0-9A-F]{4})+$")
_NO_CHARACTER = 0xFFFD
_ALEF, _LAM = "\u0627", "\u0644"
# The most lines kept from the first pass to the second: about 15 MB, a book of 500 pages.
_KEPT_LINES = 25_000
# MuPDF keeps the fonts and images of pages it has read; they are freed after this many pages.
_STORE_PAGES = 50
# In pixels per point: 300 dpi; a large page is drawn at a lower resolution.
_SHARPEST = 300 / 72
# A page with more paths holds a map or a drawing, whose ruled lines frame no table.
_MOST_PATHS = 5000
# In bytes: a larger attachment is not read.
_LARGEST_ATTACHED = 50_000_000


def load_pdf(path: Path, builder: TextBuilder) -> None:
    """Write a PDF's text, pages and headings into `builder`."""
    with open_pdf(path) as document:
        survey = Survey()
        kept: list[tuple[int, list[Line]]] = []
        silent = []
        hidden: dict[int, int] = {}
        for number, lines in _pages(document, hidden):
            survey.add(lines)
            if not lines:
                silent.append(number)
            if survey.lines <= _KEPT_LINES:
                kept.append((number, lines))
            else:
                kept.clear()
        pictures = [number for number in silent if document[number - 1].get_bboxlog()]
        can_read = bool(pictures) and find_spec("rapidocr") is not None
        read = _read_pictures(document, pictures, survey, builder) if can_read else {}
        pages_of_lines = (
            (number, read.get(number, lines)) for number, lines in kept or _pages(document, hidden)
        )
        pages = document.page_count
        # A running head is read once, above the first page's text, and a foot once, below the last page's.
        read_there = {1: "top", pages: "foot"}
        bodies = ((number, survey.body(lines, read_there.get(number))) for number, lines in pages_of_lines)
        ParagraphWriter(builder, survey, _outline(document)).write(without_repeated_headers(bodies))
        known = document.metadata or {}
        note_properties(
            builder,
            title=known.get("title"),
            author=known.get("author"),
            date=known.get("creationDate"),
            tags=known.get("keywords") or "",
        )
        builder.hidden_words += sum(hidden.values())
        _add_attached(document, builder)
    advice = _advice(path) if pictures and not can_read else ""
    if not any(map(str.isalnum, builder.text)):
        raise IndexingError(f"holds no text: {_without_text(path, builder, pages, silent, pictures)}")
    if read:
        builder.notes.append(f"{len(read)} of {pages} pages were read from pictures: {_ranges([*read])}")
    if unread := [number for number in silent if number not in read]:
        builder.notes.append(f"{len(unread)} of {pages} pages hold no text: {_ranges(unread)}{advice}")


@contextmanager
def open_pdf(path: Path) -> Iterator[Any]:
    """Open a PDF, and translate the errors that occur while it is read.

    Raises:
        IndexingError: it is damaged, truncated or encrypted, or it is not a PDF.
    """
    kind = path.suffix[1:].lower() if path.suffix.lower() in (".xps", ".oxps") else "pdf"
    truncated = kind == "pdf" and is_truncated(path)
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
        if kind != "pdf":  # XPS is converted to PDF, so that all functions for a PDF work
            document = pymupdf.open("pdf", document.convert_to_pdf())
        if not _find_pages(document):
            raise IndexingError(f"is damaged: no page can be read from it. {_FETCH_OR_PRINT}")
        yield document
    except IndexingError:
        raise  # raised above, or while pages are read; it is also a RuntimeError
    except _BROKEN as error:
        raise IndexingError(_truncated(path) if truncated else f"is damaged. {_FETCH_OR_PRINT}") from error
    finally:
        if document is not None:
            document.close()
        tools.store_shrink(100)
        tools.mupdf_display_errors(shown[0])
        tools.mupdf_display_warnings(shown[1])


def _find_pages(document: Any) -> int:
    """Return the number of pages; if their list is damaged, the pages are searched for in the whole file."""
    try:
        pages = document.page_count
        # A list that refers to itself, or to nothing, fails on the way to its last page.
        is_whole = pages > 0 and all(has_entries(document, document.page_xref(at)) for at in {0, pages - 1})
    except _BROKEN:
        is_whole = False
    if not is_whole:
        restore_pages(document)
    return int(document.page_count)


def _set_upright(page: Any) -> None:
    """Rotate a page so that the coordinates of its text and lines are those that a reader sees."""
    whole, shown = page.mediabox, page.cropbox
    # PyMuPDF rotates the whole sheet, and would leave the visible part where it was.
    page.set_mediabox(pymupdf.Rect(shown.x0, whole.y1 - shown.y1, shown.x1, whole.y1 - shown.y0))
    page.remove_rotation()


def _pages(document: Any, hidden: dict[int, int]) -> Iterator[tuple[int, list[Line]]]:
    """Yield the number and lines of each page, and record the number of hidden words on each in `hidden`."""
    for number, page in enumerate(document, start=1):
        if page.rotation:
            _set_upright(page)
        seen = SeenText(page, pymupdf.TEXTFLAGS_TEXT)
        hidden[number] = seen.hidden_words
        raw = _raw_lines(seen)
        texts = [text for text, _, _ in raw]
        from_right = mostly_from_right(texts) if runs_from_right("".join(texts)) else None
        set_there = (
            _lines(seen, raw) if from_right is None else _lines_from_right(page, seen, whole=from_right)
        )
        lines = [line for line in set_there if line.text]
        if document.is_form_pdf:
            lines = with_fields(page, lines, from_right=bool(from_right))
        yield number, _with_rows(page, seen, lines, from_right=bool(from_right))
        if number % _STORE_PAGES == 0:
            pymupdf.TOOLS.store_shrink(100)


def _lines(seen: SeenText, raw: Sequence[tuple[str, dict[str, Any], bool]]) -> Iterator[Line]:
    """Yield the lines of a page that is read from left to right."""
    words = _narrow_words(seen) if any(_RUN_TOGETHER.search(text) for text, _, _ in raw) else {}
    level = sum(horizontal for _, _, horizontal in raw) > 0.8 * len(raw)
    sides = [line["bbox"] for _, line, horizontal in raw if horizontal]
    left, right = min((box[0] for box in sides), default=0.0), max((box[2] for box in sides), default=0.0)
    for index, (text, line, horizontal) in enumerate(raw):
        # Upright text in the margin, or a turned brace, is not part of the page's text; a column's name is.
        middle = (line["bbox"][0] + line["bbox"][2]) / 2
        inside = abs(line["dir"][0]) < 0.1 and left < middle < right and len(text.strip()) > 2
        if horizontal or inside or not level:
            yield _line(line, words.get(index, [text]))


def _lines_from_right(page: Any, seen: SeenText, *, whole: bool) -> Iterator[Line]:
    """Yield the lines of a page on which some lines, or most (`whole`), are read from right to left."""
    rules = _rules(page)
    named = _named_glyphs(page)
    pools: list[list[dict[str, Any]]] = []
    for block in seen.letters():
        for line in block.get("lines", ()):
            for span in line["spans"]:
                span["text"] = "".join(char["c"] for char in span["chars"])
            if pools and _touch(pools[-1], line):
                pools[-1].append(line)
            else:
                pools.append([line])
    for pool in pools:
        spans = [span for line in pool for span in line["spans"]]
        text = "".join(span["text"] for span in spans)
        if not (whole or runs_from_right(text)):
            yield from (_line(line, [_text_of(line)]) for line in pool)
            continue
        joined = _line({"spans": spans, "bbox": around(line["bbox"] for line in pool)}, [text])
        letters = (
            Letter(named.get((*char["origin"], char["c"]), char["c"]), *_reach(char, line), span["size"])
            for line in pool
            for span in line["spans"]
            for char in span["chars"]
            if not char.get("synthetic")
        )
        if not _is_level(pool[0]):
            whole_line = " ".join(part.text for part in read_parts(letters, from_right=whole))
            yield replace(joined, pieces=[whole_line])
            continue
        for part in read_parts(letters, rules.across(joined), from_right=whole):
            yield replace(joined, pieces=[part.text], x0=part.x0, x1=part.x1)


def _touch(pool: Sequence[dict[str, Any]], line: dict[str, Any]) -> bool:
    """Tell whether a line continues others at its height, on either side."""
    if not (_is_level(line) and _is_level(pool[0])):
        return False
    x0, y0, x1, y1 = around(line["bbox"] for line in pool)
    left, top, right, bottom = map(float, line["bbox"])
    shared = min(y1, bottom) - max(y0, top)
    # The letters of a tall font reach into the lines above and below.
    apart = abs(_baseline(pool[-1]) - _baseline(line)) > _SAME_LINE * max(_size(pool[-1]), _size(line))
    return (
        not apart
        and shared > 0.5 * min(y1 - y0, bottom - top)
        and max(left - x1, x0 - right) < 0.5 * (bottom - top)
    )


def _is_level(line: dict[str, Any]) -> bool:
    return bool(abs(line["dir"][1]) < 0.1)


def _baseline(line: dict[str, Any]) -> float:
    return float(line["spans"][0]["origin"][1]) if line["spans"] else 0.0


def _size(line: dict[str, Any]) -> float:
    return max((float(span["size"]) for span in line["spans"]), default=0.0)


def _reach(char: dict[str, Any], line: dict[str, Any]) -> tuple[float, float]:
    """Return the extent of a letter along its line, which may be vertical."""
    x0, y0, x1, y1 = char["bbox"]
    if _is_level(line):
        return x0, x1
    return (y0, y1) if line["dir"][1] > 0 else (-y1, -y0)


def _named_glyphs(page: Any) -> dict[tuple[float, float, str], str]:
    """Return the letters for which the font, but not the page, names a character.

    The key is the position of a letter and the page's character for it, since both letters of a ligature may
    be in the same position. Such a font names a form of an Arabic letter "uni0644.init"; the part after the
    full stop does not belong to the name (Adobe Glyph List Specification). MuPDF uses the glyph number as the
    character.
    """
    mupdf = pymupdf.mupdf
    unknown = mupdf.FZ_STEXT_UNICODE_IS_CID | mupdf.FZ_STEXT_UNICODE_IS_GID
    named = {}
    text = page.get_textpage(flags=pymupdf.TEXTFLAGS_TEXT)  # keeps its letters alive
    for block in text.this:
        for line in block:
            joined = False  # whether the letter before is a lam that is joined to the next one
            for char in (each.m_internal for each in line):
                name = mupdf.ll_fz_get_glyph_name2(char.font, char.c) if char.flags & unknown else ""
                letters = _letters_named(name)
                mark = unicodedata.combining(letters[:1] or chr(char.c))
                if joined and not mark and not runs_from_right(letters):
                    letters = _ALEF  # lam-alef is Arabic's only mandatory ligature
                if runs_from_right(letters):
                    named[char.origin.x, char.origin.y, chr(char.c)] = letters
                if not mark:
                    joined = name.endswith(".rlig") and unicodedata.normalize("NFKC", letters) == _LAM
    return named


def _letters_named(name: str) -> str:
    """Return the characters that a glyph name stands for, "uni064E_uni0651" or "uni0651064E.alt", or ""."""
    parts = (
        [f"uni{part[at : at + 4]}" for at in range(3, len(part), 4)] if _NAMED_BY_CODE.match(part) else [part]
        for part in name.partition(".")[0].split("_")
    )
    codes = [pymupdf.mupdf.ll_fz_unicode_from_glyph_name(each) for part in parts for each in part if each]
    return "" if _NO_CHARACTER in codes else "".join(map(chr, codes))


def _read_pictures(
    document: Any, numbers: Sequence[int], survey: Survey, builder: TextBuilder
) -> dict[int, list[Line]]:
    """Read pages without text as pictures, up to MOST_PAGES, and return the lines of those with any."""
    import numpy as np

    from adaptive_rag.ingest.ocr import LONGEST_SIDE, MOST_PAGES, note_unread, read_picture

    note_unread(builder, len(numbers))
    read = {}
    body_size = survey.body_size
    for number in numbers[:MOST_PAGES]:
        page = document[number - 1]
        zoom = min(LONGEST_SIDE / max(page.rect.width, page.rect.height), _SHARPEST)
        drawn = page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csRGB, alpha=False)
        pixels = np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.width, 3)
        lines = read_picture(np.ascontiguousarray(pixels[:, :, ::-1]), 1 / zoom, body_size=body_size)
        pymupdf.TOOLS.store_shrink(100)
        if lines:
            survey.add(lines)
            read[number] = lines
    return read


def _advice(path: Path) -> str:
    return f". To have pictures of text read: {install_line('ocr')}, or {_copy_with_text(path)}"


def _copy_with_text(path: Path, how: str = "") -> str:
    command = f"ocrmypdf {how}{as_argument(path.name)} {as_argument(f'{path.stem}-text.pdf')}"
    return f"make a copy that holds the text: {command}"


def _without_text(
    path: Path, builder: TextBuilder, pages: int, silent: Sequence[int], pictures: Sequence[int]
) -> str:
    """Say why no text was found in a PDF, and what to do if text can be seen in it."""
    whole = f"its {pages} page{'s are' if pages != 1 else ' is'}"
    seen = f"If you see text in it, {_copy_with_text(path, '--force-ocr ')}"
    if len(silent) < pages:
        return f"its fonts do not say which letters they show. {seen}"
    if builder.hidden_words:
        return f"nobody sees the words that are there ({builder.hidden_words:,}). {seen}"
    if not pictures:
        return f"{whole} empty. {seen}"
    if find_spec("rapidocr") is None:
        return f"{whole} only images{_advice(path)}"
    return f"{whole} only images, without text. {seen}"


def _truncated(path: Path) -> str:
    rest = f"qpdf {as_argument(path.name)} {as_argument(f'{path.stem}-rest.pdf')}"
    return (
        "is truncated: the file breaks off before its end. Fetch or copy it again, or save what is left: "
        f"{rest}"
    )


def _raw_lines(seen: SeenText) -> list[tuple[str, dict[str, Any], bool]]:
    return [
        (_text_of(line), line, _is_level(line)) for block in seen.blocks for line in block.get("lines", ())
    ]


def _text_of(line: dict[str, Any]) -> str:
    return "".join(
        raise_digits(span["text"])
        if span["flags"] & _RAISED and span["size"] < _SMALL * _size(line)
        else span["text"]
        for span in line["spans"]
    )


def _line(line: dict[str, Any], pieces: list[str]) -> Line:
    sizes: Counter[float] = Counter()
    heavy = 0
    for span in line["spans"]:
        letters = len(span["text"].strip())
        sizes[span["size"]] += letters
        heavy += letters if span["flags"] & _BOLD else 0
    size = max(sizes, key=sizes.__getitem__, default=1.0)
    x0, y0, x1, y1 = line["bbox"]
    return Line(pieces, x0, y0, x1, y1, size, bold=heavy > 0.9 * sizes.total())


def _narrow_words(seen: SeenText) -> dict[int, list[str]]:
    """Split lines whose words run together at the gaps between letters; keyed by the line's number."""
    cuts = {}
    for index, line in enumerate(line for block in seen.letters() for line in block.get("lines", ())):
        letters = [(char, span["size"]) for span in line["spans"] for char in span["chars"]]
        text = "".join(char["c"] for char, _ in letters)
        if not _RUN_TOGETHER.search(text):
            continue
        borders = [0]
        for at, ((left, size), (right, _)) in enumerate(pairwise(letters), start=1):
            apart = right["bbox"][0] - left["bbox"][2] > _NARROW_BLANK * size
            if apart and left["c"].isalpha() and right["c"].isalpha():
                borders.append(at)
        cuts[index] = [text[start:end] for start, end in pairwise([*borders, len(text)])]
    return cuts


def _with_rows(page: Any, seen: SeenText, lines: list[Line], *, from_right: bool) -> list[Line]:
    """Merge lines that stand side by side, and make rows of lines that are in a table.

    A page that is read from right to left is mirrored.
    """
    if from_right:
        width = page.rect.width
        lines = [replace(line, x0=width - line.x1, x1=width - line.x0) for line in lines]
    groups = side_by_side(lines)
    # Lines side by side at the page's top and foot are running heads.
    heights = sorted(group[0].y0 for group in groups)
    beside = any(len(group) > 1 and heights[0] < group[0].y0 < heights[-1] for group in groups)
    in_one = sum(_SET_APART.search(line.text) is not None for line in lines)
    if not beside and in_one < _FEWEST_SET_APART:
        return [merge(group) if len(group) > 1 else group[0] for group in groups]
    rules = _rules(page)
    if from_right:
        return read_columns(read_framed(lines, rules.mirrored(width)))
    parts = with_whole_figures(part for line in lines for part in _cut(seen, line, rules))
    rules.mark_reaches(parts)
    return read_columns(read_framed(parts, rules))


def _rules(page: Any) -> Rules:
    paths = sum(kind.endswith("-path") for kind, _ in page.get_bboxlog())
    if not 0 < paths <= _MOST_PATHS:
        return Rules()
    return Rules.among(box for path in page.get_cdrawings() for box in _edges(path))


def _edges(path: dict[str, Any]) -> Iterator[tuple[float, float, float, float]]:
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


def _cut(seen: SeenText, line: Line, rules: Rules) -> Iterator[Line]:
    """Split a line into table cells: at the ruled lines that cross it, else at wide gaps."""
    borders = rules.across(line)
    if not borders and not _SET_APART.search(line.text):
        yield line
        return
    words = seen.words((line.x0, line.y0, line.x1, line.y1))
    level = [word for word in words if abs(word[1] + word[3] - line.y0 - line.y1) < line.size]
    borders = borders or [
        (left[2] + right[0]) / 2
        for left, right in pairwise(level)
        if parts_cells(left[4], right[4], (right[0] - left[2]) / line.size)
    ]
    texts = line.text.split()  # these have raised digits, unlike `level`
    if _with_plain_digits(texts) == _with_plain_digits(word[4] for word in level):
        level = [(*word[:4], text) for word, text in zip(level, texts, strict=True)]
    for _, group in groupby(level, key=lambda word: bisect_right(borders, (word[0] + word[2]) / 2)):
        part = list(group)
        # The column is aligned on the figures, since some of them have no sign.
        first = part[len(part) > 1 and is_sign(part[0][4])]
        yield replace(line, pieces=[" ".join(word[4] for word in part)], x0=first[0], x1=part[-1][2])


def _with_plain_digits(texts: Iterable[str]) -> list[str]:
    return [unicodedata.normalize("NFKC", text) for text in texts]


def _outline(document: Any) -> dict[int, list[tuple[int, str]]]:
    """Return the bookmarks of each page as (level, title); none if there are too few to be useful."""
    outline: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for level, title, page in document.get_toc(simple=True):
        outline[page].append((level, title))
    return outline if sum(map(len, outline.values())) >= 3 else {}


def _add_attached(document: Any, builder: TextBuilder) -> None:
    """Read the files that are attached to the document or to a place on one of its pages."""
    for info, read in _attached(document):
        path = str(info.get("ufilename") or info.get("filename") or info.get("name") or "")
        name = printable(PurePosixPath(path.replace("\\", "/")).name)
        if info["size"] > _LARGEST_ATTACHED:
            builder.notes.append(f"the attachment {name} holds more than {_LARGEST_ATTACHED // 1_000_000} MB")
        elif name:
            try:
                data = read()
            except (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError):
                builder.notes.append(f"the attachment {name} is damaged")
            else:
                add_attachment(data, name, builder, 1, {})


def _attached(document: Any) -> Iterator[tuple[dict[str, Any], Callable[[], bytes]]]:
    """Yield the properties of each attached file, and a function that reads it."""
    for at in range(document.embfile_count()):
        yield document.embfile_info(at), partial(document.embfile_get, at)
    if document.has_annots():
        for page in document:
            for note in page.annots([pymupdf.PDF_ANNOT_FILE_ATTACHMENT]):
                yield note.file_info, note.get_file


def _ranges(numbers: Sequence[int]) -> str:
    """Format page numbers with ranges: "1-3, 7"."""
    places = count()
    runs = [list(run) for _, run in groupby(numbers, key=lambda number: number - next(places))]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
