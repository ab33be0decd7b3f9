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
_TITLE = re.compile(r"(={1,6})[ \t]+(\S(?:.*?\S)??)(?:[ \t]+\1)?[ \t]*")
# The signs below a title of two lines, by level; there are as many as the title has letters.
_UNDERLINES = "=-~^+"
_ITEM = re.compile(r"[ \t]*(\*{1,5}|-|\.{1,5})[ \t]+(?=\S)")
# Blocks that hold no headings: listings, literal text, passthroughs and comments.
_FENCE = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|`{3,}).*")
# A comment, attributes, a directive, the border of a box or a quote, and the sign of a continued item.
_HIDDEN = re.compile(
    r"//(?!/).*|\[[^\]]*\]{1,2}[ \t]*|(?:include|ifn?def|ifeval|endif)::\S*\[.*\][ \t]*"
    r"|(?:={4,}|_{4,}|\*{4,}|,===|:===|\+|'{3,}|<<<)[ \t]*"
)
_ATTRIBUTE = re.compile(r":([\w!-]+):(?:[ \t]+(.*))?")
_COLUMNS = re.compile(r"cols=\"?([^\"\]]*)")
# What begins a cell: "|", "2+|" (two columns wide), "a|" (with a style).
_CELL = re.compile(r"(?:(?:^|(?<=[ \t]))(?:(\d+)[+*])?(?:\.\d+\+)?[<^>]?(?:\.[<^>])?[adehlmsv]?)?(?<!\\)\|")


def load_asciidoc(path: Path, builder: TextBuilder) -> None:
    """Write an AsciiDoc file into `builder`, and note its headings and the fields of its header.

    Each line keeps its line number in the file; lines that a reader of the page would not see become blank.
    """
    builder.keeps_lines = True
    lines = decode(path.read_bytes(), builder).split("\n")
    fields: dict[str, str] = {}
    titles: list[tuple[int, int, str]] = []
    columns = end = 0
    while end < len(lines):
        start, line, end = end, lines[end], end + 1
        if _is_underlined(lines, start):
            titles.append((start, 1 + _UNDERLINES.index(lines[end][0]), line.strip()))
            lines[end], end = "", end + 1
        elif (fence := _FENCE.fullmatch(line)) or line.startswith("|==="):
            closing = fence[1] if fence else line.rstrip()
            while end < len(lines) and lines[end].rstrip() != closing:
                end += 1
            content, end = lines[start + 1 : end], min(end + 1, len(lines))
            if not fence:
                lines[start:end] = ["", *_read_table(content, columns), ""][: end - start]
                columns = 0
            elif closing.startswith("/"):
                lines[start:end] = [""] * (end - start)
        elif title := _TITLE.fullmatch(line):
            titles.append((start, len(title[1]), title[2]))
        elif attribute := _ATTRIBUTE.fullmatch(line):
            fields[attribute[1]], lines[start] = attribute[2] or "", ""
        elif _HIDDEN.fullmatch(line):
            columns, lines[start] = _count_columns(line) or columns, ""
        elif item := _ITEM.match(line):
            marker = "1. " if item[1][0] == "." else "- "
            lines[start] = "  " * (len(item[1]) - 1) + marker + line[item.end() :]
    line_starts = [0, *accumulate(len(line) + 1 for line in lines)]
    for line_number, level, name in titles:
        builder.mark_heading(name, level, offset=line_starts[line_number])
    note_properties(
        builder,
        title=next((name for _, level, name in titles if level == 1), ""),
        author=fields.get("author"),
        date=fields.get("revdate"),
        language=fields.get("lang"),
        tags=fields.get("keywords", ""),
    )
    builder.add("\n".join(lines))


def _is_underlined(lines: list[str], index: int) -> bool:
    """Return whether a line is a title with a line of signs below it, and not the end of a paragraph."""
    title, below = (line.rstrip() for line in (*lines[index : index + 2], "")[:2])
    is_first = index == 0 or not lines[index - 1].strip()
    is_rule = len(set(below)) == 1 and below[0] in _UNDERLINES
    return is_first and is_rule and title[:1].isalnum() and abs(len(title) - len(below)) <= 1


def _count_columns(line: str) -> int:
    """Return the number of columns that a line such as `[cols="1,3*"]` gives the table below it, or 0."""
    specification = _COLUMNS.search(line)
    parts = re.split(r"[,;]", specification[1]) if specification else []
    repeats = (re.match(r"[ \t]*(\d+)\*", part) for part in parts)
    return sum(int(repeat[1]) if repeat else 1 for repeat in repeats)


def _read_table(lines: list[str], columns: int) -> list[str]:
    """Return the lines of a table, "Hinge | 4.20", each row on the line of its first cell.

    Where several rows begin on one line, the later ones move to the next lines, as far as there are any.
    """
    cells: list[tuple[int, str]] = []
    for line_number, line in enumerate(lines):
        separators = [*_CELL.finditer(line)]
        if cells and (rest := line[: separators[0].start() if separators else None].strip()):
            cell_line, text = cells[-1]
            cells[-1] = cell_line, f"{text} {rest}".strip()
        ends = [match.start() for match in separators[1:]] + [len(line)]
        for match, end in zip(separators, ends, strict=False):
            repeats = min(int(match[1] or 1), 100)
            cells += [(line_number, line[match.end() : end].strip().replace("\\|", "/"))] * repeats
        columns = columns or len(cells)
    rows = [cells[start : start + columns] for start in range(0, len(cells), columns or 1)]
    result, row_line = [""] * len(lines), -1
    for row in rows:
        row_line = min(max(row[0][0], row_line + 1), len(lines) - 1)
        text = write_row(text for _, text in row)
        result[row_line] = f"{result[row_line]} | {text}" if result[row_line] else text
    # A blank line below the first row makes that row the header.
    below_header = rows[0][-1][0] + 1 if len(rows) > 1 else len(lines)
    if below_header < len(lines) and not (lines[below_header].strip() or result[below_header]):
        result[below_header] = write_rule(columns)
    return result
