"""The loader of reStructuredText: what a reader of the page sees, each line where the file has it.

docutils would read it too, but it knows none of the directives and roles of Sphinx, and keeps the places of
paragraphs only.
"""

from __future__ import annotations

import re
from pathlib import Path

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.front_matter import take_front_matter
from adaptive_rag.ingest.marks import Kept, numbered_lines, same_lines, tidy_lines, without_signs
from adaptive_rag.ingest.properties import note_properties
from adaptive_rag.ingest.rst_blocks import Names, read_blocks
from adaptive_rag.ingest.rst_inline import read_inline
from adaptive_rag.ingest.text import decode

_SIGNS = r"[!-/:-@\[-`{-~]"
_RULE = re.compile(rf"({_SIGNS})\1*+[ \t]*")
# a title with a rule below it, or with the same above and below, after a blank line
_TITLE = re.compile(
    rf"(?:\A|(?<=\n\n))(?P<above>(?P<sign>{_SIGNS})(?P=sign)++[ \t]*\n)?(?P<title>[^\n]++)\n"
    rf"(?P<below>(?P<mark>{_SIGNS})(?P=mark)++)[ \t]*$",
    re.MULTILINE,
)


def load_rst(path: Path, builder: TextBuilder) -> None:
    """Write what a reStructuredText file shows into `builder`, and note its headings and what it says of
    itself.

    Each sign under which a title stands is a level, in the order in which they first appear.
    """
    builder.keeps_lines = True
    text = without_signs(decode(path.read_bytes(), builder))
    start = take_front_matter(text, builder)
    text = "\n" * text.count("\n", 0, start) + text[start:].expandtabs(8)
    lines = text.split("\n")
    titles = _find_titles(text, lines)
    kept, names = Kept(), Names()
    seen = read_blocks(lines, kept, names)
    read = same_lines(text, kept.restore(read_inline("\n".join(seen), kept, names)))
    read = tidy_lines(text, read)
    shown = list(numbered_lines(read))
    for line, level in titles:
        builder.mark_heading(shown[line][1], level, offset=builder.length + shown[line][0])
    note_properties(
        builder,
        author=names.fields.get("author") or names.fields.get("authors"),
        date=names.fields.get("date"),
        tags=names.fields.get("keywords", ""),
    )
    builder.add(read)


def _find_titles(text: str, lines: list[str]) -> list[tuple[int, int]]:
    """Return the line and the level of each title, and blank the rules around it."""
    levels: list[tuple[bool, str]] = []
    titles: list[tuple[int, int]] = []
    line = last = 0
    for match in _TITLE.finditer(text):
        title, overlined = match["title"], match["above"] is not None
        indented = title[:1].isspace() and not overlined
        if (
            indented
            or not title.strip()
            or _RULE.fullmatch(title)
            or len(match["below"]) < len(title.rstrip())
        ):
            continue
        if overlined and match["sign"] != match["mark"]:
            continue
        style = (overlined, match["mark"])
        if style not in levels:
            levels.append(style)
        line += text.count("\n", last, match.start("title"))
        last = match.start("title")
        titles.append((line, levels.index(style) + 1))
        lines[line + 1] = ""
        lines[line] = title.strip()
        if overlined:
            lines[line - 1] = ""
    return titles
