"""The lines of a PDF page, from the blocks, lines and spans that PyMuPDF returns as dictionaries."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from adaptive_rag.ingest.lines import Line, bounding_box, is_currency_sign, separates_cells
from adaptive_rag.ingest.right_to_left import Letter, has_rtl_letters, read_parts
from adaptive_rag.ingest.ruled_lines import RuledLines
from adaptive_rag.ingest.superscripts import raise_digits
from adaptive_rag.ingest.unseen_text import VisibleText

# Bits of a span's flags.
_SUPERSCRIPT_FLAG, _BOLD_FLAG = 1, 16
# As a share of the type size of its line: larger text above the baseline is not a superscript.
_MAX_SUPERSCRIPT_SIZE = 0.9
# No word is that long: the blanks between its words are too narrow to be recognized.
_RUN_TOGETHER = re.compile(r"[^\W\d_]{20,}")
_NARROW_BLANK = 0.1  # in type sizes
# Several cells may be set as one line: "PK–12       PK–8", "2,218,406 1,180,160".
_SEVERAL_CELLS = re.compile(
    r"^[$£€¥] | {3,}|\d[)\]%*†‡⁰¹²³⁴-⁹]* (?:[%$£€¥] ?)*[(\[]?[-–−+$£€.<≤≥]*\d|[\d%)—] [$£€¥]$|(?:\. ?){5}|…"
)
# The fewest such lines that may be a table by themselves, with each row in one line.
_MIN_TABLE_LINES = 3
# In type sizes: baselines that are closer belong to one line, as that of an exponent does.
_MAX_BASELINE_GAP = 0.6


class RawLine(NamedTuple):
    """A line as PyMuPDF returns it, its text, and whether it is horizontal."""

    line: dict[str, Any]
    text: str
    horizontal: bool


def find_raw_lines(visible: VisibleText) -> list[RawLine]:
    """Return the visible lines of a page, in the order of the page."""
    return [
        RawLine(line, _join_spans(line), _is_horizontal(line))
        for block in visible.blocks
        for line in block.get("lines", ())
    ]


def make_ltr_lines(visible: VisibleText, raw_lines: Sequence[RawLine]) -> Iterator[Line]:
    """Yield the lines of a page that is read from left to right."""
    is_run_together = any(_RUN_TOGETHER.search(raw.text) for raw in raw_lines)
    words = _split_run_together_words(visible) if is_run_together else {}
    mostly_horizontal = sum(raw.horizontal for raw in raw_lines) > 0.8 * len(raw_lines)
    boxes = [raw.line["bbox"] for raw in raw_lines if raw.horizontal]
    left, right = min((box[0] for box in boxes), default=0.0), max((box[2] for box in boxes), default=0.0)
    for index, (line, text, horizontal) in enumerate(raw_lines):
        # Of vertical text, only a column's name belongs to the page's text: not a note in the margin, nor a
        # turned brace.
        middle = (line["bbox"][0] + line["bbox"][2]) / 2
        is_column_name = abs(line["dir"][0]) < 0.1 and left < middle < right and len(text.strip()) > 2
        if horizontal or is_column_name or not mostly_horizontal:
            yield _make_line(line, words.get(index, [text]))


def make_rtl_lines(
    visible: VisibleText,
    rules: RuledLines,
    named_glyphs: Mapping[tuple[float, float, str], str],
    *,
    is_rtl_page: bool,
) -> Iterator[Line]:
    """Yield the lines of a page on which some lines, or most on an RTL page, are read from right to left.

    `named_glyphs` has the letters that only their fonts name, by position and by the page's character.
    """
    for group in _group_parts_of_lines(visible):
        spans = [span for line in group for span in line["spans"]]
        text = "".join(span["text"] for span in spans)
        if not (is_rtl_page or has_rtl_letters(text)):
            yield from (_make_line(line, [_join_spans(line)]) for line in group)
            continue
        joined = _make_line({"spans": spans, "bbox": bounding_box(line["bbox"] for line in group)}, [text])
        letters = [
            Letter(
                named_glyphs.get((*char["origin"], char["c"]), char["c"]),
                *_letter_extent(char, line),
                span["size"],
            )
            for line in group
            for span in line["spans"]
            for char in span["chars"]
            if not char.get("synthetic")
        ]
        if not _is_horizontal(group[0]):
            parts = read_parts(letters, is_rtl_page=is_rtl_page)
            yield replace(joined, pieces=[" ".join(part.text for part in parts)])
            continue
        for part in read_parts(letters, rules.find_crossings(joined), is_rtl_page=is_rtl_page):
            yield replace(joined, pieces=[part.text], x0=part.x0, x1=part.x1)


def _group_parts_of_lines(visible: VisibleText) -> list[list[dict[str, Any]]]:
    """Group the raw lines that continue each other: a font or a direction that changes splits a line."""
    groups: list[list[dict[str, Any]]] = []
    for line in (line for block in visible.letters() for line in block.get("lines", ())):
        for span in line["spans"]:
            span["text"] = "".join(char["c"] for char in span["chars"])
        if groups and _continues_group(groups[-1], line):
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def _continues_group(group: Sequence[dict[str, Any]], line: dict[str, Any]) -> bool:
    """Return whether a line continues others at its height, on either side."""
    if not (_is_horizontal(line) and _is_horizontal(group[0])):
        return False
    last = group[-1]
    # The boxes of a tall font overlap the lines above and below.
    if abs(_baseline(last) - _baseline(line)) > _MAX_BASELINE_GAP * max(_max_size(last), _max_size(line)):
        return False
    x0, y0, x1, y1 = bounding_box(part["bbox"] for part in group)
    left, top, right, bottom = map(float, line["bbox"])
    overlap = min(y1, bottom) - max(y0, top)
    gap = max(left - x1, x0 - right)
    return overlap > 0.5 * min(y1 - y0, bottom - top) and gap < 0.5 * (bottom - top)


def _is_horizontal(line: dict[str, Any]) -> bool:
    return bool(abs(line["dir"][1]) < 0.1)


def _baseline(line: dict[str, Any]) -> float:
    return float(line["spans"][0]["origin"][1]) if line["spans"] else 0.0


def _max_size(line: dict[str, Any]) -> float:
    return max((float(span["size"]) for span in line["spans"]), default=0.0)


def _letter_extent(char: dict[str, Any], line: dict[str, Any]) -> tuple[float, float]:
    """Return the extent of a letter along its line, which may be vertical."""
    x0, y0, x1, y1 = char["bbox"]
    if _is_horizontal(line):
        return x0, x1
    return (y0, y1) if line["dir"][1] > 0 else (-y1, -y0)


def _join_spans(line: dict[str, Any]) -> str:
    """Return the text of a line, with superscript numbers as raised digits."""
    max_size = _MAX_SUPERSCRIPT_SIZE * _max_size(line)
    return "".join(
        raise_digits(span["text"])
        if span["flags"] & _SUPERSCRIPT_FLAG and span["size"] < max_size
        else span["text"]
        for span in line["spans"]
    )


def _make_line(line: dict[str, Any], pieces: list[str]) -> Line:
    """Return a line with the type size of most of its characters; it is bold if nearly all are."""
    sizes: Counter[float] = Counter()
    bold_letters = 0
    for span in line["spans"]:
        letters = len(span["text"].strip())
        sizes[span["size"]] += letters
        bold_letters += letters if span["flags"] & _BOLD_FLAG else 0
    size = max(sizes, key=sizes.__getitem__, default=1.0)
    x0, y0, x1, y1 = line["bbox"]
    return Line(pieces, x0, y0, x1, y1, size, bold=bold_letters > 0.9 * sizes.total())


def _split_run_together_words(visible: VisibleText) -> dict[int, list[str]]:
    """Split lines whose words run together at the gaps between letters; return the words by line number."""
    words_by_line = {}
    for number, line in enumerate(line for block in visible.letters() for line in block.get("lines", ())):
        letters = [(char, span["size"]) for span in line["spans"] for char in span["chars"]]
        text = "".join(char["c"] for char, _ in letters)
        if not _RUN_TOGETHER.search(text):
            continue
        starts = [0]
        for index, ((left, size), (right, _)) in enumerate(pairwise(letters), start=1):
            has_gap = right["bbox"][0] - left["bbox"][2] > _NARROW_BLANK * size
            if has_gap and left["c"].isalpha() and right["c"].isalpha():
                starts.append(index)
        words_by_line[number] = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    return words_by_line


def may_have_tables(groups: Sequence[Sequence[Line]]) -> bool:
    """Return whether lines are side by side, or look like several cells; `groups` are those side by side.

    Lines side by side at the page's top and foot are running heads.
    """
    tops = sorted(group[0].y0 for group in groups)
    if any(len(group) > 1 and tops[0] < group[0].y0 < tops[-1] for group in groups):
        return True
    lines = (line for group in groups for line in group)
    return sum(_SEVERAL_CELLS.search(line.text) is not None for line in lines) >= _MIN_TABLE_LINES


def split_line(line: Line, visible: VisibleText, rules: RuledLines) -> Iterator[Line]:
    """Split a line into table cells: at the ruled lines that cross it, else at wide gaps."""
    borders = rules.find_crossings(line)
    if not borders and not _SEVERAL_CELLS.search(line.text):
        yield line
        return
    words = [
        word for word in visible.words(line.box) if abs(word[1] + word[3] - line.y0 - line.y1) < line.size
    ]
    borders = borders or [
        (left[2] + right[0]) / 2
        for left, right in pairwise(words)
        if separates_cells(left[4], right[4], (right[0] - left[2]) / line.size)
    ]
    texts = line.text.split()  # these have raised digits, unlike `words`
    plain_texts, plain_words = _normalize(texts), _normalize(word[4] for word in words)
    if "".join(plain_texts) != "".join(plain_words):  # the line is upright, or another one covers it
        yield line
        return
    if plain_texts == plain_words:
        words = [(*word[:4], text) for word, text in zip(words, texts, strict=True)]
    for _, group in groupby(words, key=lambda word: bisect_right(borders, (word[0] + word[2]) / 2)):
        cell = list(group)
        # The figure sets the position, since others in the column have no sign.
        first = cell[len(cell) > 1 and is_currency_sign(cell[0][4])]
        yield replace(line, pieces=[" ".join(word[4] for word in cell)], x0=first[0], x1=cell[-1][2])


def _normalize(texts: Iterable[str]) -> list[str]:
    """Return texts with plain digits and signs in place of raised ones."""
    return [unicodedata.normalize("NFKC", text).replace("\u2212", "-") for text in texts]
