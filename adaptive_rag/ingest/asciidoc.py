"""The AsciiDoc loader: writes headings, lists and tables as other loaders do, each on its own line."""

from __future__ import annotations

import re
from itertools import accumulate
from pathlib import Path

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.properties import note_properties
from adaptive_rag.ingest.text import decode
from adaptive_rag.text.tables import write_row, write_rule

# "== Storms ==": the closing signs are optional
_TITLE = re.compile(r"(={1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?[ \t]*")
_ITEM = re.compile(r"[ \t]*(\*{1,5}|-|\.{1,5})[ \t]+(?=\S)")
# Blocks that hold no headings: listings, literal text, passthroughs and comments.
_FENCE = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|`{3,}).*")
_HIDDEN = re.compile(r"//(?!/).*|\[[^\]]*\][ \t]*")
_ATTRIBUTE = re.compile(r":([\w-]+):[ \t]+(\S.*)")
_COLUMNS = re.compile(r"cols=\"?([^\"\]]*)")
# What begins a cell: "|", "2+|" (two columns wide), "a|" (with a style).
_CELL = re.compile(r"(?:(?:^|(?<=[ \t]))(?:(\d+)[+*])?(?:\.\d+\+)?[<^>]?(?:\.[<^>])?[adehlmsv]?)?(?<!\\)\|")
_TABLE = "|==="


def load_asciidoc(path: Path, builder: TextBuilder) -> None:
    """Write an AsciiDoc file into `builder`, and note its headings and the fields of its header.

    Each line keeps its line number in the file; lines that a reader of the page would not see become blank.
    """
    builder.keeps_lines = True
    lines = decode(path.read_bytes(), builder).split("\n")
    known: dict[str, str] = {}
    titles: list[tuple[int, int, str]] = []
    columns = after = 0
    while after < len(lines):
        at, line, after = after, lines[after], after + 1
        if (fence := _FENCE.fullmatch(line)) or line.startswith(_TABLE):
            closing = fence[1] if fence else line.rstrip()
            while after < len(lines) and lines[after].rstrip() != closing:
                after += 1
            held, after = lines[at + 1 : after], min(after + 1, len(lines))
            if not fence:
                lines[at:after] = ["", *_as_rows(held, columns), ""][: after - at]
                columns = 0
            elif closing.startswith("/"):
                lines[at:after] = [""] * (after - at)
        elif title := _TITLE.fullmatch(line):
            titles.append((at, len(title[1]), title[2]))
        elif attribute := _ATTRIBUTE.fullmatch(line):
            known[attribute[1]], lines[at] = attribute[2], ""
        elif _HIDDEN.fullmatch(line):
            columns, lines[at] = _count_columns(line) or columns, ""
        elif item := _ITEM.match(line):
            mark = "1. " if item[1][0] == "." else "- "
            lines[at] = "  " * (len(item[1]) - 1) + mark + line[item.end() :]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    for at, level, name in titles:
        builder.mark_heading(name, level, offset=starts[at])
    note_properties(
        builder,
        title=next((name for _, level, name in titles if level == 1), ""),
        author=known.get("author"),
        date=known.get("revdate"),
        language=known.get("lang"),
        tags=known.get("keywords", ""),
    )
    builder.add("\n".join(lines))


def _count_columns(line: str) -> int:
    """Return the number of columns that a line such as `[cols="1,3*"]` gives the table below it, or 0."""
    listed = _COLUMNS.search(line)
    parts = re.split(r"[,;]", listed[1]) if listed else []
    times = (re.match(r"[ \t]*(\d+)\*", part) for part in parts)
    return sum(int(number[1]) if number else 1 for number in times)


def _as_rows(lines: list[str], columns: int) -> list[str]:
    """Return the lines of a table, "Hinge | 4.20", each row on the line of its first cell.

    Where several rows begin on one line, the later ones move to the next lines, as far as there are any.
    """
    cells: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        begins = [*_CELL.finditer(line)]
        if cells and (rest := line[: begins[0].start() if begins else None].strip()):
            at, text = cells[-1]
            cells[-1] = at, f"{text} {rest}".strip()
        ends = [*(match.start() for match in begins[1:]), len(line)]
        for match, end in zip(begins, ends, strict=True) if begins else ():
            times = min(int(match[1] or 1), 100)
            cells += [(number, line[match.end() : end].strip().replace("\\|", "/"))] * times
        columns = columns or len(cells)
    rows = [cells[start : start + columns] for start in range(0, len(cells), columns or 1)]
    shown, at = [""] * len(lines), -1
    for row in rows:
        at = min(max(row[0][0], at + 1), len(lines) - 1)
        text = write_row(text for _, text in row)
        shown[at] = f"{shown[at]} | {text}" if shown[at] else text
    # A blank line below the first row makes that row the header.
    below = rows[0][-1][0] + 1 if len(rows) > 1 else len(lines)
    if below < len(lines) and not (lines[below].strip() or shown[below]):
        shown[below] = write_rule(columns)
    return shown
