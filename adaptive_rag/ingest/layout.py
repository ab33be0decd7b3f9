"""PDF page layout: running heads and feet, and how each line follows the line before it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from statistics import median

from adaptive_rag.ingest.cleaning import SYMBOLS, Vocabulary, clean
from adaptive_rag.ingest.lines import LEADER_DOTS, Extent, Line
from adaptive_rag.ingest.page_headers import NUMBER_OF_PAGE

# How a line follows the line before it.
WRAPPED, NEW_LINE, NEW_PARAGRAPH = 0, 1, 2

_BULLET = re.compile(rf"[-*•▪◦‣·–—●■○□◆❖►➢➔✓✔☐☑☒{''.join(SYMBOLS)}]\s")
_ITEM_NUMBER = re.compile(r"\(?(?:\d{1,3}|[a-z])[.)]\s|(?:\d{1,2}\.)+\d{1,2}\s|\[\d{1,3}\]\s")
# What begins an item whose other lines are indented; Word uses "o" as a bullet.
_HANGING_ITEM = re.compile(rf"{_BULLET.pattern}|{_ITEM_NUMBER.pattern}|o\s")
_SPLIT_WORD = re.compile(r"[^\W\d_][-\u2010\u00ad]\s*$")
_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’»)\]]*\s*$")
# A short text without a word: fractions and exponents of a formula are extracted as such lines.
_FORMULA_FRAGMENT = re.compile(r"(?!.*[^\W\d_]{3}).{1,12}")
# The most lines of a running head, and the most characters in each.
_MAX_EDGE_LINES, _MAX_HEAD_LENGTH = 3, 120
# In type sizes of the page's usual line: a larger line at its edge is a title.
_MAX_HEAD_SIZE = 1.3
# Arabic and Roman page or chapter numbers. Longer numbers, such as that of an invoice, distinguish two heads.
_SHORT_NUMBER = re.compile(r"(?<!\d)\d{1,3}(?!\d)|(?<!\w)[ivxlcdm]+(?!\w)")
# In type sizes: text in a narrower column, such as a box of a diagram, does not continue in the next one.
_MIN_PROSE_WIDTH = 8
# A position at a page's edge: "top" or "foot", height in steps of 3 points, type size.
_Slot = tuple[str, int, int]


class Survey:
    """The results of a first pass over all pages: words, type sizes, and lines that recur at page edges."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self._size_counts: Counter[float] = Counter()
        self._bold_counts: Counter[bool] = Counter()
        self._edge_text_counts: Counter[tuple[str, str]] = Counter()
        self._slot_texts: dict[_Slot, list[set[str]]] = {}
        self._page_count = 0
        self.line_count = 0

    def add(self, lines: Sequence[Line]) -> None:
        """Add the lines of one page."""
        self._page_count += 1
        self.line_count += len(lines)
        self.vocabulary.learn(line.text for line in lines)
        for line in lines:
            self._size_counts[round(line.size, 1)] += len(line.text)
            self._bold_counts[line.bold] += len(line.text)
        edge_texts: dict[_Slot, set[str]] = defaultdict(set)
        max_size = _MAX_HEAD_SIZE * median(line.size for line in lines) if lines else 0.0
        for slot, line in _find_edge_lines(lines):
            # A running head may have the book's title on one side and the chapter's title on the other.
            # A wide gap before the page number may split the line on one page and not on another.
            is_title = line.size > max_size
            edge_texts[slot].update(
                _normalize_head(text, is_title=is_title) for text in (*line.pieces, line.text)
            )
        for slot, texts in edge_texts.items():
            self._slot_texts.setdefault(slot, []).append(texts)
        # Each text once: two copies of a form on one sheet are no running heads.
        self._edge_text_counts.update(
            {(slot[0], text) for slot, texts in edge_texts.items() for text in texts}
        )

    @property
    def body_size(self) -> float:
        """The type size of most characters."""
        return max(self._size_counts, key=self._size_counts.__getitem__, default=0.0)

    @property
    def body_bold(self) -> bool:
        """Whether most characters are bold."""
        return self._bold_counts[True] > self._bold_counts[False]

    def without_running_heads(self, lines: Sequence[Line], kept_edge: str | None = None) -> list[Line]:
        """Return a page's lines without its running heads and feet.

        Lines at `kept_edge`, "top" or "foot", are kept, except for page numbers. They become the first or the
        last lines: many programs write them behind the text of the page.

        A position at the page's edge (height and type size) belongs to running heads if most of the lines
        there recur on other pages, apart from numbers. Then every line in that position is dropped, so that
        the head of a short chapter is dropped like the others.
        """
        edges = {
            id(line): slot[0]
            for slot, line in _find_edge_lines(lines, include_full_pages=True)
            if slot in self._running_head_slots
        }
        body = [line for line in lines if id(line) not in edges]
        edge = [
            line
            for line in lines
            if kept_edge and edges.get(id(line)) == kept_edge and not NUMBER_OF_PAGE.fullmatch(line.text)
        ]
        kept = [*body, *edge] if kept_edge == "foot" else [*edge, *body]
        return kept if kept or len(lines) <= _MAX_EDGE_LINES else list(lines)

    @cached_property
    def _running_head_slots(self) -> set[_Slot]:
        """The positions at which most lines recur on other pages."""
        min_pages = min(3, max(2, self._page_count))
        slots = set()
        for slot, pages in self._slot_texts.items():
            recurring = sum(
                any(self._edge_text_counts[slot[0], text] >= min_pages for text in texts) for texts in pages
            )
            if len(pages) >= min_pages and recurring >= 0.6 * len(pages):
                slots.add(slot)
        self._slot_texts.clear()
        return slots


