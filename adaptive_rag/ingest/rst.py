"""The loader of reStructuredText: the file as it stands, with its underlined headings."""

from __future__ import annotations

import re
from pathlib import Path

from adaptive_rag.ingest.documents import TextBuilder
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
    """Write a reStructuredText file into `builder`, and note its headings.

    Each sign under which a title stands is a level, in the order in which they first appear.
    """
    builder.keeps_lines = True
    text = decode(path.read_bytes(), builder)
    levels: list[tuple[bool, str]] = []
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
        builder.mark_heading(title, levels.index(style) + 1, offset=match.start("title"))
    builder.add(text)
