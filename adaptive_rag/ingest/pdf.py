"""The PDF loader: pages to text by PyMuPDF, which no other file imports (it is under AGPL-3.0).

A document is gone through twice: once to learn its words, its type sizes and what recurs at the pages'
edges, once to write the text. The lines of a book are kept in between; a longer document is read page
by page both times, so that its memory stays bounded.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
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
from adaptive_rag.ingest.documents import TextBuilder, printable
from adaptive_rag.ingest.form_fields import with_fields
from adaptive_rag.ingest.layout import Line, Survey, merge, side_by_side
from adaptive_rag.ingest.paragraphs import ParagraphWriter
from adaptive_rag.ingest.properties import note_properties
from adaptive_rag.ingest.right_to_left import Letter, mostly_from_right, read_parts, runs_from_right
from adaptive_rag.ingest.rules import Rules, read_framed

_BOLD = 16
# no word is that long: the blanks were set too narrow to be seen as such
_RUN_TOGETHER = re.compile(r"[^\W\d_]{20,}")
_NARROW_BLANK = 0.1  # of the type size
# lines kept from the first pass to the second: about 15 MB, a book of 500 pages
_KEPT_LINES = 25_000
# MuPDF keeps fonts and images of the pages it has seen; this many pages at most
_STORE_PAGES = 50
# Pixels a point, which is 300 dpi; a large page is drawn at less.
_SHARPEST = 300 / 72
# A page with more of them holds a map or a drawing, whose ruled lines frame no table.
_MOST_PATHS = 5000
# In bytes: a longer file is found apart from the document.
_LARGEST_ATTACHED = 50_000_000


def load_pdf(path: Path, builder: TextBuilder) -> None:
    """Write a PDF's text, pages and headings into `builder`."""
    with open_pdf(path) as document:
        survey = Survey()
        kept: list[tuple[int, list[Line]]] = []
        silent = []
        for number, lines in _pages(document):
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
        pages_of_lines = ((number, read.get(number, lines)) for number, lines in kept or _pages(document))
        bodies = ((number, survey.body(lines)) for number, lines in pages_of_lines)
        ParagraphWriter(builder, survey, _outline(document)).write(without_repeated_headers(bodies))
        pages = document.page_count
        known = document.metadata or {}
        note_properties(
            builder,
            title=known.get("title"),
            author=known.get("author"),
            date=known.get("creationDate"),
            tags=known.get("keywords") or "",
        )
        _add_attached(document, builder)
    advice = _advice(path) if pictures and not can_read else ""
    if not builder.length:
        whole = f"its {pages} page{'s are' if pages != 1 else ' is'} {'only images' if pictures else 'empty'}"
        raise IndexingError(f"holds no text: {whole}{advice}")
    if read:
        builder.notes.append(f"{len(read)} of {pages} pages were read from pictures: {_ranges([*read])}")
    if unread := [number for number in silent if number not in read]:
        builder.notes.append(f"{len(unread)} of {pages} pages hold no text: {_ranges(unread)}{advice}")


@contextmanager
def open_pdf(path: Path) -> Iterator[Any]:
    """Open a PDF, and say in plain words what goes wrong with it.

    Raises:
        IndexingError: it is damaged, truncated, encrypted, or none.
    """
    truncated = _is_truncated(path)
    tools = pymupdf.TOOLS
    shown = tools.mupdf_display_errors(), tools.mupdf_display_warnings()
    tools.mupdf_display_errors(False)
    tools.mupdf_display_warnings(False)
    document = None
    try:
        document = pymupdf.open(path, filetype="pdf")
        if document.needs_pass:
            raise IndexingError(
                "is encrypted and asks for a password. Save a copy without one, for example with: "
                f"qpdf --decrypt --password=... {path.name} {path.stem}-open.pdf"
            )
        if truncated and document.is_repaired:
            raise IndexingError("is truncated: the file breaks off before its end. Fetch or copy it again")
        if document.page_count == 0:
            raise IndexingError("is damaged: no page can be read from it. Fetch or copy it again")
        yield document
    except IndexingError:
        raise  # said above, or by who reads the pages; it is a RuntimeError too
    except (pymupdf.mupdf.FzErrorBase, RuntimeError) as error:
        state = "truncated: the file breaks off before its end" if truncated else "damaged"
        raise IndexingError(f"is {state}. Fetch or copy it again") from error
    finally:
        if document is not None:
            document.close()
        tools.store_shrink(100)
        tools.mupdf_display_errors(shown[0])
        tools.mupdf_display_warnings(shown[1])


