"""The outline of a passage: its paragraphs, and the heading above each."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from adaptive_rag.state import Chunk
from adaptive_rag.text.places import section_at

# Maximum number of characters of a heading.
LONGEST_HEADING = 80

# "5. Term" right above "5.1 The lease begins" is a separate paragraph: the heading of its clauses.
_ABOVE_CLAUSE = r"(?P<clause>\d{1,2})\.?[ \t]+[A-Z][^\n]{0,75}[^\s.,;:!|](?=\n[ \t]*(?P=clause)\.1\b)"
# "**May I work from home?**" on a separate line, right above its text
_BOLD_LINE = r"\*\*[^*\n]{2,80}\*\*[ \t]*(?=\n)"
_PARAGRAPH = re.compile(
    rf"#{{1,6}} [^\n]*|{_BOLD_LINE}|{_ABOVE_CLAUSE}|\S(?:[^\n]|\n(?![ \t]*\n|#{{1,6}} |{_BOLD_LINE}))*"
)
# "## Staff", "# rowkit", "7. Changes to the flat", "Sick leave", "How do I pay?"; not "- Keep it dry",
# "Tank | 5 litres" or "Call us:"
_HEADING = re.compile(
    r"(?:#{1,6}\s+(?=[a-z])|(?:#{1,6}\s+)?(?:\d{1,2}(?:\.\d{1,2})*\.?\s+)?(?=[A-Z]))"
    r"(?P<title>\w[^\n|:]*[^\s.,;:!|*])"
)
_BOLD = re.compile(r"^\*\*([^*\n]+)\*\*$")
_NUMBER = re.compile(r"\d")
# The first item of a list: nothing above it is an item of the same list.
_FIRST_ITEM = re.compile(r"1[.)]\s")


class Paragraph(NamedTuple):
    """A paragraph of a passage."""

    start: int  # in the offsets of the passage's span
    heading: str  # the nearest heading above it; "" where none is known
    is_heading: bool  # whether it is itself a heading


def read_outline(passage: Chunk) -> list[Paragraph]:
    """Return the paragraphs of a passage in order, as separated by blank lines and marked headings."""
    text = passage["text"]
    section = (passage["section"] or "").rpartition(" > ")[2].strip()
    # A section that begins inside the passage is not the heading of the text before it.
    heading = "" if section in text else section
    pieces = list(_PARAGRAPH.finditer(text))
    outline = list[Paragraph]()
    is_below_bold = False
    for piece, next_piece in zip_longest(pieces, pieces[1:]):
        line = piece[0].rstrip()
        match = _HEADING.fullmatch(_BOLD.sub(r"\1", line))
        is_heading = bool(match and next_piece and len(piece[0]) <= LONGEST_HEADING)
        start = passage["start"] + piece.start()
        if next_piece and _NUMBER.match(line) and _NUMBER.match(next_piece[0]) and not piece["clause"]:
            # "1. Unplug it" above "2. Open the lid" is a list item; not "7. Repairs" above "1. Call us"
            begins_section = (section_at(passage, start) or "").rpartition(" > ")[2] == line
            is_heading = is_heading and (begins_section or bool(_FIRST_ITEM.match(next_piece[0])))
        if is_below_bold and not line.startswith(("#", "**")):
            is_heading = False  # the text below a bold line may be short: "Behind hall 2"
        is_below_bold = is_heading and bool(_BOLD.match(line))
        if match and is_heading:
            heading = match["title"]
        outline.append(Paragraph(start, heading, is_heading))
    return outline


def paragraph_at(outline: Sequence[Paragraph], start: int) -> int:
    """Return the index of the paragraph that contains a position."""
    return max(0, bisect_right(outline, start, key=lambda paragraph: paragraph.start) - 1)
