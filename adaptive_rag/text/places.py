"""Describes where a span is in a document: its page, slide, sheet, row, time, section or lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import dropwhile
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

from adaptive_rag.text.languages import label_for
from adaptive_rag.text.suffixes import suffixes_of

if TYPE_CHECKING:
    from adaptive_rag.state import Candidate, Chunk, Citation, Place

# Kinds of file whose places are not pages. A CSV or JSON file has rows but no sheets.
_SLIDES = suffixes_of("PowerPoint", "older PowerPoint", "OpenDocument presentation") | {".fodp"}
_SHEETS = suffixes_of("Excel", "older Excel", "binary Excel", "OpenDocument spreadsheet")
_TABLES = suffixes_of("CSV", "JSON lines", "JSON") | _SHEETS
_TIMED = suffixes_of("subtitles")
_MAILS = suffixes_of("mail", "mail of Outlook", "mailbox")
# Files that may have attachments. In other files, such as tables, "attachment" may be the name of a column.
_WITH_ATTACHMENTS = _MAILS | _SLIDES | _SHEETS | suffixes_of("PDF", "Word", "OpenDocument text")
# If a span covers more cells, only the row is named.
_MAX_CELLS = 2
# Maximum number of other names of a document that are shown.
_MAX_NAMES = 3


def page_at(chunk: Chunk, offset: int) -> int | None:
    """Return the page of the character at `offset`, counted like the chunk's span."""
    page = chunk["page"]
    for number, start in chunk["metadata"].get("page_starts", {}).items():
        if start <= offset:
            page = int(number)
    return page


def section_at(chunk: Chunk, offset: int) -> str | None:
    """Return the headings above the character at `offset`, counted like the chunk's span."""
    section = chunk["section"]
    for part in cast("Candidate", chunk).get("parts", ()):
        if part["start"] <= offset:
            section = part["section"]
    for start, headings in chunk["metadata"].get("section_starts", {}).items():
        if int(start) <= offset:
            section = headings
    return section


def outline_of(chunks: Sequence[Chunk]) -> list[tuple[int, str | None, int | None]]:
    """Return the offsets at which a section or page of a text begins, each with its section and page.

    If chunks overlap, the later one determines what begins at its start.
    """
    places: dict[int, tuple[str | None, int | None]] = {}
    for chunk in chunks:
        metadata = chunk["metadata"]
        inner_starts = [
            *map(int, metadata.get("section_starts", ())),
            *metadata.get("page_starts", {}).values(),
        ]
        for offset in [chunk["start"], *(start for start in inner_starts if start > chunk["start"])]:
            places[offset] = section_at(chunk, offset), page_at(chunk, offset)
    outline: list[tuple[int, str | None, int | None]] = []
    for offset, section_and_page in sorted(places.items()):
        if not outline or outline[-1][1:] != section_and_page:
            outline.append((offset, *section_and_page))
    return outline


def place_at(chunk: Chunk, start: int, end: int) -> Place:
    """Return where a span of a chunk is in its document, as far as the chunk's metadata tell."""
    metadata = chunk["metadata"]
    place: Place = {}
    kind = PurePath(chunk["source"]).suffix.lower()
    if kind in _MAILS and isinstance(subject := metadata.get("subject"), str):
        place["mail"] = subject
    if kind in _WITH_ATTACHMENTS and isinstance(name := metadata.get("attachment"), str):
        place["attachment"], kind = name, PurePath(name).suffix.lower()
    if (page := page_at(chunk, start)) is not None:
        if kind in _SLIDES:
            place["slide"] = page
        elif kind == ".ipynb":
            place["cell"] = page
        else:
            place["page"] = page
    if kind in _SHEETS and isinstance(sheet := metadata.get("sheet"), str):
        place["sheet"] = sheet
    if kind in _TABLES and isinstance(row := metadata.get("row"), int):
        place["row"] = row
        if cells := _cells_at(chunk, start, end):
            place["cells"] = cells
    # The headings begin with the file's name in code, and with what is named before them in mails.
    named = {PurePath(chunk["source"]).name, place.get("mail"), place.get("attachment")}
    headings = dropwhile(named.__contains__, (section_at(chunk, start) or "").split(" > "))
    if section := " > ".join(headings):
        place["time" if kind in _TIMED else "section"] = section
    if isinstance(line := metadata.get("line"), int):
        text = chunk["text"]
        first = line + text.count("\n", 0, start - chunk["start"])
        place["lines"] = [first, first + text.count("\n", start - chunk["start"], end - chunk["start"])]
    return place


def format_place(*places: Place) -> str:
    """Format a place: "sheet Prices, cell B7", "Storms > Levels, lines 4-6, 9"; "" if unknown.

    Several places must differ only in their lines.
    """
    place = places[0]
    parts = [place.get("mail"), *_named(place, "attachment")]
    if "page" in place or "slide" in place:
        parts += [*_named(place, "page"), *_named(place, "slide")]
    elif "row" in place or "cell" in place or "sheet" in place:
        cells = place.get("cells", [])
        names_cells = 0 < len(cells) <= _MAX_CELLS
        parts += [*_named(place, "sheet"), *([] if names_cells else _named(place, "row"))]
        parts += _named(place, "cell")
        if names_cells:
            parts.append(label_for("place", "cells", n=len(cells), cells=" and ".join(cells)))
    elif "time" in place:
        parts.append(place["time"])
    elif place.get("section") != place.get("mail"):
        parts.append(place.get("section"))
    if lines := _format_ranges([place["lines"] for place in places if "lines" in place]):
        parts.append(label_for("place", "lines", n=1 if lines.isdigit() else 2, lines=lines))
    return ", ".join(filter(None, parts))


def format_other_names(names: Sequence[str]) -> str:
    """Format the other names of a document: "also as b.txt, c.txt and 3 more"; "" if it has none."""
    if not names:
        return ""
    more = f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
    return f"also as {', '.join(names[:_MAX_NAMES])}{more}"


def group_by_place(citations: Iterable[Citation]) -> list[list[Citation]]:
    """Group citations by marker and place, in this order; in a group, only the lines differ."""
    groups: dict[tuple[Any, ...], list[Citation]] = {}
    for citation in sorted(citations, key=lambda c: (c["marker"], c["start"])):
        without_lines: Place = {**citation["place"]}
        without_lines.pop("lines", None)
        key = citation["marker"], citation["source"], format_place(without_lines)
        groups.setdefault(key, []).append(citation)
    return list(groups.values())


def _cells_at(chunk: Chunk, start: int, end: int) -> list[str]:
    """Return the cells of a sheet that a span covers; a row has a line "Price: 4.20" for each cell."""
    columns, row = chunk["metadata"].get("cells"), chunk["metadata"]["row"]
    line_start = chunk["text"].rfind("\n", 0, start - chunk["start"]) + 1
    names = [line.partition(": ")[0] for line in chunk["text"][line_start : end - chunk["start"]].split("\n")]
    return [f"{columns[name]}{row}" for name in names if name in columns] if isinstance(columns, dict) else []


def _named(place: Place, name: str) -> list[str]:
    return [label_for("place", name, **place)] if name in place else []


def _format_ranges(ranges: list[list[int]]) -> str:
    """Format ranges of lines: "4-6, 9"; overlapping and adjacent ranges are joined."""
    joined: list[list[int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = [joined[-1][0], max(last, joined[-1][1])]
        else:
            joined.append([first, last])
    return ", ".join("-".join(map(str, dict.fromkeys(pair))) for pair in joined)