def _normalize_head(text: str, *, is_title: bool) -> str:
    """Return a text at a page's edge with "#" for each page or chapter number: "# the tides of #".

    A title keeps its number: "Day 2" is no running head, though "Day 1" and "Day 3" are on other pages.
    """
    if NUMBER_OF_PAGE.fullmatch(text):
        return "#"
    text = clean(text).strip().casefold()
    return text if is_title else _SHORT_NUMBER.sub("#", text)


def _find_edge_lines(
    lines: Sequence[Line], *, include_full_pages: bool = False
) -> Iterator[tuple[_Slot, Line]]:
    """Yield the lines that a gap separates from the page's body, at its top and foot, with their position.

    A page on which every line could be a running head yields nothing, unless `include_full_pages` is set.
    """
    ordered = sorted(lines, key=lambda line: line.y0)
    if not ordered:
        return
    pitch = min(_pitch(pairwise(ordered)), 1.6 * median(line.size for line in ordered))
    edges = []
    for edge, from_edge in (("top", ordered), ("foot", ordered[::-1])):
        for count, line in enumerate(from_edge[:_MAX_EDGE_LINES], start=1):
            # The first row of a long table is not a running head, though "4.20" recurs on other pages.
            in_table = sum(other.continues_table(line) for other in ordered) > _MAX_EDGE_LINES
            if len(line.text) > _MAX_HEAD_LENGTH or in_table:
                break
            neighbour = from_edge[count] if count < len(from_edge) else None
            if neighbour is None or abs(neighbour.y0 - line.y0) > 1.35 * pitch:
                edges += [
                    ((edge, round(outer.y0 / 3), round(outer.size)), outer) for outer in from_edge[:count]
                ]
                break
    if include_full_pages or len({id(line) for _, line in edges}) < len(ordered):
        yield from edges