def _is_truncated(path: Path) -> bool:
    """Tell whether the end mark is missing.

    Raises:
        IndexingError: the file does not begin as a PDF does.
    """
    with path.open("rb") as file:
        if b"%PDF-" not in file.read(1024):
            raise IndexingError("is not a PDF, though its name says so. Give it the ending of its own kind")
        file.seek(0, 2)
        file.seek(max(0, file.tell() - 2048))
        return b"%%EOF" not in file.read()


def _pages(document: Any) -> Iterator[tuple[int, list[Line]]]:
    """Yield the number and the lines of each page."""
    for number, page in enumerate(document, start=1):
        if page.rotation:
            page.remove_rotation()  # the places of its text and its lines are then those that are seen
        found = _raw_lines(page)
        texts = [text for text, _, _ in found]
        from_right = mostly_from_right(texts) if runs_from_right("".join(texts)) else None
        set_there = _lines(page, found) if from_right is None else _lines_from_right(page, whole=from_right)
        lines = [line for line in set_there if line.text]
        if document.is_form_pdf:
            lines = with_fields(page, lines, from_right=bool(from_right))
        yield number, _with_rows(page, lines, from_right=bool(from_right))
        if number % _STORE_PAGES == 0:
            pymupdf.TOOLS.store_shrink(100)


def _lines(page: Any, found: Sequence[tuple[str, dict[str, Any], bool]]) -> Iterator[Line]:
    """Yield the lines of a page that is read from left to right."""
    words = _narrow_words(page) if any(_RUN_TOGETHER.search(text) for text, _, _ in found) else {}
    level = sum(horizontal for _, _, horizontal in found) > 0.8 * len(found)
    for index, (text, line, horizontal) in enumerate(found):
        # a note set upright in the margin is no part of the page's text
        if horizontal or not level:
            yield _line(line, words.get(index, [text]))


def _lines_from_right(page: Any, *, whole: bool) -> Iterator[Line]:
    """Yield the lines of a page on which some, or the whole page, are read from right to left."""
    rules = _rules(page)
    named = _named_glyphs(page)
    pools: list[list[dict[str, Any]]] = []
    for block in page.get_text("rawdict", flags=pymupdf.TEXTFLAGS_TEXT)["blocks"]:
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
            yield from (_line(line, ["".join(span["text"] for span in line["spans"])]) for line in pool)
            continue
        joined = _line({"spans": spans, "bbox": _around(pool)}, [text])
        letters = (
            Letter(named.get(char["origin"], char["c"]), char["bbox"][0], char["bbox"][2], span["size"])
            for span in spans
            for char in span["chars"]
            if not char.get("synthetic")
        )
        for part in read_parts(letters, rules.across(joined), from_right=whole):
            yield replace(joined, pieces=[part.text], x0=part.x0, x1=part.x1)


def _touch(pool: Sequence[dict[str, Any]], line: dict[str, Any]) -> bool:
    """Tell whether a line goes on from others at its height, to either side."""
    x0, y0, x1, y1 = _around(pool)
    left, top, right, bottom = map(float, line["bbox"])
    shared = min(y1, bottom) - max(y0, top)
    return shared > 0.5 * min(y1 - y0, bottom - top) and max(left - x1, x0 - right) < 0.5 * (bottom - top)


