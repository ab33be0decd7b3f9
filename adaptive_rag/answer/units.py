"""Units that are quoted as one piece but are no sentences: table rows, lists, code and chat messages."""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from adaptive_rag.answer.contributions import WRITTEN, author_of
from adaptive_rag.state import Candidate
from adaptive_rag.text.speech import Head, read_head
from adaptive_rag.text.tables import describe_row, find_tables, name_cells

# Maximum number of characters of a unit, and of the lead-in before it. A longer list is quoted item by item,
# a longer message sentence by sentence.
LONGEST_PIECE, LONGEST_LEAD = 400, 200
# Headings have fewer characters than this.
LONGEST_TITLE = 80
# Maximum mean number of words of the items of a list under a heading; longer items are quoted as sentences.
SHORT_ITEM = 10

# Opens and closes a code block on separate lines.
CODE_FENCE = "```"
_FIELD = re.compile(r"(?P<name>[^:\n]+): (?P<value>[^\n]+)")
_FENCE = re.compile(r"^[ \t]*(?:```+|~~~+)[ \t]*(?P<language>[\w+#.-]*)[^\n`]*$", re.MULTILINE)
_COMMENTED = re.compile(
    r"(?:^[ \t]*(?:#|//|--|;)[^\n]*\n)*(?:^(?![ \t]*(?:#|//|--|;))[^\n]*\S[^\n]*(?:\n|\Z))+", re.M
)
_COMMENT = re.compile(r"^[ \t]*(?:#+|//|--|;)[ \t]*")
_ITEM = re.compile(r"(?:[-*+•‣▪◦·–—]|(?P<number>\(?(?:\d{1,3}|[a-z]|[ivx]{1,4}|[A-Z](?=\)))[.)]))\s+")
_HEADING = re.compile(r"#{1,6}\s+")


@dataclass(frozen=True)
class Unit:
    """A piece of a passage that is shown as a whole."""

    start: int  # in the offsets of the passage's span
    end: int
    text: str  # the text for reading
    alone: bool = True  # whether it needs no context; a list may continue the text before it
    speaker: str = ""  # who says it
    quality: float = 1.0  # as for a sentence; 0 for a unit that is not shown by itself, such as a question
    cells: tuple[tuple[str, str], ...] = ()  # for a row: pairs of column name and value


def read_units(passage: Candidate, spans: Sequence[tuple[int, int]]) -> list[Unit]:
    """Return the units of a passage in order, without overlaps.

    Args:
        passage: the passage, with its text and metadata.
        spans: the spans of its sentences, in the offsets of the passage's own span.
    """
    text, offset = passage["text"], passage["start"]
    local = [(start - offset, end - offset) for start, end in spans]
    units: list[Unit] = []
    readers: tuple[Callable[[Candidate, list[tuple[int, int]]], Iterator[Unit]], ...]
    readers = (_record, _code, _table_rows, _messages, _lists)
    if passage["metadata"].get("kind") == "qa":
        readers = (_beside_answer,)
    for read in readers:
        taken = list(units)
        for unit in read(passage, local):
            if all(unit.end <= other.start or other.end <= unit.start for other in taken):
                units.append(unit)
    return [
        replace(u, start=u.start + offset, end=u.end + offset)
        for u in sorted(units, key=lambda unit: unit.start)
        if text[u.start : u.end].strip()
    ]