class Flow:
    """Decides how each line of a page follows the line before it; created anew for each page."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        # The rows of a table may be further apart, since their cells may have several lines.
        outside_tables = [pair for pair in pairwise(lines) if not (pair[0].columns or pair[1].columns)]
        self._pitch = min(_pitch(outside_tables or pairwise(lines)), _pitch(pairwise(lines)))
        self._by_left = sorted(lines, key=lambda line: line.x0)
        self._text_columns: dict[tuple[float, float], Extent] = {}
        self._tabular: set[int] = set()  # indexes of lines with a stop below or above another one
        for index, (upper, lower) in enumerate(pairwise(map(_find_column_stops, lines))):
            if any(abs(stop - other) < 2 for stop in upper for other in lower):
                self._tabular |= {index, index + 1}

    def text_column(self, line: Line) -> Extent:
        """Return the left and right edge of the text column that `line` is in."""
        key = line.x0, line.size
        if key not in self._text_columns:
            distance = 4 * line.size
            # On a damaged page the type size may be 0; then no line is near.
            first = bisect_right(self._by_left, line.x0 - distance, key=lambda other: other.x0)
            end = bisect_left(self._by_left, line.x0 + distance, key=lambda other: other.x0)
            near = self._by_left[first:end]
            # A title in larger type or a table may span several columns.
            column = [line, *(o for o in near if not o.columns and not _differs_in_type(o, line))]
            self._text_columns[key] = min(other.x0 for other in column), max(other.x1 for other in column)
        return self._text_columns[key]

    def relation(self, index: int) -> int:
        """Return how a line, but the first, follows the line before it on this page."""
        previous, line = self.lines[index - 1], self.lines[index]
        step = line.y0 - previous.y0
        if line.columns or previous.columns:
            return NEW_LINE if line.continues_table(previous) else NEW_PARAGRAPH
        if index in self._tabular:
            return NEW_LINE if index - 1 in self._tabular else NEW_PARAGRAPH
        if index - 1 in self._tabular:  # the rest of a cell, or text after the table
            return NEW_LINE if line.x0 - previous.x0 > line.size else NEW_PARAGRAPH
        if abs(step) < 0.95 * self._pitch and any(
            _FORMULA_FRAGMENT.fullmatch(neighbour.text) for neighbour in (previous, line)
        ):
            return WRAPPED
        if _differs_in_type(previous, line):
            return NEW_PARAGRAPH
        if step < -0.5 * line.size:  # the line begins the next column
            return self._relation_across_break(previous, line, self)
        if step > 1.45 * max(self._pitch, 1.05 * line.size):
            return NEW_PARAGRAPH
        if self._begins_item(previous, line) or LEADER_DOTS.search(previous.text):
            return NEW_LINE
        if self._begins_indented_paragraph(index):
            return NEW_PARAGRAPH
        if self.ends_early(previous, line):
            return NEW_PARAGRAPH if step > 1.15 * self._pitch else NEW_LINE
        return WRAPPED

    def relation_to_next_page(self, next_flow: Flow) -> int:
        """Return how the first line of the next page follows the last line of this one."""
        return self._relation_across_break(self.lines[-1], next_flow.lines[0], next_flow)

    def _relation_across_break(self, previous: Line, line: Line, next_flow: Flow) -> int:
        """Return how the first line of a page or column follows the last line of the one before."""
        if line.continues_table(previous):
            return NEW_LINE
        is_row = line.columns or previous.columns
        if is_row or _differs_in_type(previous, line) or self._begins_item(previous, line):
            return NEW_PARAGRAPH
        if line.text[:1].islower():
            return WRAPPED
        left, right = self.text_column(previous)
        is_box = right - left < _MIN_PROSE_WIDTH * previous.size
        if is_box and line.y1 < previous.y0 + 0.3 * line.size:  # it is no name beside the line
            return NEW_PARAGRAPH
        if _SENTENCE_END.search(previous.text) and line.x0 - next_flow.text_column(line)[0] > 0.7 * line.size:
            return NEW_PARAGRAPH
        return NEW_PARAGRAPH if self.ends_early(previous, line) else WRAPPED

    def ends_early(self, previous: Line, line: Line) -> bool:
        """Return whether a line was ended on purpose: the next word would have fitted on it."""
        if _SPLIT_WORD.search(previous.text) and line.text[:1].islower():
            return False
        word = line.text.split(maxsplit=1)[0]
        room = self.text_column(previous)[1] - previous.x1
        needed_room = (len(word) + 1) * (previous.x1 - previous.x0) / max(1, len(previous.text))
        return room > 1.15 * needed_room + 0.5 * previous.size

    def _begins_item(self, previous: Line, line: Line) -> bool:
        """Return whether a line begins a list item, unlike "there were | 13. The sea"."""
        if _BULLET.match(line.text):
            return True
        if not _ITEM_NUMBER.match(line.text):
            return False
        after_item_or_sentence = _ITEM_NUMBER.match(previous.text) or _SENTENCE_END.search(previous.text)
        return bool(after_item_or_sentence) or self.ends_early(previous, line)

    def _begins_indented_paragraph(self, index: int) -> bool:
        """Return whether a line begins a paragraph by its indent, and does not continue a hanging one."""
        previous, line = self.lines[index - 1], self.lines[index]
        shift, min_shift = line.x0 - previous.x0, 0.7 * line.size
        if shift > 4 * line.size:
            return False
        following = self.lines[index + 1] if index + 1 < len(self.lines) else None
        if shift > min_shift:
            if _HANGING_ITEM.match(previous.text) or not self._may_end_paragraph(previous, line):
                return False
            return following is None or following.y0 < line.y0 or following.x0 < line.x0 - min_shift
        if shift < -min_shift and index > 1:
            indent = previous.x0 - self.lines[index - 2].x0
            hangs = indent > min_shift and self.relation(index - 1) == WRAPPED
            return line.text.startswith("o ") or abs(indent) < 1 or hangs
        return False

    def _may_end_paragraph(self, line: Line, next_line: Line) -> bool:
        return _SENTENCE_END.search(line.text) is not None or self.ends_early(line, next_line)


def _find_column_stops(line: Line) -> list[float]:
    """Return the stops of a line, but not the one between a bullet or an item's number and its text."""
    is_item = len(line.stops) == len(line.pieces) - 1 and _HANGING_ITEM.fullmatch(f"{line.pieces[0]} ")
    return line.stops[1:] if is_item else line.stops


def _pitch(neighbours: Iterable[tuple[Line, Line]]) -> float:
    """Return the usual distance from one line to the next."""
    return median([b.y0 - a.y0 for a, b in neighbours if b.y0 - a.y0 > 1] or [0.0])


def _differs_in_type(a: Line, b: Line) -> bool:
    return a.bold != b.bold or abs(a.size - b.size) > 0.1 * max(a.size, b.size)