def _around(lines: Sequence[dict[str, Any]]) -> tuple[float, float, float, float]:
    lefts, tops, rights, bottoms = zip(*(line["bbox"] for line in lines), strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _named_glyphs(page: Any) -> dict[tuple[float, float], str]:
    """Return the letters for which a page names no character but their font does, by where they stand.

    Such a font calls the form of an Arabic letter "uni0644.init"; what follows the full stop is no part of
    its name (Adobe Glyph List Specification). MuPDF takes the number of the glyph for the character.
    """
    mupdf = pymupdf.mupdf
    unknown = mupdf.FZ_STEXT_UNICODE_IS_CID | mupdf.FZ_STEXT_UNICODE_IS_GID
    found = {}
    text = page.get_textpage(flags=pymupdf.TEXTFLAGS_TEXT)  # which its letters live as long as
    for block in text.this:
        for line in block:
            for char in (each.m_internal for each in line):
                if char.flags & unknown:
                    name = mupdf.ll_fz_get_glyph_name2(char.font, char.c).partition(".")[0]
                    letter = chr(mupdf.ll_fz_unicode_from_glyph_name(name))
                    if runs_from_right(letter):
                        found[char.origin.x, char.origin.y] = letter
    return found


def _read_pictures(
    document: Any, numbers: Sequence[int], survey: Survey, builder: TextBuilder
) -> dict[int, list[Line]]:
    """Read pages that hold no text, at most so many, and return the lines of those that show some."""
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
    copy = f"ocrmypdf {path.name} {path.stem}-text.pdf"
    return (
        f". To have pictures of text read: {install_line('ocr')}, or make a copy that holds the text: {copy}"
    )


def _raw_lines(page: Any) -> list[tuple[str, dict[str, Any], bool]]:
    blocks = page.get_text("dict", flags=pymupdf.TEXTFLAGS_TEXT)["blocks"]
    return [
        ("".join(span["text"] for span in line["spans"]), line, abs(line["dir"][1]) < 0.1)
        for block in blocks
        for line in block.get("lines", ())
    ]


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


def _narrow_words(page: Any) -> dict[int, list[str]]:
    """Cut lines whose words run together where the letters stand apart; keyed by the line's number."""
    cuts = {}
    blocks = page.get_text("rawdict", flags=pymupdf.TEXTFLAGS_TEXT)["blocks"]
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
        cuts[index] = [text[start:end] for start, end in pairwise([*borders, len(text)])]
    return cuts


def _with_rows(page: Any, lines: list[Line], *, from_right: bool) -> list[Line]:
    """Join what stands side by side, and make rows of what stands in a table.

    A page that is read from right to left is read as what a mirror shows of it.
    """
    if from_right:
        width = page.rect.width
        lines = [replace(line, x0=width - line.x1, x1=width - line.x0) for line in lines]
    groups = side_by_side(lines)
    # what stands side by side at the page's edges is a running head
    heights = sorted(group[0].y0 for group in groups)
    if not any(len(group) > 1 and heights[0] < group[0].y0 < heights[-1] for group in groups):
        return [merge(group) if len(group) > 1 else group[0] for group in groups]
    rules = _rules(page)
    if from_right:
        return read_columns(read_framed(lines, rules.mirrored(width)))
    return read_columns(read_framed([part for line in lines for part in _cut(page, line, rules)], rules))


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


def _cut(page: Any, line: Line, rules: Rules) -> Iterator[Line]:
    """Cut a line of text where ruled lines go through it, as between the cells of a narrow table."""
    borders = rules.across(line)
    if not borders:
        yield line
        return
    words = page.get_text("words", clip=(line.x0, line.y0, line.x1, line.y1), flags=pymupdf.TEXTFLAGS_TEXT)
    level = [word for word in words if abs(word[1] + word[3] - line.y0 - line.y1) < line.size]
    for _, group in groupby(level, key=lambda word: bisect_right(borders, (word[0] + word[2]) / 2)):
        part = list(group)
        yield replace(line, pieces=[" ".join(word[4] for word in part)], x0=part[0][0], x1=part[-1][2])


def _outline(document: Any) -> dict[int, list[tuple[int, str]]]:
    """Return the bookmarks of each page as (level, title); none where there are too few to be of use."""
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
    """Yield what is known of each attached file, and what reads it."""
    for at in range(document.embfile_count()):
        yield document.embfile_info(at), partial(document.embfile_get, at)
    if document.has_annots():
        for page in document:
            for note in page.annots([pymupdf.PDF_ANNOT_FILE_ATTACHMENT]):
                yield note.file_info, note.get_file


def _ranges(numbers: Sequence[int]) -> str:
    """Write page numbers as people do: "1-3, 7"."""
    places = count()
    runs = [list(run) for _, run in groupby(numbers, key=lambda number: number - next(places))]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
