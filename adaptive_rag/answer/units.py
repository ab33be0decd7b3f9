"""Finds units that are quoted as one piece but are no sentences: rows, lists, code and chat messages."""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypeAlias

from adaptive_rag.answer.contributions import WRITTEN, author_of
from adaptive_rag.answer.outline import LONGEST_HEADING
from adaptive_rag.state import Candidate
from adaptive_rag.text.speech import Head, read_head
from adaptive_rag.text.tables import describe_row, find_tables, name_cells

# Maximum number of characters of a unit, and of the lead-in before it. A longer list is quoted item by item,
# a longer message sentence by sentence.
LONGEST_PIECE, LONGEST_LEAD_IN = 400, 200
# Maximum mean number of words of the items of a list under a heading; longer items are quoted as sentences.
SHORT_ITEM = 10

# Opens and closes a code block, on separate lines.
CODE_FENCE = "```"
# A line of a record: "Owner: Mrs Adair"
_FIELD = re.compile(r"(?P<name>[^:\n]+): (?P<value>[^\n]+)")
_FENCE = re.compile(r"^[ \t]*(?:```+|~~~+)[ \t]*(?P<language>[\w+#.-]*)[^\n`]*$", re.MULTILINE)
# "# Start it", "-- all rows"; not "#include <stdio.h>" or "--rm"
_COMMENT_MARK = r"(?:(?:#+|--)(?!\S)|//|;)"
_INDENT = re.compile(r"^[ \t]*(?=\S)", re.MULTILINE)
_ITEM = re.compile(r"(?:[-*+•‣▪◦·–—]|(?P<number>\(?(?:\d{1,3}|[a-z]|[ivx]{1,4}|[A-Z](?=\)))[.)]))\s+")
_HEADING = re.compile(r"#{1,6}\s+")


@dataclass(frozen=True)
class Unit:
    """A piece of a passage that is shown as a whole."""

    start: int  # in the offsets of the passage's span
    end: int
    text: str  # the text for reading
    standalone: bool = True  # whether it needs no context; a list may continue the text before it
    speaker: str = ""  # the speaker of a message
    quality: float = 1.0  # as for a sentence; 0 for a unit that is not shown by itself, such as a question
    cells: tuple[tuple[str, str], ...] = ()  # for a row: pairs of column name and value


_Reader: TypeAlias = Callable[[Candidate, list[tuple[int, int]]], Iterator[Unit]]


def read_units(passage: Candidate, spans: Sequence[tuple[int, int]]) -> list[Unit]:
    """Return the units of a passage in order, without overlaps; `spans` are those of its sentences."""
    text, offset = passage["text"], passage["start"]
    local = [(start - offset, end - offset) for start, end in spans]
    units: list[Unit] = []
    readers: tuple[_Reader, ...] = (_read_record, _read_code, _read_rows, _read_messages, _read_lists)
    if passage["metadata"].get("kind") == "qa":
        readers = (_read_further_columns,)
    for read in readers:
        earlier = list(units)
        for unit in read(passage, local):
            if all(unit.end <= other.start or other.end <= unit.start for other in earlier):
                units.append(unit)
    return [
        replace(unit, start=unit.start + offset, end=unit.end + offset)
        for unit in sorted(units, key=lambda unit: unit.start)
        if text[unit.start : unit.end].strip()
    ]