def _record(passage: Candidate, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read a row of a CSV file, given as lines of "column: value"."""
    text = passage["text"]
    fields = [_FIELD.fullmatch(line) for line in text.split("\n")]
    if "row" not in passage["metadata"] or passage["metadata"].get("kind") == "qa" or len(fields) < 2:
        return
    named = [field for field in fields if field]
    if len(named) < len(fields):
        return
    names, values = (tuple(field[part] for field in named) for part in ("name", "value"))
    if author_of(passage):
        yield from _entry(text, named, spans)
    elif len(text) <= LONGEST_PIECE:
        yield Unit(0, len(text), describe_row(values, names), cells=tuple(name_cells(values, names)))
    else:
        start = 0
        for name, value in zip(names, values, strict=True):
            end = start + len(name) + 2 + len(value)
            if start and end - start <= LONGEST_PIECE:
                yield Unit(start, end, describe_row((values[0], value), ("", name)))
            start = end + 1


def _beside_answer(passage: Candidate, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read the further columns of a question-answer row, such as "Owner: Mrs Adair"."""
    for line in re.finditer(r"[^\n]+", passage["text"]):
        field = _FIELD.fullmatch(line[0])
        if field and passage["metadata"].get(field["name"]) == field["value"]:
            yield Unit(*line.span(), line[0])


def _entry(text: str, fields: Sequence[re.Match[str]], spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read a row with an author, such as a review: the cells before its text, and the first sentence."""
    short = list(takewhile(lambda field: len(field["value"].split()) < WRITTEN, fields))
    end = sum(len(field[0]) + 1 for field in short)
    if short:
        names, values = (tuple(field[part] for field in short) for part in ("name", "value"))
        yield Unit(0, end - 1, describe_row(values, names), cells=tuple(name_cells(values, names)))
    for first, last in spans:
        if first == end:
            yield Unit(first, last, text[end + fields[len(short)].start("value") : last], alone=False)


def _code(passage: Candidate, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read the commands of each code block, with the comment or the text that introduces them."""
    text = passage["text"]
    for start, end in _fenced(text):
        lead = _lead_in(text, start, spans)
        heading = _heading_above(passage, start, spans)
        for stanza in _COMMENTED.finditer(text, start, end):
            lines = [line for line in stanza[0].split("\n") if line.strip()]
            comments = [_COMMENT.sub("", line) for line in lines if _COMMENT.match(line)]
            code = [line.rstrip() for line in lines if not _COMMENT.match(line)]
            first, last = stanza.start(), stanza.end()
            if code and last - first <= LONGEST_PIECE:
                shown = _show_code(code, " ".join(comments) or lead, heading)
                yield Unit(*_trimmed(text, first, last), shown)


def _show_code(code: list[str], said: str, heading: str) -> str:
    """Format one line of code within the text, and several as a block on separate lines."""
    if len(code) == 1:
        line = f"`{' '.join(code[0].split())}`"
        return f"{said.rstrip(' :.')}: {line}" if said else line
    block = textwrap.dedent("\n".join(code))
    return f"{(said or heading or 'Code').rstrip(' :.')}:\n{CODE_FENCE}\n{block}\n{CODE_FENCE}"


def _fenced(text: str) -> Iterator[tuple[int, int]]:
    """Yield the contents of code blocks; the first and the last may extend beyond the text."""
    fences = list(_FENCE.finditer(text))
    inside = bool(fences) and _closes(text, fences)
    begin = 0
    for fence in fences:
        if inside:
            yield begin, fence.start()
        inside, begin = not inside, fence.end() + 1
    if inside:
        yield begin, len(text)


def _closes(text: str, fences: list[re.Match[str]]) -> bool:
    """Return whether the first fence of a text ends a code block that began before the text."""
    first = fences[0]
    if first["language"] or not text[: first.start()].strip():
        return False
    apart = not text[first.end() + 1 :].split("\n", 1)[0].strip() and text[: first.start()][-2:-1] != "\n"
    return apart or (len(fences) > 1 and bool(fences[1]["language"]))


def _table_rows(passage: Candidate, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read the rows of each table with the names of their columns."""
    columns = tuple(passage["metadata"].get("columns", ()))
    for table in find_tables(passage["text"], columns):
        for row in table.rows:
            words = re.findall(r"[^\W_]+", " ".join(row.cells))
            readable = len(words) > 1 and row.end - row.start <= 2 * LONGEST_PIECE
            shown = describe_row(row.cells, table.columns)
            cells = tuple(name_cells(row.cells, table.columns))
            yield Unit(row.start, row.end, shown, quality=1.0 if readable else 0.0, cells=cells)


def _messages(passage: Candidate, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read the messages of a chat; a question and the answer in the next message form one unit."""
    text = passage["text"]
    speakers = tuple(passage["metadata"].get("speakers", ()))
    heads = [head for start, _ in spans if (head := read_head(text, start, speakers))]
    if not speakers and max(Counter(head.speaker for head in heads).values(), default=0) < 2:
        return  # "12:30 Lunch: soup" is in a timetable
    if not heads:
        return  # the whole text continues a turn that began before it
    ends = [head.start for head in heads[1:]] + [len(text)]
    asked: Unit | None = None
    for head, end in zip(heads, ends, strict=True):
        start, end = _trimmed(text, head.start, end)
        said = " ".join(text[head.end : end].split())
        answers = asked is not None and asked.speaker != head.speaker
        if "\n\n" in text[start:end] or end - start > LONGEST_PIECE:
            if head.time:
                yield from _parts_of_message(text, head, end, spans)
            asked = None
            continue
        unit = Unit(start, end, f"{_label(head)}: “{said}”", speaker=head.speaker)
        sentences = bisect_left(spans, (end, 0)) - bisect_left(spans, (start, 0))
        if asked and answers:
            yield replace(unit, start=asked.start, text=f"{asked.text} {unit.text}")
        elif not said.endswith("?") and (head.time or sentences == 1):
            yield unit  # the sentences of a longer turn in a transcript can stand alone
        asked = unit if said.endswith("?") else None


def _parts_of_message(text: str, head: Head, end: int, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read the sentences of a long message, each with its speaker, up to the end of the paragraph."""
    paragraph = text.find("\n\n", head.start, end)
    end = end if paragraph < 0 else paragraph
    for first, last in spans:
        if head.start <= first and last <= end:
            said = " ".join(text[max(first, head.end) : last].split())
            quality = 0.0 if said.endswith("?") else 0.8
            yield Unit(first, last, f"{_label(head)}: “{said}”", speaker=head.speaker, quality=quality)


def _label(head: Head) -> str:
    return f"{head.speaker} ({head.time})" if head.time else head.speaker


def _lists(passage: Candidate, spans: list[tuple[int, int]]) -> Iterator[Unit]:
    """Read a short list with its lead-in as one unit, or the items of a long list that continue it."""
    text = passage["text"]
    at = 0
    while at < len(spans):
        first, items = at, list[tuple[int, int]]()
        while at < len(spans) and _begins_line(text, spans[at][0]) and _ITEM.match(text, spans[at][0]):
            start, end = spans[at]
            at += 1
            # further sentences on the item's last line belong to it
            while at < len(spans) and "\n" not in text[end : spans[at][0]]:
                end, at = spans[at][1], at + 1
            items.append((start, end))
        if items:
            yield from _pieces_of_list(passage, spans, first, items)
        else:
            at += 1


def _pieces_of_list(
    passage: Candidate, spans: list[tuple[int, int]], first: int, items: list[tuple[int, int]]
) -> Iterator[Unit]:
    text = passage["text"]
    lead = _lead_in(text, items[0][0], spans)
    title = _title(text, *spans[first - 1]) if first and not lead else ""
    if not lead and (not title or len(items) < 2):
        return
    before = spans[first - 1]
    shown = [_item(text[start:end]) for start, end in items]
    short = sum(len(item.split()) for item in shown) <= SHORT_ITEM * len(shown)
    if items[-1][1] - before[0] <= LONGEST_PIECE and (lead or short):
        numbered = all(re.match(r"\(?\w+[.)] ", item) for item in shown)
        body = " ".join(shown) if numbered or shown[0].endswith((".", "!")) else _series(shown)
        yield Unit(before[0], items[-1][1], f"{lead or title + ':'} {body}", alone=False)
    elif lead:
        for (start, end), item in zip(items, shown, strict=True):
            bare = re.sub(r"^\(?\w{1,4}[.)] ", "", item)
            if bare[:1].islower() and end - start <= LONGEST_PIECE:
                yield Unit(start, end, f"{lead} {bare}", quality=0.8)


def _item(text: str) -> str:
    """Return a list item on one line, without its bullet but with its number."""
    mark = _ITEM.match(text)
    return " ".join((text if mark is None or mark["number"] else text[mark.end() :]).split())


def _series(items: Sequence[str]) -> str:
    return "; ".join(item.rstrip(" ;,:") for item in items).rstrip(".") + "."


def _lead_in(text: str, start: int, spans: list[tuple[int, int]]) -> str:
    """Return the sentence before a position if it introduces what follows, as "It needs:" does."""
    before = bisect_left(spans, (start, 0)) - 1
    while before >= 0 and _FENCE.fullmatch(text, *spans[before]):
        before -= 1
    if before < 0:
        return ""
    lead = " ".join(text[slice(*spans[before])].split())
    return lead if lead.endswith(":") and len(lead) <= LONGEST_LEAD else ""


def _heading_above(passage: Candidate, start: int, spans: list[tuple[int, int]]) -> str:
    """Return the nearest heading before a position, or else the passage's section."""
    text = passage["text"]
    before = bisect_left(spans, (start, 0))
    found = (title for first, last in reversed(spans[:before]) if (title := _title(text, first, last)))
    return next(found, (passage["section"] or "").rpartition(" > ")[2].strip())


def _title(text: str, start: int, end: int) -> str:
    """Return a heading without its mark; "" for a text that is no heading."""
    line = text[start:end]
    title = _HEADING.sub("", line)
    if title != line:
        return title
    apart = not text[:start].endswith("\n") or text[:start].endswith("\n\n")
    apart = apart and (text[end:].lstrip(" \t").startswith("\n\n"))
    plain = not re.search(r"[|\n]|[.,;:!?]$|: ", line) and not _ITEM.match(line)
    return line if apart and plain and len(line) < LONGEST_TITLE and line[:1].isupper() else ""


def _begins_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