def _read_record(passage: Candidate, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read a row of a CSV file, given as lines of "column: value"."""
    text = passage["text"]
    lines = [_FIELD.fullmatch(line) for line in text.split("\n")]
    fields = [field for field in lines if field]
    is_record = "row" in passage["metadata"] and passage["metadata"].get("kind") != "qa"
    if not is_record or len(lines) < 2 or len(fields) < len(lines):
        return
    sheet = passage["metadata"].get("sheet")
    if len(fields) > 2 and fields[-1]["name"].startswith("Sheet") and fields[-1]["value"] == sheet:
        fields.pop()  # the citation names it
    names, values = (tuple(field[part] for field in fields) for part in ("name", "value"))
    if author_of(passage):
        yield from _read_review(text, fields, spans)
    elif len(text) <= LONGEST_PIECE:
        yield Unit(0, len(text), describe_row(values, names), cells=tuple(name_cells(values, names)))
    else:
        # Each cell of a long row becomes a unit, after the cell that names the row.
        start = 0
        for name, value in zip(names, values, strict=True):
            end = start + len(name) + 2 + len(value)
            if start and end - start <= LONGEST_PIECE:
                yield Unit(start, end, describe_row((values[0], value), ("", name)))
            start = end + 1


def _read_further_columns(passage: Candidate, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read the further columns of a question-answer row, such as "Owner: Mrs Adair"."""
    for line in re.finditer(r"[^\n]+", passage["text"]):
        field = _FIELD.fullmatch(line[0])
        if field and passage["metadata"].get(field["name"]) == field["value"]:
            yield Unit(*line.span(), line[0])


def _read_review(text: str, fields: Sequence[re.Match[str]], spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read a row with an author, such as a review: the cells before its text, and the first sentence."""
    short_fields = list(takewhile(lambda field: len(field["value"].split()) < WRITTEN, fields))
    long_field = sum(len(field[0]) + 1 for field in short_fields)
    if short_fields:
        names, values = (tuple(field[part] for field in short_fields) for part in ("name", "value"))
        yield Unit(0, long_field - 1, describe_row(values, names), cells=tuple(name_cells(values, names)))
    for start, end in spans:
        if start == long_field:
            first_word = start + fields[len(short_fields)].start("value")
            yield Unit(start, end, text[first_word:end], standalone=False)


def _read_code(passage: Candidate, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read the commands of each code block, with the comment or the text that introduces them."""
    text = passage["text"]
    for start, end in _find_code_blocks(text):
        lead_in = _lead_in(text, start, spans)
        heading = _heading_above(passage, start, spans)
        # A comment inside a loop does not begin another piece of code.
        comment = re.compile(min(_INDENT.findall(text, start, end), key=len, default="") + _COMMENT_MARK)
        for stanza in _stanza(comment.pattern).finditer(text, start, end):
            lines = [line for line in stanza[0].split("\n") if line.strip()]
            comments = [comment.sub("", line, count=1).strip() for line in lines if comment.match(line)]
            code = [line.rstrip() for line in lines if not comment.match(line)]
            if code and stanza.end() - stanza.start() <= LONGEST_PIECE:
                shown = _format_code(code, " ".join(comments) or lead_in, heading)
                yield Unit(*_trim(text, *stanza.span()), shown)


def _stanza(comment: str) -> re.Pattern[str]:
    """Return the pattern of lines of code up to a blank line, with the comments above them."""
    return re.compile(rf"(?:^{comment}[^\n]*\n)*(?:^(?!{comment})[^\n]*\S[^\n]*(?:\n|\Z))+", re.MULTILINE)


def _format_code(code: list[str], introduction: str, heading: str) -> str:
    """Format one line of code within the text, and several as a block on separate lines."""
    if len(code) == 1:
        line = f"`{' '.join(code[0].split())}`"
        return f"{introduction.rstrip(' :.')}: {line}" if introduction else line
    block = textwrap.dedent("\n".join(code))
    return f"{(introduction or heading or 'Code').rstrip(' :.')}:\n{CODE_FENCE}\n{block}\n{CODE_FENCE}"


def _find_code_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the code in code blocks; the first and the last may extend beyond the text."""
    fences = list(_FENCE.finditer(text))
    is_inside = bool(fences) and _begins_in_code(text, fences)
    start = 0
    for fence in fences:
        if is_inside:
            yield start, fence.start()
        is_inside, start = not is_inside, fence.end() + 1
    if is_inside:
        yield start, len(text)


def _begins_in_code(text: str, fences: list[re.Match[str]]) -> bool:
    """Return whether the first fence of a text ends a code block that began before the text."""
    first = fences[0]
    if first["language"] or not text[: first.start()].strip():
        return False
    blank_above = text[: first.start()].endswith("\n\n")
    blank_below = not text[first.end() + 1 :].split("\n", 1)[0].strip()
    return (blank_below and not blank_above) or (len(fences) > 1 and bool(fences[1]["language"]))


def _read_rows(passage: Candidate, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read the rows of each table with the names of their columns."""
    columns = tuple(passage["metadata"].get("columns", ()))
    for table in find_tables(passage["text"], columns):
        for row in table.rows:
            words = re.findall(r"[^\W_]+", " ".join(row.cells))
            is_readable = len(words) > 1 and row.end - row.start <= 2 * LONGEST_PIECE
            shown = describe_row(row.cells, table.columns)
            cells = tuple(name_cells(row.cells, table.columns))
            yield Unit(row.start, row.end, shown, quality=1.0 if is_readable else 0.0, cells=cells)


def _read_messages(passage: Candidate, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read the messages of a chat; a question and the answer in the next message form one unit."""
    text = passage["text"]
    speakers = tuple(passage["metadata"].get("speakers", ()))
    heads = [head for start, _ in spans if (head := read_head(text, start, speakers))]
    if not speakers and max(Counter(head.speaker for head in heads).values(), default=0) < 2:
        return  # "12:30 Lunch: soup" is in a timetable
    if not heads:
        return  # the whole text continues a turn that began before it
    ends = [head.start for head in heads[1:]] + [len(text)]
    question: Unit | None = None
    for head, end in zip(heads, ends, strict=True):
        start, end = _trim(text, head.start, end)
        message = " ".join(text[head.end : end].split())
        if "\n\n" in text[start:end] or end - start > LONGEST_PIECE:
            if head.time:
                yield from _split_message(text, head, end, spans)
            question = None
            continue
        unit = Unit(start, end, f"{_label(head)}: “{message}”", speaker=head.speaker)
        sentences = bisect_left(spans, (end, 0)) - bisect_left(spans, (start, 0))
        if question and question.speaker != head.speaker:
            yield replace(unit, start=question.start, text=f"{question.text} {unit.text}")
        elif not message.endswith("?") and (head.time or sentences == 1):
            yield unit  # the sentences of a longer turn in a transcript can stand alone
        question = unit if message.endswith("?") else None


def _split_message(text: str, head: Head, end: int, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read the sentences of a long message, each with its speaker, up to the end of the paragraph."""
    paragraph_end = text.find("\n\n", head.start, end)
    end = end if paragraph_end < 0 else paragraph_end
    for first, last in spans:
        if head.start <= first and last <= end:
            sentence = " ".join(text[max(first, head.end) : last].split())
            quality = 0.0 if sentence.endswith("?") else 0.8
            yield Unit(first, last, f"{_label(head)}: “{sentence}”", speaker=head.speaker, quality=quality)


def _label(head: Head) -> str:
    return f"{head.speaker} ({head.time})" if head.time else head.speaker


def _read_lists(passage: Candidate, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read a short list with its lead-in as one unit, or the items of a long list that continue it."""
    text = passage["text"]
    i = 0
    while i < len(spans):
        first, items = i, list[tuple[int, int]]()
        while i < len(spans) and _begins_line(text, spans[i][0]) and _ITEM.match(text, spans[i][0]):
            start, end = spans[i]
            i += 1
            # further sentences on the item's last line belong to it
            while i < len(spans) and "\n" not in text[end : spans[i][0]]:
                end, i = spans[i][1], i + 1
            items.append((start, end))
        if items:
            yield from _read_list(passage, spans, first, items)
        else:
            i += 1


def _read_list(
    passage: Candidate, spans: list[tuple[int, int]], first: int, items: list[tuple[int, int]]
) -> Iterator[Unit]:
    """Read a list: `first` is the index of its first sentence, `items` are the spans of its items."""
    text = passage["text"]
    lead_in = _lead_in(text, items[0][0], spans)
    title = _title(text, *spans[first - 1]) if first and not lead_in else ""
    if not lead_in and (not title or len(items) < 2):
        return
    start, end = spans[first - 1][0], items[-1][1]
    shown = [_without_bullet(text[slice(*item)]) for item in items]
    is_short = sum(len(item.split()) for item in shown) <= SHORT_ITEM * len(shown)
    if end - start <= LONGEST_PIECE and (lead_in or is_short):
        is_numbered = all(re.match(r"\(?\w+[.)] ", item) for item in shown)
        body = " ".join(shown) if is_numbered or shown[0].endswith((".", "!")) else _join_items(shown)
        yield Unit(start, end, f"{lead_in or title + ':'} {body}", standalone=False)
    elif lead_in:
        for (start, end), item in zip(items, shown, strict=True):
            bare = re.sub(r"^\(?\w{1,4}[.)] ", "", item)
            if bare[:1].islower() and end - start <= LONGEST_PIECE:
                yield Unit(start, end, f"{lead_in} {bare}", quality=0.8)


def _without_bullet(text: str) -> str:
    """Return a list item on one line, without its bullet but with its number."""
    mark = _ITEM.match(text)
    return " ".join((text if mark is None or mark["number"] else text[mark.end() :]).split())


def _join_items(items: Sequence[str]) -> str:
    return "; ".join(item.rstrip(" ;,:") for item in items).rstrip(".") + "."


def _lead_in(text: str, start: int, spans: list[tuple[int, int]]) -> str:
    """Return the sentence before a position if it introduces what follows, as "It needs:" does."""
    before = bisect_left(spans, (start, 0)) - 1
    while before >= 0 and _FENCE.fullmatch(text, *spans[before]):
        before -= 1
    if before < 0:
        return ""
    sentence = " ".join(text[slice(*spans[before])].split())
    return sentence if sentence.endswith(":") and len(sentence) <= LONGEST_LEAD_IN else ""


def _heading_above(passage: Candidate, start: int, spans: list[tuple[int, int]]) -> str:
    """Return the nearest heading before a position, or else the passage's section."""
    before = bisect_left(spans, (start, 0))
    titles = (_title(passage["text"], *span) for span in reversed(spans[:before]))
    return next(filter(None, titles), (passage["section"] or "").rpartition(" > ")[2].strip())


def _title(text: str, start: int, end: int) -> str:
    """Return a heading without its mark; "" for a text that is no heading."""
    line = text[start:end]
    title = _HEADING.sub("", line)
    if title != line:
        return title
    if re.search(r"[|\n]|[.,;:!?]$|: ", line) or _ITEM.match(line):
        return ""
    blank_above = not text[:start].endswith("\n") or text[:start].endswith("\n\n")
    blank_below = text[end:].lstrip(" \t").startswith("\n\n")
    is_title = blank_above and blank_below and len(line) < LONGEST_HEADING and line[:1].isupper()
    return line if is_title else ""


def _begins_line(text: str, offset: int) -> bool:
    return not text[text.rfind("\n", 0, offset) + 1 : offset].strip()


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
